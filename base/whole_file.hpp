// whole_file.hpp - all bytes of a file that somebody named.
//
// Streams are no good for that: reading a folder throws from an istreambuf_iterator, and gives
// nothing, without an error, through operator<<.
#pragma once
#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace holon {

inline constexpr std::size_t kLargestFile = std::size_t{1} << 30;  // bytes

// Reads a file. Pipes and devices are read to their end, "/dev/stdin" from where it stands; more
// than `most` bytes are refused. Errors, with the operating system's words: not_found (nothing has
// that name), invalid_argument (a folder, a device without an end), out_of_range (too large),
// system (it cannot be opened or read).
Result<std::string> read_whole_file(const std::string& path, std::size_t most = kLargestFile);
// Reads a file on a disk: nothing else is waited for. Errors: also invalid_argument (a pipe, a
// device, a socket).
Result<std::string> read_regular_file(const std::string& path, std::size_t most);

// Checks a file for other readers. Errors: invalid_argument (a device without an end: /dev/zero).
Status check_has_end(const std::string& path);

}  // namespace holon
