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

constexpr std::array kTopicRows = {
    topic<SubmitRequest, SubmitReply>("submit", kUsersChange),
    topic<GraphRequest, GraphReply>("submit.graph", kUsersChange),
    topic<JobsRequest, JobsReply>("jobs", ended(kUsersAsk, WhenEnded::job_list)),
    topic<TasksRequest, TasksReply>("job.tasks", kUsersAsk),
    topic<JobInfoRequest, JobInfoReply>("job.info", ended(kUsersAsk, WhenEnded::info)),
    topic<WaitRequest, WaitReply>("job.wait", ended(kUsersAsk, WhenEnded::records)),
    stream<WatchRequest, JobEvent>("job.watch", ended(kUsersAsk, WhenEnded::events)),
    stream<AttachRequest, OutputChunk>("job.attach", ended(kUsersAsk, WhenEnded::output)),
    topic<InputRequest, InputReply>("job.input", repeated(kUsersAsk)),
    stream<EventsRequest, EventsPart>("events", kUsersAsk),
    topic<CancelRequest, CancelReply>("cancel", kUsersChange),
    topic<SignalRequest, Empty>("job.signal", kUsersChange),
    topic<UpdateRequest, Empty>("job.update", kUsersChange),
    topic<SuspendRequest, Empty>("job.suspend", kUsersChange),
    topic<ExtendRequest, ExtendReply>("job.extend", kUsersChange),
    topic<Empty, ResourceReply>("resource.list", kAllAsk),
    topic<Empty, ResourceReply>("resource.R", kUsersAsk),
    topic<DrainRequest, Empty>("resource.drain", kOperatorsChange),
    topic<InviteRequest, InviteReply>("node.invite", kOperatorsChange),
    topic<LeaveRequest, Empty>("node.leave", kOperatorsChange),
    // What is passed to the batch system runs as the owner.
    topic<ProvisionRequest, ProvisionReply>("provision.add", kOwnerChanges),
    topic<Empty, ProvisionsReply>("provision.list", kOperatorsAsk),
    topic<ProvisionChange, Empty>("provision.change", kOperatorsChange),
    topic<StatusRequest, TreeNode>("status", ended(kAllAsk, WhenEnded::counts)),
    topic<TreeRequest, TreeNode>("tree", ended(kAllAsk, WhenEnded::counts)),
    topic<CompactRequest, CompactReply>("journal.compact", kOperatorsChange),
    topic<ShutdownRequest, Empty>("shutdown", kOperatorsChange),
    topic<ExplainRequest, ExplainReply>("explain", kUsersAsk),
    topic<PriorityRequest, PriorityReply>("priority", kOperatorsAsk),
    stream<PlanRequest, PlanPart>("plan", kOperatorsAsk),
    topic<Empty, WindowsReply>("windows", kUsersAsk),
    topic<UrgencyRequest, Empty>("urgency", kUsersChange),
    topic<GateRequest, Empty>("queue.gate", kOperatorsChange),
    topic<PolicyLoadRequest, Empty>("policy.load", kOperatorsChange),
    topic<PolicyDisableRequest, PolicyDisableReply>("policy.disable", kOperatorsChange),
    topic<PolicyShowRequest, PolicyShown>("policy.show", kOperatorsAsk),
    topic<WhatIfRequest, WhatIfReply>("policy.what-if", kOperatorsAsk),
    topic<Empty, StatsReply>("stats", kOperatorsAsk),
    topic<ConfigRequest, ConfigReply>("config.get", kOperatorsAsk),
    topic<Empty, ReloadReply>("config.reload", kOperatorsChange),
    topic<AuditRequest, AuditReply>("audit", kOperatorsAsk),
    topic<OwnInstanceRequest, OwnInstanceReply>("user.instance", kAllAsk),
    topic<transport::ProveRequest, Empty>("user.prove", kInvitedAsk),
    topic<ReserveRequest, ReserveReply>("reserve", kOperatorsChange),
    topic<Empty, ReservationsReply>("reservations", kOperatorsAsk),
    topic<UnreserveRequest, Empty>("unreserve", kOperatorsChange),
    topic<Hello, Grant>("hello", repeated(kUsersProve)),
    topic<InvitationRequest, InvitationReply>("invitation", kUsersProve),
    topic<Records, Empty>("record", repeated(kChildrenSay)),
    topic<Ending, Empty>("ending", kChildrenSay),
    topic<Lease, Empty>("lease", kParentSays),
    topic<DrainedAbove, Empty>("drain", kParentSays),
    topic<GrantMessage, Empty>("grant", repeated(kKinSay)),
    topic<GrantAsk, GrantAnswer>("grant.ask", kOperatorsChange),
    topic<Empty, GrantReply>("grant.show", kOperatorsAsk),
    topic<GrantWait, GrantReply>("grant.wait", kOperatorsAsk),
    topic<GrantExplain, GrantExplained>("grant.explain", kOperatorsAsk),
    topic<GrantCould, GrantChance>("grant.could", kChildrenSay),
    topic<GrantPulse, GrantPulseReply>("grant.pulse", kChildrenSay),
    topic<GrantRelease, Empty>("grant.release", kOperatorsChange),
    topic<GrantRecall, Empty>("grant.recall", kOperatorsChange),
    topic<GrantLend, GrantLent>("grant.lend", kOperatorsChange),
    topic<GrantHistoryRequest, GrantHistory>("grant.history", kOperatorsAsk),
};

}  // namespace

std::span<const Topic> table() {
  return kTopicRows;
}

transport::TopicGroup topics() {
  return {"", shapes_of(kTopicRows)};
}

}  // namespace holon::msg
