// writing.hpp - writes all of some bytes into an open file, pipe or socket.
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon {

// Writes from the present place. A call that a signal has interrupted is made again, and a
// descriptor that does not wait for room itself is waited for. Errors: system, at `where`; some of
// the bytes may be written then.
Status write_all(int fd, std::string_view bytes, const std::string& where = {});

}  // namespace holon
