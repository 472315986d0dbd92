// result.hpp - what a fallible call returns: a value, or an Error that says what and where.
//
// Three outcomes are never mixed (docs/glossary.md): "not now" and "never" are ordinary values of
// the scheduler (see resource/store.hpp); Error means "broken": bad input, a lost peer, a failed
// system call.
#pragma once
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace holon {

// A code exists only where a caller branches on it.
enum class Errc {
  invalid_argument,  // the request or input itself is wrong; retrying cannot help
  not_found,         // no such job, vertex, queue, file, ...
  exists,            // it is there already
  out_of_range,      // outside a horizon, a depth, a size limit
  overcommitted,     // more units asked for than there are
  unsatisfiable,     // can never be met on these resources
  busy,              // can be met, not now
  timed_out,         // no answer within the time given
  disconnected,      // the peer went away
  protocol,          // a message that cannot be understood
  denied,            // not allowed
  unsupported,       // understood, and not offered
  system,            // the operating system said no; `what` has its words
};

// The code's name as written in messages and `--json` output, e.g. "invalid_argument".
const char* name_of(Errc code);

struct Error {
  Errc code = Errc::invalid_argument;
  std::string what;   // one line: what was found and what is accepted
  std::string where;  // file:line, JSON pointer, option or field; empty if there is no place

  bool operator==(const Error&) const = default;
};

// "where: what", or just "what".
std::string to_string(const Error& error);

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, std::string what,
                                                std::string where = {}) {
  return tl::unexpected<Error>(Error{code, std::move(what), std::move(where)});
}

// The error of the system call that failed just now (errno): "what: its words", or its words alone.
[[nodiscard]] tl::unexpected<Error> system_error(const std::string& what = {},
                                                 std::string where = {});

}  // namespace holon
