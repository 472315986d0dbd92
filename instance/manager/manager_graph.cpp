// The part of the JobManager that takes a graph: tasks that wait for each other, all or none.
//
// A graph may be large, so everything is done in portions. First it is read and everything that
// could be wrong is checked; nothing of it is kept yet. Then the request is journalled as it came,
// in one row: from here on all of its tasks are taken. At last the tasks enter in the order of the
// list: a batch for each run of tasks that share a jobspec, and a short row for each task's own
// words. A broker that dies meanwhile is followed by one that goes on behind the last batch. The
// client is answered when all have entered, so that nobody knows a number that is not a job yet.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "instance/job/graph_plan.hpp"
#include "instance/journal/damage/missing.hpp"
#include "instance/manager/manager.hpp"

namespace holon::instance {
namespace {

// In one portion:
constexpr std::size_t kEnteredAtOnce = 200;          // tasks
constexpr std::uint64_t kWrittenAtOnce = 128 << 10;  // bytes of jobspecs
constexpr std::size_t kCostAtOnce = 5'000;           // cost_of() of tasks

constexpr std::size_t kCostOfAsking = 100;       // of the scheduler, in the same measure
constexpr std::uint64_t kMostGivenUp = 100'000;  // numbers that get a record

// What a task costs wherever it is looked at: its ways and what it waits for.
std::size_t cost_of(const msg::GraphTask& task) {
  return 1 + task.ways.size() + task.after.size();
}

// The scheduler is asked about so many tasks beside each other before all are taken: a queue may be
// limited. It keeps them, so that nothing that is closed in between comes in their way.
std::size_t first_known(const GraphPlan& plan) {
  constexpr std::size_t kKnown = 500;
  std::size_t known = 0;
  for (std::size_t cost = 0; known < std::min(plan.tasks.size(), kKnown) && cost < kCostAtOnce;
       ++known)
    cost += cost_of(plan.request.tasks[known]);
  return known;
}

// The first task with the ways of this one: the first tasks are not asked about before all are
// read.
std::size_t first_like(const GraphPlan& plan, std::size_t place) {
  const auto& tasks = plan.request.tasks;
  const auto first = std::find_if(tasks.begin(), tasks.end(), [&](const msg::GraphTask& task) {
    return task.ways == tasks[place].ways;
  });
  return static_cast<std::size_t>(first - tasks.begin());
}

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

// What those of its tasks have that ask for no limit; 0: none.
Duration default_limit_of(const GraphPlan& plan) {
  const auto has_one = [](const auto& spec) { return spec.submission->has_default_limit; };
  const auto found = std::find_if(plan.specs.begin(), plan.specs.end(), has_one);
  return found == plan.specs.end() ? 0 : found->submission->limit;
}

// A spec of a graph that was taken before: it is not checked again.
Result<Submission> kept_spec(const std::string& jobspec, const msg::GraphSpec& asked,
                             Duration default_limit) {
  auto made = kept_submission(jobspec, asked.is_instance);
  if (made) made->count = asked.count;
  if (made) set_default_limit(*made, default_limit);
  return made;
}

// The plan of a graph that was taken before.
Result<GraphPlan> kept_plan(const KeptGraph& kept, const std::function<void()>& beat) {
  auto reader = GraphReader::begin(kept.request, kept.ways);
  if (!reader) return tl::unexpected(reader.error());
  GraphPlan& plan = reader->plan();
  plan.request.user = kept.user;
  plan.first = kept.first;
  for (bool more = true; more;) {
    beat();
    const auto read =
        reader->read_some([&](const std::string& jobspec, const msg::GraphSpec& asked) {
          return kept_spec(jobspec, asked, kept.default_limit);
        });
    if (!read) return tl::unexpected(read.error());
    more = *read;
  }
  if (plan.numbers == kept.numbers) return std::move(plan);
  return fail(Errc::invalid_argument,
              fmt::format("its graph takes {} numbers, and has {}", plan.numbers, kept.numbers));
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
  set_default_limit(*made, default_limit(now));
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

// Asks the scheduler about a task, and leaves it with the scheduler. Errors: unsatisfiable (it can
// never run), those of Scheduler::submit(). `words`: those of the task that matter.
Status JobManager::ask_about(const GraphPlan& plan, std::size_t place, const TaskWords& words,
                             Time now) {
  const GraphPlan::Spec& spec = plan.specs[plan.tasks[place].spec];
  const JobId id = asked_as(plan, place);
  auto own = with_words(*spec.submission, id, words);
  if (!own) return tl::unexpected(own.error());
  own->count = spec.submission->count;
  ActiveJob job{id, std::make_shared<const Submission>(std::move(*own)), {}, {}};
  job.life.urgency = spec.urgency;
  job.life.user = plan.request.user;
  job.life.t_submit = now;
  const auto taken = scheduler_.submit(request_of(job), now);
  if (!taken) return tl::unexpected(not_taken(*spec.submission, taken.error()));
  if (*taken) return fail(Errc::unsatisfiable, (*taken)->reason);
  return {};
}

// The number of a task if the graph were taken now.
JobId JobManager::asked_as(const GraphPlan& plan, std::size_t place) const {
  const GraphPlan::Task& task = plan.tasks[place];
  const bool is_array = plan.specs[task.spec].submission->wishes.array.has_value();
  return JobId(next_id_.value() + task.offset + (is_array ? 1 : 0));
}

// What was only asked about is no job.
void JobManager::withdraw(JobId asked, Time now) {
  HOLON_CHECK(scheduler_.withdraw(asked, now).has_value());
}

// Takes the first way of the task that can ever run, and leaves the task with the scheduler, but
// for an array and several equal jobs.
Status JobManager::take_way(GraphPlan& plan, std::size_t place, Time now) {
  Status good;
  for (const std::uint32_t way : plan.request.tasks[place].ways) {
    plan.tasks[place].spec = way;
    GraphPlan::Spec& spec = plan.specs[way];
    good = spec.refusal ? Status(tl::unexpected(*spec.refusal))
                        : ask_about(plan, place, plan.words_of(place), now);
    if (good && spec.is_alone()) withdraw(asked_as(plan, place), now);
    if (good || !is_for_good(good.error())) break;
  }
  return good ? good : wrong_task(good.error().code, to_string(good.error()), place);
}

// Likewise, but the scheduler is asked once a spec, and keeps nothing.
Status JobManager::choose_way(GraphPlan& plan, std::size_t place, Time now) {
  Status good;
  for (const std::uint32_t way : plan.request.tasks[place].ways) {
    plan.tasks[place].spec = way;
    GraphPlan::Spec& spec = plan.specs[way];
    good = spec.refusal ? Status(tl::unexpected(*spec.refusal)) : Status();
    if (good && !std::exchange(spec.was_asked, true)) {
      const auto& asked = plan.request.tasks[place];
      good = ask_about(plan, place, {asked.name, asked.command, {}}, now);
      if (good)
        withdraw(asked_as(plan, place), now);
      else if (is_for_good(good.error()))
        spec.refusal = good.error();
    }
    if (good || !is_for_good(good.error())) break;
  }
  if (good) return good;
  return wrong_task(good.error().code, to_string(good.error()), first_like(plan, place));
}

// Would the queues take the first tasks, one beside the other? How many the scheduler then has;
// none where one is refused.
Result<std::size_t> JobManager::take_first(GraphPlan& plan, Time now) {
  Status good;
  std::size_t known = 0;
  for (const std::size_t stop = first_known(plan); known < stop && good; ++known)
    good = take_way(plan, known, now);
  if (good) return known;
  for (std::size_t i = 0; i + 1 < known; ++i)
    if (!plan.specs[plan.tasks[i].spec].is_alone()) withdraw(asked_as(plan, i), now);
  return tl::unexpected(good.error());
}

// Tasks may be several equal jobs.
Status JobManager::check_jobs(const GraphPlan& plan) const {
  std::uint64_t equal = 0;
  for (const auto& task : plan.tasks) {
    const auto& what = *plan.specs[task.spec].submission;
    equal += what.wishes.array ? 0 : what.count;
  }
  if (equal <= config_.max_count) return {};
  return fail(Errc::out_of_range, fmt::format("there are {} jobs; accepted are 1 to {} "
                                              "(job.max-count)",
                                              equal, config_.max_count));
}

// Looks up the key first: what was taken is not refused later, whatever is closed or away then.
Status JobManager::begin_reading(ReadingGraph& graph) const {
  graph.has_begun = true;
  const std::size_t tasks = graph.reader.count();
  if (tasks == 0 || tasks > config_.max_count)
    return fail(Errc::out_of_range,
                fmt::format("there are {} tasks; accepted are 1 to {} (job.max-count)", tasks,
                            config_.max_count));
  auto before = known_submission(graph.reader.plan().request.key);
  if (!before) return tl::unexpected(before.error());
  graph.before = *before;
  return {};
}

Result<bool> JobManager::read_graph(ReadingGraph& graph, Time now) {
  GraphPlan& plan = graph.reader.plan();
  if (!graph.has_begun)
    if (auto begun = begin_reading(graph); !begun) return tl::unexpected(begun.error());
  if (!graph.reader.is_read()) {
    const auto more =
        graph.reader.read_some([&](const std::string& jobspec, const msg::GraphSpec& asked) {
          return graph.before ? kept_spec(jobspec, asked, 0)
                              : graph_submission(jobspec, asked, plan.request.user, now);
        });
    if (!more || *more) return more;
    if (auto fits = check_jobs(plan); !fits) return tl::unexpected(fits.error());
    graph.chosen = first_known(plan);
  }
  if (graph.before) return false;
  for (std::size_t cost = 0; graph.chosen < plan.tasks.size() && cost < kCostAtOnce;
       ++graph.chosen) {
    const auto& task = plan.request.tasks[graph.chosen];
    cost += plan.specs[task.ways.front()].was_asked ? cost_of(task) : kCostOfAsking;
    if (auto good = choose_way(plan, graph.chosen, now); !good) return tl::unexpected(good.error());
  }
  return graph.chosen < plan.tasks.size();
}

Result<msg::GraphReply> JobManager::take_graph(ReadingGraph& graph, const std::string& packed,
                                               Time now) {
  GraphPlan& plan = graph.reader.plan();
  // Another request with this key may have been taken since this one was begun.
  const auto before = known_submission(plan.request.key);
  if (!before) return tl::unexpected(before.error());
  if (*before) {
    plan.first = (*before)->first;
    if ((*before)->count == plan.numbers) return plan.reply();
    return fail(
        Errc::exists,
        fmt::format("another submission, that of job {}, had this key", (*before)->first.value()),
        "key");
  }
  const auto known = take_first(plan, now);
  if (!known) return tl::unexpected(known.error());
  plan.first = next_id_;
  next_id_ = JobId(next_id_.value() + plan.numbers);
  if (!plan.request.key.empty())
    journal_.add_submit_key(plan.request.key, {plan.first, plan.numbers});
  journal_.add_graph({plan.first, plan.numbers, plan.request.user, plan.taken_ways(), packed,
                      default_limit_of(plan)});
  auto reply = plan.reply();
  const JobId first = plan.first;
  auto& entering =
      entering_.emplace(first, EnteringGraph{std::move(plan), 0, *known}).first->second;
  enter_some(entering, entering.known, now);
  return reply;
}

// Makes batches of the tasks before `stop`, or of some of them.
void JobManager::enter_some(EnteringGraph& graph, std::size_t stop, Time now) {
  const bool are_known = graph.next < graph.known;
  std::uint64_t written = 0;
  std::size_t cost = 0;
  while (graph.next < stop && (are_known || (written < kWrittenAtOnce && cost < kCostAtOnce))) {
    const std::size_t begin = graph.next;
    written += graph.plan.specs[graph.plan.tasks[begin].spec].jobspec.size();
    graph.next = accept_run(graph.plan, begin, stop, are_known, now);
    for (std::size_t i = begin; i < graph.next; ++i) cost += cost_of(graph.plan.request.tasks[i]);
  }
}

bool JobManager::enter_graph(JobId first, Time now) {
  const auto found = entering_.find(first);
  if (found == entering_.end()) return false;
  EnteringGraph& graph = found->second;
  const std::size_t tasks = graph.plan.tasks.size();
  enter_some(graph, std::min(tasks, graph.next + kEnteredAtOnce), now);
  if (graph.next < tasks) return true;
  journal_.remove_graph(first);
  entering_.erase(found);
  return false;
}

// Accepts the tasks from `begin` on, and before `stop`, that form one batch. Returns the place
// behind them.
std::size_t JobManager::accept_run(GraphPlan& plan, std::size_t begin, std::size_t stop,
                                   bool are_known, Time now) {
  GraphPlan::Spec& spec = plan.specs[plan.tasks[begin].spec];
  if (spec.is_alone()) {
    accept_alone(plan, begin, now);
    return begin + 1;
  }
  const JobId first = plan.id_of(begin);
  std::size_t end = begin + 1;
  std::size_t cost = cost_of(plan.request.tasks[begin]);
  for (; end < stop && cost < kCostAtOnce && plan.tasks[end].spec == plan.tasks[begin].spec; ++end)
    cost += cost_of(plan.request.tasks[end]);
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
    intake.words.push_back(plan.words_of(i));
    journal_.add_words(plan.id_of(i), intake.words.back());
  }
  Intake& begun = begin_intake(
      std::move(intake),
      {submit_event(*spec.submission, spec.urgency, plan.request.user), event::Validate{}}, now);
  if (!are_known) {
    while (take_more(first, now)) continue;
    return end;
  }
  while (begun.taken < begun.submission->count) {
    const ActiveJob& job = take_in(begun);
    if (!waits_for_others(job)) advance(job.id, now);
  }
  intakes_.erase(first);
  return end;
}

// Accepts a task that is an array, or several equal jobs: a batch with a jobspec of its own.
void JobManager::accept_alone(const GraphPlan& plan, std::size_t place, Time now) {
  const GraphPlan::Spec& spec = plan.specs[plan.tasks[place].spec];
  const JobId id = plan.id_of(place);
  const TaskWords words = plan.words_of(place);
  msg::SubmitRequest request;
  request.jobspec = with_words(spec.jobspec, words);
  request.count = spec.submission->count;
  request.urgency = spec.urgency;
  request.user = plan.request.user;
  request.is_instance = spec.submission->is_instance;
  auto own = with_words(*spec.submission, id, words);
  HOLON_CHECK(own.has_value());
  own->count = request.count;
  const auto submission = std::make_shared<const Submission>(std::move(*own));
  if (submission->wishes.array) {
    accept_array(submission, request, now);
    return;
  }
  journal_.add_batch({id, request.count, request.jobspec, request.is_instance});
  std::vector<EventBody> bodies = {submit_event(*submission, request.urgency, request.user),
                                   event::Validate{}};
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

// Records the numbers from `next` on as failed: their tasks never became jobs.
void JobManager::give_up_graph(const KeptGraph& kept, JobId next, const Beginning& beginning,
                               Time now) {
  const JobId stop(kept.first.value() + kept.numbers);
  auto id = next.value();
  for (; id < stop.value() && id - next.value() < kMostGivenUp; ++id) {
    beginning.at(JobId(id));
    auto record = lost_record(path_, id, clock_.wall(now));
    record.user = kept.user;
    record.reason = "the broker failed twice in a row as it took this job up";
    journal_.add_inactive(record);
    counts_.add_ended(JobKind::failed, 1);
  }
  if (id < stop.value()) journal_.leave_unused(JobId(id), stop);
  journal_.remove_graph(kept.first);
}

// Takes up a graph that the broker before this one had taken, and not all of whose tasks are
// batches.
Status JobManager::restore_graph(const KeptGraph& kept, const Beginning& beginning, Time now) {
  const JobId stop(kept.first.value() + kept.numbers);
  const auto done = journal_.entered_before(stop);
  if (!done) return tl::unexpected(done.error());
  const JobId next = std::max(kept.first, *done);
  const auto& suspect = beginning.suspect;
  if (suspect && suspect->job >= next && suspect->job < stop) {
    give_up_graph(kept, next, beginning, now);
    return {};
  }
  auto plan = kept_plan(kept, [&] { beginning.at(next); });
  if (!plan) return tl::unexpected(condemn(kept.first, plan.error()));
  EnteringGraph graph{std::move(*plan), 0, 0};
  while (graph.next < graph.plan.tasks.size() && graph.plan.id_of(graph.next) < next) ++graph.next;
  auto& entering = entering_.emplace(kept.first, std::move(graph)).first->second;
  do beginning.at(entering.plan.id_of(std::min(entering.next, entering.plan.tasks.size() - 1)));
  while (enter_graph(kept.first, now));
  return {};
}

Status JobManager::restore_graphs(const Beginning& beginning, Time now) {
  const auto graphs = journal_.graphs();
  if (!graphs) return tl::unexpected(graphs.error());
  for (const KeptGraph& kept : *graphs)
    if (auto restored = restore_graph(kept, beginning, now); !restored) return restored;
  while (!intakes_.empty()) {
    beginning.at(intakes_.begin()->first);
    take_more(intakes_.begin()->first, now);
  }
  return {};
}

}  // namespace holon::instance
