#include "instance/service/instance.hpp"

#include <fmt/core.h>
#include <pwd.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "batch/allocation.hpp"
#include "instance/basics/text.hpp"
#include "instance/journal/instance_id.hpp"
#include "instance/resources/resources.hpp"

namespace holon::instance {
namespace {

constexpr std::int64_t kPortions = 4'000;  // us of a turn for work in portions

constexpr Duration kWalltimePatience = 60'000;  // for the first answer about a node's batch job

// An agent that finds no broker ends its jobs itself, each with its grace. An agent on another node
// may be gone with its node, which gets nothing before it has come back and ended them.
Duration given_up_after(const config::Config& config, bool is_far) {
  if (is_far && config.rejoin_timeout > 0) return config.rejoin_timeout;
  if (config.orphan_timeout == 0) return 0;
  const Duration end = config.grace + config.shutdown_timeout;  // of a child instance
  return saturating_add(config.orphan_timeout, 2 * config.peer_timeout + end);
}

}  // namespace

Instance::Instance(transport::Reactor& reactor, InstanceClock& the_clock, transport::Server& server,
                   Journal& the_journal, const config::Config& the_config,
                   AfterCommit& the_after_commit, Identity who,
                   std::unique_ptr<resource::ResourceStore> the_store,
                   qmanager::Scheduler the_scheduler, ParentLink* parent)
    : identity(std::move(who)),
      clock(the_clock),
      config(the_config),
      store(std::move(the_store)),
      nodes_of_agents(store->graph(), identity.agents),
      scheduler(std::move(the_scheduler)),
      gates(the_journal, scheduler),
      policies(the_journal, scheduler, the_config),
      jobs(the_journal, the_clock, scheduler, gates, *store, nodes_of_agents, *this, the_config,
           identity.path, identity.state_dir + "/output"),
      planted({identity.binary, *store, the_journal, jobs}),
      access(identity.serves_users, the_config, jobs),
      reservations(the_journal, scheduler, jobs),
      drains(the_journal, *store, jobs),
      joining_nodes(the_journal, *store, nodes_of_agents, jobs, drains, identity.hosts),
      audit(the_journal, the_clock, the_config.keep_audit),
      offline(the_journal, *store, jobs, nodes_of_agents, the_clock,
              {the_config.peer_timeout, given_up_after(the_config, false),
               given_up_after(the_config, identity.spreads)}),
      agents({reactor, server, the_journal, jobs, store->graph(), nodes_of_agents, the_after_commit,
              task_settings()},
             refusals, offline, identity.agent_secrets),
      granted_nodes({*store, nodes_of_agents, agents, offline, joining_nodes, drains},
                    identity.granted),
      leaving_nodes(*store, nodes_of_agents, granted_nodes, jobs, agents, drains, the_after_commit),
      node_ends(reactor, the_journal, *store, jobs, agents, leaving_nodes,
                {the_config.walltime_interval, the_config.walltime_margin, kWalltimePatience}),
      provisions({reactor, clock, the_journal, *store, scheduler, jobs, agents, node_ends,
                  leaving_nodes, the_after_commit},
                 provision_settings()),
      children(
          server, the_journal, jobs, the_after_commit, refusals,
          [this](const ActiveJob& job) { return grant_for(job); }, identity.belongs_to),
      awaited(reactor),
      takeovers(reactor, clock, the_journal, jobs, agents,
                {identity.binary, identity.path, identity.state_dir}),
      watchers(jobs, the_journal, the_after_commit, portions),
      output_log(the_journal, identity.state_dir + "/output"),
      outputs(reactor, server, jobs, agents, the_after_commit,
              identity.serves_users ? identity.state_dir + "/output" : std::string()),
      retention(the_journal, jobs, the_after_commit, the_config.keep, the_config.keep_age,
                identity.state_dir),
      inputs(server, jobs, agents, the_after_commit),
      journal(the_journal),
      after_commit(the_after_commit),
      records({identity, jobs, the_journal, children, access, parent}),
      grants({identity, the_config, the_clock, the_journal, *store, scheduler, nodes_of_agents,
              jobs, agents, granted_nodes, children, the_after_commit, parent}),
      node_view({identity, clock, *store, policies, jobs, children, leaving_nodes, planted, ending,
                 read_only_}),
      parent_(parent) {
  offline.on_given_up = [this](std::uint32_t rank) {
    const bool is_far = rank > 0 && identity.spreads;
    agents.of(rank).give_up(given_up_after(this->config, is_far), clock.now());
    const bool is_own = !granted_nodes.has(static_cast<std::int32_t>(rank));
    if (is_own && !leaving_nodes.has_left(rank)) on_node_lost(rank);
  };
  offline.has_left = [this](std::uint32_t rank) { return leaving_nodes.is_gone(rank); };
  agents.on_latecomer = [this](const NodeTopology& node) { return joining_nodes.take_in(node); };
  agents.on_welcome = [this](const launch::msg::Hello& hello) {
    node_ends.agent_came(hello, clock.now());
    provisions.agent_came(hello);
  };
  agents.is_sent_home = [this](std::uint32_t rank) { return leaving_nodes.is_sent_home(rank); };
  refusals.on_logged = [this](const transport::Request& request, const Error& why) {
    audit.refused(request, why);
  };
  outputs.logged = [this](JobId job) { return output_log.read(job); };
  if (identity.serves_users)
    jobs.groups_of = [this](const std::string& user) -> const std::vector<std::string>& {
      return access.groups_of(user, clock.now());
    };
  retention.on_forgotten = [this] { output_log.clean(clock.now()); };
  retention.on_forgetting = [this](JobId first, JobId stop) {
    output_log.forget(first, stop);
    agents.forgotten(first, stop);
  };
  leaving_nodes.recall = [this](const LeavingNodes::Lent& node, Time now) {
    grants.node_leaves({node.grant, node.rank, node.by_force, node.why}, now);
  };
  drains.nodes_going_back = [this] { return grants.nodes_going_back(); };
  grants.on_sure([this] { agents.tell_what_is_sure(); });
  children.on_new = [this](JobId child, Time now) { grants.begins_anew(child, now); };
  if (parent_ != nullptr)
    takeovers.on_changed = [this](const std::string& path) { parent_->changed(path); };
  if (config.monitor)
    schedule_log.emplace(identity.state_dir + "/schedule", jobs, store->graph(), after_commit);
}

Result<std::unique_ptr<Instance>> Instance::create(transport::Reactor& reactor,
                                                   InstanceClock& clock, transport::Server& server,
                                                   Journal& journal, const config::Config& config,
                                                   AfterCommit& after_commit, Identity identity,
                                                   resource::ResourceStore store,
                                                   ParentLink* parent, const Beginning& beginning) {
  // The scheduler keeps a reference to the store, so the store must be in its final place before
  // the scheduler is made.
  auto owned = std::make_unique<resource::ResourceStore>(std::move(store));
  qmanager::SchedulerConfig settings = config.scheduler;
  settings.tell_waits = false;  // outlook() is asked when somebody looks at a job
  settings.show_time = [&clock](Time when, Time now) {
    return time_text(clock.wall(when), clock.wall(now));
  };
  settings.show_length = duration_text;
  settings.wall_time = [&clock](Time when) { return clock.wall(when); };
  settings.second_of_day = [&clock](Time when) { return second_of_day(clock.wall(when)); };
  const auto made = std::make_shared<const Instance*>();  // set once the instance exists
  settings.job_text = [made](JobId job) {
    return *made == nullptr ? std::to_string(job.value()) : (*made)->jobs.label_of(job);
  };
  settings.show_drains = [made] { return *made == nullptr ? "" : (*made)->reasons_of_outage(); };
  const bool grows = identity.bind && (identity.spreads || identity.agent_secrets.size() > 1);
  if (grows || parent != nullptr)
    settings.awaited = [made](const qmanager::JobRequest& job) {
      return *made == nullptr ? "" : (*made)->awaited_for(job);
    };
  auto scheduler = qmanager::Scheduler::create(std::move(settings), *owned);
  if (!scheduler) return tl::unexpected(scheduler.error());
  std::unique_ptr<Instance> core(new Instance(reactor, clock, server, journal, config, after_commit,
                                              std::move(identity), std::move(owned),
                                              std::move(*scheduler), parent));
  *made = core.get();
  core->jobs.grows = grows;
  core->jobs.help_for = [raw = core.get()](JobId job) { return raw->provisions.note_for(job); };
  core->jobs.end_waits_for = [raw = core.get()](const ActiveJob& job) {
    return job.submission->is_instance ? raw->takeovers.waits_for(job.id) : "";
  };
  core->jobs.doubt = [raw = core.get()](const ActiveJob& job) { return raw->doubt(job); };
  if (auto set = core->policies.restore(); !set) return tl::unexpected(set.error());
  // Before reservations, which are made anew here beside drained nodes. Where reservations are held
  // again, so are their jobs, on drained nodes as on others.
  if (beginning.fresh)
    if (auto drained = core->drains.restore(); !drained) return tl::unexpected(drained.error());
  if (auto held = core->reservations.recover(reactor.now(), beginning.fresh); !held)
    return tl::unexpected(held.error());
  if (auto within = core->policies.restore_within(); !within) return tl::unexpected(within.error());
  // Before the jobs, some of which wait for nodes that provisions bring.
  if (auto known = core->provisions.restore(beginning.fresh); !known)
    return tl::unexpected(known.error());
  // Before the jobs: a job that was a child is over only when its records are taken over.
  if (auto known = core->children.recover(reactor.now()); !known)
    return tl::unexpected(known.error());
  // Before the jobs, some of which may be too large for what is here now.
  if (auto known = core->grants.load(beginning.fresh); !known) return tl::unexpected(known.error());
  if (auto recovered = core->jobs.recover(beginning, reactor.now()); !recovered)
    return tl::unexpected(recovered.error());
  core->grants.restore(reactor.now());
  if (auto restored = core->gates.restore(); !restored) return tl::unexpected(restored.error());
  if (!beginning.fresh)
    if (auto drained = core->drains.restore(); !drained) return tl::unexpected(drained.error());
  if (beginning.fresh)
    core->leaving_nodes.forget();
  else
    core->leaving_nodes.restore();
  if (auto known = core->offline.restore(reactor.now()); !known)
    return tl::unexpected(known.error());
  if (auto known = core->node_ends.restore(beginning.fresh); !known)
    return tl::unexpected(known.error());
  core->agents.kill_orphans(core->jobs.orphans());
  core->takeovers.close_strays();
  return core;
}

TaskSettings Instance::task_settings() {
  TaskSettings settings;
  settings.uri = identity.uri;
  settings.binary = identity.binary;
  settings.state_dir = identity.state_dir;
  settings.serves_users = identity.serves_users;
  settings.bind = identity.bind;
  settings.grace = config.grace;
  settings.mpi = config.mpi;
  settings.is_one_machine = identity.is_one_machine;
  settings.output_limit = config.output_limit;
  settings.keep_memory = config.keep_memory;
  settings.prolog = config.prolog;
  settings.epilog = config.epilog;
  settings.hook_timeout = config.hook_timeout;
  settings.instance_grace = config.grace + config.shutdown_timeout;
  settings.token = [this](JobId job) { return children.token(job); };
  settings.grant_epoch = [this] { return grants.epoch(); };
  settings.sure_until = [this](const ActiveJob& job) { return grants.sure_until(job); };
  settings.left_no_files = [this](JobId job) { retention.left_no_files(job); };
  // Where all jobs are one user's, nobody asks for what belongs to another here.
  if (identity.serves_users)
    settings.denied = [this](const ActiveJob& job, const std::string& why) {
      task_denied(job, why);
    };
  settings.keep_output = [this](JobId job, const LoggedOutput& written, bool again) {
    return keep_output(job, written, again);
  };
  return settings;
}

// Reported once a user and minute: each of an array's million tasks may name another's files.
void Instance::task_denied(const ActiveJob& job, const std::string& why) {
  const std::string& user = job.life.user;
  const std::string named = fmt::format("job {}", jobs.label_of(job.id));
  const std::string line = refusals.note("a task of user " + user, named + ": " + why, clock.now());
  if (line.empty()) return;
  spdlog::warn(line);
  const passwd* const whose = getpwnam(user.c_str());
  audit.task_denied(named, whose == nullptr ? -1 : std::int64_t{whose->pw_uid}, why);
}

Result<msg::Grant> Instance::grant_for(const ActiveJob& job) const {
  auto jgf = grant_text(store->graph(), *job.allocation);
  if (!jgf) return tl::unexpected(jgf.error());
  msg::Grant grant;
  grant.jgf = std::move(*jgf);
  const msg::Lease lease = lease_of(job);
  grant.time_left = lease.time_left;
  grant.lease = lease.lease;
  grant.elastic = lease.elastic;
  grant.path = jobs.path_of(job.id);
  grant.name = job.submission->name;
  grant.bind = identity.bind;
  grant.patience = patience();
  grant.moved_by = lease.moved_by;
  grant.moved_by_operator = lease.moved_by_operator;
  grant.for_good = lease.for_good;
  return grant;
}

// A level has ended what it must end by force, and told of it, before the level above loses
// patience: that takes a process some seconds at most, at any depth.
Duration Instance::patience() const {
  const Duration own = config.shutdown_timeout;
  return identity.patience < 0 ? own : std::min(own, identity.patience - identity.patience / 6);
}

// Of a child that goes on: it does not run again.
bool Instance::is_last_end_of(const ActiveJob& job) {
  return job.submission->wishes.goes_on && (job.life.cancelled || job.life.exception == "timeout");
}

msg::Lease Instance::lease_of(const ActiveJob& job) const {
  const auto& updates = job.life.updates.all;
  const std::int64_t elastic = updates == nullptr ? -1 : updates->elastic.value_or(-1);
  const Time end = job.life.expiration;
  const EndMover mover = jobs.end_mover_of(job);
  return {end == 0 ? 0 : std::max<Duration>(1, end - clock.now()),
          end,
          elastic,
          mover.path,
          mover.by_operator,
          is_last_end_of(job)};
}

// A child that goes on hears in time whether the signal is its last end.
void Instance::kill_tasks(const ActiveJob& job) {
  if (is_last_end_of(job))
    after_commit.add([this, id = job.id] {
      if (const ActiveJob* const known = jobs.find(id)) children.tell_lease(id, lease_of(*known));
    });
  agents.kill_tasks(job);
}

Provisions::Settings Instance::provision_settings() const {
  Provisions::Settings settings;
  settings.state_dir = identity.state_dir;
  settings.binary = identity.binary;
  if (const auto known = read_instance_id(identity.state_dir); known && *known)
    settings.id = (**known).id;
  settings.interval = config.walltime_interval;
  settings.margin = config.walltime_margin;
  if (const passwd* const user = getpwuid(geteuid()); user != nullptr)
    settings.user = user->pw_name;
  const auto around =
      batch::find_allocation(batch::current_environment(), batch::system_of(config.batch_system));
  const bool is_in_batch_job =
      around.system != batch::System::none && around.system != batch::System::holon;
  if (identity.path != "/")
    settings.refusal = "a child instance gets its nodes from the instance above";
  else if (is_in_batch_job)
    settings.refusal = fmt::format(
        "this instance runs in {} job {}, and has the nodes of that; one that is to get its nodes "
        "by batch jobs runs outside of any",
        batch::title_of(around.system), around.job);
  else if (!identity.bind)
    settings.refusal =
        "its resources were declared, and no node can be added to them; start it without "
        "--resources";
  else if (!identity.spreads)
    settings.refusal =
        "this instance has one node and listens at its socket only; `holon start --joinable` makes "
        "one that others can join";
  return settings;
}

std::string Instance::awaited_for(const qmanager::JobRequest& job) const {
  std::string all = jobs.grows ? joining_nodes.awaited(agents.awaited()) : "";
  for (const std::string& more : {provisions.awaited(), grants.awaited(job)})
    if (!more.empty()) all += (all.empty() ? "" : "; ") + more;
  return all;
}

// A job that is not over runs again, and its output continues where this attempt's ends. A job with
// files continues there: a row of the log would be read instead of them.
Status Instance::keep_output(JobId job, const LoggedOutput& written, bool again) {
  if (again && output_log.is_left_with_agent(job))
    return fail(Errc::system, "it could not be written at the job's end");
  if (again && output_log.has_files(job)) return {};
  Status kept = jobs.find(job) == nullptr ? output_log.add(job, written)
                                          : output_log.add_to_files(job, written);
  if (!kept) output_log.leave_with_agent(job);
  return kept;
}

std::string Instance::reasons_of_outage() const {
  const std::string drained = drains.reasons(), away = offline.reasons();
  return drained + (drained.empty() || away.empty() ? "" : "; ") + away;
}

// Where an agent is away, the job's processes may run on or be gone.
std::string Instance::doubt(const ActiveJob& job) const {
  if (offline.none() || !job.allocation) return {};
  const auto& graph = store->graph();
  for (const auto& share : job.allocation->shares)
    if (const auto unit = graph.find_uniq(share.uniq_id))
      for (auto v = *unit; v != resource::kNoVertex; v = graph.parent(v))
        if (!graph[v].up) return offline.reasons();
  return {};
}

bool Instance::needs_agent_to_end() const {
  return provisions.is_cut_off() || jobs.counts().running > 0;
}

std::optional<Time> Instance::turn(Time now) {
  portions.turn(kPortions);
  auto next = takeovers.turn(now);
  const auto next_away = offline.turn(now);
  // Comes first: the end of a node that has just come back may be past.
  leaving_nodes.look_after_all();
  const auto next_end = node_ends.turn(clock.wall(now), now);
  leaving_nodes.turn(now);
  jobs.schedule(now);
  const auto next_grant = grants.turn(now);
  const auto next_provision = provisions.turn(now);
  policies.keep();
  if (schedule_log) schedule_log->turn(now);
  const bool forgets = retention.turn(now);
  agents.settle(now);
  output_log.keep();
  const bool compresses = output_log.turn();
  if (forgets || compresses) return now;
  if (!portions.empty()) return now;
  for (const auto& other : {next_away, next_end, next_grant, next_provision, jobs.next_turn(now),
                            schedule_log ? schedule_log->next_turn() : std::nullopt})
    if (other) next = next ? std::min(*next, *other) : other;
  return next;
}

void Instance::only_list(const std::string& why) {
  read_only_ = true;
  jobs.read_only("nothing is started: " + why);
}

void Instance::set_end_mover(const EndMover& mover) {
  if (mover == jobs.end_mover()) return;
  jobs.set_end_mover(mover);
  after_commit.add([this] {
    for (const JobId id : jobs.holding())
      if (const ActiveJob* const job = jobs.find(id)) children.tell_lease(id, lease_of(*job));
  });
}

void Instance::set_lease(Time end, Time now) {
  if (end == identity.lease_end) return;
  if (auto moved = store->set_horizon({store->options().horizon.begin, end}); !moved) return;
  jobs.lease_changed(std::exchange(identity.lease_end, end), now);
  reservations.lease_ends(end, now);
}

void Instance::ended_unstarted(JobId first, JobId last, const std::vector<Event>& events) {
  watchers.ended_unstarted(first, last, events);
}

void Instance::happened(JobId job, const Event& event) {
  watchers.happened(job, event);
  on_event();
  const bool starts = std::holds_alternative<event::Start>(event.body);
  if (starts || std::holds_alternative<event::RankStart>(event.body)) {
    outputs.started(job);
    inputs.started(job);
  }
  if (std::holds_alternative<event::RankFinish>(event.body))
    after_commit.add([this, job] { agents.part_ended(job); });
  if (starts || std::holds_alternative<event::RankStart>(event.body))
    after_commit.add([this, job, now = event.time] { children.tasks_started(job, now); });
  if (starts || std::holds_alternative<event::RankStart>(event.body))
    if (const ActiveJob* const known = jobs.find(job);
        known != nullptr && known->life.preemption.by != 0)
      preempted(*known);
  if (schedule_log && std::holds_alternative<event::Alloc>(event.body)) schedule_log->started(job);
}

// The parent hears of an array as a whole.
void Instance::changed(const ActiveJob& job) {
  if (parent_ == nullptr) return;
  parent_->changed(jobs.path_of(is_array_task(job) ? array_of(job) : job.id));
}

void Instance::limit_changed(const ActiveJob& job) {
  const Duration limit = jobs.time_limit_of(job);
  after_commit.add([this, id = job.id, limit] {
    const ActiveJob* const known = jobs.find(id);
    if (known == nullptr) return;
    agents.set_limit(*known, limit);
    children.tell_lease(id, lease_of(*known));
  });
}

// Agents are told again as the job's tasks start: an agent that is away hears nothing now.
void Instance::preempted(const ActiveJob& job) {
  if (job.submission->wishes.checkpoint_signal == 0) return;
  after_commit.add([this, id = job.id] {
    if (const ActiveJob* const known = jobs.find(id)) agents.checkpoint(*known);
  });
}

bool Instance::may_end(const ActiveJob& job) {
  if (!job.submission->is_instance || !children.has_begun(job.id)) return true;
  return takeovers.done(job.id, children.has_told_all(job.id));
}

void Instance::ended(const msg::JobRecord& record) {
  const JobId id(record.id);
  watchers.ended(id);
  outputs.ended(id);
  inputs.ended(id);
  retention.ended(record);
  grants.is_over(record, clock.now());
  if (!record.is_instance) return;
  children.forget(id);
  takeovers.forget(id);
  on_child_ended(id);
}

}  // namespace holon::instance
