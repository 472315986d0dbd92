#include "launch/streams/input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/codec/codec.hpp"

namespace holon::launch {

JobInput::JobInput(transport::Reactor& reactor, const msg::Start& start, std::string cwd,
                   OpenFile open)
    : reactor_(reactor),
      open_file_(std::move(open)),
      file_(start.input),
      cwd_(std::move(cwd)),
      to_all_(start.input_tasks == "all") {
  if (to_all_) return;
  if (auto readers = Idset::parse(start.input_tasks)) readers_ = std::move(*readers);
}

Result<int> JobInput::open_for(std::uint32_t rank) {
  last_.reset();
  if (!file_.empty()) return open_file(rank);
  return to_all_ || readers_.contains(rank) ? open_pipe() : -1;
}

// O_NONBLOCK only while opening: no file may stop the agent.
Result<int> JobInput::open_file(std::uint32_t rank) {
  std::string path = file_of_task(file_, rank);
  if (path[0] != '/' && !cwd_.empty()) path.insert(0, cwd_ + "/");
  const auto refused = [&path](int error) {
    const Errc code = error == EACCES || error == EPERM ? Errc::denied : Errc::system;
    return fail(code, "cannot read the input file \"" + path + "\": " + std::strerror(error));
  };
  const int opened = open_file_(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, false);
  if (opened < 0) return refused(-opened);
  last_.reset(opened);
  struct stat info {};
  if (fstat(last_.get(), &info) != 0) return refused(errno);
  if (S_ISDIR(info.st_mode)) return refused(EISDIR);
  if (S_ISFIFO(info.st_mode))
    return fail(
        Errc::invalid_argument,
        "the input file \"" + path + "\" is a named pipe; `holon run` passes one on, as < " + path);
  fcntl(last_.get(), F_SETFL, 0);
  return last_.get();
}

Result<int> JobInput::open_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Errc::system, std::string("pipe for the input: ") + std::strerror(errno));
  last_.reset(ends[0]);
  sinks_.emplace_back().fd.reset(ends[1]);
  ++open_;
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  return last_.get();
}

void JobInput::done_opening() {
  last_.reset();
}

void JobInput::take(const transport::Request& request, const msg::InputRequest& piece) {
  if (piece.data.size() > msg::kMostInput)
    return request.fail({Errc::out_of_range,
                         "a piece of input has " + std::to_string(piece.data.size()) +
                             " bytes; at most " + std::to_string(msg::kMostInput) + " are taken",
                         "data"});
  if (piece.offset > taken_over_)
    return request.fail({Errc::invalid_argument,
                         "input from byte " + std::to_string(piece.offset) + " on, but only " +
                             std::to_string(taken_over_) + " came before",
                         "offset"});
  const std::uint64_t known =
      std::min<std::uint64_t>(taken_over_ - piece.offset, piece.data.size());
  const bool is_new = known < piece.data.size() || (piece.end && !at_end_);
  if (is_new && lacking_ > 0)
    return request.fail({Errc::busy, "the piece of input before this one has not been read", ""});
  client_ = request;  // an earlier request for the same piece is void
  if (is_new) begin(piece, known);
  if (lacking_ == 0) answer();
}

void JobInput::begin(const msg::InputRequest& piece, std::uint64_t known) {
  piece_ = piece.data.substr(known);
  taken_over_ += piece_.size();
  at_end_ = piece.end;
  lacking_ = open_;
  for (Sink& sink : sinks_) {
    sink.written = 0;
    if (sink.fd) pass_on(sink);
  }
}

void JobInput::pass_on(Sink& sink) {
  while (sink.written < piece_.size()) {
    const ssize_t n =
        write(sink.fd.get(), piece_.data() + sink.written, piece_.size() - sink.written);
    if (n > 0) {
      sink.written += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EAGAIN) {
      if (sink.writable) return;
      auto watch = reactor_.on_fd(sink.fd.get(), transport::kWritable, [this, &sink](unsigned) {
        pass_on(sink);
        if (lacking_ == 0) answer();
      });
      if (!watch) return close(sink);
      sink.writable = std::move(*watch);
      return;
    } else if (n == 0 || errno != EINTR) {
      return close(sink);
    }
  }
  has_all(sink);
}

void JobInput::has_all(Sink& sink) {
  sink.writable.cancel();
  if (at_end_) return close(sink);
  --lacking_;
}

// The task does not read any more, or the input has ended.
void JobInput::close(Sink& sink) {
  sink.writable.cancel();
  sink.fd.reset();
  --open_;
  --lacking_;
}

void JobInput::answer() {
  piece_.clear();
  std::exchange(client_, {}).reply(transport::pack(msg::InputReply{open_ > 0}));
}

void JobInput::finish() {
  sinks_.clear();
  open_ = lacking_ = 0;
  answer();
}

}  // namespace holon::launch
