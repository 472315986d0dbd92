// The planned end of a running job moves: a changed limit, or the lease of the resources. The plan,
// the reservations in it and what limits count follow.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include <fmt/core.h>

#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/machine/store_machine.hpp"
#include "resource/formats/readers.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::Scheduler;
using qmanager::SchedulerConfig;

enum class EndsOver { numbers, cores, whole_nodes };

// Two nodes of `cores` each; jobs ask for single cores, or some of them for a whole node.
struct Ends {
  Ends(const SchedulerConfig& config, EndsOver what, int cores, Interval horizon = {0, kTimeMax})
      : over(what), cores_of_node(cores) {
    resource::StoreOptions options;
    options.horizon = horizon;
    store.emplace(*resource::ResourceStore::load(
        *resource::read_shape(fmt::format("node=2/core={}", cores)), options));
    if (over == EndsOver::numbers)
      scheduler.emplace(
          *Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(2 * cores, horizon)));
    else
      scheduler.emplace(*Scheduler::create(config, *store));
  }

  void submit(const std::string& text) {
    for (ScenarioJob& job : parse_jobs(text)) submit(job);
  }

  void submit(ScenarioJob& job) {
    resource::JobShape shape;
    shape.tasks = job.request.procs;
    if (over == EndsOver::whole_nodes && job.request.procs % cores_of_node == 0) {
      shape.nodes = shape.tasks = job.request.procs / cores_of_node;
      shape.cores_per_task = cores_of_node;
      shape.exclusive = true;
    }
    shape.command = {"true"};
    if (over != EndsOver::numbers)
      job.request.spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
    ASSERT_FALSE(scheduler->submit(job.request, job.trace.submit)->has_value());
  }

  std::optional<Time> planned(std::uint64_t id) const {
    return scheduler->outlook(JobId{id})->planned_start;
  }

  // When what the job has is free again, as planned.
  Time ends(std::uint64_t id, Time now) const {
    for (const auto& span : scheduler->plan(now))
      if (span.job == JobId{id}) return span.when.end;
    return -1;
  }

  EndsOver over;
  std::int64_t cores_of_node;
  std::optional<resource::ResourceStore> store;
  std::optional<Scheduler> scheduler;
};

const EndsOver kAll[] = {EndsOver::numbers, EndsOver::cores, EndsOver::whole_nodes};

TEST(Ends, ReservationsFollowThem) {
  for (const EndsOver over : kAll) {
    SCOPED_TRACE(static_cast<int>(over));
    Ends world(policy("conservative"), over, 1);
    Scheduler& scheduler = *world.scheduler;
    world.submit("A 0 1 10 99\nB 0 2 10 10\nC 0 1 10 10");
    scheduler.step(0);
    ASSERT_EQ(world.planned(2), 10);
    ASSERT_EQ(scheduler.running(), 2u) << "C fits beside A";
    ASSERT_TRUE(scheduler.set_end(JobId{1}, 20, 5));
    scheduler.check_invariants();
    const auto step = scheduler.step(5);
    scheduler.check_invariants();
    EXPECT_EQ(world.planned(2), 20);
    EXPECT_EQ(step.wake, 10) << "C ends then";
    EXPECT_EQ(world.ends(1, 5), 20);
    ASSERT_TRUE(scheduler.finish(JobId{3}, 10));
    scheduler.step(10);
    EXPECT_EQ(world.planned(2), 20) << "A has not overrun";
    ASSERT_TRUE(scheduler.set_end(JobId{1}, 12, 11));
    EXPECT_EQ(scheduler.step(11).wake, 12);
    EXPECT_EQ(world.planned(2), 12);
    ASSERT_TRUE(scheduler.finish(JobId{1}, 12));
    scheduler.step(12);
    EXPECT_EQ(scheduler.running(), 1u);
    EXPECT_EQ(scheduler.pending(), 0u);
    scheduler.check_invariants();
  }
}

TEST(Ends, ALimitThatIsChangedMovesThem) {
  for (const EndsOver over : kAll) {
    SCOPED_TRACE(static_cast<int>(over));
    Ends world(policy("easy"), over, 1, {0, 1'000});
    Scheduler& scheduler = *world.scheduler;
    world.submit("A 0 1 10 10\nB 0 2 10 10");
    scheduler.step(0);
    ASSERT_EQ(world.planned(2), 10);
    EXPECT_EQ(scheduler.set_limit(JobId{1}, 30, 5), 30);
    scheduler.step(5);
    EXPECT_EQ(world.planned(2), 30);
    EXPECT_EQ(scheduler.set_limit(JobId{1}, 0, 6), 1'000) << "as long as there are resources";
    scheduler.step(6);
    EXPECT_EQ(world.planned(2), std::nullopt) << "it would end after them";
    EXPECT_EQ(scheduler.set_limit(JobId{1}, 8, 7), 8);
    scheduler.step(7);
    EXPECT_EQ(world.planned(2), 8);
    EXPECT_EQ(scheduler.set_limit(JobId{2}, 8, 7).error().code, Errc::not_found);
    EXPECT_EQ(scheduler.set_limit(JobId{1}, -1, 7).error().code, Errc::invalid_argument);
    scheduler.check_invariants();
  }
}

// It was submitted to see whether it would be taken.
TEST(Ends, AJobThatWasOnlyTriedIsInNoCount) {
  Ends world(policy("fcfs"), EndsOver::numbers, 2);
  Scheduler& scheduler = *world.scheduler;
  world.submit("A 0 4 10 10\nB 1 2 10 10");
  scheduler.step(0);
  EXPECT_TRUE(scheduler.withdraw(JobId{2}, 1));
  EXPECT_EQ(scheduler.queues().front().counts.submitted, 1);
  EXPECT_EQ(scheduler.queues().front().counts.cancelled, 0);
  EXPECT_EQ(scheduler.pending(), 0u);
  EXPECT_EQ(scheduler.withdraw(JobId{2}, 1).error().code, Errc::not_found);
  EXPECT_EQ(scheduler.withdraw(JobId{1}, 1).error().code, Errc::not_found) << "it runs";
  EXPECT_EQ(scheduler.queues().front().counts.submitted, 1);
  scheduler.check_invariants();
}

TEST(Ends, APendingJobThatAsksForSomethingElseKeepsItsPlace) {
  Ends world(policy("fcfs"), EndsOver::numbers, 2);
  Scheduler& scheduler = *world.scheduler;
  world.submit("A 0 4 10 10\nB 1 2 10 10\nC 1 2 10 10");
  scheduler.step(0);
  scheduler.step(1);
  auto changed = parse_jobs("B 1 3 20 20").front().request;
  changed.id = JobId{2};
  changed.submitted = 1;
  ASSERT_FALSE(scheduler.replace(changed, 2)->has_value());
  scheduler.check_invariants();
  EXPECT_EQ(scheduler.queues().front().counts.submitted, 3);
  EXPECT_EQ(scheduler.queues().front().counts.cancelled, 0);
  EXPECT_EQ(scheduler.outlook(JobId{2})->position, 0u) << "in front of C, as before";
  // What can never run is refused, and the job waits as it did.
  changed.procs = 5;
  const auto refused = scheduler.replace(changed, 3);
  ASSERT_TRUE(refused && refused->has_value());
  EXPECT_EQ(scheduler.queues().front().counts.rejected, 0);
  changed.procs = 3;
  changed.queue = "nowhere";
  EXPECT_EQ(scheduler.replace(changed, 3).error().code, Errc::not_found);
  EXPECT_EQ(scheduler.pending(), 2u);
  ASSERT_TRUE(scheduler.finish(JobId{1}, 10));
  scheduler.step(10);
  EXPECT_EQ(scheduler.running(), 1u) << "B takes three of four, and C waits";
  EXPECT_EQ(world.ends(2, 10), 30);
  changed.queue.clear();
  EXPECT_EQ(scheduler.replace(changed, 11).error().code, Errc::not_found) << "it runs";
  scheduler.check_invariants();
}

TEST(Ends, AnEndThatMovesToTheFrontMakesRoomAtOnce) {
  for (const EndsOver over : kAll) {
    SCOPED_TRACE(static_cast<int>(over));
    Ends world(policy("easy"), over, 1);
    Scheduler& scheduler = *world.scheduler;
    world.submit("A 0 1 50 50\nB 0 2 10 10\nC 0 1 30 30\nD 0 1 40 40");
    scheduler.step(0);
    ASSERT_EQ(scheduler.running(), 2u) << "A and C; B has 50 reserved";
    ASSERT_TRUE(scheduler.finish(JobId{3}, 5));
    ASSERT_TRUE(scheduler.set_end(JobId{1}, 20, 5));
    scheduler.step(5);
    EXPECT_EQ(scheduler.running(), 1u) << "D would now be in B's way";
    EXPECT_EQ(scheduler.plan(5).back().when, (Interval{20, 30}));
    scheduler.check_invariants();
  }
}

// R, which was to end at 7, is to end at 12. H, which is reserved for from 7 on until the next
// pass, is in the way and gives way. K is not, and its queue keeps what is reserved for it: it has
// 5 as before, though H would come first if both were planned anew.
TEST(Ends, OnlyReservationsThatPassesMakeAnewGiveWayWhereThatIsEnough) {
  for (const EndsOver over : kAll)
    for (const bool shortcuts : {true, false}) {
      SCOPED_TRACE(fmt::format("{}, {}", static_cast<int>(over), shortcuts));
      SchedulerConfig config = policy("easy");
      config.shortcuts = shortcuts;
      config.queues["default"] = config.queues["other"] = config.defaults;
      config.queues["other"].policy = "conservative";
      Ends world(config, over, 2);
      Scheduler& scheduler = *world.scheduler;
      auto jobs = parse_jobs(R"(
        A  0  2  5   5
        R  0  1  7   7
        K  0  2  3   3   queue=other
        H  0  2  3   3
        D  0  1  20  20)");
      for (ScenarioJob& job : jobs) {
        world.submit(job);
        scheduler.step(0);
      }
      ASSERT_EQ(scheduler.running(), 2u) << "D would be in H's way";
      ASSERT_EQ(world.planned(3), 5);
      ASSERT_EQ(world.planned(4), 7);
      ASSERT_TRUE(scheduler.set_end(JobId{2}, 12, 1));
      EXPECT_EQ(world.planned(3), 5);
      scheduler.check_invariants();
      scheduler.step(1);
      EXPECT_EQ(scheduler.running(), 3u);
      EXPECT_EQ(world.planned(3), 5);
      EXPECT_EQ(scheduler.plan(1).back().when, (Interval{8, 11})) << "H, behind K";
      scheduler.check_invariants();
    }
}

// As a limit on processor-seconds counts them: 2 x 10, and B has another 30.
TEST(Ends, LimitsCountThem) {
  for (const EndsOver over : kAll) {
    SCOPED_TRACE(static_cast<int>(over));
    SchedulerConfig config = policy("easy");
    limit(config, "user", "ann", "max-ps", "50");
    Ends world(config, over, 2);
    Scheduler& scheduler = *world.scheduler;
    world.submit("A 0 2 20 99 user=ann\nB 0 1 30 30 user=ann");
    scheduler.step(0);
    ASSERT_EQ(scheduler.running(), 1u) << "40 and 30 are more than 50";
    ASSERT_TRUE(scheduler.set_end(JobId{1}, 10, 0));
    scheduler.step(0);
    EXPECT_EQ(scheduler.running(), 2u);
    scheduler.check_invariants();
  }
}

TEST(Ends, AnAdvanceReservationKeepsItsPlace) {
  for (const EndsOver over : kAll) {
    SCOPED_TRACE(static_cast<int>(over));
    Ends world(policy("easy"), over, 1);
    Scheduler& scheduler = *world.scheduler;
    world.submit("A 0 2 10 99");
    scheduler.step(0);
    qmanager::AdvanceRequest request;
    request.resources.id = JobId{90};
    request.resources.procs = 1;
    if (over != EndsOver::numbers) {
      resource::JobShape shape;
      shape.tasks = 1;
      shape.command = {"true"};
      request.resources.spec =
          std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
    }
    request.when = {15, 20};
    ASSERT_FALSE(scheduler.reserve_ahead(request, 0)->refused);
    EXPECT_EQ(scheduler.set_end(JobId{1}, 30, 5).error().code, Errc::overcommitted);
    scheduler.check_invariants();
    EXPECT_EQ(world.ends(1, 5), 10);
    EXPECT_TRUE(scheduler.set_end(JobId{1}, 15, 5));
    EXPECT_EQ(world.ends(1, 5), 15);
    scheduler.step(5);
    scheduler.check_invariants();
  }
}

TEST(Ends, AreRefused) {
  Ends world(policy("easy"), EndsOver::numbers, 1, {0, 100});
  Scheduler& scheduler = *world.scheduler;
  world.submit("A 0 1 10 10\nB 0 2 10 10");
  scheduler.step(3);
  EXPECT_EQ(scheduler.set_end(JobId{1}, 3, 3).error().code, Errc::invalid_argument);
  EXPECT_EQ(scheduler.set_end(JobId{2}, 30, 3).error().code, Errc::not_found) << "it waits";
  EXPECT_EQ(scheduler.set_end(JobId{7}, 30, 3).error().code, Errc::not_found);
  EXPECT_TRUE(scheduler.set_end(JobId{1}, 500, 3));
  EXPECT_EQ(world.ends(1, 3), 100) << "with the lease";
}

// Whatever moves, no unit is held twice, and everybody who waits has started in the end.
TEST(Ends, ThatMoveAtRandomLetEverybodyRun) {
  for (const char* name : {"fcfs", "easy", "hybrid:3", "conservative", "conservative-rebuild"})
    for (const EndsOver over : kAll)
      for (unsigned seed = 0; seed < 10; ++seed) {
        SCOPED_TRACE(fmt::format("{}, {}, seed {}", name, static_cast<int>(over), seed));
        Ends world(policy(name), over, 3);
        Scheduler& scheduler = *world.scheduler;
        std::mt19937 random(seed);
        auto jobs = random_jobs(seed, 24, 6);
        std::size_t next = 0;
        std::multimap<Time, JobId> ends;
        std::map<JobId, Time> planned;  // of those that run, as moved last
        for (Time now = 0; now < 2000 && (next < jobs.size() || scheduler.pending() > 0 ||
                                          scheduler.running() > 0);
             ++now) {
          for (; next < jobs.size() && jobs[next].trace.submit <= now; ++next)
            world.submit(jobs[next]);
          for (; !ends.empty() && ends.begin()->first <= now; ends.erase(ends.begin())) {
            ASSERT_TRUE(scheduler.finish(ends.begin()->second, now));
            planned.erase(ends.begin()->second);
          }
          if (!ends.empty() && random() % 3 == 0) {
            const JobId id =
                std::next(ends.begin(), static_cast<int>(random() % ends.size()))->second;
            const Time end = now + 1 + static_cast<Time>(random() % 20);
            ASSERT_TRUE(scheduler.set_end(id, end, now));
            planned[id] = end;
            scheduler.check_invariants();
          }
          const auto step = scheduler.step(now);
          scheduler.check_invariants();
          for (const auto& decision : step.decisions)
            if (const auto* start = std::get_if<qmanager::Start>(&decision))
              ends.emplace(now + jobs[start->job.value() - 1].trace.run, start->job);
          for (const auto& [id, end] : planned)
            if (end > now) {
              ASSERT_EQ(world.ends(id.value(), now), end) << "job " << id.value();
            }
        }
        EXPECT_EQ(scheduler.pending(), 0u);
        EXPECT_EQ(scheduler.running(), 0u);
      }
}

}  // namespace
}  // namespace holon::tests
