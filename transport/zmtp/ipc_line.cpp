// ipc_line.cpp - a client's end of an ipc:// address: a unix socket, and ZMTP spoken by hand.
//
// A ZeroMQ socket would do the same with a thread beside the caller's: two wake-ups more for each
// message, which an agent that starts a thousand tasks a second pays a thousand times, and a
// thread's start for each command that asks one question. What it does is done here: it connects
// again whenever the connection breaks, and writes what a turn has said at the turn's end.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "transport/reactor.hpp"
#include "transport/session.hpp"
#include "transport/zmtp/line.hpp"
#include "transport/zmtp/out_buffer.hpp"
#include "transport/zmtp/zmtp.hpp"

namespace holon::transport {
namespace {

constexpr Duration kConnectAgain = 10;  // ms, doubled at each failure
constexpr Duration kConnectAgainAtMost = 250;
constexpr Duration kRoomAgain = 100;  // ms, where there is no descriptor to wait for room with
constexpr std::size_t kLineReadAtOnce = 64 << 10;   // bytes
constexpr std::size_t kLineFlushAbove = 128 << 10;  // bytes: written at once, not at the turn's end
constexpr std::int64_t kLastWords = 1'000;          // ms for what was said before close()

class IpcLine final : public Line, public std::enable_shared_from_this<IpcLine> {
 public:
  IpcLine(Reactor& reactor, std::size_t max_message, Events events)
      : reactor_(reactor),
        max_message_(max_message),
        events_(std::move(events)),
        zmtp_(max_message) {}
  ~IpcLine() override { close(); }
  IpcLine(const IpcLine&) = delete;
  IpcLine& operator=(const IpcLine&) = delete;

  Status open(const std::string& path) {
    address_.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address_.sun_path)
      return fail(Errc::invalid_argument, "cannot connect: no path that a socket can have", path);
    path.copy(address_.sun_path, path.size());
    flushing_ = reactor_.before_waiting([this] {
      if (out_.size() > 0 && !writable_) flush();
    });
    connect();
    return {};
  }

  bool send(std::string bytes) override {
    if (!made_ || !fd_) return false;
    std::string header = Zmtp::frame_header(bytes.size());
    out_.add(std::move(header), std::move(bytes));
    if (out_.size() > kLineFlushAbove && !writable_) flush();
    return true;
  }

  void close() override {
    if (std::exchange(closed_, true)) return;
    if (made_ && out_.size() > 0) say_last_words();
    again_.cancel();
    flushing_.cancel();
    hang_up();
  }

 private:
  // Connects; if nobody listens, or not yet, tries again after a while.
  void connect() {
    if (closed_) return;
    fd_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd_ ||
        ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0)
      return connect_later();
    zmtp_ = Zmtp(max_message_);
    auto readable = reactor_.on_fd(fd_.get(), kReadable, [weak = weak_from_this()](unsigned) {
      if (const auto self = weak.lock()) self->read();
    });
    if (!readable) return connect_later();
    readable_ = std::move(*readable);
    out_.add(Zmtp::greeting() + Zmtp::ready_command("DEALER"));
    flush();
  }

  void connect_later() {
    hang_up();
    if (closed_) return;
    again_ = reactor_.after(wait_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->connect();
    });
    wait_ = std::min(2 * wait_, kConnectAgainAtMost);
  }

  void hang_up() {
    readable_.cancel();
    end_watch_for_room();
    fd_.reset();
    in_.clear();
    out_.clear();
    made_ = false;
  }

  void lose() {
    const bool was_made = made_;
    connect_later();
    if (was_made && !closed_) events_.on_broken();
  }

  void read() {
    std::array<char, kLineReadAtOnce> piece;
    const ssize_t n = recv(fd_.get(), piece.data(), piece.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return lose();
    in_.append(piece.data(), static_cast<std::size_t>(n));
    if (!take_steps()) lose();
  }

  // Takes the steps that have come. False: the other side speaks something else.
  bool take_steps() {
    std::size_t done = 0;
    bool good = true;
    const int connection = fd_.get();
    while (good && made_for(connection)) {
      const auto rest = std::string_view(in_).substr(done);
      const Zmtp::Step step = zmtp_.next(rest);
      if (step.what == Zmtp::What::more) break;
      done += step.consumed;
      good = take(step);
    }
    if (made_for(connection)) in_.erase(0, done);
    return good;
  }

  // Is this still the connection? A message may have closed the line, or had it made anew.
  bool made_for(int connection) const { return !closed_ && fd_ && fd_.get() == connection; }

  bool take(const Zmtp::Step& step) {
    switch (step.what) {
      case Zmtp::What::ready:
        made_ = true;
        wait_ = kConnectAgain;
        events_.on_made();
        return true;
      case Zmtp::What::ping:
        out_.add(Zmtp::pong(step.body));
        return true;
      case Zmtp::What::message:
        events_.on_message(step.body);
        return true;
      case Zmtp::What::foreign:
        events_.on_foreign();
        return true;
      case Zmtp::What::broken:
        return false;
      case Zmtp::What::more:
      case Zmtp::What::nothing:
        break;
    }
    return true;
  }

  // A failed write shows in the next reading, behind what the other side has said before.
  void flush() {
    if (!fd_) return;
    if (!out_.write_to(fd_.get())) out_.clear();
    if (out_.size() == 0) return end_watch_for_room();
    if (writable_) return;
    // The reactor watches a descriptor once: a second one of the same socket waits for its room.
    room_.reset(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
    auto watch = reactor_.on_fd(room_.get(), kWritable, [weak = weak_from_this()](unsigned) {
      if (const auto self = weak.lock()) self->flush();
    });
    if (watch) {
      writable_ = std::move(*watch);
    } else {  // there is no descriptor left for that
      retry_ = reactor_.after(kRoomAgain, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->flush();
      });
    }
  }

  void end_watch_for_room() {
    writable_.cancel();
    room_.reset();
  }

  void say_last_words() {
    const std::int64_t until = monotonic_ms() + kLastWords;
    while (out_.write_to(fd_.get()) && out_.size() > 0) {
      pollfd writable{fd_.get(), POLLOUT, 0};
      const std::int64_t left = until - monotonic_ms();
      if (left <= 0 || poll(&writable, 1, static_cast<int>(left)) <= 0) return;
    }
  }

  Reactor& reactor_;
  std::size_t max_message_;
  Events events_;
  Zmtp zmtp_;
  sockaddr_un address_{};
  UniqueFd fd_, room_;
  std::string in_;  // read and not dealt with
  OutBuffer out_;
  bool made_ = false;  // both have introduced themselves
  bool closed_ = false;
  Duration wait_ = kConnectAgain;
  Subscription readable_, writable_, again_, retry_, flushing_;
};

}  // namespace

Result<std::shared_ptr<Line>> open_ipc_line(Reactor& reactor, const std::string& path,
                                            const Options& options, Line::Events events) {
  auto line = std::make_shared<IpcLine>(reactor, options.max_message, std::move(events));
  if (auto opened = line->open(path); !opened) return tl::unexpected<Error>(opened.error());
  return std::shared_ptr<Line>(std::move(line));
}

}  // namespace holon::transport
