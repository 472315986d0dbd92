#include "instance/streams/input_streams.hpp"

#include <algorithm>
#include <memory>

#include "launch/messages.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::unpack;

bool all_parts_started(const Lifecycle& job) {
  return job.started && std::all_of(job.parts.begin(), job.parts.end(),
                                    [](const Part& part) { return part.started || part.finished; });
}

void say_nobody_reads(const transport::Request& request) {
  request.reply(pack(msg::InputReply{false}));
}

}  // namespace

void InputStreams::take(const transport::Request& request) {
  const auto piece = unpack<msg::InputRequest>(request.payload());
  if (!piece) return request.fail(piece.error());
  const JobId id(piece->id);
  const ActiveJob* job = jobs_.find(id);
  if (job == nullptr) {
    const auto record = jobs_.record(id);
    return record ? say_nobody_reads(request) : request.fail(record.error());
  }
  if (job->submission->input_tasks.empty())
    return request.fail(
        {Errc::denied, "its standard input does not come from a client", jobs_.shown_path(id)});
  if (all_parts_started(job->life)) return pass_on(request, *piece);
  if (!piece->data.empty() || piece->end)
    return request.fail({Errc::busy, "it has not started yet", jobs_.shown_path(id)});
  std::erase_if(waiting_, [](const Waiting& one) { return one.request.done(); });
  waiting_.push_back({request, id});
}

// The agents know which of their tasks read the input. A client that sends a piece again because
// one agent was away repeats it to the other agents, which skip it.
void InputStreams::pass_on(const transport::Request& request, const msg::InputRequest& piece) {
  const ActiveJob* job = jobs_.find(JobId(piece.id));
  if (job == nullptr) return say_nobody_reads(request);
  auto agents = agents_.running(*job);
  std::erase_if(agents, [job](const AgentLink* agent) {
    return next_step(job->life, agent->rank()) == Step::none;
  });
  if (agents.empty()) return say_nobody_reads(request);
  for (const AgentLink* const agent : agents)
    if (!agent->connected())
      return request.fail({Errc::disconnected, "the agent is not connected just now", {}});
  const auto left = std::make_shared<std::size_t>(agents.size());
  const auto is_read = std::make_shared<bool>(false);
  const std::string ask =
      pack(launch::msg::InputRequest{piece.id, piece.offset, piece.data, piece.end});
  for (const AgentLink* const agent : agents)
    server_.call(agent->peer(), {"agent.input", ask, "", 0},
                 [request, left, is_read](const Result<std::string>& answer) {
                   const auto reply = answer ? unpack<launch::msg::InputReply>(*answer)
                                             : tl::unexpected<Error>(answer.error());
                   // The agent's tasks may be over; the report of that is on its way.
                   if (!reply && reply.error().code != Errc::not_found)
                     return request.fail(reply.error());
                   *is_read = *is_read || (reply && reply->open);
                   if (--*left == 0) request.reply(pack(msg::InputReply{*is_read}));
                 });
}

void InputStreams::started(JobId job) {
  if (waiting_.empty()) return;
  after_commit_.add([this, job] {
    const ActiveJob* known = jobs_.find(job);
    if (known != nullptr && !all_parts_started(known->life)) return;
    for (const auto& one : waiting_)
      if (one.job == job) pass_on(one.request, {job.value(), 0, "", false});
    std::erase_if(waiting_, [job](const Waiting& one) { return one.job == job; });
  });
}

void InputStreams::ended(JobId job) {
  for (const auto& one : waiting_)
    if (one.job == job) say_nobody_reads(one.request);
  std::erase_if(waiting_, [job](const Waiting& one) { return one.job == job; });
}

void InputStreams::close(const Error& why) {
  for (const auto& one : waiting_) one.request.fail(why);
  waiting_.clear();
}

}  // namespace holon::instance
