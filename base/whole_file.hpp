// whole_file.hpp - all bytes of a file that somebody named.
//
// Streams are no good for that: reading a folder throws from an istreambuf_iterator, and gives
// nothing, without an error, through operator<<.
#pragma once
#include <string>

#include "base/result.hpp"

namespace holon {

// Pipes and devices are read to their end. Errors, with the operating system's words: not_found
// (nothing has that name), invalid_argument (a folder), system (it cannot be opened or read).
Result<std::string> read_whole_file(const std::string& path);

}  // namespace holon
