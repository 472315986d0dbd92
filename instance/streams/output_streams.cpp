#include "instance/streams/output_streams.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "launch/messages.hpp"
#include "launch/streams/output.hpp"
#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kPiece = 64 << 10;  // bytes of a file read at once
constexpr std::size_t kEnoughWaiting =
    4 << 20;                     // bytes waiting for a slow client at which reading pauses
constexpr Duration kPause = 20;  // ms until it is tried again

// The record of a child's job has any names its user likes, even of the instance's own files.
Error not_ours_to_read(const msg::JobRecord& job) {
  return {Errc::denied,
          "the job has ended, and what it wrote is its user's to read: " + job.output,
          {}};
}

}  // namespace

void OutputStreams::attach(const transport::Request& request) {
  const auto ask = transport::unpack<msg::AttachRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const JobId id(ask->id);
  const ActiveJob* job = jobs_.find(id);
  const auto record = jobs_.record(id);
  if (!record) return request.fail(record.error());
  if (record->tasks > 0)
    return request.fail({Errc::unsupported,
                         fmt::format("{} is an array: its tasks have outputs", record->path),
                         "id"});
  if (const auto may = may_read(*record); !may && job == nullptr) return request.fail(may.error());
  Stream& stream = streams_.emplace_back();
  stream.client = request;
  stream.job = id;
  stream.job_ended = record->state == "INACTIVE";
  if (stream.job_ended)
    finish_from_files(stream);
  else if (job != nullptr && job->life.started)
    open(stream);
}

void OutputStreams::attach_to_files(const transport::Request& request, const msg::JobRecord& job) {
  std::error_code error;
  if (job.t_start == 0)
    return request.fail({Errc::not_found, "it never ran, so it wrote nothing", job.path});
  if (!only_below_.empty()) return request.fail(not_ours_to_read(job));
  // If only the folder is left, a file named by the instance was empty and was removed.
  const std::filesystem::path first = launch::file_of_task(job.output, 0);
  if (!std::filesystem::exists(first, error) &&
      !std::filesystem::exists(first.parent_path(), error))
    return request.fail({Errc::not_found, "the output is not there any more", first.string()});
  Stream& stream = streams_.emplace_back();
  stream.client = request;
  stream.job = JobId(job.id);
  stream.job_ended = true;
  stream.left = job;
  finish_from_files(stream);
  sweep();
}

void OutputStreams::open(Stream& stream) {
  const ActiveJob* job = jobs_.find(stream.job);
  if (job == nullptr || stream.client.done()) return;
  for (const AgentLink* const agent : agents_.running(*job))
    if (const auto part = place_of(job->life, agent->rank()); !stream.calls.contains(part))
      open_part(stream, *agent, part);
  stream.client.on_cancel([this, &stream] {
    stop_agents(stream);
    reactor_.defer([this] { sweep(); });
  });
}

void OutputStreams::open_part(Stream& stream, const AgentLink& agent, std::size_t part) {
  if (!agent.connected() || !agent.has(stream.job)) return;
  const File output{part, -1, false}, error{part, -1, true};
  launch::msg::OutputRequest ask{stream.job.value(), stream.at[output], stream.at[error]};
  for (const auto& [file, at] : stream.at)  // no offset can be asked for in a task's own file
    if (file.task >= 0) stream.skip[{part, file.task, file.error}] = at;
  stream.calls[part] =
      server_.open(agent.peer(), {"agent.output", transport::pack(ask), "", 0},
                   {[this, &stream, part](std::string chunk) { pass_on(stream, part, chunk); },
                    [this, &stream, part](const Status&) { ended_part(stream, part); }});
}

// The part has ended, or its agent is gone: if the job is over, the files have the rest.
void OutputStreams::ended_part(Stream& stream, std::size_t part) {
  stream.calls.erase(part);
  if (stream.job_ended && stream.calls.empty()) finish_from_files(stream);
  sweep();
}

void OutputStreams::stop_agents(Stream& stream) {
  for (const auto& [part, call] : std::exchange(stream.calls, {})) server_.cancel(call);
}

void OutputStreams::pass_on(Stream& stream, std::size_t part, const std::string& bytes) {
  auto chunk = transport::unpack<launch::msg::OutputChunk>(bytes);
  if (!chunk) return;
  const bool is_shared = chunk->task < 0;
  auto& skip = stream.skip[{part, chunk->task, chunk->error}];
  const auto known = std::min<std::uint64_t>(skip, chunk->data.size());
  skip -= known;
  chunk->data.erase(0, known);
  if (chunk->data.empty()) return;
  stream.at[{is_shared ? part : 0, chunk->task, chunk->error}] += chunk->data.size();
  stream.client.send(transport::pack(msg::OutputChunk{chunk->task, chunk->error, chunk->data}));
  if (stream.client.backlog() > kEnoughWaiting) rest(stream);
}

// An agent sends as fast as this broker reads. A client that does not keep up gets the rest of the
// files when it has read what it has.
void OutputStreams::rest(Stream& stream) {
  stop_agents(stream);
  stream.pause = reactor_.after(kPause, [this, &stream] {
    if (stream.client.done()) return reactor_.defer([this] { sweep(); });
    if (stream.client.backlog() > kEnoughWaiting / 2) return rest(stream);
    go_on(stream);
  });
}

// An agent that no longer has the job has nothing to send, and will not say so.
void OutputStreams::go_on(Stream& stream) {
  open(stream);
  if (!stream.job_ended || !stream.calls.empty()) return;
  finish_from_files(stream);
  reactor_.defer([this] { sweep(); });
}

void OutputStreams::started(JobId job) {
  if (streams_.empty()) return;
  after_commit_.add([this, job] {
    for (auto& stream : streams_)
      if (stream.job == job && !stream.job_ended) open(stream);
  });
}

void OutputStreams::agent_is_back() {
  for (auto& stream : streams_)
    if (!stream.job_ended) open(stream);
}

void OutputStreams::ended(JobId job) {
  if (streams_.empty()) return;
  after_commit_.add([this, job] {
    for (auto& stream : streams_) {
      if (stream.job != job || stream.left) continue;
      stream.job_ended = true;
      if (stream.calls.empty()) finish_from_files(stream);
    }
    sweep();
  });
}

// Sends one file from where the stream is; false: the client is slow, try again later. A file that
// is not regular has no beginning that could be read again: a named pipe would keep the broker
// waiting, and a device may have no end.
bool OutputStreams::pump(Stream& stream, const std::string& name, File file) {
  std::uint64_t& at = stream.at[file];
  const transport::UniqueFd in(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat info {};
  if (!in || fstat(in.get(), &info) != 0 || !S_ISREG(info.st_mode)) return true;
  std::string piece(kPiece, '\0');
  while (stream.client.backlog() <= kEnoughWaiting) {
    const ssize_t n = pread(in.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (n <= 0) return true;
    at += static_cast<std::uint64_t>(n);
    stream.client.send(transport::pack(
        msg::OutputChunk{file.task, file.error, piece.substr(0, static_cast<std::size_t>(n))}));
  }
  return false;
}

// Only the record is here for a job of an ended instance. Files named by that instance are the
// job's own, at most one for each node.
std::size_t OutputStreams::parts_of(const Stream& stream, const msg::JobRecord& job) const {
  if (job.nnodes <= 1) return 1;
  if (!stream.left) return jobs_.parts_of(stream.job);
  const std::string name = std::filesystem::path(job.output).filename();
  return name == std::to_string(job.id) + ".out" ? static_cast<std::size_t>(job.nnodes) : 1;
}

bool OutputStreams::pump_all(Stream& stream, const msg::JobRecord& job, bool error) {
  const std::string& pattern = error ? job.error : job.output;
  const bool is_shared = launch::file_of_task(pattern, 0) == pattern;
  const std::size_t parts = is_shared ? parts_of(stream, job) : 0;
  for (std::size_t part = 0; part < parts; ++part)
    if (!pump(stream, file_of_part(pattern, part), {part, -1, error})) return false;
  if (is_shared) return true;
  for (std::int32_t rank = 0; rank < job.ntasks; ++rank)
    if (!pump(stream, launch::file_of_task(pattern, static_cast<std::uint32_t>(rank)),
              {0, rank, error}))
      return false;
  return true;
}

// Only the user's processes open a file that the user has named: this one may be able to read what
// the user may not.
Status OutputStreams::may_read(const msg::JobRecord& job) const {
  if (only_below_.empty()) return {};
  const std::string own = fmt::format("{}/{}", only_below_, job.id);
  const bool is_own =
      job.output == own + ".out" && (job.error.empty() || job.error == own + ".err");
  if (is_own) return {};
  return tl::unexpected(not_ours_to_read(job));
}

// Sends from where the stream is: an agent may have sent some of it.
void OutputStreams::send_logged(Stream& stream, const LoggedOutput& all) {
  for (const bool error : {false, true}) {
    const std::string& text = error ? all.error : all.output;
    std::uint64_t& at = stream.at[{0, -1, error}];
    if (at >= text.size()) continue;
    stream.client.send(transport::pack(msg::OutputChunk{-1, error, text.substr(at)}));
    at = text.size();
  }
}

void OutputStreams::finish_from_files(Stream& stream) {
  if (stream.client.done()) return;
  const auto found = stream.left ? std::optional<LoggedOutput>() : logged(stream.job);
  if (!found) return stream.client.fail(found.error());
  if (*found) {
    send_logged(stream, **found);
    return stream.client.end();
  }
  const auto record = stream.left ? Result<msg::JobRecord>(*stream.left) : jobs_.record(stream.job);
  if (!record) return stream.client.fail(record.error());
  if (!may_read(*record)) return stream.client.end();  // the agent has sent everything
  const bool separate = !record->error.empty() && record->error != record->output;
  const bool whole =
      pump_all(stream, *record, false) && (!separate || pump_all(stream, *record, true));
  if (whole) return stream.client.end();
  stream.pause = reactor_.after(kPause, [this, &stream] {
    finish_from_files(stream);
    reactor_.defer([this] { sweep(); });  // not from inside the timer that it may destroy
  });
}

void OutputStreams::sweep() {
  streams_.remove_if([](const Stream& s) { return s.client.done() && s.calls.empty(); });
}

void OutputStreams::close(const Error& why) {
  for (auto& stream : streams_) stream.client.fail(why);
}

}  // namespace holon::instance
