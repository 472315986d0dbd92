#include "launch/streams/capture.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "launch/messages.hpp"
#include "launch/tasks/environment.hpp"
#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

using transport::UniqueFd;

struct Pipe {
  UniqueFd read, write;
};

// Only our end does not block: the program's is an ordinary one.
Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(Errc::system, std::strerror(errno), "pipe");
  Pipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (const auto& [name, value] : current_environment()) entries.push_back(name + "=" + value);
  return entries;
}

}  // namespace

class Captures::One {
 public:
  One(transport::Reactor& reactor, Processes& processes, ProcessTracking& tracking,
      transport::Request request, std::function<void()> over)
      : reactor_(reactor),
        processes_(processes),
        tracking_(tracking),
        request_(std::move(request)),
        over_(std::move(over)) {}
  ~One() { end(); }

  Status start(const msg::CaptureRequest& ask) {
    auto out = make_pipe();
    if (!out) return tl::unexpected<Error>(out.error());
    auto err = make_pipe();
    if (!err) return tl::unexpected<Error>(err.error());
    const auto env = own_environment();
    const std::string here;
    SpawnRequest program{ask.argv, env, here};
    program.out = out->write.get();
    program.err = err->write.get();
    const auto pid = processes_.spawn(program);
    if (!pid) return fail(Errc::system, pid.error().what);
    pid_ = *pid;
    tracking_.spare(pid_);
    left_ = ask.limit;
    if (auto watched = watch(out_, std::move(out->read), reply_.output); !watched) return watched;
    if (auto watched = watch(err_, std::move(err->read), reply_.error); !watched) return watched;
    auto exit = processes_.on_end(pid_,
                                  [this](const transport::ChildExit& how) {
                                    tracking_.spare_no_more(std::exchange(pid_, 0));
                                    reply_.status = how.status;
                                    answer_if_complete();
                                  },
                                  {});
    if (!exit) return tl::unexpected<Error>(exit.error());
    exit_ = std::move(*exit);
    if (ask.timeout > 0)
      timeout_ = reactor_.after(ask.timeout, [this] {
        give_up({Errc::timed_out, "the program did not end in time", {}});
      });
    request_.on_cancel([this] { end_soon(); });
    return {};
  }

  bool over() const { return is_over_; }

 private:
  struct Stream {
    UniqueFd fd;
    transport::Subscription watch;
  };

  Status watch(Stream& stream, UniqueFd fd, std::string& text) {
    stream.fd = std::move(fd);
    auto watch = reactor_.on_fd(stream.fd.get(), transport::kReadable,
                                [this, &stream, &text](unsigned) { read_some(stream, text); });
    if (!watch) return tl::unexpected<Error>(watch.error());
    stream.watch = std::move(*watch);
    return {};
  }

  void read_some(Stream& stream, std::string& text) {
    std::array<char, 65536> piece;
    const ssize_t n = ::read(stream.fd.get(), piece.data(), piece.size());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      stream.watch.cancel();
      stream.fd.reset();
      return answer_if_complete();
    }
    const auto got = static_cast<std::size_t>(n);
    if (got > left_)
      return give_up({Errc::out_of_range, "the program wrote more than was asked for", {}});
    left_ -= got;
    text.append(piece.data(), got);
  }

  void answer_if_complete() {
    if (is_over_ || pid_ > 0 || out_.fd || err_.fd) return;
    request_.reply(transport::pack(reply_));
    end_soon();
  }

  void give_up(Error why) {
    if (is_over_) return;
    request_.fail(std::move(why));
    end_soon();
  }

  // Later, not from inside a callback of an object that would be destroyed.
  void end_soon() {
    end();
    if (!std::exchange(is_over_, true)) over_();
  }

  void end() {
    if (pid_ <= 0) return;
    processes_.signal_group(pid_, SIGKILL);
    tracking_.spare_no_more(std::exchange(pid_, 0));
  }

  transport::Reactor& reactor_;
  Processes& processes_;
  ProcessTracking& tracking_;
  transport::Request request_;
  std::function<void()> over_;
  msg::CaptureReply reply_;
  std::uint64_t left_ = 0;
  pid_t pid_ = 0;
  Stream out_, err_;
  bool is_over_ = false;
  transport::Subscription exit_, timeout_;
};

Captures::Captures(transport::Reactor& reactor, Processes& processes, ProcessTracking& tracking)
    : reactor_(reactor), processes_(processes), tracking_(tracking) {}

Captures::~Captures() = default;

void Captures::run(const transport::Request& request) {
  const auto ask = transport::unpack<msg::CaptureRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (ask->argv.empty())
    return request.fail({Errc::invalid_argument, "there is no program to run", "argv"});
  auto one =
      std::make_unique<One>(reactor_, processes_, tracking_, request, [this] { sweep_soon(); });
  if (auto started = one->start(*ask); !started) return request.fail(started.error());
  running_.push_back(std::move(one));
}

void Captures::sweep_soon() {
  sweep_ = reactor_.after(
      0, [this] { std::erase_if(running_, [](const auto& one) { return one->over(); }); });
}

}  // namespace holon::launch
