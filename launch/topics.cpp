#include "launch/topics.hpp"

#include <array>

#include "launch/messages.hpp"
#include "launch/remote/output_messages.hpp"
#include "launch/remote/refusal_notes.hpp"
#include "launch/remote/vouch.hpp"
#include "launch/tracking/cores.hpp"
#include "launch/tracking/taken_units.hpp"

namespace holon::launch {
namespace {

using holon::msg::kAgentsSay;
using holon::msg::kInvitedAsk;
using holon::msg::kOfAgents;
using holon::msg::kOwnerProves;
using holon::msg::repeated;
using holon::msg::stream;
using holon::msg::topic;

constexpr std::array kTopicRows = {
    topic<msg::JoinRequest, msg::JoinReply>("agent.join", kInvitedAsk),
    topic<msg::VouchRequest, msg::Empty>("agent.vouch", kInvitedAsk),
    topic<msg::Hello, msg::Welcome>("agent.hello", repeated(kOwnerProves)),
    topic<msg::Report, msg::Reported>("agent.report", repeated(kAgentsSay)),
    topic<msg::FenceRequest, msg::FenceReply>("agent.fence", repeated(kAgentsSay)),
    topic<msg::Empty, msg::FilesReply>("agent.files", repeated(kAgentsSay)),
    topic<msg::KeepRequest, msg::KeepReply>("agent.keep", repeated(kAgentsSay)),
    topic<msg::RefusedRequest, msg::Empty>("agent.refused", repeated(kAgentsSay)),
    topic<msg::StartRequest, msg::Empty>("agent.start", kOfAgents),
    topic<msg::SignalRequest, msg::Empty>("agent.signal", kOfAgents),
    topic<msg::CheckpointRequest, msg::Empty>("agent.checkpoint", kOfAgents),
    topic<msg::KillRequest, msg::Empty>("agent.kill", kOfAgents),
    topic<msg::LimitRequest, msg::Empty>("agent.limit", kOfAgents),
    topic<msg::SuspendRequest, msg::Empty>("agent.suspend", kOfAgents),
    topic<msg::SureRequest, msg::Empty>("agent.sure", kOfAgents),
    stream<msg::OutputRequest, msg::OutputChunk>("agent.output", kOfAgents),
    topic<msg::InputRequest, msg::InputReply>("agent.input", kOfAgents),
    topic<msg::CaptureRequest, msg::CaptureReply>("agent.capture", kOfAgents),
    topic<msg::CoresRequest, msg::CoresReply>("agent.cores", kOfAgents),
    topic<msg::TakeRequest, msg::TakeReply>("agent.take", kOfAgents),
    topic<msg::ShutdownRequest, msg::Empty>("agent.shutdown", kOfAgents),
};

}  // namespace

std::span<const holon::msg::Topic> table() {
  return kTopicRows;
}

transport::TopicGroup topics() {
  return {"Agent", holon::msg::shapes_of(kTopicRows)};
}

}  // namespace holon::launch
