#include "instance/journal/mark.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>

#include "base/checksum.hpp"

namespace holon::instance {
namespace {

constexpr const char* kMagic = "holon-journal-mark-1";
constexpr std::size_t kLength = 192;       // of the line, filled up with blanks
constexpr std::size_t kBrokerLength = 20;  // of the line behind it
constexpr std::size_t kKeptLength = 96;    // of each line behind that, one for each array

std::string mark_file(const std::string& state_dir) {
  return state_dir + "/instance.mark";
}

std::string line_of(const JournalProgress& p) {
  const std::string text =
      fmt::format("{} {} {} {} {} {}", kMagic, p.id, p.boot, p.commits, p.when, p.next_id);
  std::string line = fmt::format("{} {:016x}", text, checksum(text));
  line.resize(kLength - 1, ' ');
  return line + "\n";
}

std::optional<JournalProgress> parse(const std::string& line) {
  JournalProgress p;
  std::string magic;
  std::istringstream(line) >> magic >> p.id >> p.boot >> p.commits >> p.when >> p.next_id;
  if (magic != kMagic || line_of(p) != line) return std::nullopt;
  return p;
}

std::optional<JournalProgress> read_mark_line(int fd) {
  std::array<char, kLength> line{};
  const ssize_t n = pread(fd, line.data(), line.size(), 0);
  if (n != static_cast<ssize_t>(kLength)) return std::nullopt;
  return parse({line.data(), line.size()});
}

// Writes who has the lock behind the line.
void say_broker(int fd) {
  const std::string text = fmt::format("{:<{}}\n", getpid(), kBrokerLength - 1);
  if (pwrite(fd, text.data(), text.size(), kLength) < 0) return;
}

// Who has the lock, in words; "" where it is not known.
std::string broker_of(int fd) {
  std::array<char, kBrokerLength> text{};
  const ssize_t n = pread(fd, text.data(), text.size(), kLength);
  const long pid =
      n > 0 ? std::strtol(std::string(text.data(), std::size_t(n)).c_str(), nullptr, 10) : 0;
  return pid > 0 ? fmt::format("; its broker is process {}", pid) : "";
}

std::string kept_line(const KeptNumbers& kept) {
  const std::string text = fmt::format("{} {} {}", kept.array, kept.first, kept.stop);
  std::string line = fmt::format("{} {:016x}", text, checksum(text));
  line.resize(kKeptLength - 1, ' ');
  return line + "\n";
}

// A line that does not check yields array 0.
KeptNumbers parse_kept(const std::string& line) {
  KeptNumbers kept;
  std::istringstream(line) >> kept.array >> kept.first >> kept.stop;
  return kept_line(kept) == line ? kept : KeptNumbers{};
}

off_t kept_offset(std::size_t place) {
  return static_cast<off_t>(kLength + kBrokerLength + place * kKeptLength);
}

std::vector<KeptNumbers> read_kept_numbers(int fd) {
  std::vector<KeptNumbers> all;
  std::string line(kKeptLength, ' ');
  while (pread(fd, line.data(), line.size(), kept_offset(all.size())) ==
         static_cast<ssize_t>(kKeptLength))
    all.push_back(parse_kept(line));
  return all;
}

}  // namespace

std::optional<JournalProgress> read_mark(const std::string& state_dir) {
  const std::string file = mark_file(state_dir);
  const transport::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? read_mark_line(fd.get()) : std::nullopt;
}

Result<JournalMark> JournalMark::open(const std::string& state_dir) {
  const std::string file = mark_file(state_dir);
  JournalMark mark;
  mark.fd_.reset(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!mark.fd_ && errno == EROFS) mark.fd_.reset(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!mark.fd_) return fail(Errc::system, std::strerror(errno), file);
  if (flock(mark.fd_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fail(Errc::busy,
                "a running instance uses this state directory" + broker_of(mark.fd_.get()),
                state_dir);
  say_broker(mark.fd_.get());
  mark.found_ = read_mark_line(mark.fd_.get());
  mark.kept_ = read_kept_numbers(mark.fd_.get());
  if (!mark.found_) std::fill(mark.kept_.begin(), mark.kept_.end(), KeptNumbers{});
  for (std::size_t place = 0; place < mark.kept_.size(); ++place)
    mark.places_[mark.kept_[place].array] = place;
  return mark;
}

std::vector<KeptNumbers> JournalMark::kept() const {
  std::vector<KeptNumbers> all;
  for (const auto& [array, place] : places_)
    if (array != 0) all.push_back(kept_[place]);
  return all;
}

void JournalMark::keep(const KeptNumbers& numbers) {
  const auto [known, is_new] = places_.try_emplace(numbers.array, kept_.size());
  const std::size_t place = known->second;
  if (is_new) kept_.emplace_back();
  kept_[place] = numbers;
  static_cast<void>(put(place, numbers));
}

bool JournalMark::put(std::size_t place, const KeptNumbers& numbers) const {
  const std::string line = kept_line(numbers);
  return pwrite(fd_.get(), line.data(), line.size(), kept_offset(place)) ==
         static_cast<ssize_t>(line.size());
}

// The file is locked, so another one cannot take its place. Lines move towards its beginning, each
// over one that is forgotten or has moved already, and only then is the end cut off: a broker that
// is killed between two steps leaves each line that stays in one place at least.
void JournalMark::forget_kept_but(std::size_t most) {
  std::set<std::size_t> stay;  // places of the newest arrays
  for (auto at = places_.rbegin(); at != places_.rend() && stay.size() < most; ++at)
    if (at->first != 0) stay.insert(at->second);
  if (stay.size() == kept_.size()) return;  // nor is a line damaged, or there twice
  std::vector<KeptNumbers> left;
  for (const std::size_t place : stay) {
    // A disk that is read-only, or full.
    if (place != left.size() && !put(left.size(), kept_[place])) return;
    left.push_back(kept_[place]);
  }
  if (ftruncate(fd_.get(), kept_offset(left.size())) != 0) return;
  kept_ = std::move(left);
  places_.clear();
  for (std::size_t place = 0; place < kept_.size(); ++place) places_[kept_[place].array] = place;
}

void JournalMark::write(const JournalProgress& progress) const {
  const std::string line = line_of(progress);
  if (pwrite(fd_.get(), line.data(), line.size(), 0) < 0) return;
}

}  // namespace holon::instance
