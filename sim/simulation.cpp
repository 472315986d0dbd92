#include "sim/simulation.hpp"

namespace holon::sim {

using qmanager::Scheduler;

Simulation::Simulation(const Workload& workload, Scheduler scheduler, const SimOptions& options,
                       const MakeRequest& request_of)
    : workload_(workload),
      scheduler_(std::move(scheduler)),
      options_(options),
      request_of_(request_of) {
  result_.jobs.resize(workload.jobs.size());
  index_.reserve(workload.jobs.size());
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const TraceJob& job = workload.jobs[i];
    index_.emplace(static_cast<std::uint64_t>(job.id), i);
    result_.jobs[i].submitted = job.submit;
    if (job.preceding != kNoJob) followers_[job.preceding].push_back(i);
  }
  current_.resize(workload.jobs.size(), -1);
  skip_followers();
  if (!workload.jobs.empty()) result_.first_submit = workload.jobs.front().submit;
}

SimResult Simulation::finish() {
  result_.queues = scheduler_.queues();
  for (JobOutcome& job : result_.jobs)
    if (!job.start && job.refused.empty())
      job.refused = "it was still waiting when nothing could happen any more";
  return std::move(result_);
}

// ---- time

// The next job to be submitted, from the trace or from those that waited for another job.
std::optional<Simulation::Arrival> Simulation::next_arrival() const {
  std::optional<Arrival> next;
  if (next_submit_ < workload_.jobs.size()) {
    const TraceJob& job = workload_.jobs[next_submit_];
    next = {job.submit, job.id, next_submit_};
  }
  if (!arrivals_.empty() && (!next || *next > arrivals_.top())) next = arrivals_.top();
  return next;
}

bool Simulation::submission_due() const {
  const auto next = next_arrival();
  return next && next->when <= now_;
}

// Skips jobs that wait for another one: its end submits them.
void Simulation::skip_followers() {
  while (next_submit_ < workload_.jobs.size() && workload_.jobs[next_submit_].preceding != kNoJob)
    ++next_submit_;
}

// Drops ends of jobs that end earlier, because others take their places.
void Simulation::forget_replaced() {
  while (!running_.empty() && current_[running_.top().job] != running_.top().sequence)
    running_.pop();
}

std::optional<Time> Simulation::next_instant(bool goes_on) const {
  std::optional<Time> next;
  const auto earlier = [&](Time t) {
    if (!next || t < *next) next = t;
  };
  if (const auto arrival = next_arrival()) earlier(arrival->when);
  if (!running_.empty()) earlier(running_.top().end);
  if (const auto wake = next_wake(goes_on || next.has_value())) earlier(*wake);
  return next;
}

// The next wake-up; it matters only while jobs wait. If no job runs or comes, priorities that age
// may still bring a job in front of what keeps it out; if they never do, nothing happens any
// more.
std::optional<Time> Simulation::next_wake(bool goes_on) const {
  if (scheduler_.pending() == 0) return std::nullopt;
  return only_ages_ && !goes_on ? scheduler_.next_let_in(now_) : wake_;
}

void Simulation::play(Time t) {
  if (options_.order == Order::batch) {
    take_events(t);
    pass();
  } else {
    move_clock(t);
    one_by_one();
  }
  if (options_.progress && result_.passes % 1024 == 0) options_.progress(done_);
}

void Simulation::take_events(Time t) {
  move_clock(t);
  while (end_due()) end_next();
  while (submission_due()) submit();
}

// Plays single events; a pass at an instant without any serves reservations that are due.
void Simulation::one_by_one() {
  if (!submission_due() && !end_due()) return pass();
  while (submission_due()) {
    submit();
    pass();
  }
  while (end_due()) {
    end_next();
    pass();
  }
}

// ---- a job comes

void Simulation::wait(std::size_t index) {
  if (!tracks_) return;
  waiting_.emplace(result_.jobs[index].submitted, index);
  waiting_procs_ += workload_.jobs[index].procs;
}

void Simulation::wait_no_more(std::size_t index) {
  if (!tracks_) return;
  if (waiting_.erase({result_.jobs[index].submitted, index}) > 0)
    waiting_procs_ -= workload_.jobs[index].procs;
}

void Simulation::submit() {
  const Arrival arrival = *next_arrival();
  const std::size_t index = arrival.job;
  if (index == next_submit_) {
    ++next_submit_;
    skip_followers();
  } else {
    arrivals_.pop();
  }
  result_.jobs[index].submitted = arrival.when;
  take(index, arrival.when);
}

void Simulation::take(std::size_t index, Time submitted) {
  const TraceJob& job = workload_.jobs[index];
  qmanager::JobRequest request = request_of_(job);
  request.submitted = submitted;
  if (request.queue.empty() && scheduler_.config().queues.contains(job.queue))
    request.queue = job.queue;
  const auto refused = scheduler_.submit(std::move(request), now_);
  if (!refused)
    refuse(index, to_string(refused.error()));
  else if (*refused)
    refuse(index, (*refused)->reason);
  else
    wait(index);
}

void Simulation::refuse(std::size_t index, std::string reason) {
  wait_no_more(index);
  result_.jobs[index].refused = std::move(reason);
  let_follow(index);
}

// Submits, after their think times, the jobs that waited for a job that is over or never will be.
void Simulation::let_follow(std::size_t index) {
  const auto found = followers_.find(workload_.jobs[index].id);
  if (found == followers_.end()) return;
  for (const std::size_t follower : found->second) {
    const TraceJob& job = workload_.jobs[follower];
    arrivals_.push({saturating_add(now_, job.think), job.id, follower});
  }
}

// ---- a job ends

void Simulation::end_next() {
  const Running over = running_.top();
  const std::size_t index = over.job;
  running_.pop();
  current_[index] = -1;
  forget_replaced();
  running_procs_ -= workload_.jobs[index].procs;
  if (tracks_) ended_.push_back(index);
  ending_early_.erase(index);
  scheduler_.finish(JobId{static_cast<std::uint64_t>(workload_.jobs[index].id)}, now_);
  result_.end = std::max(result_.end, over.end);
  if (over.preempted) return give_place(index, *over.preempted);
  ++done_;
  let_follow(index);
}

// Ends a preempted job: its work is lost; it waits where it was before, or is over.
void Simulation::give_place(std::size_t index, const qmanager::Preempt& why) {
  JobOutcome& job = result_.jobs[index];
  job.lost.push_back({*job.start, now_});
  job.start.reset();
  if (why.mode == qmanager::PreemptMode::requeue) return take(index, job.submitted);
  ++done_;
  refuse(index, "job " + std::to_string(why.for_job.value()) + " took its place");
}

Time Simulation::planned_end(std::size_t job) const {
  const TraceJob& traced = workload_.jobs[job];
  return traced.limit == 0 ? kTimeMax : saturating_add(*result_.jobs[job].start, traced.limit);
}

void Simulation::end_early(std::size_t job, Time when, JobId for_job) {
  const TraceJob& traced = workload_.jobs[job];
  if (saturating_add(*result_.jobs[job].start, traced.run + launch_) <= when ||
      !ending_early_.insert(job).second)
    return;
  run_until(std::max(now_, when), job,
            qmanager::Preempt{JobId{static_cast<std::uint64_t>(traced.id)}, for_job,
                              qmanager::PreemptMode::requeue, when});
  ++ended_early_;
}

// ---- a pass

void Simulation::pass() {
  qmanager::StepResult step;
  do {
    step = scheduler_.step(now_, options_.budget);
    ++result_.passes;
    if (options_.charge) now_ = saturating_add(now_, options_.charge());
    for (const qmanager::Decision& decision : step.decisions) apply(decision);
    if (options_.check_invariants) scheduler_.check_invariants();
    if (options_.watch) options_.watch(now_, scheduler_, step);
  } while (step.more);
  wake_ = step.wake;
  only_ages_ = step.only_ages;
}

void Simulation::apply(const qmanager::Decision& decision) {
  if (const auto* start = std::get_if<qmanager::Start>(&decision)) {
    const std::size_t index = index_.at(start->job.value());
    wait_no_more(index);
    running_procs_ += workload_.jobs[index].procs;
    JobOutcome& job = result_.jobs[index];
    job.start = now_;
    job.selection = start->selection;
    if (!job.first_planned) job.first_planned = now_;
    const Time end = saturating_add(now_, workload_.jobs[index].run + launch_);
    run_until(end, index);
  } else if (const auto* reserve = std::get_if<qmanager::Reserve>(&decision)) {
    JobOutcome& job = result_.jobs[index_.at(reserve->job.value())];
    if (!job.first_planned) job.first_planned = reserve->when;
  } else if (const auto* reject = std::get_if<qmanager::Reject>(&decision)) {
    refuse(index_.at(reject->job.value()), reject->reason);
  } else if (const auto* preempt = std::get_if<qmanager::Preempt>(&decision)) {
    const std::size_t index = index_.at(preempt->job.value());
    const Time end = saturating_add(*result_.jobs[index].start, workload_.jobs[index].run);
    if (preempt->end < end) run_until(std::max(now_, preempt->end), index, *preempt);
  }
}

void Simulation::run_until(Time end, std::size_t index, std::optional<qmanager::Preempt> why) {
  current_[index] = sequence_;
  running_.push({end, sequence_++, index, why});
  forget_replaced();
}

}  // namespace holon::sim
