#include "instance/service/service.hpp"

#include <fmt/core.h>

#include <utility>

#include "base/text/printable.hpp"
#include "instance/streams/kept_output.hpp"
#include "instance/users/rights.hpp"
#include "launch/remote/refusal_notes.hpp"
#include "transport/bounds.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using transport::pack;
using transport::Request;
using transport::unpack;

// Logs and keeps refusals that the agent of another node reports, like refusals here, and no more
// often, whatever the agent says.
void keep_refusals(const Request& request, Instance& core) {
  using Principal = transport::Principal;
  const auto told = unpack<launch::msg::RefusedRequest>(request.payload());
  if (!told) return request.fail(told.error());
  if (told->refused.size() > launch::msg::kMostRefusalsTold)
    return request.fail({Errc::out_of_range,
                         fmt::format("{} refusals, of which {} may be told at once",
                                     told->refused.size(), launch::msg::kMostRefusalsTold),
                         "refused"});
  const std::string agent = request.principal().name;
  for (const auto& refusal : told->refused) {
    Principal who;
    if (refusal.uid >= 0)
      who = {Principal::Kind::munge, static_cast<std::uint32_t>(refusal.uid), 0, refusal.pid,
             agent};
    if (!core.audit.has_room_for(agent)) break;
    const auto before = core.audit.newest();
    core.refusals.keep(fmt::format("user {} at the socket of {}", refusal.uid, agent),
                       transport::request_of(who, refusal.topic, ""),
                       {Errc::denied, printable(refusal.why), {}}, core.clock.now());
    if (core.audit.newest() != before) core.audit.is_by_word_of(agent);
  }
  core.after_commit.add([request] { request.reply(pack(msg::Empty{})); });
}

}  // namespace

Service::Service(transport::Reactor& reactor, transport::Server& server, Instance& core,
                 Hooks hooks)
    : reactor_(reactor),
      instance_(core),
      hooks_(std::move(hooks)),
      jobs_(reactor,
            {core.clock, *core.store, core.jobs, core.journal, core.audit, core.portions,
             core.after_commit},
            {hooks_.ending, [this](const Request& r) { return routing_.viewer_of(r); },
             [this](JobId id) { own_instances_.submitted(id); }}),
      pages_(server, {core.identity, core.clock, core.config, core.jobs, core.journal,
                      core.children, core.awaited, core.records, core.portions, core.after_commit}),
      arrays_(core.jobs, core.portions, core.after_commit),
      signals_(core.jobs, core.agents, core.after_commit),
      job_changes_(reactor, core.jobs, core.agents, core.after_commit),
      followers_(reactor,
                 {core.jobs, core.journal, core.node_view, core.portions, core.after_commit}),
      tree_(reactor, server,
            {core.config, core.jobs, core.children, core.node_view, core.after_commit},
            [this](const Request& r) { return routing_.viewer_of(r); }),
      schedule_(reactor, {core.clock, *core.store, core.scheduler, core.gates, core.jobs,
                          core.reservations, core.portions, core.after_commit}),
      queues_(reactor, {*core.store, core.scheduler, core.gates, core.jobs, core.after_commit}),
      policies_(reactor, {core.clock, core.scheduler, core.policies, core.jobs, core.portions,
                          core.after_commit}),
      config_(reactor, {core.jobs, *core.store, core.scheduler, core.policies, core.after_commit},
              hooks_.conf, hooks_.told, hooks_.begin_again),
      reservations_(
          reactor, {core.clock, *core.store, core.scheduler, core.reservations, core.after_commit}),
      resources_(
          reactor, server,
          {core.clock, *core.store, core.jobs, core.drains, core.children, core.after_commit}),
      provisions_(core.provisions, core.after_commit),
      grants_(reactor, core.grants, core.after_commit),
      own_instances_(reactor, {core.config, core.identity, core.jobs, core.children, core.awaited,
                               core.node_view}),
      gone_({core.identity, core.agents, core.journal, core.records, pages_, core.outputs,
             core.portions, core.after_commit}),
      routing_(reactor, server,
               {core.identity, core.jobs, core.agents, core.children, core.awaited, core.refusals,
                core.audit, core.access, gone_, dispatcher_},
               hooks_.forward_up) {
  schedule_.late_word = [&core, &reactor](const ActiveJob& job) {
    return core.grants.late_word(job, reactor.now());
  };
  schedule_.viewer_of = [this](const Request& r) { return routing_.viewer_of(r); };
  add_job_requests();
  add_agent_requests();
  add_tree_requests();
  add_instance_requests();
  instance_.children.on_connected = [this](JobId child) {
    instance_.awaited.connected(child);
    resources_.tell_drains(child);
  };
  instance_.on_event = [this] { followers_.happened(); };
  instance_.on_child_ended = [this](JobId child) { instance_.awaited.over(child); };
}

void Service::add_job_requests() {
  jobs_.add_to(dispatcher_);
  dispatcher_.add("jobs", [this](const Request& r) { pages_.list(r, routing_.viewer_of(r)); });
  dispatcher_.add("job.tasks", [this](const Request& r) { arrays_.tasks(r); });
  dispatcher_.add("job.watch",
                  [this](const Request& r) { instance_.watchers.watch(r, routing_.viewer_of(r)); });
  dispatcher_.add("job.wait",
                  [this](const Request& r) { instance_.watchers.wait(r, routing_.viewer_of(r)); });
  dispatcher_.add("job.attach", [this](const Request& r) { instance_.outputs.attach(r); });
  dispatcher_.add("job.input", [this](const Request& r) { instance_.inputs.take(r); });
  dispatcher_.add("job.signal", [this](const Request& r) { signals_.take(r); });
  dispatcher_.add("events",
                  [this](const Request& r) { followers_.follow(r, routing_.viewer_of(r)); });
  job_changes_.add_to(dispatcher_);
  schedule_.add_to(dispatcher_);
  queues_.add_to(dispatcher_);
  policies_.add_to(dispatcher_);
  config_.add_to(dispatcher_);
  reservations_.add_to(dispatcher_);
}

void Service::add_agent_requests() {
  dispatcher_.add("agent.hello", [this](const Request& r) {
    instance_.agents.hello(r, reactor_.now());
    instance_.after_commit.add([this] {
      instance_.outputs.agent_is_back();
      hooks_.agent_up();
    });
  });
  dispatcher_.add("agent.report",
                  [this](const Request& r) { instance_.agents.report(r, reactor_.now()); });
  dispatcher_.add("agent.fence", [this](const Request& r) { instance_.agents.fence(r); });
  dispatcher_.add("agent.files", [this](const Request& r) { tell_files(r, instance_.identity); });
  dispatcher_.add("agent.refused", [this](const Request& r) { keep_refusals(r, instance_); });
  dispatcher_.add("agent.keep",
                  [this](const Request& r) { keep_output(r, instance_.jobs, instance_.agents); });
}

void Service::add_tree_requests() {
  tree_.add_to(dispatcher_);
  dispatcher_.add("hello",
                  [this](const Request& r) { instance_.children.hello(r, reactor_.now()); });
  dispatcher_.add("invitation",
                  [this](const Request& r) { instance_.children.invite(r, reactor_.now()); });
  dispatcher_.add("record",
                  [this](const Request& r) { instance_.records.take(r, reactor_.now()); });
  dispatcher_.add("ending", [this](const Request& r) { instance_.children.begins_to_end(r); });
  grants_.add_to(dispatcher_);
  dispatcher_.add("lease", [this](const Request& r) { lease(r); });
}

void Service::add_instance_requests() {
  resources_.add_to(dispatcher_);
  provisions_.add_to(dispatcher_);
  instance_.audit.add_to(dispatcher_);
  dispatcher_.add("user.instance", [this](const Request& r) { own_instance(r); });
  dispatcher_.add("node.invite", [this](const Request& r) { invite(r); });
  dispatcher_.add("node.leave", [this](const Request& r) {
    instance_.leaving_nodes.ask(r, instance_.clock.wall(reactor_.now()), reactor_.now());
  });
  dispatcher_.add("journal.compact", [this](const Request& r) { compact(r); });
  dispatcher_.add("shutdown", [this](const Request& r) { shut_down(r); });
}

template <class Reply>
void Service::reply_later(const Request& request, Reply reply) {
  instance_.after_commit.add([request, reply = std::move(reply)] { request.reply(pack(reply)); });
}

void Service::own_instance(const Request& request) {
  const bool is_served = (routing_.kinds_of(request) & kMember) != 0;
  own_instances_.answer(request, is_served ? routing_.viewer_of(request) : std::nullopt);
}

void Service::invite(const Request& request) {
  const auto ask = unpack<msg::InviteRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  auto made = hooks_.invite(*ask);
  if (!made) return request.fail(made.error());
  reply_later(request, msg::InviteReply{std::move(*made)});
}

void Service::compact(const Request& request) {
  constexpr std::int64_t kPagesAtOnce = 500;
  const std::int64_t before = instance_.journal.size();
  instance_.portions.add(request, [this, request, before] {
    const auto left = instance_.journal.give_back(kPagesAtOnce);
    if (!left) return request.fail(left.error()), false;
    if (*left > 0 && !request.done()) return true;
    instance_.after_commit.add([this, request, before] {
      const auto after = instance_.journal.shrink_log();
      if (!after) return request.fail(after.error());
      request.reply(pack(msg::CompactReply{before, *after}));
    });
    return false;
  });
}

void Service::shut_down(const Request& request) {
  const auto ask = unpack<msg::ShutdownRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  reply_later(request, msg::Empty{});
  hooks_.shutdown(ask->reason.empty() ? "holon shutdown" : ask->reason);
}

void Service::lease(const Request& request) {
  const auto lease = unpack<msg::Lease>(request.payload());
  if (!lease) return request.fail(lease.error());
  hooks_.lease(*lease);
  reply_later(request, msg::Empty{});
}

void Service::close(const Error& why) {
  instance_.watchers.close(why);
  followers_.close(why);
  instance_.outputs.close(why);
  instance_.inputs.close(why);
  instance_.awaited.close(why);
  instance_.leaving_nodes.close(why);
}

}  // namespace holon::instance
