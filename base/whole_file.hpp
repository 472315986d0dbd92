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

// Pipes and devices are read to their end, which not all of them have: more than `most` bytes are
// refused. Errors, with the operating system's words: not_found (nothing has that name),
// invalid_argument (a folder), out_of_range (too large), system (it cannot be opened or read).
Result<std::string> read_whole_file(const std::string& path, std::size_t most = kLargestFile);

}  // namespace holon
