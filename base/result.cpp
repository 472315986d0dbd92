#include "base/result.hpp"

#include <cerrno>
#include <cstring>

namespace holon {

const char* name_of(Errc code) {
  switch (code) {
    case Errc::invalid_argument:
      return "invalid_argument";
    case Errc::not_found:
      return "not_found";
    case Errc::exists:
      return "exists";
    case Errc::out_of_range:
      return "out_of_range";
    case Errc::overcommitted:
      return "overcommitted";
    case Errc::unsatisfiable:
      return "unsatisfiable";
    case Errc::busy:
      return "busy";
    case Errc::timed_out:
      return "timed_out";
    case Errc::disconnected:
      return "disconnected";
    case Errc::protocol:
      return "protocol";
    case Errc::denied:
      return "denied";
    case Errc::unsupported:
      return "unsupported";
    case Errc::system:
      return "system";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  return error.where.empty() ? error.what : error.where + ": " + error.what;
}

tl::unexpected<Error> system_error(const std::string& what, std::string where) {
  const std::string words = std::strerror(errno);
  return fail(Errc::system, what.empty() ? words : what + ": " + words, std::move(where));
}

}  // namespace holon
