#include "instance/output/packed_segment.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

#include "base/descriptors/writing.hpp"

namespace holon::instance {
namespace {

constexpr int kGzip = 16 + MAX_WBITS;  // tells zlib to use the header and trailer of gzip
constexpr int kLevel = 3;              // a tenth larger than with 6, in half of the time
constexpr std::size_t kHeader = 12;    // bytes of the index's member before its extra field
constexpr std::size_t kFieldHeader = 4;
constexpr std::size_t kTrailer = 10;  // the member's empty content, checksum and length
constexpr std::size_t kMostInIndex = std::numeric_limits<std::uint16_t>::max() - kFieldHeader;
constexpr std::size_t kNumber = sizeof(std::uint32_t);
constexpr std::size_t kMostBlocks = kMostInIndex / kNumber - 2;
constexpr std::size_t kBlocksToDisk = 16;  // after which written bytes are sent to the disk

tl::unexpected<Error> damaged_segment(const std::string& file) {
  return fail(Errc::system, "the compressed log of outputs is damaged", file);
}

void add_number(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
}

std::uint32_t index_number(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = kNumber; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// Reads a piece; less than `size` bytes where the file ends before.
std::string piece_of(int fd, std::int64_t begin, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t there = 0;
  while (there < size) {
    const ssize_t n = pread(fd, bytes.data() + there, size - there,
                            static_cast<off_t>(begin) + static_cast<off_t>(there));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    there += static_cast<std::size_t>(n);
  }
  bytes.resize(there);
  return bytes;
}

// A block as a gzip member; empty: there is no memory for it.
std::string compressed(const std::string& block) {
  z_stream z{};
  if (deflateInit2(&z, kLevel, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string member(deflateBound(&z, block.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.data()));
  z.avail_in = static_cast<uInt>(block.size());
  z.next_out = reinterpret_cast<Bytef*>(member.data());
  z.avail_out = static_cast<uInt>(member.size());
  const bool is_whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
  member.resize(is_whole ? z.total_out : 0);
  deflateEnd(&z);
  return member;
}

// A member's block; empty: the bytes are no such member.
std::string uncompressed(const std::string& member) {
  z_stream z{};
  if (inflateInit2(&z, kGzip) != Z_OK) return {};
  std::string block(kPackedBlock + 1, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(member.data()));
  z.avail_in = static_cast<uInt>(member.size());
  z.next_out = reinterpret_cast<Bytef*>(block.data());
  z.avail_out = static_cast<uInt>(block.size());
  const bool is_whole = inflate(&z, Z_FINISH) == Z_STREAM_END;
  block.resize(is_whole ? z.total_out : 0);
  inflateEnd(&z);
  return block;
}

std::string index_member(const std::vector<std::uint32_t>& begins) {
  const std::size_t content = kNumber * (begins.size() + 1);
  std::string member("\x1f\x8b\x08\x04\0\0\0\0\0\xff", kHeader - 2);
  add_number(member, kFieldHeader + content, 2);
  member += "ho";
  add_number(member, content, 2);
  for (const std::uint32_t begin : begins) add_number(member, begin, kNumber);
  add_number(member, begins.size() - 1, kNumber);
  member.append("\x03\0", 2);
  return member.append(kTrailer - 2, '\0');
}

// Where each block begins, and the end of the last one.
Result<std::vector<std::uint32_t>> index_of(int fd, const std::string& file) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return fail(Errc::system, std::strerror(errno), file);
  constexpr auto kTail = static_cast<std::int64_t>(kNumber + kTrailer);
  const std::string count = piece_of(fd, std::max<std::int64_t>(0, info.st_size - kTail), kNumber);
  if (count.size() < kNumber) return damaged_segment(file);
  const std::size_t blocks = index_number(count, 0);
  if (blocks > kMostBlocks) return damaged_segment(file);
  const std::size_t size = kNumber * (blocks + 1);
  const std::int64_t begin = info.st_size - kTail - static_cast<std::int64_t>(size);
  const std::string numbers = begin < 0 ? "" : piece_of(fd, begin, size);
  if (numbers.size() < size) return damaged_segment(file);
  std::vector<std::uint32_t> begins;
  for (std::size_t i = 0; i <= blocks; ++i) {
    begins.push_back(index_number(numbers, i * kNumber));
    if (i > 0 && begins[i] <= begins[i - 1]) return damaged_segment(file);
  }
  if (begins.back() > begin) return damaged_segment(file);
  return begins;
}

}  // namespace

std::string unfinished_name(const std::string& packed) {
  return packed + ".new";
}

Result<std::string> read_packed(const std::string& file, std::int64_t begin, std::int64_t size) {
  const transport::UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT)
    return fail(Errc::not_found, "the output is not there any more", file);
  if (!fd) return fail(Errc::system, std::strerror(errno), file);
  const auto index = index_of(fd.get(), file);
  if (!index) return tl::unexpected(index.error());
  std::string bytes;
  const std::int64_t first = begin / kPackedBlock, last = (begin + size - 1) / kPackedBlock;
  for (std::int64_t block = first; size > 0 && block <= last; ++block) {
    const auto place = static_cast<std::size_t>(block);
    if (block < 0 || place + 1 >= index->size()) return damaged_segment(file);
    const std::uint32_t from = (*index)[place];
    const std::string plain = uncompressed(piece_of(fd.get(), from, (*index)[place + 1] - from));
    if (plain.empty()) return damaged_segment(file);
    bytes += plain;
  }
  const auto skip = static_cast<std::size_t>(begin - first * kPackedBlock);
  if (bytes.size() < skip + static_cast<std::size_t>(size)) return damaged_segment(file);
  return bytes.substr(skip, static_cast<std::size_t>(size));
}

SegmentPacker::SegmentPacker(std::string plain, std::string packed)
    : plain_(std::move(plain)), packed_(std::move(packed)) {}

Result<SegmentPacker> SegmentPacker::begin(std::string plain, std::string packed) {
  SegmentPacker packer(std::move(plain), std::move(packed));
  packer.in_.reset(open(packer.plain_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!packer.in_ && errno == ENOENT)
    return fail(Errc::not_found, std::strerror(errno), packer.plain_);
  struct stat info {};
  if (!packer.in_ || fstat(packer.in_.get(), &info) != 0)
    return fail(Errc::system, std::strerror(errno), packer.plain_);
  packer.size_ = info.st_size;
  if (packer.size_ > static_cast<std::int64_t>(kMostBlocks) * kPackedBlock)
    return fail(Errc::out_of_range, "too large for an index", packer.plain_);
  const std::string name = unfinished_name(packer.packed_);
  packer.out_.reset(
      open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!packer.out_) return fail(Errc::system, std::strerror(errno), name);
  packer.begins_.push_back(0);
  return packer;
}

SegmentPacker::~SegmentPacker() {
  if (out_) unlink(unfinished_name(packed_).c_str());
}

Result<bool> SegmentPacker::step() {
  const auto begin = static_cast<std::int64_t>(begins_.size() - 1) * kPackedBlock;
  const std::int64_t left = std::min(kPackedBlock, size_ - begin);
  const Status done = left > 0 ? add_block(begin, static_cast<std::size_t>(left)) : finish();
  if (!done) return tl::unexpected(done.error());
  return left > 0;
}

Status SegmentPacker::add_block(std::int64_t begin, std::size_t size) {
  const std::string block = piece_of(in_.get(), begin, size);
  if (block.size() < size) return fail(Errc::system, "it is shorter than it was", plain_);
  const std::string member = compressed(block);
  if (member.empty()) return fail(Errc::system, std::strerror(ENOMEM), plain_);
  begins_.push_back(begins_.back() + static_cast<std::uint32_t>(member.size()));
  auto written = write_all(out_.get(), member, unfinished_name(packed_));
  // Sent to the disk at once, lest the last step waits for all of it.
  if (written && begins_.size() % kBlocksToDisk == 0)
    sync_file_range(out_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  return written;
}

Status SegmentPacker::finish() {
  const std::string name = unfinished_name(packed_);
  if (auto written = write_all(out_.get(), index_member(begins_), name); !written) return written;
  if (fdatasync(out_.get()) != 0 || std::rename(name.c_str(), packed_.c_str()) != 0)
    return fail(Errc::system, std::strerror(errno), name);
  out_.reset();
  // Without this a loss of power could undo the rename but keep what follows it.
  const auto folder = std::filesystem::path(packed_).parent_path();
  const transport::UniqueFd opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || fsync(opened.get()) != 0)
    return fail(Errc::system, std::strerror(errno), folder.string());
  unlink(plain_.c_str());
  return {};
}

}  // namespace holon::instance
