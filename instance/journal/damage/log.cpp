// The format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
#include "instance/journal/damage/log.hpp"

#include <fmt/core.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>

#include "instance/basics/durable_file.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kHead = 32;                // bytes of the log's header
constexpr std::size_t kFrameHead = 24;           // of each frame's header
constexpr std::uint32_t kLogMagic = 0x377f0682;  // the last bit: sums are of big-endian words

using Bytes = std::vector<unsigned char>;

std::uint32_t big_endian(const unsigned char* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 |
         std::uint32_t{at[3]};
}

void put_big_endian(unsigned char* at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<unsigned char>(value >> (24 - 8 * i));
}

struct Sum {
  std::uint32_t a = 0, b = 0;

  bool operator==(const Sum&) const = default;
  static Sum at(const unsigned char* where) { return {big_endian(where), big_endian(where + 4)}; }
  void add(std::span<const unsigned char> bytes, bool big) {
    for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      std::uint32_t x = 0, y = 0;
      if (big) {
        x = big_endian(&bytes[i]);
        y = big_endian(&bytes[i + 4]);
      } else {
        std::memcpy(&x, &bytes[i], 4);
        std::memcpy(&y, &bytes[i + 4], 4);
      }
      a += x + b;
      b += y + a;
    }
  }
};

struct Frame {
  std::uint32_t page = 0;
  bool commit = false;
  bool sound = false;
};

class LogReader {
 public:
  explicit LogReader(const std::string& file) : in_(file, std::ios::binary) {}

  // False: there is no log, or none that can be read.
  bool open() {
    head_.resize(kHead);
    if (!read(head_)) return false;
    const std::uint32_t magic = big_endian(head_.data());
    big_ = (magic & 1U) != 0;
    page_ = big_endian(&head_[8]);
    Sum sum;
    sum.add(std::span(head_).first(24), big_);
    if ((magic & ~1U) != kLogMagic || !(sum == Sum::at(&head_[24]))) return false;
    if (page_ < 512 || page_ > 65536) return false;
    stored_ = computed_ = sum;
    return true;
  }

  // Reads the next frame into `bytes`. A frame is sound if its sum continues from the sum that the
  // frame before has stored, or from the one that it should have stored.
  bool next(Frame& frame, Bytes& bytes) {
    bytes.resize(kFrameHead + page_);
    if (!read(bytes)) return false;
    frame.page = big_endian(bytes.data());
    frame.commit = big_endian(&bytes[4]) != 0;
    const bool same_log = std::memcmp(&bytes[8], &head_[16], 8) == 0;
    const Sum here = Sum::at(&bytes[16]);
    const Sum from_stored = sum_of(stored_, bytes);
    frame.sound = same_log && (here == from_stored || here == sum_of(computed_, bytes));
    stored_ = here;
    computed_ = from_stored;
    return true;
  }

  const Bytes& head() const { return head_; }
  bool big() const { return big_; }
  Sum sum_of(Sum from, const Bytes& frame) const {
    from.add(std::span(frame).first(8), big_);
    from.add(std::span(frame).subspan(kFrameHead), big_);
    return from;
  }

 private:
  bool read(Bytes& into) {
    in_.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    return in_.gcount() == static_cast<std::streamsize>(into.size());
  }

  std::ifstream in_;
  Bytes head_;
  std::uint32_t page_ = 0;
  bool big_ = false;
  Sum stored_, computed_;
};

std::vector<Frame> frames_up_to_last_commit(LogReader& log) {
  std::vector<Frame> frames;
  std::size_t end = 0;
  Frame frame;
  for (Bytes bytes; log.next(frame, bytes);) {
    frames.push_back(frame);
    if (frame.sound && frame.commit) end = frames.size();
  }
  frames.resize(end);
  return frames;
}

}  // namespace

Result<LogState> look_at_log(const std::string& wal_file) {
  LogState state;
  std::error_code none;
  if (const auto size = std::filesystem::file_size(wal_file, none); none || size < kHead)
    return state;
  LogReader log(wal_file);
  if (!log.open()) {
    state.head = false;
    return state;
  }
  const auto frames = frames_up_to_last_commit(log);
  state.frames = frames.size();
  std::set<std::uint32_t> later;
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (frames[i].sound) {
      later.insert(frames[i].page);
      continue;
    }
    state.damaged.insert(state.damaged.begin(), i);
    if (!later.contains(frames[i].page)) state.lost.insert(state.lost.begin(), frames[i].page);
  }
  return state;
}

Status mend_log(const std::string& wal_file) {
  const auto state = look_at_log(wal_file);
  if (!state) return tl::unexpected(state.error());
  LogReader log(wal_file);
  if (!log.open()) return fail(Errc::invalid_argument, "the log's header is damaged", wal_file);
  const std::string draft = wal_file + ".mended";
  std::ofstream out(draft, std::ios::binary | std::ios::trunc);
  const auto put = [&](const Bytes& bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  };
  put(log.head());
  Sum sum = Sum::at(&log.head()[24]);
  Frame frame;
  Bytes bytes;
  for (std::uint64_t i = 0; i < state->frames && log.next(frame, bytes); ++i) {
    if (!frame.sound) continue;
    sum = log.sum_of(sum, bytes);
    put_big_endian(&bytes[16], sum.a);
    put_big_endian(&bytes[20], sum.b);
    put(bytes);
  }
  out.close();
  if (!out) return fail(Errc::system, "cannot be written", draft);
  if (auto synced = sync_to_disk(draft); !synced) return synced;
  std::error_code error;
  std::filesystem::rename(draft, wal_file, error);
  if (error) return fail(Errc::system, error.message(), wal_file);
  return {};
}

std::string describe(const LogState& log) {
  if (!log.head) return "the header of the log is damaged";
  return fmt::format("{} of {} frames of the log are damaged", log.damaged.size(), log.frames);
}

}  // namespace holon::instance
