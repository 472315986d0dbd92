// callers.hpp - connections that end before a client has introduced itself, and where they came
// from, put together from what the monitor of a ZeroMQ socket tells. Private to transport/.
//
// libzmq tells of a failed handshake without its connection, and of the end of that connection
// next: both come from the one thread that serves it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace holon::transport {

class Callers {
 public:
  using Refused = std::function<void(const std::string& source, const std::string& why)>;

  // The events that hear() needs.
  static int events();
  // `number`: ZMQ_EVENT_*. `value`: a descriptor, or the reason of a failed handshake. Calls
  // `refused` when an event shows that a client was not let in.
  void hear(int number, std::uint32_t value, const Refused& refused);

 private:
  std::map<std::uint32_t, std::string> sources_;  // by descriptor
  std::string failed_;  // why the handshake failed on the connection that ends next
};

}  // namespace holon::transport
