// jobs.cpp - the table, and the end of processes that got away.
//
// A job's own end takes its processes along (tracking.hpp). Processes that nobody could assign to
// the job are ended here, once they belong to no job that is left: a moment after a job's end, for
// many jobs at once, since looking at strangers costs a walk over /proc.
#include "launch/jobs.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

constexpr Duration kSweepAfter = 50;  // ms
constexpr int kStartsPerTurn = 8;

Status check(const msg::StartRequest& request) {
  for (const msg::Start& start : request.jobs) {
    const std::string job = "job " + std::to_string(start.job);
    if (start.program >= request.programs.size())
      return fail(Errc::invalid_argument, job + " names program " + std::to_string(start.program) +
                                              " of " + std::to_string(request.programs.size()));
    if (start.tasks.empty())
      return fail(Errc::invalid_argument, job + " has no tasks for this node");
  }
  return {};
}

}  // namespace

Jobs::Jobs(JobContext context) : context_(std::move(context)), inherited_(current_environment()) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (context_.frame.lineage.empty()) context_.frame.lineage = lineage_of_root("", random_mark());
  if (!context_.tracking)
    context_.tracking = std::make_unique<ProcessTracking>(context_.frame.lineage, "");
  auto strangers = context_.reactor.on_other_children([this](const transport::ChildExit& exit) {
    context_.tracking->reaped(exit.pid);
    sweep_soon();
  });
  if (strangers) strangers_ = std::move(*strangers);
}

Jobs::~Jobs() = default;

Status Jobs::start(msg::StartRequest request) {
  if (const Status good = check(request); !good) return good;
  std::vector<std::shared_ptr<const ProgramImage>> programs;
  for (const msg::Program& program : request.programs) {
    programs.push_back(image_of(program));
    if (!programs.back())
      return fail(Errc::invalid_argument,
                  "program " + std::to_string(program.number) + " is not kept here");
  }
  for (msg::Start& start : request.jobs) {
    if (knows(start.job)) continue;
    waiting_ids_.insert(start.job);
    auto program = programs[start.program];
    waiting_.push_back({std::move(start), std::move(program)});
  }
  start_some();
  return {};
}

// nullptr: the program is said to be known, and is not.
std::shared_ptr<const ProgramImage> Jobs::image_of(const msg::Program& program) {
  if (program.is_known) {
    const auto kept = std::find_if(programs_.begin(), programs_.end(),
                                   [&](const auto& one) { return one.first == program.number; });
    return kept == programs_.end() ? nullptr : kept->second;
  }
  // The agent's own environment is not for other users.
  const Environment none;
  const Environment& around = context_.processes->serves_users() ? none : inherited_;
  auto image = std::make_shared<const ProgramImage>(
      ProgramImage{program.argv, base_environment(program, around), program.cwd, program.files});
  if (program.number != 0) programs_.emplace_back(program.number, image);
  if (programs_.size() > msg::kProgramsKept) programs_.pop_front();
  return image;
}

bool Jobs::knows(std::uint64_t job) const {
  return jobs_.contains(job) || unacknowledged_.contains(job) || waiting_ids_.contains(job);
}

// A large batch must not keep time limits and the ends of other jobs waiting.
void Jobs::start_some() {
  for (int i = 0; i < kStartsPerTurn && !waiting_.empty(); ++i) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_ids_.erase(next.start.job);
    start_one(std::move(next));
  }
  if (!waiting_.empty()) start_timer_ = context_.reactor.after(0, [this] { start_some(); });
}

void Jobs::start_one(Waiting waiting) {
  const std::uint64_t id = waiting.start.job;
  auto job = std::make_unique<Job>(
      context_, std::move(waiting.start), std::move(waiting.program),
      Job::Events{[this](msg::Finished finished) { on_end(std::move(finished)); },
                  [this](const msg::Started& started) { tell_started_soon(started.job); },
                  [this](const msg::FenceRequest& fence) {
                    if (on_fence_) on_fence_(fence);
                  }});
  const bool started = job->start();
  const Job& placed = *(jobs_[id] = std::move(job));
  if (started && !placed.is_preparing()) tell_started_soon(id);
}

void Jobs::tell_started_soon(std::uint64_t job) {
  untold_.add(job, context_.reactor.now());
  if (!std::exchange(telling_, true)) tell_started();
}

// If a start is reported with its end, the kernel need not be asked when the process began.
void Jobs::tell_started() {
  const Time now = context_.reactor.now();
  for (const std::uint64_t id : untold_.take_due(now))
    if (const auto job = jobs_.find(id); job != jobs_.end() && on_started_)
      on_started_(job->second->started());
  const auto next = untold_.next(now);
  telling_ = next.has_value();
  if (telling_) tell_timer_ = context_.reactor.after(*next, [this] { tell_started(); });
}

void Jobs::drop_waiting(const std::vector<std::uint64_t>* jobs, const std::string& reason) {
  std::deque<Waiting> stay;
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    if (jobs && std::find(jobs->begin(), jobs->end(), waiting.start.job) == jobs->end()) {
      stay.push_back(std::move(waiting));
      continue;
    }
    msg::Finished finished;
    finished.job = waiting.start.job;
    finished.attempt = waiting.start.attempt;
    finished.reason = reason;
    finished.exit_code = 128 + SIGTERM;
    finished.t_finish = context_.reactor.now();
    for (const msg::Task& task : waiting.start.tasks) {
      finished.tasks.emplace_back();
      finished.tasks.back().rank = task.rank;
    }
    waiting_ids_.erase(finished.job);
    keep(std::move(finished));
  }
  waiting_ = std::move(stay);
}

void Jobs::signal(const msg::SignalRequest& request) {
  if (request.signal <= 0 || request.signal > SIGRTMAX) return;
  for (const std::uint64_t id : request.jobs)
    if (const auto found = jobs_.find(id); found != jobs_.end())
      found->second->signal(request.signal);
}

void Jobs::checkpoint(const msg::CheckpointRequest& request) {
  if (request.signal <= 0 || request.signal > SIGRTMAX) return;
  if (const auto found = jobs_.find(request.job); found != jobs_.end())
    found->second->checkpoint(request.signal);
}

void Jobs::kill(const msg::KillRequest& request) {
  if (!waiting_.empty()) drop_waiting(&request.jobs, "killed");
  for (const std::uint64_t id : request.jobs)
    if (const auto found = jobs_.find(id); found != jobs_.end())
      found->second->kill(request.grace, "killed");
}

void Jobs::kill_all(Duration grace, const std::string& reason) {
  drop_waiting(nullptr, reason);
  for (const auto& [id, job] : jobs_) job->kill(grace, reason);
}

void Jobs::limit(const msg::LimitRequest& request) {
  for (Waiting& waiting : waiting_)
    if (waiting.start.job == request.job) waiting.start.limit = request.limit;
  if (const auto found = jobs_.find(request.job); found != jobs_.end())
    found->second->limit(request.limit);
}

void Jobs::suspend(const msg::SuspendRequest& request) {
  for (const std::uint64_t id : request.jobs)
    if (const auto found = jobs_.find(id); found != jobs_.end())
      found->second->suspend(request.suspend);
}

void Jobs::renew(const msg::SureRequest& request) {
  std::map<std::uint64_t, Time> start_by;
  for (const msg::SureStart& sure : request.jobs) start_by[sure.job] = sure.start_by;
  for (Waiting& waiting : waiting_)
    if (const auto its = start_by.find(waiting.start.job); its != start_by.end())
      waiting.start.start_by = its->second;
  for (const auto& [id, when] : start_by)
    if (const auto found = jobs_.find(id); found != jobs_.end()) found->second->start_by(when);
}

void Jobs::end_fence(std::uint64_t job, std::uint64_t round,
                     const Result<msg::FenceReply>& answer) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  if (answer)
    found->second->release(round, answer->parts);
  else
    found->second->refuse_fence(round, answer.error().what);
}

std::vector<msg::FenceRequest> Jobs::fences() const {
  std::vector<msg::FenceRequest> all;
  for (const auto& [id, job] : jobs_)
    if (job->spec().part_tasks.size() > 1)
      all.insert(all.end(), job->fences().to_say_again().begin(),
                 job->fences().to_say_again().end());
  return all;
}

void Jobs::follow(const transport::Request& request) {
  const auto from = transport::unpack<msg::OutputRequest>(request.payload());
  if (!from) return request.fail(from.error());
  const auto found = jobs_.find(from->job);
  if (found == jobs_.end())
    return request.fail(
        {Errc::not_found, "job " + std::to_string(from->job) + " does not run on this node", ""});
  found->second->follow(request, *from);
}

void Jobs::take_input(const transport::Request& request) {
  const auto piece = transport::unpack<msg::InputRequest>(request.payload());
  if (!piece) return request.fail(piece.error());
  const auto found = jobs_.find(piece->job);
  if (found == jobs_.end())
    return request.fail(
        {Errc::not_found, "job " + std::to_string(piece->job) + " does not run on this node", ""});
  found->second->take_input(request, *piece);
}

std::vector<msg::Started> Jobs::running() const {
  std::vector<msg::Started> all;
  for (const auto& [id, job] : jobs_)
    if (!job->is_preparing()) all.push_back(job->started());
  return all;
}

std::vector<std::uint64_t> Jobs::waiting() const {
  std::vector<std::uint64_t> all(waiting_ids_.begin(), waiting_ids_.end());
  for (const auto& [id, job] : jobs_)
    if (job->is_preparing()) all.push_back(id);
  return all;
}

std::vector<msg::Finished> Jobs::unacknowledged() const {
  std::vector<msg::Finished> all;
  for (const auto& [id, finished] : unacknowledged_) all.push_back(finished);
  return all;
}

void Jobs::acknowledge(const std::vector<msg::Finished>& finished, const msg::Reported& told) {
  const auto& to_files = told.to_files;
  for (const msg::Finished& one : finished) {
    unacknowledged_.erase(one.job);
    const auto slot = slots_.extract(one.job);
    if (slot.empty()) continue;
    const bool stays = std::find(to_files.begin(), to_files.end(), one.job) != to_files.end();
    stays ? slot.mapped()->become_files() : slot.mapped()->release();
  }
}

void Jobs::on_end(msg::Finished finished) {
  const auto found = jobs_.find(finished.job);
  if (untold_.end(finished.job, finished.t_finish - finished.t_start) && on_started_)
    on_started_(found->second->started());
  std::erase_if(followers_, [](const auto& follower) { return follower->done(); });
  for (auto& follower : found->second->take_followers())
    if (!follower->done()) followers_.push_back(std::move(follower));
  if (auto slot = found->second->take_slot()) slots_[finished.job] = std::move(slot);
  ended_.push_back(std::move(found->second));
  jobs_.erase(found);
  if (ended_.size() == 1) bury_ = context_.reactor.after(0, [this] { ended_.clear(); });
  sweep_soon();
  keep(std::move(finished));
}

void Jobs::keep(msg::Finished finished) {
  const std::uint64_t job = finished.job;
  const msg::Finished& kept = unacknowledged_[job] = std::move(finished);
  if (on_finished_) on_finished_(kept);
}

void Jobs::sweep_soon() {
  if (sweep_timer_) return;
  sweep_timer_ = context_.reactor.after(kSweepAfter, [this] {
    sweep_timer_.cancel();
    sweep();
  });
}

// Killing a stranger may hand its own children to this process: they end as strangers, which leads
// to the next sweep.
void Jobs::sweep() {
  if (!context_.tracking->clear_strays()) sweep_soon();
}

}  // namespace holon::launch
