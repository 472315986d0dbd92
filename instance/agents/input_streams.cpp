#include "instance/agents/input_streams.hpp"

#include "launch/messages.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::unpack;

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
        {Errc::denied, "its standard input does not come from a client", jobs_.path_of(id)});
  if (job->life.started) return pass_on(request, *piece);
  if (!piece->data.empty() || piece->end)
    return request.fail({Errc::busy, "it has not started yet", jobs_.path_of(id)});
  std::erase_if(waiting_, [](const Waiting& one) { return one.request.done(); });
  waiting_.push_back({request, id});
}

void InputStreams::pass_on(const transport::Request& request, const msg::InputRequest& piece) {
  if (!agent_.connected())
    return request.fail({Errc::disconnected, "the agent is not connected just now", {}});
  const launch::msg::InputRequest ask{piece.id, piece.offset, piece.data, piece.end};
  server_.call(agent_.peer(), {"agent.input", pack(ask), "", 0},
               [request](const Result<std::string>& answer) {
                 const auto reply = answer ? unpack<launch::msg::InputReply>(*answer)
                                           : tl::unexpected<Error>(answer.error());
                 if (reply) return request.reply(pack(msg::InputReply{reply->open}));
                 // Its tasks are over; the report of that is on its way.
                 if (reply.error().code == Errc::not_found) return say_nobody_reads(request);
                 request.fail(reply.error());
               });
}

void InputStreams::started(JobId job) {
  if (waiting_.empty()) return;
  after_commit_.add([this, job] {
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
