#include "instance/streams/kept_output.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/descriptors/writing.hpp"
#include "base/whole_file.hpp"
#include "launch/remote/output_messages.hpp"
#include "transport/codec/codec.hpp"
#include "transport/secret.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

constexpr std::size_t kLongestMark = 4096;

Result<std::size_t> write_at(int fd, const std::string& data, std::uint64_t offset) {
  for (std::size_t done = 0; done < data.size();) {
    const ssize_t n =
        pwrite(fd, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(Errc::system, std::strerror(n < 0 ? errno : ENOSPC));
    done += static_cast<std::size_t>(n);
  }
  return data.size();
}

// Returns the mark of the file, which stays the same: an agent that asks again gets it again.
Result<std::string> mark_in(const std::string& file) {
  if (auto known = read_regular_file(file, kLongestMark); known && !known->empty()) return known;
  const std::string mark = transport::new_secret();
  const transport::UniqueFd out(
      open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out) return fail(Errc::system, std::strerror(errno), file);
  if (auto written = write_all(out.get(), mark); !written) return tl::unexpected(written.error());
  return mark;
}

// The place of the asking agent among the parts of the job; nullopt: it has none.
std::optional<std::size_t> part_of(const transport::Request& request, Agents& agents,
                                   const ActiveJob& job) {
  for (const AgentLink* const agent : agents.running(job))
    if (agent->connected() && agent->peer() == request.peer())
      return place_of(job.life, agent->rank());
  return std::nullopt;
}

// `attempt`: as the broker counts attempts.
Result<std::uint64_t> put_into(const std::string& file, const launch::msg::KeepRequest& piece,
                               std::uint32_t attempt) {
  const transport::UniqueFd out(
      open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out) return fail(Errc::system, std::strerror(errno), file);
  // An earlier instance with the same state directory had a job of this number, too.
  const bool begins = attempt == 0 && piece.offset == 0 && !piece.data.empty();
  if (begins && ftruncate(out.get(), 0) != 0) return fail(Errc::system, std::strerror(errno), file);
  struct stat info {};
  if (fstat(out.get(), &info) != 0) return fail(Errc::system, std::strerror(errno), file);
  if (auto written = write_at(out.get(), piece.data, piece.offset); !written) {
    // A part of the piece would count as written. A file that cannot be cut either stays longer.
    [[maybe_unused]] const int cut = ftruncate(out.get(), info.st_size);
    return fail(Errc::system, written.error().what, file);
  }
  if (fstat(out.get(), &info) != 0) return fail(Errc::system, std::strerror(errno), file);
  return static_cast<std::uint64_t>(info.st_size);
}

// Is this the job's last attempt so far?
bool is_last(const JobManager& jobs, JobId id, std::uint32_t attempt) {
  if (const ActiveJob* const job = jobs.find(id)) return job->life.retries == attempt;
  const auto record = jobs.record(id);
  return record && record->retries == attempt;
}

// The successor of a killed agent brings the output that was not handed over, maybe after the job's
// end. It sends all output, even what was handed over: for a first attempt it begins the file.
void keep_late(const transport::Request& request, const launch::msg::KeepRequest& piece,
               const JobManager& jobs, const Agents& agents) {
  const AgentLink* const agent = agents.link_of(request.peer());
  const LeftOutput::Files* const left =
      agent == nullptr ? nullptr : agent->left().of(JobId(piece.job));
  if (left == nullptr)
    return request.fail(
        {Errc::not_found, fmt::format("agent.keep: job {} has left nothing there", piece.job), ""});
  if (piece.data.size() > launch::msg::kMostKept)
    return request.fail({Errc::denied, "agent.keep: the piece is too large", ""});
  const bool is_first = left->attempt == 0 && is_last(jobs, JobId(piece.job), 0);
  const auto size = put_into(piece.error ? left->error : left->output, piece, is_first ? 0 : 1);
  if (!size) return request.fail(size.error());
  const bool begins = is_first && piece.data.empty();
  request.reply(transport::pack(launch::msg::KeepReply{begins ? 0 : *size}));
}

}  // namespace

void tell_files(const transport::Request& request, const Identity& identity) {
  launch::msg::FilesReply reply;
  reply.folder = identity.state_dir + "/output";
  reply.mark_file = identity.state_dir + "/nodes.mark";
  auto mark = mark_in(reply.mark_file);
  if (!mark) return request.fail(mark.error());
  reply.mark = std::move(*mark);
  request.reply(transport::pack(reply));
}

void keep_output(const transport::Request& request, JobManager& jobs, Agents& agents) {
  const auto piece = transport::unpack<launch::msg::KeepRequest>(request.payload());
  if (!piece) return request.fail(piece.error());
  if (piece->late) return keep_late(request, *piece, jobs, agents);
  const ActiveJob* const job = jobs.find(JobId(piece->job));
  const auto part = job != nullptr ? part_of(request, agents, *job) : std::nullopt;
  if (!part || job->life.retries != piece->attempt)
    return request.fail(
        {Errc::not_found, fmt::format("agent.keep: no part of job {} runs there", piece->job), ""});
  if (!job->submission->output.empty() || !job->submission->error.empty() ||
      piece->data.size() > launch::msg::kMostKept)
    return request.fail(
        {Errc::denied, fmt::format("agent.keep: job {} has files of its own", piece->job), ""});
  const auto files = jobs.files_of(*job);
  const auto size = put_into(file_of_part(piece->error ? files.error : files.output, *part), *piece,
                             piece->attempt);
  if (!size) return request.fail(size.error());
  request.reply(transport::pack(launch::msg::KeepReply{*size}));
}

}  // namespace holon::instance
