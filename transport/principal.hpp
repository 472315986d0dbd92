// principal.hpp - who is at the other end of a connection, as far as the kernel or a key proves it:
// no message can say it.
#pragma once
#include <cstdint>
#include <string>

namespace holon::transport {

struct Principal {
  // key: a client of a server that knows clients by their keys (curve/admission.hpp).
  // munge: a client with a key that nobody knows, whose MUNGE credential says which user it is.
  enum class Kind : std::uint8_t { unknown, ipc, key, munge };
  Kind kind = Kind::unknown;       // the rest means nothing then: tcp without keys proves nobody
  std::uint32_t uid = 0, gid = 0;  // of the process that connected, at that moment
  std::int64_t pid = 0;            // it may have ended since; 0: of a pid namespace not seen here
  // key: the name by which the server knows it; the numbers mean nothing. munge: the address of its
  // machine; its process is unknown.
  std::string name = {};

  bool operator==(const Principal&) const = default;
};

// The user's name, or number if it has no name; an unknown principal counts as this process's user.
std::string user_of(const Principal& who);

}  // namespace holon::transport
