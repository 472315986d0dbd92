#include "msg/topics.hpp"

#include "msg/config.hpp"

#include <array>

#include "msg/array.hpp"
#include "msg/audit.hpp"
#include "msg/events.hpp"
#include "msg/grant.hpp"
#include "msg/graph.hpp"
#include "msg/input.hpp"
#include "msg/instance.hpp"
#include "msg/policy.hpp"
#include "msg/provision.hpp"
#include "msg/queue.hpp"
#include "msg/reservation.hpp"
#include "msg/resource.hpp"
#include "msg/schedule.hpp"
#include "msg/users.hpp"
#include "transport/munge/proof.hpp"

namespace holon::msg {
namespace {

using transport::stream;
using transport::topic;

constexpr std::array kTopics = {
    topic<SubmitRequest, SubmitReply>("submit"),
    topic<GraphRequest, GraphReply>("submit.graph"),
    topic<JobsRequest, JobsReply>("jobs"),
    topic<TasksRequest, TasksReply>("job.tasks"),
    topic<JobInfoRequest, JobInfoReply>("job.info"),
    topic<WaitRequest, WaitReply>("job.wait"),
    stream<WatchRequest, JobEvent>("job.watch"),
    stream<AttachRequest, OutputChunk>("job.attach"),
    topic<InputRequest, InputReply>("job.input"),
    stream<EventsRequest, EventsPart>("events"),
    topic<CancelRequest, CancelReply>("cancel"),
    topic<SignalRequest, Empty>("job.signal"),
    topic<UpdateRequest, Empty>("job.update"),
    topic<SuspendRequest, Empty>("job.suspend"),
    topic<ExtendRequest, ExtendReply>("job.extend"),
    topic<Empty, ResourceReply>("resource.list"),
    topic<Empty, ResourceReply>("resource.R"),
    topic<DrainRequest, Empty>("resource.drain"),
    topic<InviteRequest, InviteReply>("node.invite"),
    topic<LeaveRequest, Empty>("node.leave"),
    topic<ProvisionRequest, ProvisionReply>("provision.add"),
    topic<Empty, ProvisionsReply>("provision.list"),
    topic<ProvisionChange, Empty>("provision.change"),
    topic<StatusRequest, TreeNode>("status"),
    topic<TreeRequest, TreeNode>("tree"),
    topic<CompactRequest, CompactReply>("journal.compact"),
    topic<ShutdownRequest, Empty>("shutdown"),
    topic<ExplainRequest, ExplainReply>("explain"),
    topic<PriorityRequest, PriorityReply>("priority"),
    stream<PlanRequest, PlanPart>("plan"),
    topic<Empty, WindowsReply>("windows"),
    topic<UrgencyRequest, Empty>("urgency"),
    topic<GateRequest, Empty>("queue.gate"),
    topic<PolicyLoadRequest, Empty>("policy.load"),
    topic<PolicyDisableRequest, PolicyDisableReply>("policy.disable"),
    topic<PolicyShowRequest, PolicyShown>("policy.show"),
    topic<WhatIfRequest, WhatIfReply>("policy.what-if"),
    topic<Empty, StatsReply>("stats"),
    topic<ConfigRequest, ConfigReply>("config.get"),
    topic<Empty, ReloadReply>("config.reload"),
    topic<AuditRequest, AuditReply>("audit"),
    topic<OwnInstanceRequest, OwnInstanceReply>("user.instance"),
    topic<transport::ProveRequest, Empty>("user.prove"),
    topic<ReserveRequest, ReserveReply>("reserve"),
    topic<Empty, ReservationsReply>("reservations"),
    topic<UnreserveRequest, Empty>("unreserve"),
    topic<Hello, Grant>("hello"),
    topic<InvitationRequest, InvitationReply>("invitation"),
    topic<Records, Empty>("record"),
    topic<Ending, Empty>("ending"),
    topic<Lease, Empty>("lease"),
    topic<GrantMessage, Empty>("grant"),
    topic<GrantAsk, GrantAnswer>("grant.ask"),
    topic<Empty, GrantReply>("grant.show"),
    topic<GrantRelease, Empty>("grant.release"),
    topic<GrantRecall, Empty>("grant.recall"),
    topic<GrantHistoryRequest, GrantHistory>("grant.history"),
    topic<DrainedAbove, Empty>("drain"),
};

}  // namespace

transport::TopicGroup topics() {
  return {"", kTopics};
}

}  // namespace holon::msg
