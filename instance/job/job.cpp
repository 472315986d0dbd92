// The transitions are RFC 21's table, one function an event. apply() copies the state, changes the
// copy and returns it, so that an event that does not fit leaves no trace; the copy is some hundred
// bytes.
#include "instance/job/job.hpp"

#include <fmt/core.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/check.hpp"
#include "launch/exit_code.hpp"

namespace holon::instance {
namespace {

tl::unexpected<Error> misfit(const Lifecycle& job, const EventBody& body) {
  return fail(Errc::protocol,
              fmt::format("event {} cannot happen in state {}", name_of(body), name_of(job.state)));
}

bool started_or_over(const Part& part) {
  return part.started || part.finished;
}

// nullptr: the job has no part of this rank.
template <class Job>
auto* part_in(Job& job, std::uint32_t rank) {
  const auto found = std::find_if(job.parts.begin(), job.parts.end(),
                                  [rank](const Part& part) { return part.rank == rank; });
  return found == job.parts.end() ? nullptr : &*found;
}

// Each function returns whether the event fits; `job` is a scratch copy.
struct Transition {
  Lifecycle& job;
  Time time;

  bool move(JobState from, JobState to) {
    if (job.state != from || !job.submitted) return false;
    job.state = to;
    return true;
  }
  bool operator()(const event::Submit& e) {
    if (job.submitted) return false;
    job.submitted = true;
    job.urgency = e.urgency;
    job.default_limit = e.default_limit;
    job.user = e.user;
    job.t_submit = time;
    return true;
  }
  bool operator()(const event::Validate&) { return move(JobState::created, JobState::depend); }
  bool operator()(const event::Invalidate& e) {
    if (!move(JobState::created, JobState::inactive)) return false;
    job.exception = "invalid";
    job.note = e.reason;
    job.t_inactive = time;
    return true;
  }
  bool operator()(const event::Depend&) { return move(JobState::depend, JobState::priority); }
  bool operator()(const event::DependencyAdd&) const { return job.state == JobState::depend; }
  bool operator()(const event::DependencyRemove&) const { return job.state == JobState::depend; }
  bool operator()(const event::Priority&) {
    return job.state == JobState::sched || move(JobState::priority, JobState::sched);
  }
  bool operator()(const event::Urgency& e) {
    const bool is_running_array = job.state == JobState::run && job.t_alloc == 0;
    if (!job.submitted || (job.state > JobState::sched && !is_running_array)) return false;
    job.urgency = e.urgency;
    return true;
  }
  bool operator()(const event::JobspecUpdate& e) {
    if (!job.submitted || job.state > JobState::run) return false;
    job.updates = merged(job.updates, e);
    return true;
  }
  bool operator()(const event::Suspend&) {
    if (job.state != JobState::run || !job.started || job.suspended != 0) return false;
    job.suspended = time;
    return true;
  }
  bool operator()(const event::Resume&) {
    if (job.state != JobState::run || job.suspended == 0) return false;
    job.suspended = 0;
    return true;
  }
  // A suspended job is continued, so that it can end.
  bool operator()(const event::Preempt& e) {
    if (job.state != JobState::run || !job.holds_resources || job.preemption.by != 0) return false;
    job.preemption = e;
    job.suspended = 0;
    return true;
  }
  bool operator()(const event::Alloc& e) {
    if (!move(JobState::sched, JobState::run)) return false;
    job.holds_resources = true;
    job.t_alloc = time;
    job.selection = e.selection;
    job.place = e.place;
    job.environment = e.environment;
    job.expiration = e.expiration;
    job.leads = e.leads;
    for (const std::uint32_t rank : e.ranks) job.parts.emplace_back().rank = rank;
    return true;
  }
  bool operator()(const event::ResourceUpdate& e) {
    if (!job.holds_resources) return false;
    job.expiration = e.expiration;
    return true;
  }
  std::vector<event::GrantExtend>::iterator extra_of(std::uint64_t grant) const {
    return std::find_if(job.extra.begin(), job.extra.end(),
                        [grant](const auto& one) { return one.grant == grant; });
  }
  bool takes_extra() const { return job.holds_resources && !job.parts.empty(); }
  bool operator()(const event::GrantExtend& e) {
    const bool has_one = std::any_of(e.ranks.begin(), e.ranks.end(), [&](std::uint32_t rank) {
      return part_in(job, rank) != nullptr;
    });
    // Nothing is started any more for a job that is to end.
    const bool is_late = !e.ranks.empty() && job.state != JobState::run;
    if (!takes_extra() || has_one || is_late) return false;
    job.extra.push_back(e);
    for (const std::uint32_t rank : e.ranks) job.parts.emplace_back().rank = rank;
    job.leads = job.leads || !e.ranks.empty();
    return true;
  }
  bool operator()(const event::GrantLeave& e) {
    const auto one = extra_of(e.grant);
    if (one == job.extra.end()) return false;
    for (const std::uint32_t rank : one->ranks) part_in(job, rank)->leaves = true;
    return true;
  }
  bool operator()(const event::GrantRecall&) const { return takes_extra(); }
  bool operator()(const event::Loan&) const { return takes_extra(); }
  bool operator()(const event::LoanReturn&) const { return takes_extra(); }
  bool operator()(const event::GrantReturn& e) {
    const auto one = extra_of(e.grant);
    if (one == job.extra.end()) return false;
    std::erase_if(job.parts, [&](const Part& part) {
      const bool goes =
          std::find(one->ranks.begin(), one->ranks.end(), part.rank) != one->ranks.end();
      if (goes) job.gone_cpu_ms += part.how.cpu_ms;
      return goes;
    });
    job.extra.erase(one);
    return true;
  }
  // A grant starts when the child has taken it.
  bool begin_grant() const {
    const bool expected = job.state == JobState::run || job.state == JobState::cleanup;
    return expected && job.holds_resources && !job.finished;
  }
  // The tasks of this part run. The report may cross a cancel, so CLEANUP takes it too.
  bool begin(std::uint32_t rank, const std::vector<event::Process>& processes) {
    const bool expected = job.state == JobState::run || job.state == JobState::cleanup;
    Part* const part = part_in(job, rank);
    if (!expected || !job.holds_resources || job.finished || part == nullptr) return false;
    if (part->started || part->finished) return false;
    part->started = true;
    part->processes = processes;
    return true;
  }
  bool operator()(const event::Start& e) {
    if (job.started) return false;
    if (job.parts.empty() ? !begin_grant() : !begin(e.rank, e.processes)) return false;
    job.started = true;
    job.t_start = time;
    return true;
  }
  bool operator()(const event::RankStart& e) { return job.started && begin(e.rank, e.processes); }
  bool operator()(const event::RankFinish& e) {
    Part* const part = part_in(job, e.rank);
    if (!job.holds_resources || job.finished || part == nullptr || part->finished) return false;
    part->finished = true;
    part->never = e.reason == "never";
    part->decisive = e.reason == "abort" && std::none_of(job.parts.begin(), job.parts.end(),
                                                         [](const Part& p) { return p.decisive; });
    part->how = e.how;
    part->t_finish = time;
    return true;
  }
  bool operator()(const event::Instance& e) {
    if (!job.holds_resources) return false;
    job.child_uri = e.uri;
    return true;
  }
  bool operator()(const event::Exception& e) {
    if (!job.submitted || job.state == JobState::inactive) return false;
    if (e.severity > 0) return true;
    job.cancelled = job.cancelled || is_cancel(e.type);
    // That some of its tasks gave up may follow from the loss of others, of which is told later.
    if (job.exception.empty() || (job.exception == "abort" && e.type == "node-failure")) {
      job.exception = e.type;
      job.note = e.note;
    }
    job.state = JobState::cleanup;
    job.suspended = 0;  // its agents continue its tasks, so that they can end
    return true;
  }
  bool operator()(const event::Finish& e) {
    const bool expected = job.state == JobState::run || job.state == JobState::cleanup;
    if (!expected || !job.holds_resources || job.finished) return false;
    job.state = JobState::cleanup;
    job.suspended = 0;
    job.finished = true;
    job.status = e.status;
    job.cpu_ms = e.cpu_ms;
    job.max_rss_kb = e.max_rss_kb;
    job.t_finish = time;
    for (Part& part : job.parts) part.finished = true;
    return true;
  }
  bool operator()(const event::Release&) {
    if (job.state != JobState::cleanup || !job.holds_resources) return false;
    job.holds_resources = false;
    return true;
  }
  bool operator()(const event::Free&) {
    if (job.state != JobState::cleanup || job.holds_resources || job.freed || job.t_alloc == 0)
      return false;
    job.freed = true;
    return true;
  }
  bool operator()(const event::Requeue& e) {
    if (job.state != JobState::cleanup || job.holds_resources || !job.freed) return false;
    Lifecycle again;
    again.state = JobState::depend;
    again.submitted = true;
    again.urgency = job.urgency;
    again.default_limit = job.default_limit;
    again.user = job.user;
    again.updates = job.updates;
    again.t_submit = job.t_submit;
    again.preemptions = job.preemptions + (e.preempted ? 1 : 0);
    again.retries = e.retry;
    again.retry_begin = e.begin;
    again.retry_note = e.note;
    job = std::move(again);
    return true;
  }
  bool operator()(const event::ArrayStart&) {
    if (!move(JobState::sched, JobState::run)) return false;
    job.started = true;
    job.t_start = time;
    return true;
  }
  bool operator()(const event::ArrayFinish& e) {
    if (!job.submitted || job.finished || job.t_alloc != 0 || job.state == JobState::inactive)
      return false;
    job.state = JobState::cleanup;
    job.finished = true;
    job.status = e.status;
    job.cpu_ms = e.cpu_ms;
    job.max_rss_kb = e.max_rss_kb;
    job.t_finish = time;
    return true;
  }
  bool operator()(const event::ArrayExtend&) {
    return job.submitted && job.state < JobState::cleanup && !job.closed;
  }
  bool operator()(const event::ArrayClose&) {
    if (!job.submitted || job.state >= JobState::cleanup) return false;
    job.closed = true;
    return true;
  }
  bool operator()(const event::Clean&) {
    if (job.holds_resources || !move(JobState::cleanup, JobState::inactive)) return false;
    job.t_inactive = time;
    job.parts.clear();
    job.extra.clear();
    return true;
  }
};

}  // namespace

const char* name_of(JobState state) {
  switch (state) {
    case JobState::created:
      return "NEW";
    case JobState::depend:
      return "DEPEND";
    case JobState::priority:
      return "PRIORITY";
    case JobState::sched:
      return "SCHED";
    case JobState::run:
      return "RUN";
    case JobState::cleanup:
      return "CLEANUP";
    case JobState::inactive:
      return "INACTIVE";
  }
  return "UNKNOWN";
}

Updates merged(const Updates& before, const event::JobspecUpdate& later) {
  auto all = before.all == nullptr ? event::JobspecUpdate() : *before.all;
  const auto take = [](auto& known, const auto& changed) {
    if (changed) known = changed;
  };
  take(all.limit, later.limit);
  take(all.name, later.name);
  take(all.queue, later.queue);
  take(all.nodes, later.nodes);
  take(all.slots, later.slots);
  take(all.elastic, later.elastic);
  return {std::make_shared<const event::JobspecUpdate>(std::move(all))};
}

Result<Lifecycle> apply(const Lifecycle& job, const Event& event) {
  Lifecycle next = job;
  if (!std::visit(Transition{next, event.time}, event.body)) return misfit(job, event.body);
  return next;
}

const Part* part_of(const Lifecycle& job, std::uint32_t rank) {
  return part_in(job, rank);
}

// Parts that grants have brought come and go: a number that follows from the rank is no other's.
std::size_t place_of(const Lifecycle& job, std::uint32_t rank) {
  const Part* const part = part_of(job, rank);
  HOLON_CHECK(part != nullptr);
  std::size_t own = job.parts.size();
  bool is_extra = false;
  for (const auto& extra : job.extra) {
    own -= extra.ranks.size();
    is_extra =
        is_extra || std::find(extra.ranks.begin(), extra.ranks.end(), rank) != extra.ranks.end();
  }
  return is_extra ? own + rank : static_cast<std::size_t>(part - job.parts.data());
}

bool is_led(const Lifecycle& job, std::uint32_t rank) {
  return job.leads && !job.parts.empty() && job.parts.front().rank != rank;
}

std::vector<event::Process> processes_of(const Lifecycle& job) {
  std::vector<event::Process> all;
  for (const Part& part : job.parts)
    all.insert(all.end(), part.processes.begin(), part.processes.end());
  return all;
}

bool others_are_over(const Lifecycle& job, std::uint32_t rank) {
  return std::all_of(job.parts.begin(), job.parts.end(),
                     [rank](const Part& part) { return part.finished || part.rank == rank; });
}

std::optional<event::Finish> whole_of(const std::vector<Part>& parts) {
  std::optional<event::Finish> whole;
  const auto decisive =
      std::find_if(parts.begin(), parts.end(), [](const Part& part) { return part.decisive; });
  for (const Part& part : parts) {
    if (part.never) continue;
    if (!whole) {
      whole = part.how;
      continue;
    }
    if (launch::exit_code_of(part.how.status) > launch::exit_code_of(whole->status))
      whole->status = part.how.status;
    whole->cpu_ms += part.how.cpu_ms;
    whole->max_rss_kb += part.how.max_rss_kb;
  }
  if (decisive != parts.end()) whole->status = decisive->how.status;
  return whole;
}

Step next_step(const Lifecycle& job, std::uint32_t rank) {
  const Part* const part = part_of(job, rank);
  if (part == nullptr || part->finished || job.finished || !job.holds_resources) return Step::none;
  if (is_led(job, rank) && (part->leaves || job.parts.front().finished)) return Step::kill;
  // A child instance that is to end still needs its agents.
  if (is_led(job, rank) && part->started) return Step::watch;
  if (job.state == JobState::cleanup) return Step::kill;
  return part->started ? Step::watch : Step::start;
}

Step next_step(const Lifecycle& job) {
  if (!job.submitted) return Step::none;
  switch (job.state) {
    case JobState::created:
      return Step::validate;
    case JobState::depend:
      return Step::depend;
    case JobState::priority:
      return Step::priority;
    case JobState::sched:
      return Step::enqueue;
    case JobState::run:
      if (job.leads && job.parts.front().finished) return Step::kill;
      return std::all_of(job.parts.begin(), job.parts.end(), started_or_over) ? Step::watch
                                                                              : Step::start;
    case JobState::cleanup:
      if (job.holds_resources) return job.finished ? Step::release : Step::kill;
      return Step::clean;
    case JobState::inactive:
      return Step::none;
  }
  return Step::none;
}

bool is_cancel(const std::string& exception) {
  return exception == "cancel" || exception == "others-failed";
}

std::string result_of(const Lifecycle& job) {
  if (job.state != JobState::inactive) return {};
  if (job.exception == "invalid") return "REJECTED";
  if (is_cancel(job.exception) || job.exception == "preempt") return "CANCELED";
  if (job.exception == "timeout") return "TIMEOUT";
  if (!job.exception.empty() || !job.finished || job.status != 0) return "FAILED";
  return "COMPLETED";
}

// A node lost meanwhile only ended a job that was to end anyhow.
bool has_given_place(const Lifecycle& job) {
  return job.preemption.by != 0 && (job.exception == "preempt" || job.exception == "orphaned" ||
                                    job.exception == "node-failure");
}

int exit_code_of(const Lifecycle& job) {
  return job.finished ? launch::exit_code_of(job.status) : -1;
}

std::string end_in_words(const Lifecycle& job) {
  if (!job.note.empty()) return job.note;
  if (WIFSIGNALED(job.status)) return fmt::format("signal {}", WTERMSIG(job.status));
  return fmt::format("exit code {}", exit_code_of(job));
}

}  // namespace holon::instance
