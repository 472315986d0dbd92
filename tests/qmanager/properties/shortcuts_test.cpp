// A pass goes on from what earlier ones have found out. To an engine that forgets all of it, looks
// at every job in every pass, and makes every reservation at once, the same jobs start at the same
// times.
//
// A reservation that is made later than it would be without shortcuts, or is not made again, gets
// the same units on a graph: which of the units that are free it takes follows from the graph
// (under policy first too, resource/match/visit_order.hpp), and of what was free when the engine
// without shortcuts has chosen, only units that were not chosen are taken since.
#include <gtest/gtest.h>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qmanager/machine/store_machine.hpp"
#include "resource/formats/readers.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"
#include "tests/qmanager/properties/history.hpp"
#include "tests/qmanager/scenario.hpp"

namespace holon::tests {
namespace {

// Of 19 faults planted in what a walk may leave out, and in when there has to be another one, the
// first 11 histories on a graph, the first 26 over numbers and those that have tests below find as
// many as 30 of each kind.
constexpr unsigned kOnAGraph = 11, kOverNumbers = 30;

TEST(Shortcuts, ChangeNoStart) {
  for (const Setting& setting : all_settings())
    for (unsigned seed = 0; seed < histories(kOverNumbers); ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", setting.name, seed));
      const std::string starts = play(seed, setting, Over::numbers).starts;
      ASSERT_NE(starts, "");
      EXPECT_EQ(play(seed, setting, Over::numbers, {.shortcuts = false}).starts, starts);
    }
}

// Three nodes of two cores under match policy first.
class OnThreeNodes {
 public:
  explicit OnThreeNodes(bool shortcuts, qmanager::SchedulerConfig config = policy("easy"))
      : store_(*resource::ResourceStore::load(*resource::read_shape("node=3/core=2"), {})) {
    config.shortcuts = shortcuts;
    scheduler_.emplace(
        *qmanager::Scheduler::create(config, std::make_unique<qmanager::StoreMachine>(store_)));
  }
  void submit_nodes(Time now, std::int64_t nodes, Duration limit, const char* queue = "") {
    resource::JobShape shape;
    shape.nodes = shape.tasks = nodes;
    shape.exclusive = true;
    submit(now, shape, limit, queue);
  }
  void submit_cores(Time now, std::int64_t cores, Duration limit) {
    resource::JobShape shape;
    shape.tasks = cores;
    submit(now, shape, limit);
  }
  void lose(const char* node) { set_up(node, false); }
  void regain(const char* node) { set_up(node, true); }
  void cancel(Time now, JobId job) {
    EXPECT_TRUE(scheduler_->cancel(job, now));
    pass(now);
  }
  void look_again(Time now) {
    EXPECT_TRUE(scheduler_->start_queue("default", true));
    pass(now);
  }
  std::optional<Time> planned(JobId job) const { return scheduler_->outlook(job)->planned_start; }
  void put_first(JobId job) { EXPECT_TRUE(scheduler_->set_urgency(job, 20)); }
  void finish(Time now, JobId job) {
    EXPECT_TRUE(scheduler_->finish(job, now));
    pass(now);
  }
  std::string starts() const { return fmt::format("{}", fmt::join(starts_, ", ")); }

 private:
  void set_up(const char* node, bool up) {
    EXPECT_TRUE(store_.set_status(node, up));
    scheduler_->resources_changed();
  }
  void submit(Time now, resource::JobShape shape, Duration limit, const char* queue = "") {
    shape.command = {"true"};
    qmanager::JobRequest request;
    request.id = JobId{++last_};
    request.spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
    request.limit = limit;
    request.queue = queue;
    EXPECT_TRUE(scheduler_->submit(request, now));
    pass(now);
  }
  void pass(Time now) {
    for (bool more = true; more;) {
      const qmanager::StepResult step = scheduler_->step(now);
      more = step.more;
      for (const auto& decision : step.decisions)
        if (const auto* start = std::get_if<qmanager::Start>(&decision))
          starts_.push_back(fmt::format("{}: {}", now, start->job.value()));
    }
    scheduler_->check_invariants();
  }

  resource::ResourceStore store_;
  std::optional<qmanager::Scheduler> scheduler_;
  std::vector<std::string> starts_;
  std::uint64_t last_ = 0;
};

void expect_no_change_on_a_graph(const Setting& setting, const char* match_policy) {
  for (unsigned seed = 0; seed < histories(kOnAGraph); ++seed) {
    SCOPED_TRACE(fmt::format("{}, {}, seed {}", setting.name, match_policy, seed));
    Manner manner{.match_policy = match_policy};
    const std::string starts = play(seed, setting, Over::graph, manner).starts;
    ASSERT_NE(starts, "");
    manner.shortcuts = false;
    EXPECT_EQ(play(seed, setting, Over::graph, manner).starts, starts);
  }
}

TEST(Shortcuts, ChangeNoStartOnAGraph) {
  for (const char* match_policy : {"first", "low"})
    for (const Setting& setting : all_settings())
      expect_no_change_on_a_graph(setting, match_policy);
}

// Those of so many that no run of the suite plays them all.
TEST(Shortcuts, ChangeNoStartInHistoriesInWhichTheyDid) {
  const std::pair<std::string_view, unsigned> histories[] = {
      {"how often a job was passed", 339},
      {"fairshare", 868},
      {"fairshare", 894},
      {"expansion factors, an idle limit", 1122},
      {"waiting, an idle limit, in queue order", 1243},
      {"buckets of QOS, conservative", 1469},
      {"buckets of QOS, conservative", 3457}};
  for (const auto& [name, seed] : histories) {
    SCOPED_TRACE(fmt::format("{}, seed {}", name, seed));
    const auto all = all_settings();
    const auto setting =
        std::find_if(all.begin(), all.end(), [&](const Setting& s) { return s.name == name; });
    ASSERT_NE(setting, all.end());
    const std::string starts = play(seed, *setting, Over::graph).starts;
    EXPECT_EQ(play(seed, *setting, Over::graph, {.shortcuts = false}).starts, starts);
  }
}

// The smallest histories in which the two differed.

// A and B have two of three nodes until 11, which Z has had before, and H waits for any two nodes.
// When H came, none but those of A and B were reserved for it; as seen after the start of C, which
// left more free on the third node than A and B had on theirs, it would have been that one. D fits
// beside C only where it is not.
TEST(Shortcuts, AReservationGetsTheSameUnitsWhetherItIsMadeBeforeAStartOrAfter) {
  for (const bool shortcuts : {true, false}) {
    SCOPED_TRACE(shortcuts);
    OnThreeNodes play(shortcuts);
    play.submit_nodes(0, 3, 1);  // 1: Z
    play.finish(1, JobId{1});
    play.submit_nodes(1, 1, 10);  // 2: A
    play.submit_nodes(1, 1, 10);  // 3: B
    play.submit_nodes(1, 2, 10);  // 4: H
    play.submit_cores(2, 1, 8);   // 5: C
    play.submit_cores(3, 1, 50);  // 6: D
    EXPECT_EQ(play.starts(), "0: 1, 1: 2, 1: 3, 2: 5, 3: 6");
  }
}

// When A has ended early, K of the other queue leaves the place that was reserved for it and
// starts. H, looked at before, has a reservation that was made around that place. Made again, H is
// next; D fits beside it only where it is not made again.
TEST(Shortcuts, APlaceThatAReservationLeavesIsSeenByThoseInFrontOfIt) {
  for (const bool shortcuts : {true, false}) {
    SCOPED_TRACE(shortcuts);
    Scenario scenario;
    scenario.nodes = 3;
    scenario.jobs = parse_jobs(R"(
        A  0  3  10  5
        K  0  2  5   5  queue=other
        H  1  3  6   6
        D  6  1  9   9)");
    scenario.config = policy("easy");
    scenario.config.shortcuts = shortcuts;
    scenario.config.queues["default"] = scenario.config.queues["other"] = scenario.config.defaults;
    scenario.config.queues["other"].policy = "conservative";
    EXPECT_EQ(gantt(run(scenario)), R"(
      n0 |AAAAAKKKKKHHHHHHDDDDDDDDD|
      n1 |AAAAAKKKKKHHHHHH.........|
      n2 |AAAAA.....HHHHHH.........|
)");
  }
}

// When X has ended early, one of the nodes that P was to have is gone, and F, without a limit, is
// first. In front of it P would have no room beside Q, and W and F behind that; but Q starts at
// once and W needs all three nodes: P is planned behind Q in the same pass, and F where it was.
TEST(Shortcuts, AReservationThatIsLostIsMadeAgainOnceThoseBehindItHaveMoved) {
  for (const bool shortcuts : {true, false}) {
    SCOPED_TRACE(shortcuts);
    OnThreeNodes play(shortcuts, policy("conservative"));
    play.submit_nodes(0, 3, 10);  // 1: X
    play.submit_nodes(0, 2, 6);   // 2: P, 10 to 16
    play.submit_nodes(0, 1, 7);   // 3: Q, 10 to 17
    play.submit_nodes(0, 3, 1);   // 4: W, 17 to 18
    play.submit_cores(0, 1, 0);   // 5: F, from 18 on
    play.lose("/cluster0/node1");
    play.put_first(JobId{5});
    play.finish(5, JobId{1});
    play.finish(12, JobId{3});
    play.finish(18, JobId{2});
    EXPECT_EQ(play.starts(), "0: 1, 5: 3, 12: 2, 18: 5");
  }
}

// K is planned behind H, which is the first of the other queue. At 1 that is so again, though what
// is reserved for H is not in the plan before somebody needs it. Without H, K is next.
TEST(Shortcuts, WhatIsToBeReservedForACancelledJobIsLeftToThoseBehindIt) {
  for (const bool shortcuts : {true, false}) {
    SCOPED_TRACE(shortcuts);
    qmanager::SchedulerConfig config = policy("easy");
    config.queues["default"] = config.queues["other"] = config.defaults;
    config.queues["other"].policy = "conservative";
    OnThreeNodes play(shortcuts, config);
    play.submit_nodes(0, 3, 10);          // 1: X
    play.submit_nodes(0, 3, 5);           // 2: H, 10 to 15
    play.submit_nodes(0, 3, 5, "other");  // 3: K, 15 to 20
    play.look_again(1);
    EXPECT_EQ(play.planned(JobId{3}), 15);
    play.cancel(2, JobId{2});
    EXPECT_EQ(play.planned(JobId{3}), 10);
  }
}

// The machine is full. K is planned beside what is reserved for H and I, the first two of the other
// queue, whether or not anybody in that queue could make use of what is free.
TEST(Shortcuts, AKeptReservationIsPlannedBesideThoseOfTheOtherQueue) {
  for (const bool shortcuts : {true, false}) {
    SCOPED_TRACE(shortcuts);
    Scenario scenario;
    scenario.nodes = 2;
    scenario.jobs = parse_jobs(R"(
        A  0  2  4  4
        H  1  1  6  6
        I  1  1  6  6
        K  1  1  3  3  queue=other)");
    scenario.config = policy("hybrid:2");
    scenario.config.shortcuts = shortcuts;
    scenario.config.queues["default"] = scenario.config.queues["other"] = scenario.config.defaults;
    scenario.config.queues["other"].policy = "conservative";
    EXPECT_EQ(gantt(run(scenario)), R"(
      n0 |AAAAHHHHHHKKK|
      n1 |AAAAIIIIII...|
)");
  }
}

// The jobs of both queues are looked at in one order, and B comes in front of A, which is in the
// other queue and has been looked at before.
TEST(Shortcuts, AJobIsInFrontOfThoseOfOtherQueuesWhereAllAreInOneOrder) {
  for (const bool shortcuts : {true, false}) {
    SCOPED_TRACE(shortcuts);
    Scenario scenario;
    scenario.nodes = 2;
    scenario.jobs = parse_jobs(R"(
        X  0  1  10  10
        A  1  2  5   5
        B  2  1  20  20  queue=other  urgency=20)");
    scenario.config = policy("easy");
    scenario.config.shortcuts = shortcuts;
    scenario.config.queues["default"] = scenario.config.queues["other"] = scenario.config.defaults;
    scenario.config.max_reservation = 2;
    EXPECT_EQ(gantt(run(scenario)), R"(
      n0 |XXXXXXXXXX............AAAAA|
      n1 |..BBBBBBBBBBBBBBBBBBBBAAAAA|
)");
  }
}

// S starts behind H and brings ann to her limit, so that H is not planned any more, and D, to whom
// its reservation left no room, starts at once. When H was looked at, ann ran nothing.
TEST(Shortcuts, AStartThatBringsAReservedJobToItsLimitIsSeenAtOnce) {
  for (const bool shortcuts : {true, false}) {
    SCOPED_TRACE(shortcuts);
    Scenario scenario;
    scenario.nodes = 3;
    scenario.jobs = parse_jobs(R"(
        A  0  1  10  10  user=bob
        H  0  3  5   5   user=ann
        S  0  1  10  10  user=ann
        D  0  1  15  15  user=bob)");
    scenario.config = policy("easy");
    scenario.config.shortcuts = shortcuts;
    limit(scenario.config, "user", "ann", "max-job", "1");
    EXPECT_EQ(gantt(run(scenario)), R"(
      n0 |AAAAAAAAAA.....HHHHH|
      n1 |SSSSSSSSSS.....HHHHH|
      n2 |DDDDDDDDDDDDDDDHHHHH|
)");
  }
}

// S starts behind H and W, so that both have been passed once; priorities are computed at 0 and at
// 100. While node 1 is down no node is free, and W, which needs all three, stands aside if a pass
// comes to it. When it comes back it is still behind H.
TEST(Shortcuts, AJobThatStoodAsideComesBackToItsPlaceInTheOrder) {
  for (const bool shortcuts : {true, false}) {
    SCOPED_TRACE(shortcuts);
    qmanager::SchedulerConfig config = policy("easy");
    ASSERT_TRUE(config.priority.set("bypass-weight", "10"));
    config.priority.interval = 100;
    OnThreeNodes play(shortcuts, config);
    play.submit_nodes(0, 2, 10);  // 1: X
    play.submit_nodes(0, 2, 10);  // 2: H
    play.submit_nodes(0, 3, 10);  // 3: W
    play.submit_nodes(0, 1, 10);  // 4: S
    play.lose("/cluster0/node1");
    play.look_again(1);
    play.regain("/cluster0/node1");
    play.look_again(2);
    play.finish(10, JobId{4});
    play.finish(10, JobId{1});
    EXPECT_EQ(play.starts(), "0: 1, 0: 4, 10: 2");
  }
}

// As above, but at 100 all have new priorities: by expansion factor W is in front of H then, though
// it stands aside.
TEST(Shortcuts, AJobThatStandsAsideAgesWithTheOthers) {
  for (const bool shortcuts : {true, false}) {
    SCOPED_TRACE(shortcuts);
    qmanager::SchedulerConfig config = policy("easy");
    ASSERT_TRUE(config.priority.set("xfactor-weight", "10"));
    config.priority.interval = 100;
    OnThreeNodes play(shortcuts, config);
    play.submit_nodes(0, 2, 200);   // 1: X
    play.submit_nodes(0, 2, 1000);  // 2: H
    play.submit_nodes(0, 3, 10);    // 3: W
    play.submit_nodes(0, 1, 200);   // 4: S
    play.lose("/cluster0/node1");
    play.look_again(1);
    play.look_again(100);
    play.regain("/cluster0/node1");
    play.finish(101, JobId{4});
    play.finish(101, JobId{1});
    EXPECT_EQ(play.starts(), "0: 1, 0: 4, 101: 3");
  }
}

// At 1 the walk goes on behind A, which runs: bob's idle limit lets B be considered.
TEST(Shortcuts, AJobThatHasStartedCountsNoMoreAgainstAnIdleLimit) {
  for (const bool shortcuts : {true, false}) {
    SCOPED_TRACE(shortcuts);
    Scenario scenario;
    scenario.nodes = 2;
    scenario.jobs = parse_jobs(R"(
        A  0  1  10  10  user=bob
        B  1  1  5   5   user=bob
        C  1  1  5   5   user=ann)");
    scenario.config = policy("easy");
    scenario.config.shortcuts = shortcuts;
    limit(scenario.config, "user", "default", "max-ijob", "1");
    EXPECT_EQ(gantt(run(scenario)), R"(
      n0 |AAAAAAAAAA.|
      n1 |.BBBBBCCCCC|
)");
  }
}

// Between two passes nobody could have been started. Priorities that change with time are computed
// at passes, some time apart: with more passes the order is another one.
TEST(Shortcuts, NoPassIsMissing) {
  for (const Setting& setting : all_settings()) {
    qmanager::SchedulerConfig config;
    setting.set(config);
    if (config.priority.ages()) continue;
    for (unsigned seed = 0; seed < histories(kOverNumbers); ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", setting.name, seed));
      const std::string starts = play(seed, setting, Over::numbers).starts;
      EXPECT_EQ(play(seed, setting, Over::numbers, {.shortcuts = false, .every_tick = true}).starts,
                starts);
    }
  }
}

}  // namespace
}  // namespace holon::tests
