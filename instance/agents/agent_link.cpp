#include "instance/agents/agent_link.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "instance/job/placement.hpp"
#include "launch/exit_code.hpp"
#include "launch/tasks/process.hpp"
#include "transport/codec/codec.hpp"
#include "transport/secret.hpp"

namespace holon::instance {
namespace {

namespace lm = launch::msg;

constexpr std::uint32_t kRank = 0;  // the agent that there is
// Bytes of starts after which another message is begun; one may have 64 MiB.
constexpr std::size_t kEnough = 8 << 20;

// The task whose exit code is the job's.
int worst_status(const lm::Finished& f) {
  for (const auto& task : f.tasks)
    if (task.started && launch::exit_code_of(task.status) == f.exit_code) return task.status;
  return (f.exit_code & 0xff) << 8;
}

lm::Program program_of(const resource::Jobspec& spec) {
  lm::Program program;
  program.argv = spec.tasks.front().command;
  program.env = spec.environment;
  for (const auto& name : spec.unset_environment) program.env.erase(name);
  program.cwd = spec.cwd;
  program.inherit_env = spec.environment.empty() && !spec.empty_environment;
  return program;
}

// Bytes on the wire, roughly.
std::size_t size_of_start(const lm::Program& program) {
  std::size_t bytes = 100;
  for (const auto& word : program.argv) bytes += word.size() + 5;
  for (const auto& [name, value] : program.env) bytes += name.size() + value.size() + 10;
  return bytes;
}
std::size_t size_of_start(const lm::Start& start) {
  return 500 + start.nodelist.size() + start.output.size() + start.error.size() +
         60 * start.tasks.size();
}

}  // namespace

AgentLink::AgentLink(transport::Reactor& reactor, transport::Server& server, Journal& journal,
                     JobManager& jobs, const resource::ResourceGraph& graph,
                     AfterCommit& after_commit, Refusals& refusals, TaskSettings settings)
    : reactor_(reactor),
      server_(server),
      journal_(journal),
      jobs_(jobs),
      graph_(graph),
      after_commit_(after_commit),
      refusals_(refusals),
      settings_(std::move(settings)) {
  const std::string numbering = launch::process_numbering();
  if (const auto known = journal_.agent(kRank); known && *known) {
    incarnation_ = (*known)->incarnation;
    same_numbering_ = (*known)->numbering.empty() || (*known)->numbering == numbering;
  }
  journal_.put_agent({kRank, incarnation_, numbering});
  if (auto known = journal_.orphans(kRank); known && same_numbering_) orphans_ = std::move(*known);
}

// ---- outgoing ----

void AgentLink::start_tasks(const ActiveJob& job) {
  to_start_.insert(job.id);
  // Now, so that it is on disk before the child can show it.
  if (job.submission->is_instance) settings_.token(job.id);
}

void AgentLink::kill_tasks(const ActiveJob& job) {
  if (killed_.count(job.id) == 0) to_kill_.insert(job.id);
}

void AgentLink::forget(JobId job) {
  to_start_.erase(job);
  to_kill_.erase(job);
  sent_.erase(job);
  killed_.erase(job);
}

void AgentLink::settle(Time now) {
  std::vector<JobId> unsent;
  for (const JobId id : to_kill_)
    if (to_start_.count(id) != 0 && sent_.count(id) == 0) unsent.push_back(id);
  for (const JobId id : unsent) {
    to_start_.erase(id);
    to_kill_.erase(id);
    jobs_.never_started(id, now);
  }
}

void AgentLink::tell(const char* topic, std::string payload) {
  // No answer is waited for: what became of it comes with a report, and a lost connection with the
  // next hello.
  server_.call(peer_, {topic, std::move(payload), "", 0}, [](const Result<std::string>&) {});
}

lm::Start AgentLink::start_message(const ActiveJob& job, std::uint32_t program) const {
  const auto& what = *job.submission;
  auto nodes = nodes_of(graph_, *job.allocation);
  place_tasks(nodes, tasks_of(job));
  lm::Start start;
  start.job = job.id.value();
  start.path = jobs_.path_of(job.id);
  start.program = program;
  start.ntasks = static_cast<std::uint32_t>(tasks_of(job));
  start.nnodes = static_cast<std::uint32_t>(std::max<std::size_t>(1, nodes.size()));
  start.nodelist = job.life.place.nodelist;
  start.bind = settings_.bind;
  if (what.is_instance)
    start.tasks.push_back({0, "", ""});  // all of the job's cores
  else
    for (const auto& node : nodes) {
      for (const auto& task : node.tasks)
        start.tasks.push_back(
            {static_cast<std::uint32_t>(task.rank), idset_text(task.cores), idset_text(task.gpus)});
      if (nodes.size() > 1)
        start.node_tasks.push_back(static_cast<std::uint32_t>(node.tasks.size()));
    }
  if (nodes.empty() && !what.is_instance)
    for (std::uint32_t i = 0; i < start.ntasks; ++i) start.tasks.push_back({i, "", ""});
  if (nodes.size() == 1) {
    start.cores = idset_text(nodes.front().cores);
    start.gpus = idset_text(nodes.front().gpus);
  }
  const auto files = jobs_.files_of(job);
  start.input = files.input;
  start.input_tasks = what.input_tasks;
  start.output = files.output;
  start.error = files.error;
  start.label = what.label;
  start.limit =
      job.life.expiration == 0 ? 0 : std::max<Duration>(1, job.life.expiration - job.life.t_alloc);
  start.grace = what.is_instance ? settings_.instance_grace : settings_.grace;
  start.env = {{"HOLON_URI", settings_.uri}, {"HOLON_PE", job.life.environment}};
  if (what.is_instance) {
    start.secrets = {
        {"HOLON_PARENT_URI", settings_.uri},
        {"HOLON_TOKEN", settings_.token(job.id)},
        {"HOLON_STATE_DIR", settings_.state_dir + "/children/" + std::to_string(job.id.value())}};
  }
  return start;
}

// As many of them as fit into one message, in the order of their ids.
lm::StartRequest AgentLink::start_request() {
  lm::StartRequest request;
  std::unordered_map<const Submission*, std::uint32_t> programs;
  std::size_t bytes = 0;
  while (!to_start_.empty() && bytes < kEnough) {
    const JobId id = *to_start_.begin();
    to_start_.erase(to_start_.begin());
    const ActiveJob* job = jobs_.find(id);
    if (job == nullptr || next_step(job->life) != Step::start) continue;
    const auto [known, fresh] = programs.emplace(
        job->submission.get(), static_cast<std::uint32_t>(request.programs.size()));
    if (fresh)
      bytes += size_of_start(request.programs.emplace_back(program_of(*job->submission->spec)));
    bytes += size_of_start(request.jobs.emplace_back(start_message(*job, known->second)));
    sent_.insert(id);
  }
  return request;
}

void AgentLink::send_starts() {
  // Somebody may have removed where they write.
  if (!to_start_.empty()) mkdir((settings_.state_dir + "/output").c_str(), 0700);
  while (!to_start_.empty()) send_some();
}

void AgentLink::send_some() {
  const auto request = start_request();
  if (request.jobs.empty()) return;
  std::vector<JobId> ids;
  for (const auto& start : request.jobs) ids.emplace_back(start.job);
  server_.call(peer_, {"agent.start", transport::pack(request), "", 0},
               [this, ids = std::move(ids)](const Result<std::string>& answer) {
                 // A lost connection is settled by the next hello; a refusal is the jobs' end.
                 if (answer || answer.error().code == Errc::disconnected) return;
                 const Time now = reactor_.now();
                 for (const JobId id : ids)
                   jobs_.tasks_ended(
                       id,
                       {"exec", "the agent refused: " + answer.error().what, {127 << 8, 0, 0}, now},
                       now);
               });
}

void AgentLink::flush() {
  if (!connected()) return;
  send_starts();
  if (!to_kill_.empty()) {
    lm::KillRequest kill;
    for (const JobId id : to_kill_) kill.jobs.push_back(id.value());
    killed_.merge(to_kill_);
    to_kill_.clear();
    tell("agent.kill", transport::pack(kill));
  }
}

void AgentLink::set_limit(JobId job, Duration limit) {
  if (connected() && has(job))
    tell("agent.limit", transport::pack(lm::LimitRequest{job.value(), limit}));
}

void AgentLink::capture(std::vector<std::string> argv,
                        std::function<void(const Result<lm::CaptureReply>&)> done) {
  lm::CaptureRequest ask;
  ask.argv = std::move(argv);
  server_.call(peer_, {"agent.capture", transport::pack(ask), "", 0},
               [done = std::move(done)](const Result<std::string>& answer) {
                 done(answer ? transport::unpack<lm::CaptureReply>(*answer)
                             : tl::unexpected(answer.error()));
               });
}

void AgentLink::kill_all_now() {
  if (!connected()) return;
  lm::KillRequest kill;
  kill.grace = 0;
  for (const JobId id : sent_) kill.jobs.push_back(id.value());
  tell("agent.kill", transport::pack(kill));
}

void AgentLink::kill_orphans(const std::vector<event::Process>& orphans) {
  if (!same_numbering_ || orphans.empty()) return;
  orphans_.insert(orphans_.end(), orphans.begin(), orphans.end());
  keep_orphans();
}

void AgentLink::keep_orphans() {
  journal_.put_orphans(kRank, orphans_);
}

void AgentLink::shutdown() {
  if (connected()) tell("agent.shutdown", transport::pack(lm::ShutdownRequest{}));
}

// ---- incoming ----

void AgentLink::peer_lost(transport::PeerId peer) {
  if (peer == peer_) peer_ = transport::PeerId{0};
}

// The agent's clock is another one: only how long ago something was counts. Both processes read
// their clock once a turn, so that it may be of earlier than the turn that gave the job its cores.
// As the journal has it, no job starts before it has cores, and nobody has them before the job that
// had them ended.
Time AgentLink::in_order(std::uint64_t job, AgentTime reported, Time now) const {
  if (reported.at == 0) return now;
  const ActiveJob* known = jobs_.find(JobId(job));
  const Time earliest = known == nullptr ? 0 : known->life.t_alloc;
  const Duration ago = distance(reported.at, reported.told);
  return std::min(std::max(ago < now ? now - ago : 0, earliest), now);
}

void AgentLink::take_started(const lm::Started& s, Time told, Time now) {
  std::vector<event::Process> processes;
  for (const auto& p : s.processes) processes.push_back({p.pid, p.start});
  jobs_.tasks_started(JobId(s.job), processes, in_order(s.job, {s.t_start, told}, now));
}

void AgentLink::take_finished(const lm::Finished& f, Time told, Time now) {
  TasksEnded ended{
      f.reason, f.what, {worst_status(f), 0, 0}, in_order(f.job, {f.t_finish, told}, now)};
  for (const auto& task : f.tasks) {
    ended.finish.cpu_ms += task.cpu_ms;
    ended.finish.max_rss_kb += task.max_rss_kb;
  }
  jobs_.tasks_ended(JobId(f.job), ended, now);
}

void AgentLink::report(const transport::Request& request, Time now) {
  const auto report = transport::unpack<lm::Report>(request.payload());
  if (!report) return request.fail(report.error());
  for (const auto& s : report->started) take_started(s, report->clock, now);
  for (const auto& f : report->finished) take_finished(f, report->clock, now);
  after_commit_.add([request] { request.reply(transport::pack(lm::Empty{})); });
}

// An agent that somebody else has taken the place of would take it back for ever, each in turn.
bool AgentLink::is_welcome(const lm::Hello& hello, lm::Welcome& welcome) const {
  if (hello.rank != 0)
    welcome.refusal =
        fmt::format("this instance has one agent, rank 0; rank {} is not expected", hello.rank);
  else if (replaced_.contains(hello.incarnation))
    welcome.refusal = "another agent of this instance has taken its place";
  return welcome.accepted = welcome.refusal.empty();
}

void AgentLink::take_over(transport::PeerId peer, const lm::Hello& hello) {
  const auto before = std::exchange(peer_, peer);
  server_.favour(peer_);
  if (hello.incarnation != incarnation_) replaced_.insert(incarnation_);
  incarnation_ = hello.incarnation;
  host_ = hello.hostname;
  journal_.put_agent({kRank, incarnation_, launch::process_numbering()});
  // It says hello again and learns where it stands.
  if (before.value() != 0 && before != peer) server_.dismiss(before);
}

void AgentLink::hello(const transport::Request& request, Time now) {
  const auto hello = transport::unpack<lm::Hello>(request.payload());
  if (!hello) return request.fail(hello.error());
  if (!transport::is_same_secret(hello->secret, settings_.agent_secret))
    return refusals_.refuse(
        request, {Errc::denied, "agent.hello: the secret is not that of this instance's agent", {}},
        now);
  lm::Welcome welcome;
  if (!is_welcome(*hello, welcome)) return request.reply(transport::pack(welcome));
  if (!hello->swept) welcome.orphans = orphans_for(*hello);
  if (!welcome.orphans.empty()) return request.reply(transport::pack(welcome));
  if (!std::exchange(orphans_, {}).empty()) keep_orphans();
  const bool same_agent = hello->incarnation == incarnation_;
  if (!same_agent) sent_.clear();
  reconcile(*hello, same_agent, welcome, now);
  take_over(request.peer(), *hello);
  after_commit_.add([request, welcome] { request.reply(transport::pack(welcome)); });
}

// Known from the journal at each hello anew, until the agent says that they are gone.
std::vector<lm::ProcessId> AgentLink::orphans_for(const lm::Hello& hello) const {
  std::vector<lm::ProcessId> orphans;
  const auto add = [&](const std::vector<event::Process>& processes) {
    for (const auto& p : processes) orphans.push_back({p.pid, p.start});
  };
  add(orphans_);
  if (hello.incarnation == incarnation_) return orphans;
  for (const auto& [id, job] : jobs_.active()) {
    const auto is_it = [n = id.value()](const auto& known) { return known.job == n; };
    if (job.life.holds_resources && !job.life.finished &&
        std::none_of(hello.running.begin(), hello.running.end(), is_it) &&
        std::none_of(hello.finished.begin(), hello.finished.end(), is_it))
      add(job.life.processes);
  }
  return orphans;
}

void AgentLink::reconcile(const lm::Hello& hello, bool same_agent, lm::Welcome& welcome, Time now) {
  std::set<JobId> there;
  for (const auto& s : hello.running) {
    const JobId id(s.job);
    const ActiveJob* job = jobs_.find(id);
    if (job == nullptr || !job->life.holds_resources || job->life.finished) {
      welcome.kill.push_back(s.job);
      continue;
    }
    there.insert(id);
    sent_.insert(id);
    take_started(s, hello.clock, now);
    if (next_step(jobs_.find(id)->life) == Step::kill) welcome.kill.push_back(s.job);
  }
  for (const std::uint64_t number : hello.waiting) {
    const JobId id(number);
    const ActiveJob* job = jobs_.find(id);
    there.insert(id);
    sent_.insert(id);
    // It may be starting right now: what it holds is free only when its end is reported.
    if (job == nullptr || next_step(job->life) != Step::start) welcome.kill.push_back(number);
  }
  for (const auto& f : hello.finished) {
    there.insert(JobId(f.job));
    take_finished(f, hello.clock, now);
  }
  // What should run and is not known there. Losing a job changes the table, so walk over a copy of
  // the ids.
  std::vector<JobId> missing;
  for (const auto& [id, job] : jobs_.active())
    if (job.life.holds_resources && !job.life.finished && there.count(id) == 0)
      missing.push_back(id);
  for (const JobId id : missing) {
    const ActiveJob& job = *jobs_.find(id);
    // Not yet sent to anybody, or sent to this very process, which has never got it: it has not
    // run.
    const bool has_not_run = !job.life.started && (same_agent || to_start_.count(id) != 0);
    sent_.erase(id);
    if (!has_not_run) {
      lose(job, now);
    } else if (next_step(job.life) == Step::start) {
      start_tasks(job);
    } else {
      to_kill_.erase(id);
      jobs_.never_started(id, now);
    }
  }
}

void AgentLink::lose(const ActiveJob& job, Time now) {
  const std::string where = host_.empty() ? job.life.place.nodelist : host_;
  jobs_.tasks_ended(
      job.id,
      {"lost", fmt::format("the agent on {} died while the job ran", where), {SIGKILL, 0, 0}, now},
      now);
}

}  // namespace holon::instance
