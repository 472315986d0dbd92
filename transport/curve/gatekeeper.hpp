// gatekeeper.hpp - the ZAP handler (ZeroMQ RFC 27) of a reactor: libzmq asks it about each client
// that has proved to have the secret key of a public one. Private to transport/.
#pragma once
#include <zmq.hpp>

#include "transport/curve/admission.hpp"
#include "transport/reactor.hpp"

namespace holon::transport {

class Gatekeeper {
 public:
  // One a reactor, made before the server's socket is bound. Throws zmq::error_t.
  Gatekeeper(Reactor& reactor, const Admission& admission);
  Gatekeeper(const Gatekeeper&) = delete;
  Gatekeeper& operator=(const Gatekeeper&) = delete;

  Status watch();

 private:
  void answer_all();
  bool answer_one();

  Reactor& reactor_;
  const Admission& admission_;
  zmq::socket_t socket_;
  Subscription readable_;
};

}  // namespace holon::transport
