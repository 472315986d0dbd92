// The part of the JobManager that takes a graph: tasks that wait for each other, all or none.
//
// Everything that could be wrong is checked before anything is kept. Then the graph is journalled
// in one turn: a batch for each run of tasks that share a jobspec, and a short row for each task's
// own words; the jobs are made of these in portions (take_more()), in the order of the list, also
// by a restarted broker. A task that waits for one that is not made yet finds it in its Intake.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "instance/job/graph_plan.hpp"
#include "instance/manager/manager.hpp"

namespace holon::instance {
namespace {

// How many tasks the scheduler is asked about before all are taken: a queue may be limited.
constexpr std::size_t kAsked = 500;

std::string at_task(std::size_t place) {
  return fmt::format("tasks/{}", place);
}

tl::unexpected<Error> wrong_task(Errc code, std::string what, std::size_t place) {
  return fail(code, std::move(what), at_task(place));
}

// Can the way never be taken, so that another one may be?
bool is_for_good(const Error& error) {
  return error.code == Errc::unsatisfiable ||
         (error.code == Errc::not_found && error.where == "queue");
}

}  // namespace

// Is the job journalled and not made yet?
bool JobManager::is_in_intake(JobId id) const {
  auto behind = intakes_.upper_bound(id);
  if (behind == intakes_.begin()) return false;
  const Intake& intake = std::prev(behind)->second;
  const std::uint64_t place = id.value() - intake.submission->first.value();
  return place >= intake.taken && place < intake.submission->count;
}

// Errors: those of submit(), without a place.
Result<Submission> JobManager::graph_submission(const std::string& jobspec,
                                                const msg::GraphSpec& asked,
                                                const std::string& user, Time now) const {
  auto made = make_submission(jobspec, asked.is_instance);
  if (!made) return made;
  made->count = asked.count;
  if (auto sound = check_request(*made, asked.count, user); !sound)
    return tl::unexpected(sound.error());
  add_default_limit(*made, now);
  if (const auto why = too_late(*made, now); !why.empty()) return fail(Errc::unsatisfiable, why);
  if (!made->input_tasks.empty())
    return fail(Errc::unsupported, "a task of a graph cannot read from a client");
  if (made->wishes.immediate)
    return fail(Errc::unsupported, "a task of a graph cannot be one that is to start at once");
  if (made->wishes.array && made->wishes.array->open)
    return fail(Errc::unsupported, "an open array cannot be a task of a graph");
  if (auto sound = check_dependencies(*made); !sound) return tl::unexpected(sound.error());
  return made;
}

// Asks the scheduler about a task, and leaves it with the scheduler; an array or several equal jobs
// are withdrawn again. Errors: unsatisfiable (it can never run), those of Scheduler::submit().
Status JobManager::ask_about(const GraphPlan& plan, GraphPlan::Task& task, Time now) {
  const GraphPlan::Spec& spec = plan.specs[task.spec];
  auto own = with_words(*spec.submission, task.id, task.words);
  if (!own) return tl::unexpected(own.error());
  own->count = spec.submission->count;
  const JobId id(task.id.value() + (own->wishes.array ? 1 : 0));
  ActiveJob job{id, std::make_shared<const Submission>(std::move(*own)), {}, {}};
  job.life.urgency = spec.urgency;
  job.life.user = plan.user;
  job.life.t_submit = now;
  const auto taken = scheduler_.submit(request_of(job), now);
  if (!taken) return tl::unexpected(not_taken(*spec.submission, taken.error()));
  if (*taken) return fail(Errc::unsatisfiable, (*taken)->reason);
  task.is_known = !spec.is_alone();
  if (!task.is_known) HOLON_CHECK(scheduler_.withdraw(id, now).has_value());
  return {};
}

// Can the tasks ever run, and may their queues take them? Takes the first way that can. The
// scheduler then knows the first tasks, or none where one is refused.
Status JobManager::choose_ways(GraphPlan& plan, Time now) {
  Status good;
  for (std::size_t i = 0; i < plan.tasks.size() && good; ++i) {
    GraphPlan::Task& task = plan.tasks[i];
    for (const std::uint32_t way : task.ways) {
      task.spec = way;
      GraphPlan::Spec& spec = plan.specs[way];
      good = spec.refusal ? Status(tl::unexpected(*spec.refusal)) : Status();
      if (good && (!spec.was_asked || i < kAsked)) {
        good = ask_about(plan, task, now);
        if (!good && is_for_good(good.error()) && !spec.was_asked) spec.refusal = good.error();
        spec.was_asked = true;
        if (i >= kAsked && std::exchange(task.is_known, false))
          HOLON_CHECK(scheduler_.withdraw(task.id, now).has_value());
      }
      if (good || !is_for_good(good.error())) break;
    }
    if (!good) good = wrong_task(good.error().code, to_string(good.error()), i);
  }
  if (good) return good;
  for (const GraphPlan::Task& task : plan.tasks)
    if (task.is_known) HOLON_CHECK(scheduler_.withdraw(task.id, now).has_value());
  return good;
}

Result<msg::GraphReply> JobManager::submit_graph(const msg::GraphRequest& request, Time now) {
  if (request.tasks.empty() || request.tasks.size() > config_.max_count)
    return fail(Errc::out_of_range,
                fmt::format("there are {} tasks; accepted are 1 to {} (job.max-count)",
                            request.tasks.size(), config_.max_count));
  const auto before = known_submission(request.key);
  if (!before) return tl::unexpected(before.error());
  auto plan = plan_graph(request, *before ? (*before)->first : next_id_,
                         [&](const std::string& jobspec, const msg::GraphSpec& asked) {
                           return graph_submission(jobspec, asked, request.user, now);
                         });
  if (!plan) return tl::unexpected(plan.error());
  std::uint64_t equal = 0;  // jobs of tasks that are several equal jobs
  for (const auto& task : plan->tasks) {
    const auto& what = *plan->specs[task.spec].submission;
    equal += what.wishes.array ? 0 : what.count;
  }
  if (equal > config_.max_count)
    return fail(Errc::out_of_range, fmt::format("there are {} jobs; accepted are 1 to {} "
                                                "(job.max-count)",
                                                equal, config_.max_count));
  if (*before) {
    if ((*before)->count == plan->numbers()) return plan->reply();
    return fail(
        Errc::exists,
        fmt::format("another submission, that of job {}, had this key", (*before)->first.value()),
        "key");
  }
  if (auto good = choose_ways(*plan, now); !good) return tl::unexpected(good.error());
  if (!request.key.empty())
    journal_.add_submit_key(request.key, {plan->tasks.front().id, plan->numbers()});
  next_id_ = plan->end;
  for (std::size_t i = 0; i < plan->tasks.size();) i = accept_run(*plan, i, now);
  return plan->reply();
}

// Accepts the tasks from `begin` on that form one batch. Returns the place behind them.
std::size_t JobManager::accept_run(GraphPlan& plan, std::size_t begin, Time now) {
  GraphPlan::Spec& spec = plan.specs[plan.tasks[begin].spec];
  const JobId first = plan.tasks[begin].id;
  if (spec.is_alone()) {
    accept_alone(plan, plan.tasks[begin], now);
    return begin + 1;
  }
  std::size_t end = begin + 1;
  while (end < plan.tasks.size() && plan.tasks[end].spec == plan.tasks[begin].spec) ++end;
  Submission shared = *spec.submission;
  shared.first = first;
  shared.count = end - begin;
  const Batch batch{first, shared.count, spec.jobspec, shared.is_instance};
  if (spec.batch.value() != 0)
    journal_.add_batch_like(batch, spec.batch);
  else
    journal_.add_batch(batch);
  if (spec.batch.value() == 0) spec.batch = first;
  Intake intake{std::make_shared<const Submission>(std::move(shared)), {}, {}, 0, {}};
  for (std::size_t i = begin; i < end; ++i) {
    journal_.add_words(plan.tasks[i].id, plan.tasks[i].words);
    intake.words.push_back(std::move(plan.tasks[i].words));
  }
  Intake& begun = begin_intake(std::move(intake),
                               {event::Submit{spec.urgency, plan.user}, event::Validate{}}, now);
  for (std::size_t i = begin; i < end && plan.tasks[i].is_known; ++i) {
    const ActiveJob& job = take_in(begun);
    if (!waits_for_others(job)) advance(job.id, now);
  }
  if (begun.taken == begun.submission->count) intakes_.erase(first);
  return end;
}

// Accepts a task that is an array, or several equal jobs: a batch with a jobspec of its own.
void JobManager::accept_alone(const GraphPlan& plan, const GraphPlan::Task& task, Time now) {
  const GraphPlan::Spec& spec = plan.specs[task.spec];
  msg::SubmitRequest request;
  request.jobspec = with_words(spec.jobspec, task.words);
  request.count = spec.submission->count;
  request.urgency = spec.urgency;
  request.user = plan.user;
  request.is_instance = spec.submission->is_instance;
  auto own = with_words(*spec.submission, task.id, task.words);
  HOLON_CHECK(own.has_value());
  own->count = request.count;
  const auto submission = std::make_shared<const Submission>(std::move(*own));
  if (submission->wishes.array) {
    accept_array(submission, request, now);
    return;
  }
  journal_.add_batch({task.id, request.count, request.jobspec, request.is_instance});
  std::vector<EventBody> bodies = {event::Submit{spec.urgency, plan.user}, event::Validate{}};
  for (const auto& d : submission->dependencies) bodies.push_back(event::DependencyAdd{d.text});
  if (submission->dependencies.empty()) {
    bodies.push_back(event::Depend{});
    bodies.push_back(event::Priority{spec.urgency});
  }
  begin_intake({submission, {}, {}, 0, {}}, std::move(bodies), now);
}

std::optional<JobId> JobManager::next_intake() const {
  return intakes_.empty() ? std::nullopt : std::optional(intakes_.begin()->first);
}

}  // namespace holon::instance
