#include "transport/principal.hpp"

#include <pwd.h>
#include <unistd.h>

namespace holon::transport {

std::string user_of(const Principal& who) {
  const uid_t uid =
      who.kind == Principal::Kind::ipc || who.kind == Principal::Kind::munge ? who.uid : geteuid();
  const passwd* const entry = getpwuid(uid);
  return entry != nullptr ? entry->pw_name : std::to_string(uid);
}

}  // namespace holon::transport
