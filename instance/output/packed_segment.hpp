// packed_segment.hpp - a full segment of the log of outputs, compressed so that any piece of it is
// read without the rest.
//
// The file is what gzip(1) reads: a member for each kPackedBlock bytes of the segment, and after
// these an empty member whose extra field says where each of them begins:
//
//   "ho", the field's length; for each block its begin, then the end of the last one, then how many
//   blocks there are, all as 32 bits, little-endian
//
// so that the index is at a known distance from the end of the file. `zcat log-3.gz` prints the
// segment as it was.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

inline constexpr std::int64_t kPackedBlock = 64 << 10;  // bytes

// Reads bytes begin .. begin + size - 1 of the uncompressed file. O(size + kPackedBlock). Errors:
// not_found (there is no such file), system (it is damaged, or shorter than that).
Result<std::string> read_packed(const std::string& file, std::int64_t begin, std::int64_t size);

// Compresses a file that nobody writes into any more, a block at a time, since its owner has other
// things to do. The compressed file gets its name, and the plain one is removed, when all of it is
// on disk.
class SegmentPacker {
 public:
  // Errors: not_found (there is no plain file), system, out_of_range (more blocks than fit into an
  // index).
  static Result<SegmentPacker> begin(std::string plain, std::string packed);
  SegmentPacker(SegmentPacker&&) = default;
  ~SegmentPacker();  // removes an unfinished compressed file

  // True: there is more to do. Errors: system; the plain file then stays as it is, and no further
  // step may follow.
  Result<bool> step();

 private:
  SegmentPacker(std::string plain, std::string packed);
  Status add_block(std::int64_t begin, std::size_t size);
  Status finish();

  std::string plain_, packed_;
  transport::UniqueFd in_, out_;
  std::int64_t size_ = 0;              // of the plain file
  std::vector<std::uint32_t> begins_;  // of blocks; the last entry is the end of the last block
};

// The name of a compressed file until it is whole.
std::string unfinished_name(const std::string& packed);

}  // namespace holon::instance
