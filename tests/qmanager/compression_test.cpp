// Conservative backfilling against a compression too simple to be wrong: units counted per tick,
// and after each end every reservation is taken out and planned again, in queue order, at the first
// tick at which it fits. Every planned start of every pass must agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "qmanager/machine/flat_machine.hpp"
#include "sim/graph_machine.hpp"

namespace holon::qmanager {
namespace {

constexpr Time kLast = 20'000;

struct Planned {
  std::int64_t procs = 0;
  Interval when;
};

class Model {
 public:
  explicit Model(std::int64_t procs) : procs_(procs), used_(kLast, 0) {}

  void submit(std::uint64_t id, std::int64_t procs, Duration limit) {
    pending_[id] = {procs, {0, limit}};
    unplanned_.push_back(id);
  }
  void finish(std::uint64_t id, Time now) {
    add(running_.at(id), now, -1);
    running_.erase(id);
    ended_ = true;
  }
  void pass(Time now) {
    std::map<std::uint64_t, Planned> still;
    for (auto& [id, job] : pending_) {
      const bool is_new = std::find(unplanned_.begin(), unplanned_.end(), id) != unplanned_.end();
      if (!is_new && ended_) add(job, now, -1);
      if (is_new || ended_) {
        job.when = earliest(job, now);
        add(job, now, 1);
      }
      (job.when.begin == now ? running_ : still)[id] = job;
    }
    pending_ = std::move(still);
    unplanned_.clear();
    ended_ = false;
  }

  const std::map<std::uint64_t, Planned>& pending() const { return pending_; }
  const std::map<std::uint64_t, Planned>& running() const { return running_; }

 private:
  Interval earliest(const Planned& job, Time now) const {
    for (Time begin = now, t = now;; ++t) {
      if (used_.at(static_cast<std::size_t>(t)) + job.procs > procs_) begin = t + 1;
      if (t + 1 - begin == job.when.length()) return {begin, t + 1};
    }
  }
  void add(const Planned& job, Time now, int sign) {
    for (Time t = std::max(now, job.when.begin); t < job.when.end; ++t)
      used_.at(static_cast<std::size_t>(t)) += sign * job.procs;
  }

  std::int64_t procs_;
  std::vector<std::int64_t> used_;
  std::map<std::uint64_t, Planned> pending_;  // the queue: ids come in order
  std::map<std::uint64_t, Planned> running_;
  std::vector<std::uint64_t> unplanned_;
  bool ended_ = false;
};

class Compression : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::int64_t kProcs = 12;

  std::int64_t draw(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  void begin(unsigned seed) {
    random_.seed(seed);
    model_ = Model(kProcs);
    SchedulerConfig config;
    config.defaults.policy = "conservative";
    config.defaults.queue_depth = 1'000'000;
    std::unique_ptr<Machine> machine = std::make_unique<FlatMachine>(kProcs);
    if (GetParam()) machine = sim::graph_machine("node=12/core=1")->machine().value();
    scheduler_.emplace(*Scheduler::create(config, std::move(machine)));
  }
  // `queue` jobs wait from the first tick on, and a few come later.
  void play(unsigned seed, std::int64_t queue, Time until) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    begin(seed);
    for (Time now = 1; now < until; ++now) {
      ASSERT_NO_FATAL_FAILURE(finish_what_is_over(now));
      const std::int64_t arrivals = now == 1 ? queue : draw(0, 19) == 0 ? draw(1, 9) : 0;
      for (std::int64_t i = 0; i < arrivals; ++i) ASSERT_NO_FATAL_FAILURE(submit(now));
      ASSERT_NO_FATAL_FAILURE(pass_and_compare(now));
    }
    scheduler_->check_invariants();
  }
  // Small and short ones are as likely as large and long ones, so that holes are worth a search.
  void submit(Time now) {
    sim::TraceJob job;
    job.id = ++last_;
    job.submit = now;
    job.procs = draw(1, draw(1, kProcs));
    job.limit = draw(1, draw(1, 60));
    ends_after_[static_cast<std::uint64_t>(last_)] = draw(1, job.limit);
    JobRequest request = GetParam() ? sim::graph_request(job) : sim::flat_request(job);
    ASSERT_FALSE(scheduler_->submit(std::move(request), now).value());
    model_.submit(static_cast<std::uint64_t>(job.id), job.procs, job.limit);
  }
  void finish_what_is_over(Time now) {
    const auto running = model_.running();
    for (const auto& [id, job] : running) {
      if (job.when.begin + ends_after_.at(id) != now) continue;
      model_.finish(id, now);
      ASSERT_TRUE(scheduler_->finish(JobId{id}, now));
    }
  }
  void pass_and_compare(Time now) {
    model_.pass(now);
    std::vector<std::uint64_t> started;
    for (bool more = true; more;) {
      const StepResult step = scheduler_->step(now, {.jobs = draw(1, 500)});
      for (const Decision& decision : step.decisions)
        if (const auto* start = std::get_if<Start>(&decision))
          started.push_back(start->job.value());
      more = step.more;
    }
    for (const std::uint64_t id : started)
      ASSERT_TRUE(model_.running().contains(id) && model_.running().at(id).when.begin == now)
          << "job " << id << " at " << now;
    ASSERT_EQ(scheduler_->running(), model_.running().size()) << "at " << now;
    for (const auto& [id, job] : model_.pending())
      ASSERT_EQ(scheduler_->outlook(JobId{id})->planned_start, job.when.begin)
          << "job " << id << " at " << now;
  }

  std::mt19937 random_;
  Model model_{kProcs};
  std::optional<Scheduler> scheduler_;
  std::map<std::uint64_t, Duration> ends_after_;
  std::int64_t last_ = 0;
};

TEST_P(Compression, PlansAShortQueueAsIfAllWereMadeAnew) {
  for (unsigned seed = 0; seed < 4; ++seed) ASSERT_NO_FATAL_FAILURE(play(seed, 100, 300));
}

// In a plan of so many points searches are remembered (SearchedTimeline).
TEST_P(Compression, PlansALongQueueAsIfAllWereMadeAnew) {
  for (unsigned seed = 0; seed < 3; ++seed) ASSERT_NO_FATAL_FAILURE(play(seed, 1500, 40));
}

// A hundred jobs that keep their places are looked at in one pass, a hundred that are planned anew
// are not.
TEST_P(Compression, APassPlansFewerThanItLooksAt) {
  begin(1);
  for (int i = 0; i < 200; ++i) ASSERT_NO_FATAL_FAILURE(submit(1));
  const Budget budget{.jobs = 300, .planned_as = 16};
  EXPECT_TRUE(scheduler_->step(1, budget).more);
  while (scheduler_->step(1, budget).more) continue;
  ASSERT_NO_FATAL_FAILURE(submit(1));
  EXPECT_FALSE(scheduler_->step(1, budget).more);
}

INSTANTIATE_TEST_SUITE_P(On, Compression, testing::Bool(),
                         [](const auto& of) { return of.param ? "AGraph" : "AFlatMachine"; });

}  // namespace
}  // namespace holon::qmanager
