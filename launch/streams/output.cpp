#include "launch/streams/output.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptors/writing.hpp"
#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

constexpr std::size_t kOutputChunk = 64 << 10;  // bytes read at once
constexpr std::size_t kLongestLine = 64 << 10;
constexpr std::size_t kBacklog =
    4 << 20;  // bytes on their way to an attached reader before it is waited for
// The most tasks of a job on this node whose lines are kept whole: each costs a pipe.
constexpr std::size_t kTasksWithWholeLines = 128;
constexpr Duration kPollMs = 20;  // how late an attached reader sees output

// Could a slow reader, of a named pipe or at a terminal, make the agent wait if it wrote to it
// itself, and with it all jobs of the node?
bool may_make_wait(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || S_ISREG(info.st_mode)) return false;
  return !S_ISCHR(info.st_mode) || isatty(fd) == 1;
}

}  // namespace

int open_here(const std::string& path, int flags, bool) {
  constexpr mode_t kMode = 0666;
  const int fd = open(path.c_str(), flags, kMode);
  return fd < 0 ? -errno : fd;
}

std::string file_of_task(std::string pattern, std::uint32_t rank) {
  for (const std::string_view name : {"{{taskid}}", "{{task.id}}"})
    for (auto at = pattern.find(name); at != std::string::npos; at = pattern.find(name, at))
      pattern.replace(at, name.size(), std::to_string(rank));
  return pattern;
}

std::string OutputBudget::take(std::string text) {
  if (text.size() <= left_) {
    left_ -= text.size();
    return text;
  }
  text.resize(static_cast<std::size_t>(std::exchange(left_, 0)));
  if (!std::exchange(said_, true))
    text += "\n[holon: the output was cut here, at " + std::to_string(limit_) +
            " bytes (job.output-limit); the job runs on]\n";
  return text;
}

Result<std::unique_ptr<LinePump>> LinePump::create(transport::Reactor& reactor,
                                                   std::shared_ptr<UniqueFd> file, PumpHow how) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Errc::system, std::string("pipe: ") + std::strerror(errno));
  std::unique_ptr<LinePump> pump(new LinePump(std::move(file), std::move(how)));
  pump->read_end_ = UniqueFd(ends[0]);
  pump->write_end_ = UniqueFd(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  auto readable = reactor.on_fd(ends[0], transport::kReadable, [raw = pump.get()](unsigned) {
    if (!raw->copy_some()) raw->readable_.cancel();
  });
  if (!readable) return tl::unexpected<Error>(readable.error());
  pump->readable_ = std::move(*readable);
  return pump;
}

// Copies one buffer, so that a task that writes much leaves the agent time for others. False: no
// more will come.
bool LinePump::copy_some() {
  std::array<char, kOutputChunk> buffer;
  const ssize_t n = read(read_end_.get(), buffer.data(), buffer.size());
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  partial_.append(buffer.data(), static_cast<std::size_t>(n));
  write_lines(n == 0);
  return n > 0;
}

void LinePump::write_lines(bool all) {
  std::string text;
  std::size_t begin = 0;
  while (begin < partial_.size()) {
    auto end = partial_.find('\n', begin);
    if (!how_.whole_lines) {
      text += std::exchange(partial_, {});
      break;
    }
    if (end == std::string::npos && !all && partial_.size() - begin < kLongestLine) break;
    const bool is_whole = end != std::string::npos;
    end = std::min(end, partial_.size());
    text += how_.label;
    text.append(partial_, begin, end - begin);
    if (is_whole || !how_.label.empty()) text += '\n';
    begin = end + 1;
  }
  partial_.erase(0, std::min(begin, partial_.size()));
  if (text.empty()) return;
  if (how_.budget) text = how_.budget->take(std::move(text));
  // On a full disk the task itself would have learned no more.
  static_cast<void>(write_all(file_->get(), text));
}

void LinePump::finish() {
  int there = 0;
  if (readable_ && ioctl(read_end_.get(), FIONREAD, &there) == 0 && there > 0) {
    std::string rest(static_cast<std::size_t>(there), '\0');
    const ssize_t n = read(read_end_.get(), rest.data(), rest.size());
    if (n > 0) partial_.append(rest, 0, static_cast<std::size_t>(n));
  }
  write_lines(true);
  readable_.cancel();
}

JobOutput::JobOutput(transport::Reactor& reactor, const msg::Start& start, std::string cwd,
                     OpenFile open, OutputSlot* slot)
    : reactor_(reactor),
      output_(slot == nullptr ? start.output : slot->output()),
      error_(slot == nullptr ? start.error : slot->error()),
      cwd_(std::move(cwd)),
      own_output_(start.own_output),
      own_error_(start.own_error),
      open_file_(std::move(open)),
      slot_(slot),
      truncate_(start.truncate),
      label_(start.label),
      keep_lines_(start.tasks.size() > 1 && start.tasks.size() <= kTasksWithWholeLines) {
  if (start.output_limit > 0) budget_ = std::make_shared<OutputBudget>(start.output_limit);
}

Result<JobOutput::Ends> JobOutput::open_for(std::uint32_t rank) {
  Ends ends;
  const auto out = open_stream(output_, rank, false);
  if (!out) return tl::unexpected<Error>(out.error());
  ends.out = ends.err = *out;
  if (error_.empty() || error_ == output_) return ends;
  const auto err = open_stream(error_, rank, true);
  if (!err) return tl::unexpected<Error>(err.error());
  ends.err = *err;
  return ends;
}

Result<int> JobOutput::open_stream(const std::string& pattern, std::uint32_t rank, bool error) {
  if (pattern.empty()) return -1;
  auto file = open_file(pattern, rank, error);
  if (!file) return tl::unexpected<Error>(file.error());
  const bool is_shared = file_of_task(pattern, rank) == pattern;
  const bool by_line = label_ || (keep_lines_ && is_shared);
  if (!by_line && !budget_) return (*file)->get();
  if (may_make_wait((*file)->get())) {
    if (!label_) return (*file)->get();  // its readers make the tasks wait, and lines may mix
    return fail(Errc::invalid_argument, "lines with labels cannot be written to \"" +
                                            file_of_task(pattern, rank) +
                                            "\": it is no regular file");
  }
  auto pump = LinePump::create(reactor_, *file,
                               {label_ ? std::to_string(rank) + ": " : "", by_line, budget_});
  if (!pump && !label_) return (*file)->get();  // lines may mix then
  if (!pump) return tl::unexpected<Error>(pump.error());
  pumps_.push_back(std::move(*pump));
  return pumps_.back()->write_end();
}

// A slot is open already, and empty: all its tasks write through one description of the open file,
// whose flags are set anew for each.
//
// O_NONBLOCK only while opening: a named pipe without a reader must not stop the agent.
Result<JobOutput::File> JobOutput::open_file(const std::string& pattern, std::uint32_t rank,
                                             bool error) {
  std::string path = file_of_task(pattern, rank);
  const bool own = path != pattern;
  if (path[0] != '/' && !cwd_.empty()) path.insert(0, cwd_ + "/");
  for (const Open& open : open_)
    if (open.path == path) return open.file;
  const int flags =
      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (truncate_ ? O_TRUNC : 0);
  const bool by_instance = error ? own_error_ : own_output_;
  File file;
  if (slot_ != nullptr) {
    file = File(File(), &slot_->appending_to(path));  // the slot outlives this object
  } else {
    const int opened = open_file_(path, flags, by_instance);
    if (opened < 0) {
      const Errc code = opened == -EACCES || opened == -EPERM ? Errc::denied : Errc::system;
      return fail(code,
                  "cannot write to the output file \"" + path + "\": " + std::strerror(-opened));
    }
    file = std::make_shared<UniqueFd>(opened);
  }
  fcntl(file->get(), F_SETFL, O_APPEND);
  files_.push_back({path, own ? static_cast<std::int32_t>(rank) : -1, error, by_instance});
  open_.push_back({std::move(path), file});
  return file;
}

void JobOutput::done_opening() {
  open_.clear();
  for (const auto& pump : pumps_) pump->close_write_end();
}

void JobOutput::finish() {
  for (const auto& pump : pumps_) pump->finish();
  pumps_.clear();
}

OutputFollower::OutputFollower(transport::Reactor& reactor, transport::Request request,
                               const std::vector<OutputFile>& files, const msg::OutputRequest& from,
                               const OpenFile& open)
    : request_(std::move(request)) {
  for (const OutputFile& file : files) {
    UniqueFd fd(open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, file.own));
    struct stat info {};
    if (fd.get() < 0 || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    sources_.push_back({file, std::move(fd), file.error ? from.error_offset : from.output_offset});
  }
  poll_ = reactor.every(kPollMs, [this] { send_new(); });
  send_new();
}

void OutputFollower::job_ended() {
  ended_ = true;
  send_new();
}

void OutputFollower::send_new() {
  if (request_.done()) return poll_.cancel();
  bool all = true;
  for (Source& source : sources_) all &= send_from(source);
  if (!all || !ended_) return;
  request_.end();
  poll_.cancel();
}

// Sends from one file. False: there is more than the reader can take now.
bool OutputFollower::send_from(Source& source) {
  while (request_.backlog() < kBacklog) {
    msg::OutputChunk chunk;
    chunk.data.resize(kOutputChunk);
    const ssize_t n =
        pread(source.fd.get(), chunk.data.data(), kOutputChunk, static_cast<off_t>(source.offset));
    if (n <= 0) return true;
    chunk.data.resize(static_cast<std::size_t>(n));
    chunk.task = source.file.task;
    chunk.error = source.file.error;
    source.offset += static_cast<std::uint64_t>(n);
    request_.send(transport::pack(chunk));
  }
  return false;
}

}  // namespace holon::launch
