#include "instance/agents/fences.hpp"

#include <fmt/core.h>

#include "launch/messages.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

// Bytes that all parts of one job may have put in the fences that are kept: an answer has all of
// one fence, and a message at most 64 MiB.
constexpr std::size_t kMostOfAJob = std::size_t{48} << 20;

Error other_part_is_over() {
  return {Errc::not_found, "other tasks of the job have ended and will not come to the fence", {}};
}

}  // namespace

std::size_t Fences::bytes_of(const Rounds& rounds) {
  std::size_t bytes = 0;
  for (const auto& [round, come] : rounds)
    for (const auto& [rank, one] : come) bytes += one.data.size();
  return bytes;
}

void Fences::take(const transport::Request& request, std::uint32_t rank) {
  auto fence = transport::unpack<launch::msg::FenceRequest>(request.payload());
  if (!fence) return request.fail(fence.error());
  const ActiveJob* const job = jobs_.find(JobId(fence->job));
  const Part* const part = job == nullptr ? nullptr : part_of(job->life, rank);
  if (part == nullptr || part->finished)
    return request.fail(
        {Errc::not_found, fmt::format("agent {} runs no part of job {}", rank, fence->job), {}});
  Rounds& rounds = fences_[job->id];
  if (!rounds.empty() && fence->round + 1 < rounds.rbegin()->first)
    return request.fail({Errc::invalid_argument,
                         fmt::format("fence {} is over since long; the newest is {}", fence->round,
                                     rounds.rbegin()->first),
                         "round"});
  std::erase_if(rounds, [&](const auto& known) { return known.first + 1 < fence->round; });
  Come& come = rounds[fence->round][rank];
  // An agent that sends all its fences again has not been answered this one yet.
  come.request.fail({Errc::disconnected, "the fence was said again", {}});
  come.request = request;
  come.data = std::move(fence->data);
  if (bytes_of(rounds) > kMostOfAJob) {
    come.data.clear();
    return request.fail(
        {Errc::out_of_range,
         fmt::format("the tasks of the job have put more than {} MiB", kMostOfAJob >> 20U),
         {}});
  }
  end_where_all_came(*job, fence->round);
}

void Fences::end_where_all_came(const ActiveJob& job, std::uint64_t round) {
  const auto& come = fences_[job.id][round];
  launch::msg::FenceReply reply;
  for (const Part& part : job.life.parts) {
    const auto found = come.find(part.rank);
    if (found != come.end())
      reply.parts.push_back(found->second.data);
    else if (!part.finished)
      return;
  }
  const bool all = reply.parts.size() == job.life.parts.size();
  // The job's other parts are being killed, and the reason is known already.
  if (!all && job.life.state != JobState::run) return;
  const std::string packed = all ? transport::pack(reply) : "";
  for (const auto& [rank, one] : come) {
    if (one.request.done()) continue;
    all ? one.request.reply(packed) : one.request.fail(other_part_is_over());
  }
}

void Fences::part_ended(JobId id) {
  const auto found = fences_.find(id);
  const ActiveJob* const job = jobs_.find(id);
  if (found == fences_.end() || job == nullptr) return;
  for (const auto& [round, come] : found->second) end_where_all_came(*job, round);
}

void Fences::forget(JobId job) {
  const auto found = fences_.extract(job);
  if (found.empty()) return;
  for (const auto& [round, come] : found.mapped())
    for (const auto& [rank, one] : come)
      if (!one.request.done()) one.request.fail(other_part_is_over());
}

}  // namespace holon::instance
