#include "cli/input_pump.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ostream>

namespace holon::cli {
namespace {

constexpr std::size_t kPiece = 64 << 10;  // bytes; as much as a pipe takes
constexpr Duration kAgain = 50;           // after a lost connection
constexpr Duration kForeground = 200;     // how often a process in the background looks

bool in_background(int fd) {
  return isatty(fd) == 1 && tcgetpgrp(fd) != getpgrp();
}

}  // namespace

bool has_input(const Io& io) {
  struct stat info {};
  if (io.input < 0 || fstat(io.input, &info) != 0) return false;
  return !S_ISCHR(info.st_mode) || info.st_rdev != makedev(1, 3);
}

InputPump::InputPump(Invocation& call, Client& client, std::uint64_t job)
    : call_(call), client_(client) {
  piece_.id = job;
  send();  // an empty message: its answer says that the tasks run
}

void InputPump::send() {
  answer_ =
      client_.input_later(piece_, [this](const Result<msg::InputReply>& answer) { heard(answer); });
}

void InputPump::heard(const Result<msg::InputReply>& answer) {
  if (!answer && answer.error().code == Errc::disconnected) {
    later_ = client_.reactor().after(kAgain, [this] { send(); });
    return;
  }
  if (!answer) {
    if (answer.error().code != Errc::not_found)
      call_.io.err << "holon run: standard input is not passed on: " + to_string(answer.error()) +
                          "\n"
                   << std::flush;
    return;
  }
  if (!answer->open || piece_.end) return;
  piece_.offset += piece_.data.size();
  piece_.data.clear();
  await_input();
}

void InputPump::await_input() {
  if (in_background(call_.io.input)) {
    readable_.cancel();
    later_ = client_.reactor().after(kForeground, [this] { await_input(); });
    return;
  }
  auto watch = client_.reactor().on_fd(call_.io.input, transport::kReadable,
                                       [this](unsigned) { read_some(); });
  if (watch)
    readable_ = std::move(*watch);
  else  // a regular file, which can always be read
    later_ = client_.reactor().after(0, [this] { read_some(); });
}

void InputPump::read_some() {
  if (in_background(call_.io.input)) return await_input();
  std::array<char, kPiece> buffer;
  const ssize_t n = read(call_.io.input, buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return readable_ ? void() : await_input();
  readable_.cancel();
  if (n > 0) piece_.data.assign(buffer.data(), static_cast<std::size_t>(n));
  piece_.end = n <= 0;
  send();
}

}  // namespace holon::cli
