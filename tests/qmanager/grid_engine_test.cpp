// Grid Engine's resource reservation, consumables and monitoring.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "qmanager/machine/flat_machine.hpp"
#include "scenario.hpp"
#include "sim/schedule_file.hpp"

namespace holon::tests {
namespace {

qmanager::SchedulerConfig grid_engine(std::int64_t max_reservation) {
  qmanager::SchedulerConfig config = policy("easy");
  config.defaults.max_reservation = max_reservation;
  return config;
}

struct GridEngineCase {
  const char* name;
  std::int64_t max_reservation;
  int nodes;
  const char* jobs;
  const char* want;
};

const GridEngineCase kGridEngineCases[] = {
    {"without reservation a stream of small jobs starves the large one", 0, 2, R"(
        B   0      1     2     2
        C   0      1     3     3
        A   1      2     2     2
        D   1      1     2     2
        E   1      1     2     2
        F   3      1     2     2)",
     R"(
      n0 |BBDDFFAA|
      n1 |CCCEE.AA|
)"},
    {"with -R y it has its place, and a short job fills the gap", 1, 2, R"(
        B   0      1     2     2   reserve=no
        C   0      1     3     3   reserve=no
        A   1      2     2     2
        D   1      1     2     2   reserve=no
        S   1      1     1     1   reserve=no)",
     R"(
      n0 |BBSAADD|
      n1 |CCCAA..|
)"},
    {"who does not ask for a reservation gets none", 1, 2, R"(
        B   0      1     2     2   reserve=no
        C   0      1     3     3   reserve=no
        A   1      2     2     2   reserve=no
        D   1      1     2     2   reserve=no)",
     R"(
      n0 |BBDDAA|
      n1 |CCC.AA|
)"},
};

TEST(GridEngine, Drawings) {
  for (const GridEngineCase& c : kGridEngineCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(gantt(run({.nodes = c.nodes,
                         .jobs = parse_jobs(c.jobs),
                         .config = grid_engine(c.max_reservation)})),
              c.want);
  }
}

// The licence jobs of the specification: 5 licences; jobs for 4, 5 and 1 of them, limits 30, 30,
// 31, each runs 20.
TEST(GridEngine, TheSixIntervalsOfTheLicenceJobs) {
  qmanager::SchedulerConfig config = grid_engine(10);
  config.pools["license"] = 5;
  sim::Workload workload;
  std::vector<ScenarioJob> jobs = parse_jobs(R"(
        A   0      1     30    20   uses=license:4
        B   0      1     30    20   uses=license:5
        C   0      1     31    20   uses=license:1)");
  for (const auto& job : jobs) workload.jobs.push_back(job.trace);
  sim::ScheduleFile file(0, "host");
  sim::SimOptions options;
  options.config = config;
  options.check_invariants = true;
  options.watch = [&](Time now, qmanager::Scheduler& scheduler, const qmanager::StepResult& step) {
    file.record(now, scheduler, step);
  };
  const auto result = sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(9), options,
                                    [&](const sim::TraceJob& trace) {
                                      return jobs[static_cast<std::size_t>(trace.id) - 1].request;
                                    });
  ASSERT_TRUE(result);
  EXPECT_EQ(file.text(),
            "::::::::\n"
            "1:1:STARTING:0:30:G:global:license:4.000000\n"
            "1:1:STARTING:0:30:Q:default@host:slots:1.000000\n"
            "2:1:RESERVING:30:30:G:global:license:5.000000\n"
            "2:1:RESERVING:30:30:Q:default@host:slots:1.000000\n"
            "3:1:RESERVING:60:31:G:global:license:1.000000\n"
            "3:1:RESERVING:60:31:Q:default@host:slots:1.000000\n"
            "::::::::\n"
            "2:1:STARTING:20:30:G:global:license:5.000000\n"
            "2:1:STARTING:20:30:Q:default@host:slots:1.000000\n"
            "3:1:RESERVING:50:31:G:global:license:1.000000\n"
            "3:1:RESERVING:50:31:Q:default@host:slots:1.000000\n"
            "::::::::\n"
            "3:1:STARTING:40:31:G:global:license:1.000000\n"
            "3:1:STARTING:40:31:Q:default@host:slots:1.000000\n"
            "::::::::\n");
}

// Two queues. In one order, D of queue b is the most urgent and has the one reservation, and C does
// not take what that needs; queue by queue, queue a has what it can get first.
TEST(GridEngine, PriorityIsGlobalAndReservationsAreCountedOverAllQueues) {
  const char* const jobs = R"(
        A   0      2     4     4   queue=a
        B   1      1     4     4   queue=a
        C   1      1     9     9   queue=a urgency=10
        D   1      3     2     2   queue=b urgency=20
        E   1      2     2     2   queue=a urgency=18)";
  qmanager::SchedulerConfig config = grid_engine(1);
  config.default_queue = "a";
  config.queues["a"] = config.queues["b"] = config.defaults;
  EXPECT_EQ(gantt(run({.nodes = 4, .jobs = parse_jobs(jobs), .config = config})), R"(
      n0 |AAAA...DD...|
      n1 |AAAA...DD...|
      n2 |.EEBBBBDD...|
      n3 |.EECCCCCCCCC|
)") << "queue by queue";
  config.max_reservation = 1;
  EXPECT_EQ(gantt(run({.nodes = 4, .jobs = parse_jobs(jobs), .config = config})), R"(
      n0 |AAAADDCCCCCCCCC|
      n1 |AAAADD.........|
      n2 |.EEBBBB........|
      n3 |.EE.DD.........|
)") << "as Grid Engine does";
}

// An advance reservation is written once, before the next section, and once more when it is over.
TEST(GridEngine, RowsOfAnAdvanceReservation) {
  qmanager::SchedulerConfig config = grid_engine(5);
  config.environments["fill"] = {.slots = 9, .rule = {qmanager::AllocationRule::Kind::fill_up, 0}};
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(4));
  sim::ScheduleFile file(0, "host");
  qmanager::AdvanceRequest request;
  request.resources = parse_jobs("A 0 3 9 9 user=ann pe=fill").front().request;
  request.resources.id = JobId{90};
  request.when = {5, 15};
  ASSERT_FALSE(scheduler.reserve_ahead(request, 0)->refused);
  auto inside = parse_jobs("A 0 2 3 3 user=ann pe=fill").front().request;
  inside.advance = JobId{90};
  ASSERT_FALSE(scheduler.submit(inside, 0)->has_value());
  for (const Time now : {0, 5, 8, 15}) {
    if (now == 8) {
      ASSERT_TRUE(scheduler.finish(inside.id, now));
    }
    const auto step = scheduler.step(now);
    file.record(now, scheduler, step);
  }
  EXPECT_EQ(file.text(),
            "0:0:RESERVING:5:10:Q:default@host:slots:3.000000\n"
            "0:0:RESERVING:5:10:P:fill:slots:3.000000\n"
            "::::::::\n"
            "::::::::\n"
            "1:1:STARTING:5:3:Q:default@host:slots:2.000000\n"
            "::::::::\n"
            "0:0:RESERVING:5:10:Q:default@host:slots:-3.000000\n"
            "0:0:RESERVING:5:10:P:fill:slots:-3.000000\n"
            "::::::::\n");
}

TEST(GridEngine, ALengthIsToldAsTheCallerShowsIt) {
  qmanager::SchedulerConfig config = grid_engine(1);
  config.show_length = [](Duration length) { return fmt::format("{} s", length); };
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(4));
  qmanager::AdvanceRequest request;
  request.resources = parse_jobs("A 0 3 9 9 user=ann").front().request;
  request.resources.id = JobId{90};
  request.when = {5, 15};
  ASSERT_FALSE(scheduler.reserve_ahead(request, 0)->refused);
  auto inside = parse_jobs("A 0 2 20 3 user=ann").front().request;
  inside.advance = JobId{90};
  const auto refused = scheduler.submit(inside, 0);
  ASSERT_TRUE(refused && *refused);
  EXPECT_EQ((**refused).reason, "asks for 20 s, advance reservation 90 lasts 10 s");
}

TEST(GridEngine, MoreOfAConsumableThanThereIsIsRefused) {
  qmanager::SchedulerConfig config = grid_engine(1);
  config.pools["license"] = 5;
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(2));
  // C: twice what it says is more than fits a number.
  auto jobs = parse_jobs(
      "A 0 1 5 5 uses=license:6\nB 0 1 5 5 uses=seats:1\nC 0 2 5 5 "
      "each=license:9000000000000000000");
  for (const auto& job : jobs) {
    const auto refused = scheduler.submit(job.request, 0);
    ASSERT_TRUE(refused);
    EXPECT_TRUE(refused->has_value());
  }
}

TEST(GridEngine, DurationOffsetAndDefaultDurationArePlannedWith) {
  qmanager::SchedulerConfig config = grid_engine(2);
  config.defaults.default_duration = 7;
  config.defaults.duration_offset = 2;
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(1));
  for (const auto& job : parse_jobs("A 0 1 5 5\nB 0 1 0 5\nC 0 1 1 1"))
    ASSERT_TRUE(scheduler.submit(job.request, 0));
  scheduler.step(0);
  const auto plan = scheduler.plan(0);
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0].when, (Interval{0, 7}));
  EXPECT_EQ(plan[1].when, (Interval{7, 16}));
  EXPECT_EQ(plan[2].when, (Interval{16, 19}));
}

}  // namespace
}  // namespace holon::tests
