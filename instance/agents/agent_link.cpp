#include "instance/agents/agent_link.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "instance/basics/text.hpp"
#include "launch/exit_code.hpp"
#include "launch/streams/output_slots.hpp"
#include "launch/tracking/cores.hpp"
#include "launch/tracking/process.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

namespace lm = launch::msg;

// Bytes of starts after which a new message is begun; a message may have 64 MiB.
constexpr std::size_t kEnoughToSend = 8 << 20;
// Bytes of a program beyond which it is sent each time.
constexpr std::size_t kLargestKept = 64 << 10;

// The status of the task whose exit code is the job's.
int worst_status(const lm::Finished& f) {
  for (const auto& task : f.tasks)
    if (task.started && launch::exit_code_of(task.status) == f.exit_code) return task.status;
  return (f.exit_code & 0xff) << 8;
}

bool is_start_of_child(const std::vector<std::string>& words) {
  return words.size() > 2 && words[1] == "start" && words[2] == "--grant";
}

lm::Program program_of(const Submission& what) {
  const resource::Jobspec& spec = *what.spec;
  lm::Program program;
  program.argv = what.argv.empty() ? spec.tasks.front().command : what.argv;
  program.env = spec.environment;
  for (const auto& name : spec.unset_environment) program.env.erase(name);
  program.cwd = spec.cwd;
  program.inherit_env = spec.environment.empty() && !spec.empty_environment;
  if (what.files)
    for (const auto& file : *what.files) program.files.push_back({file.name, file.mode, file.data});
  return program;
}

// Bytes of a start on the wire, roughly.
std::size_t size_of_start(const lm::Program& program) {
  std::size_t bytes = 100;
  for (const auto& word : program.argv) bytes += word.size() + 5;
  for (const auto& [name, value] : program.env) bytes += name.size() + value.size() + 10;
  for (const auto& file : program.files) bytes += file.name.size() + file.data.size() + 30;
  return bytes;
}
std::size_t size_of_start(const lm::Start& start) {
  std::size_t bytes = 500 + start.nodelist.size() + start.output.size() + start.error.size() +
                      60 * start.tasks.size();
  for (const auto& [name, value] : start.env) bytes += value.size();
  return bytes;
}

bool is_to_checkpoint(const ActiveJob& job) {
  return job.life.preemption.by != 0 && job.submission->wishes.checkpoint_signal != 0;
}

}  // namespace

AgentLink::AgentLink(const AgentGround& ground, std::uint32_t rank)
    : ground_(ground),
      jobs_(ground.jobs),
      settings_(ground.settings),
      rank_(rank),
      left_(ground.journal, rank) {
  Journal& journal = ground_.journal;
  const std::string numbering = launch::process_numbering();
  if (const auto known = journal.agent(rank_); known && *known) {
    incarnation_ = (*known)->incarnation;
    same_numbering_ = (*known)->numbering.empty() || (*known)->numbering == numbering;
  }
  journal.put_agent({rank_, incarnation_, numbering});
  if (auto known = journal.orphans(rank_); known && same_numbering_) orphans_ = std::move(*known);
}

// ---- outgoing ----

void AgentLink::start_tasks(const ActiveJob& job) {
  if (has(job.id) || next_step(job.life, rank_) != Step::start) return;
  to_start_.insert(job.id);
  // Made now, so that the token is on disk before the child can show it.
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
  preparing_.erase(job);
}

void AgentLink::settle(Time now) {
  std::vector<JobId> unsent;
  for (const JobId id : to_kill_)
    if (to_start_.count(id) != 0 && sent_.count(id) == 0) unsent.push_back(id);
  for (const JobId id : unsent) {
    to_start_.erase(id);
    to_kill_.erase(id);
    jobs_.never_started(id, rank_, now);
  }
  left_.keep();
}

void AgentLink::tell(const char* topic, std::string payload) {
  // No answer is waited for: a report tells what became of it, and after a lost connection the next
  // hello.
  ground_.server.call(peer_, {topic, std::move(payload), "", 0}, [](const Result<std::string>&) {});
}

// The agent keeps a small program, and the next start only names it. It keeps a large one if
// another job has the same.
lm::Program AgentLink::program_for(const ActiveJob& job) {
  const auto known = std::find_if(programs_.begin(), programs_.end(),
                                  [&](const auto& one) { return one.first == job.submission; });
  lm::Program program;
  if (known != programs_.end()) {
    program.number = known->second;
    program.is_known = true;
    return program;
  }
  program = program_of(*job.submission);
  if (job.submission->wishes.goes_on && is_start_of_child(program.argv))
    program.argv.front() = settings_.binary;  // the one that began it may be gone after an upgrade
  const bool comes_again = job.submission->count > 1 && job.submission->files;
  if (size_of_start(program) > kLargestKept && !comes_again) return program;
  program.number = ++last_program_;
  programs_.emplace_back(job.submission, program.number);
  if (programs_.size() > lm::kProgramsKept) programs_.pop_front();
  return program;
}

// The next starts, as many as fit into one message, in the order of their ids.
lm::StartRequest AgentLink::start_request() {
  lm::StartRequest request;
  std::unordered_map<const Submission*, std::uint32_t> programs;
  std::size_t bytes = 0;
  for (auto next = to_start_.begin(); next != to_start_.end() && bytes < kEnoughToSend;) {
    const JobId id = *next;
    const ActiveJob* job = jobs_.find(id);
    const bool starts = job != nullptr && next_step(job->life, rank_) == Step::start;
    if (starts && !may_start(*job)) {
      ++next;
      continue;
    }
    next = to_start_.erase(next);
    if (!starts) continue;
    const auto [known, fresh] = programs.emplace(
        job->submission.get(), static_cast<std::uint32_t>(request.programs.size()));
    if (fresh) bytes += size_of_start(request.programs.emplace_back(program_for(*job)));
    bytes += size_of_start(request.jobs.emplace_back(start_message(*job, known->second)));
    sent_.insert(id);
    if (request.jobs.back().start_by != 0) preparing_.insert(id);
  }
  return request;
}

bool AgentLink::send_some() {
  const auto request = start_request();
  if (request.jobs.empty()) return false;
  std::vector<JobId> ids;
  for (const auto& start : request.jobs) ids.emplace_back(start.job);
  ground_.server.call(
      peer_, {"agent.start", transport::pack(request), "", 0},
      [this, ids = std::move(ids)](const Result<std::string>& answer) {
        // A lost connection is settled by the next hello; a refusal ends the jobs.
        if (answer || answer.error().code == Errc::disconnected) return;
        programs_.clear();  // the refused message may have carried programs that later ones name
        const Time now = ground_.reactor.now();
        for (const JobId id : ids)
          jobs_.tasks_ended(
              id, rank_,
              {"exec", "the agent refused: " + answer.error().what, {127 << 8, 0, 0}, now}, now);
      });
  return true;
}

void AgentLink::flush() {
  if (!connected()) return;
  while (send_some()) {
  }
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

void AgentLink::checkpoint(const ActiveJob& job) {
  if (connected() && has(job.id))
    tell("agent.checkpoint", transport::pack(lm::CheckpointRequest{
                                 job.id.value(), job.submission->wishes.checkpoint_signal}));
}

void AgentLink::signal(const std::vector<std::uint64_t>& jobs, int number,
                       std::function<void(const Status&)> done) {
  ground_.server.call(peer_,
                      {"agent.signal", transport::pack(lm::SignalRequest{jobs, number}), "", 0},
                      [done = std::move(done)](const Result<std::string>& answer) {
                        done(answer ? Status() : tl::unexpected(answer.error()));
                      });
}

void AgentLink::suspend(const std::vector<std::uint64_t>& jobs, bool suspend,
                        std::function<void(const Status&)> done) {
  ground_.server.call(peer_,
                      {"agent.suspend", transport::pack(lm::SuspendRequest{jobs, suspend}), "", 0},
                      [done = std::move(done)](const Result<std::string>& answer) {
                        done(answer ? Status() : tl::unexpected(answer.error()));
                      });
}

void AgentLink::find_on_cores(JobId job, const Idset& cores,
                              std::function<void(const Result<std::vector<std::int64_t>>&)> done,
                              OnCores which) {
  const lm::CoresRequest ask{job.value(), cores.str(), which == OnCores::of_its_jobs};
  ground_.server.call(peer_, {"agent.cores", transport::pack(ask), "", 30'000},
                      [done = std::move(done)](const Result<std::string>& answer) {
                        if (!answer) return done(tl::unexpected(answer.error()));
                        const auto found = transport::unpack<lm::CoresReply>(*answer);
                        if (!found) return done(tl::unexpected(found.error()));
                        done(found->pids);
                      });
}

void AgentLink::take_units(const lm::TakeRequest& what,
                           std::function<void(const Result<std::uint64_t>&)> done) {
  ground_.server.call(peer_, {"agent.take", transport::pack(what), "", 30'000},
                      [done = std::move(done)](const Result<std::string>& answer) {
                        if (!answer) return done(tl::unexpected(answer.error()));
                        const auto told = transport::unpack<lm::TakeReply>(*answer);
                        if (!told) return done(tl::unexpected(told.error()));
                        done(told->found);
                      });
}

void AgentLink::capture(std::vector<std::string> argv,
                        std::function<void(const Result<lm::CaptureReply>&)> done) {
  lm::CaptureRequest ask;
  ask.argv = std::move(argv);
  ground_.server.call(peer_, {"agent.capture", transport::pack(ask), "", 0},
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
  ground_.journal.put_orphans(rank_, orphans_);
}

void AgentLink::shutdown() {
  if (connected()) tell("agent.shutdown", transport::pack(lm::ShutdownRequest{}));
}

// ---- incoming ----

void AgentLink::peer_lost() {
  peer_ = transport::PeerId{0};
}

// Converts a time by the agent's clock. A report may have lain in the socket of a broker that was
// stopped: the fastest report says how far the clocks are apart, which grows by a thousandth of the
// time since then at most. Both processes read their clock once a turn, so a report may carry a
// time before the turn that gave the job its cores. In the journal no job starts before it has
// cores, and nobody has them before their former job ended.
Time AgentLink::in_order(std::uint64_t job, AgentTime reported, Time now) {
  if (reported.at == 0) return now;
  const Time told = std::clamp<Time>(reported.told, 0, kTimeMax / 2);
  const Time at = std::clamp<Time>(reported.at, 0, told);
  compare_clocks(told, now);
  const ActiveJob* known = jobs_.find(JobId(job));
  const Time earliest = known == nullptr ? 0 : known->life.t_alloc;
  return std::min(std::max({Time{0}, at + lead_->lead, earliest}), now);
}

void AgentLink::compare_clocks(Time told, Time now) {
  constexpr Duration kDrift = 1'000;
  const Duration lead = now - told;
  const Duration most =
      lead_ ? saturating_add(lead_->lead, distance(lead_->seen, now) / kDrift) : lead;
  lead_ = {std::min(lead, most), now};
}

// A repeated report about an attempt that is over says nothing of the one after it.
bool AgentLink::is_past(std::uint64_t job, std::uint32_t attempt) const {
  const ActiveJob* const known = jobs_.find(JobId(job));
  return known != nullptr && known->life.retries != attempt;
}

void AgentLink::take_started(const lm::Started& s, Time told, Time now) {
  if (is_past(s.job, s.attempt)) return;
  preparing_.erase(JobId(s.job));
  std::vector<event::Process> processes;
  for (const auto& p : s.processes) processes.push_back({p.pid, p.start});
  jobs_.tasks_started(JobId(s.job), rank_, processes, in_order(s.job, {s.t_start, told}, now));
}

// Nobody knows whether the agent has heard what to do about an end that it reports again.
void AgentLink::keep_output(const lm::Finished& f, bool is_news, lm::Reported& reply) {
  if (f.output.empty() && f.error.empty()) return;
  const Status kept = settings_.keep_output(JobId(f.job), {f.output, f.error}, !is_news);
  if (kept) return;
  spdlog::error("what job {} wrote cannot be written down; it stays in the files that it is in: {}",
                jobs_.label_of(JobId(f.job)), to_string(kept.error()));
  reply.to_files.push_back(f.job);
}

void AgentLink::take_finished(const lm::Finished& f, Time told, Time now, lm::Reported& reply) {
  if (is_past(f.job, f.attempt)) return keep_output(f, false, reply);
  preparing_.erase(JobId(f.job));
  if (f.reason == "late") return start_again(JobId(f.job), now);
  TasksEnded ended{
      f.reason, f.what, {worst_status(f), 0, 0}, in_order(f.job, {f.t_finish, told}, now)};
  for (const auto& task : f.tasks) {
    ended.finish.cpu_ms += task.cpu_ms;
    ended.finish.max_rss_kb += task.max_rss_kb;
  }
  ended.finish.max_rss_kb = std::max(ended.finish.max_rss_kb, f.memory_kb);
  const ActiveJob* const job = jobs_.find(JobId(f.job));
  if (job != nullptr && may_have_been_taken(*job, f)) {
    ended.reason = "lost";
    ended.what = "what it ran on went back to the instance above: that was out of reach";
  }
  const bool is_news = job != nullptr && next_step(job->life, rank_) != Step::none;
  // That it had started was told to a broker that could not write it down.
  if (is_news && f.t_start > 0)
    jobs_.tasks_started(JobId(f.job), rank_, {}, in_order(f.job, {f.t_start, told}, now));
  if (is_news && f.denied) settings_.denied(*job, f.what);
  jobs_.tasks_ended(JobId(f.job), rank_, ended, now);
  if (f.in_slot) settings_.left_no_files(JobId(f.job));
  keep_output(f, is_news, reply);
}

void AgentLink::report(const transport::Request& request, Time now) {
  const auto report = transport::unpack<lm::Report>(request.payload());
  if (!report) return request.fail(report.error());
  for (const auto& s : report->started) take_started(s, report->clock, now);
  lm::Reported reply;
  for (const auto& f : report->finished) take_finished(f, report->clock, now, reply);
  ground_.after_commit.add(
      [request, reply = std::move(reply)] { request.reply(transport::pack(reply)); });
}

void AgentLink::take_over(transport::PeerId peer, const lm::Hello& hello) {
  const auto before = std::exchange(peer_, peer);
  programs_.clear();
  ground_.server.favour(peer_);
  if (hello.incarnation != incarnation_) {
    replaced_.insert(incarnation_);
    lead_.reset();  // the new agent may be on another machine
  }
  incarnation_ = hello.incarnation;
  pid_ = static_cast<pid_t>(hello.pid);
  began_ = hello.began;
  host_ = hello.hostname;
  ground_.journal.put_agent({rank_, incarnation_, launch::process_numbering()});
  // The former connection's agent says hello again and learns where it stands.
  if (before.value() != 0 && before != peer) ground_.server.dismiss(before);
}

void AgentLink::hello(const transport::Request& request, const lm::Hello& hello, Time now) {
  lm::Welcome welcome;
  // An agent whose place another has taken would take it back for ever, each in turn.
  if (replaced_.contains(hello.incarnation)) {
    welcome.accepted = false;
    welcome.refusal = "another agent of this instance has taken its place";
    return request.reply(transport::pack(welcome));
  }
  if (!hello.swept) welcome.orphans = orphans_for(hello);
  welcome.given_up = given_up_of(hello);
  if (!welcome.orphans.empty() || !welcome.given_up.empty())
    return request.reply(transport::pack(welcome));
  if (!std::exchange(orphans_, {}).empty()) keep_orphans();
  const bool same_agent = hello.incarnation == incarnation_;
  preparing_.clear();  // the hello says which those are
  if (!same_agent) sent_.clear();
  // Before the commit, so that readers of the output of a job that is lost here read all of it. A
  // broker that dies, or cannot write, in between leaves nothing undone: the next broker does it
  // again, with less to do. The agent that had the slots is dead, and so are its tasks.
  if (!same_agent)
    launch::rescue_slots(settings_.state_dir + "/output", rank_,
                         launch::slots_of(rank_, hello.incarnation));
  reconcile(hello, same_agent, welcome, now);
  take_over(request.peer(), hello);
  // The first report may be one that has waited.
  if (hello.clock > 0) compare_clocks(std::min<Time>(hello.clock, kTimeMax / 2), now);
  ground_.after_commit.add([this, request, welcome] {
    request.reply(transport::pack(welcome));
    for (const JobId id : std::exchange(to_put_right_, {})) put_right(id);
  });
}

bool AgentLink::is_over_here(JobId id) const {
  const ActiveJob* const job = jobs_.find(id);
  return job == nullptr || next_step(job->life, rank_) == Step::none;
}

// Jobs that the agent still has, though their part here has ended in the journal.
std::vector<std::uint64_t> AgentLink::given_up_of(const lm::Hello& hello) const {
  std::vector<std::uint64_t> jobs;
  for (const auto& s : hello.running)
    if (is_over_here(JobId(s.job)) || is_past(s.job, s.attempt)) jobs.push_back(s.job);
  for (const std::uint64_t id : hello.waiting)
    if (is_over_here(JobId(id))) jobs.push_back(id);
  return jobs;
}

// Processes known from the journal, at each hello, until the agent says that they are gone. What it
// runs itself it ends as jobs, each with its grace.
std::vector<lm::ProcessId> AgentLink::orphans_for(const lm::Hello& hello) const {
  std::vector<lm::ProcessId> orphans;
  std::set<std::int64_t> its_own;
  for (const auto& s : hello.running)
    for (const auto& p : s.processes) its_own.insert(p.pid);
  const auto add = [&](const std::vector<event::Process>& processes) {
    for (const auto& p : processes)
      if (!its_own.contains(p.pid)) orphans.push_back({p.pid, p.start});
  };
  add(orphans_);
  if (hello.incarnation == incarnation_) return orphans;
  for (const JobId id : jobs_.holding()) {
    const Lifecycle& life = jobs_.find(id)->life;
    const auto is_it = [n = id.value(), attempt = life.retries](const auto& known) {
      return known.job == n && known.attempt == attempt;
    };
    if (next_step(life, rank_) != Step::none &&
        std::none_of(hello.running.begin(), hello.running.end(), is_it) &&
        std::none_of(hello.finished.begin(), hello.finished.end(), is_it))
      add(part_of(life, rank_)->processes);
  }
  return orphans;
}

void AgentLink::reconcile(const lm::Hello& hello, bool same_agent, lm::Welcome& welcome, Time now) {
  std::set<JobId> there;
  for (const auto& s : hello.running) {
    const JobId id(s.job);
    there.insert(id);
    sent_.insert(id);
    take_started(s, hello.clock, now);
    if (next_step(jobs_.find(id)->life, rank_) == Step::kill)
      welcome.kill.push_back(s.job);
    else if (!stands_right(s))
      to_put_right_.push_back(id);
  }
  for (const std::uint64_t number : hello.waiting) {
    const JobId id(number);
    there.insert(id);
    sent_.insert(id);
    // The job may be starting right now: its resources are free only when its end is reported.
    const bool is_to_start = next_step(jobs_.find(id)->life, rank_) == Step::start;
    is_to_start ? void(preparing_.insert(id)) : welcome.kill.push_back(number);
  }
  for (const auto& f : hello.finished) {
    if (!is_past(f.job, f.attempt)) there.insert(JobId(f.job));
    take_finished(f, hello.clock, now, welcome.told);
  }
  for (const JobId id : unknown_to(there)) {
    const ActiveJob* job = jobs_.find(id);
    // The loss of an earlier job may have ended this one.
    if (job == nullptr || next_step(job->life, rank_) == Step::none) continue;
    // The part has not run if it was never sent (no agent has come yet, or it waits for that), or
    // was sent to this very process, which has never got it.
    const bool unsent = incarnation_ == 0 || to_start_.count(id) != 0;
    const bool has_not_run = !part_of(job->life, rank_)->started && (same_agent || unsent);
    sent_.erase(id);
    if (!has_not_run) {
      lose(*job, now);
    } else if (next_step(job->life, rank_) == Step::start) {
      start_tasks(*job);
    } else {
      to_kill_.erase(id);
      jobs_.never_started(id, rank_, now);
    }
  }
}

// Does the agent know of changes made while it was away, or told and not heard?
bool AgentLink::stands_right(const lm::Started& told) const {
  const ActiveJob& job = *jobs_.find(JobId(told.job));
  const Lifecycle& life = job.life;
  if (is_led(life, rank_)) return true;
  // A start gives the limit counted from the allocation.
  const Duration since_alloc = life.expiration == 0 ? 0 : life.expiration - life.t_alloc;
  const bool knows_limit = told.limit == jobs_.time_limit_of(job) || told.limit == since_alloc;
  return knows_limit && told.suspended == (life.suspended != 0) &&
         (told.checkpointed || !is_to_checkpoint(job));
}

void AgentLink::put_right(JobId id) {
  const ActiveJob* const job = jobs_.find(id);
  if (job == nullptr || !connected() || next_step(job->life, rank_) != Step::watch) return;
  set_limit(id, jobs_.time_limit_of(*job));
  suspend({id.value()}, job->life.suspended != 0, [](const Status&) {});
  if (is_to_checkpoint(*job)) checkpoint(*job);
}

// Jobs with a part here that the agent does not know of.
std::vector<JobId> AgentLink::unknown_to(const std::set<JobId>& there) const {
  std::vector<JobId> missing;
  for (const JobId id : jobs_.holding())
    if (there.count(id) == 0 && next_step(jobs_.find(id)->life, rank_) != Step::none)
      missing.push_back(id);
  return missing;
}

void AgentLink::give_up(Duration patience, Time now) {
  const auto why = fmt::format("its agent has been away for {}", duration_text(patience));
  for (const JobId id : unknown_to({})) {
    const ActiveJob* job = jobs_.find(id);
    if (job == nullptr || next_step(job->life, rank_) == Step::none) continue;
    left_.note(*job, jobs_);
    kill_orphans(part_of(job->life, rank_)->processes);
    to_start_.erase(id);
    sent_.erase(id);
    jobs_.tasks_ended(id, rank_, {"lost", why, {SIGKILL, 0, 0}, now}, now);
  }
}

void AgentLink::lose(const ActiveJob& job, Time now) {
  left_.note(job, jobs_);
  const std::string where = host_.empty() ? job.life.place.nodelist : host_;
  jobs_.tasks_ended(
      job.id, rank_,
      {"lost", fmt::format("the agent on {} died while the job ran", where), {SIGKILL, 0, 0}, now},
      now);
}

}  // namespace holon::instance
