#include "launch/topics.hpp"

#include <array>

#include "launch/messages.hpp"
#include "launch/remote/output_messages.hpp"
#include "launch/remote/refusal_notes.hpp"
#include "launch/remote/vouch.hpp"
#include "launch/tracking/cores.hpp"

namespace holon::launch {
namespace {

using transport::stream;
using transport::topic;

constexpr std::array kTopics = {
    topic<msg::JoinRequest, msg::JoinReply>("agent.join"),
    topic<msg::VouchRequest, msg::Empty>("agent.vouch"),
    topic<msg::Hello, msg::Welcome>("agent.hello"),
    topic<msg::Report, msg::Reported>("agent.report"),
    topic<msg::FenceRequest, msg::FenceReply>("agent.fence"),
    topic<msg::Empty, msg::FilesReply>("agent.files"),
    topic<msg::KeepRequest, msg::KeepReply>("agent.keep"),
    topic<msg::RefusedRequest, msg::Empty>("agent.refused"),
    topic<msg::StartRequest, msg::Empty>("agent.start"),
    topic<msg::SignalRequest, msg::Empty>("agent.signal"),
    topic<msg::CheckpointRequest, msg::Empty>("agent.checkpoint"),
    topic<msg::KillRequest, msg::Empty>("agent.kill"),
    topic<msg::LimitRequest, msg::Empty>("agent.limit"),
    topic<msg::SuspendRequest, msg::Empty>("agent.suspend"),
    stream<msg::OutputRequest, msg::OutputChunk>("agent.output"),
    topic<msg::InputRequest, msg::InputReply>("agent.input"),
    topic<msg::CoresRequest, msg::CoresReply>("agent.cores"),
    topic<msg::CaptureRequest, msg::CaptureReply>("agent.capture"),
    topic<msg::ShutdownRequest, msg::Empty>("agent.shutdown"),
};

}  // namespace

transport::TopicGroup topics() {
  return {"Agent", kTopics};
}

}  // namespace holon::launch
