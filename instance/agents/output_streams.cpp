#include "instance/agents/output_streams.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "launch/messages.hpp"
#include "launch/streams/output.hpp"
#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kPiece = 64 << 10;  // bytes of a file read at once
constexpr std::size_t kEnoughWaiting =
    4 << 20;                     // bytes waiting for a slow client at which reading pauses
constexpr Duration kPause = 20;  // ms until it is tried again

}  // namespace

void OutputStreams::attach(const transport::Request& request) {
  const auto ask = transport::unpack<msg::AttachRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  const JobId id(ask->id);
  const ActiveJob* job = jobs_.find(id);
  if (auto record = jobs_.record(id); !record) return request.fail(record.error());
  Stream& stream = streams_.emplace_back();
  stream.client = request;
  stream.job = id;
  stream.job_ended = job == nullptr;
  if (job == nullptr)
    finish_from_files(stream);
  else if (job->life.started)
    open(stream);
}

void OutputStreams::attach_to_files(const transport::Request& request, const msg::JobRecord& job) {
  std::error_code error;
  if (job.t_start == 0)
    return request.fail({Errc::not_found, "it never ran, so it wrote nothing", job.path});
  // A file of the instance's own naming that held nothing is gone, and its folder is there.
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
  if (stream.from_agent || stream.client.done()) return;
  if (!agent_.connected() || !agent_.has(stream.job)) return;
  stream.from_agent = true;
  constexpr File kOutput{-1, false}, kError{-1, true};
  launch::msg::OutputRequest ask{stream.job.value(), stream.at[kOutput], stream.at[kError]};
  stream.skip = stream.at;  // of a task's own file, for which there is no offset to ask for
  stream.skip.erase(kOutput);
  stream.skip.erase(kError);
  stream.call = server_.open(agent_.peer(), {"agent.output", transport::pack(ask), "", 0},
                             {[this, &stream](std::string chunk) { pass_on(stream, chunk); },
                              [this, &stream](const Status&) {
                                // Ended, or the agent is gone: if the job is over, the files
                                // have the rest.
                                stream.from_agent = false;
                                if (stream.job_ended) finish_from_files(stream);
                                sweep();
                              }});
  stream.client.on_cancel([this, &stream] {
    server_.cancel(stream.call);
    stream.from_agent = false;
    reactor_.defer([this] { sweep(); });
  });
}

void OutputStreams::pass_on(Stream& stream, const std::string& bytes) {
  auto chunk = transport::unpack<launch::msg::OutputChunk>(bytes);
  if (!chunk) return;
  const File file{chunk->task, chunk->error};
  auto& skip = stream.skip[file];
  const auto known = std::min<std::uint64_t>(skip, chunk->data.size());
  skip -= known;
  chunk->data.erase(0, known);
  if (chunk->data.empty()) return;
  stream.at[file] += chunk->data.size();
  stream.client.send(transport::pack(msg::OutputChunk{chunk->task, chunk->error, chunk->data}));
  if (stream.client.backlog() > kEnoughWaiting) rest(stream);
}

// The agent sends as fast as this broker reads. A client that does not keep up is sent the rest of
// the files when it has read what it has.
void OutputStreams::rest(Stream& stream) {
  if (std::exchange(stream.from_agent, false)) server_.cancel(stream.call);
  stream.pause = reactor_.after(kPause, [this, &stream] {
    if (stream.client.done()) return reactor_.defer([this] { sweep(); });
    if (stream.client.backlog() > kEnoughWaiting / 2) return rest(stream);
    open(stream);
  });
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
      if (!stream.from_agent) finish_from_files(stream);
    }
    sweep();
  });
}

// One file from where the stream stands; false: the client is slow, come back later.
bool OutputStreams::pump(Stream& stream, const std::string& name, File file) {
  std::uint64_t& at = stream.at[file];
  std::ifstream in(name, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(at));
  std::string piece(kPiece, '\0');
  while (in) {
    if (stream.client.backlog() > kEnoughWaiting) return false;
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const auto n = static_cast<std::size_t>(in.gcount());
    if (n == 0) break;
    at += n;
    stream.client.send(
        transport::pack(msg::OutputChunk{file.first, file.second, piece.substr(0, n)}));
  }
  return true;
}

bool OutputStreams::pump_all(Stream& stream, const msg::JobRecord& job, bool error) {
  const std::string& pattern = error ? job.error : job.output;
  if (launch::file_of_task(pattern, 0) == pattern) return pump(stream, pattern, {-1, error});
  for (std::int32_t rank = 0; rank < job.ntasks; ++rank)
    if (!pump(stream, launch::file_of_task(pattern, static_cast<std::uint32_t>(rank)),
              {rank, error}))
      return false;
  return true;
}

void OutputStreams::finish_from_files(Stream& stream) {
  if (stream.client.done()) return;
  const auto record = stream.left ? Result<msg::JobRecord>(*stream.left) : jobs_.record(stream.job);
  if (!record) return stream.client.fail(record.error());
  const bool separate = !record->error.empty() && record->error != record->output;
  const bool whole =
      pump_all(stream, *record, false) && (!separate || pump_all(stream, *record, true));
  if (whole) return stream.client.end();
  stream.pause = reactor_.after(kPause, [this, &stream] {
    finish_from_files(stream);
    reactor_.defer([this] { sweep(); });  // not from inside the timer it may destroy
  });
}

void OutputStreams::sweep() {
  streams_.remove_if([](const Stream& s) { return s.client.done() && !s.from_agent; });
}

void OutputStreams::close(const Error& why) {
  for (auto& stream : streams_) stream.client.fail(why);
}

}  // namespace holon::instance
