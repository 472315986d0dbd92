#include "instance/journal/mark.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/checksum.hpp"

namespace holon::instance {
namespace {

constexpr const char* kMagic = "holon-journal-mark-1";
constexpr std::size_t kLength = 192;  // of the line, filled up with blanks

std::string mark_file(const std::string& state_dir) {
  return state_dir + "/instance.mark";
}

std::string line_of(const Progress& p) {
  const std::string text =
      fmt::format("{} {} {} {} {} {}", kMagic, p.id, p.boot, p.commits, p.when, p.next_id);
  std::string line = fmt::format("{} {:016x}", text, checksum(text));
  line.resize(kLength - 1, ' ');
  return line + "\n";
}

std::optional<Progress> parse(const std::string& line) {
  Progress p;
  std::string magic;
  std::istringstream(line) >> magic >> p.id >> p.boot >> p.commits >> p.when >> p.next_id;
  if (magic != kMagic || line_of(p) != line) return std::nullopt;
  return p;
}

std::optional<Progress> read_mark_line(int fd) {
  std::array<char, kLength> line{};
  const ssize_t n = pread(fd, line.data(), line.size(), 0);
  if (n != static_cast<ssize_t>(kLength)) return std::nullopt;
  return parse({line.data(), line.size()});
}

// Who has the lock stands behind the line.
void say_broker(int fd) {
  const std::string text = fmt::format("{:<19}\n", getpid());
  if (pwrite(fd, text.data(), text.size(), kLength) < 0) return;
}

// "" where it is not known.
std::string broker_of(int fd) {
  std::array<char, 20> text{};
  const ssize_t n = pread(fd, text.data(), text.size(), kLength);
  const long pid =
      n > 0 ? std::strtol(std::string(text.data(), std::size_t(n)).c_str(), nullptr, 10) : 0;
  return pid > 0 ? fmt::format("; its broker is process {}", pid) : "";
}

}  // namespace

std::optional<Progress> read_mark(const std::string& state_dir) {
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
  return mark;
}

void JournalMark::write(const Progress& progress) const {
  const std::string line = line_of(progress);
  if (pwrite(fd_.get(), line.data(), line.size(), 0) < 0) return;
}

}  // namespace holon::instance
