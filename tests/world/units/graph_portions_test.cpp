// A graph of thousands of tasks is taken some at a time, and it does not show: all of its tasks
// become jobs or none, wherever the broker is killed.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "instance/job/graph_plan.hpp"
#include "instance/manager/retention.hpp"
#include "tests/world/units/manager_scene.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kTasks = 1'500;

msg::GraphSpec spec_with(const std::string& holon, double limit, std::uint64_t count = 1) {
  resource::JobShape shape;
  shape.command = {"/bin/true"};
  shape.cwd = "/";
  shape.duration_seconds = limit;
  auto jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
  const std::string system = R"("system":{)";
  if (!holon.empty())
    jobspec.insert(jobspec.find(system) + system.size(), R"("holon":)" + holon + ",");
  return {jobspec, count, 16};
}

// Tasks of three kinds, of which each waits for the one a hundred before it: those that share a
// jobspec, those that have one of their own, and now and then an array or three equal jobs.
msg::GraphRequest many_kinds() {
  msg::GraphRequest graph;
  graph.user = "ada";
  graph.specs = {spec_with("", 60), spec_with(R"({"array":{}})", 60, 3), spec_with("", 60, 3)};
  for (std::size_t i = 0; i < kTasks; ++i) {
    msg::GraphTask task{fmt::format("t{}", i), {0}, {"/bin/echo", std::to_string(i)}, {}};
    if (i % 10 == 1) {
      task.ways = {static_cast<std::uint32_t>(graph.specs.size())};
      graph.specs.push_back(spec_with("", 100.0 + static_cast<double>(i)));
    }
    if (i % 400 == 7) task.ways = {1};
    if (i % 400 == 8) task.ways = {2};
    if (i >= 100) task.after = {{"afterany", i - 100}};
    graph.tasks.push_back(std::move(task));
  }
  return graph;
}

class GraphPortions : public testing::ManagerScene {
 protected:
  // Reads it, in so many portions, and takes it.
  Result<msg::GraphReply> take(const msg::GraphRequest& request, int* portions = nullptr) {
    const std::string packed = transport::pack(request);
    auto reader = GraphReader::begin(packed);
    if (!reader) return tl::unexpected(reader.error());
    ReadingGraph graph(std::move(*reader));
    Result<bool> more = true;
    for (int n = 1; more && *more; ++n) {
      more = jobs().read_graph(graph, time_);
      if (portions != nullptr) *portions = n;
    }
    if (!more) return tl::unexpected(more.error());
    return jobs().take_graph(graph, packed, time_);
  }
  // One portion of what is left. False: there was nothing left.
  bool enter_some(JobId first) {
    if (jobs().enter_graph(first, time_)) return true;
    const auto intake = jobs().next_intake();
    if (intake) jobs().take_more(*intake, time_);
    return intake.has_value();
  }
  void enter_all(JobId first) {
    while (enter_some(first)) continue;
  }
  // What every job is, by its number.
  std::map<std::uint64_t, std::string> all_jobs() {
    std::map<std::uint64_t, std::string> all;
    for (const auto& [id, job] : jobs().active()) {
      std::string words = fmt::format("{} {} {} {}", job.submission->name, job.submission->command,
                                      job.submission->limit, job.life.user);
      for (const auto& d : job.submission->dependencies) words += " " + d.text;
      all[id.value()] = words;
    }
    return all;
  }
  std::string reason(std::uint64_t id) { return jobs().record(JobId(id))->reason; }
};

// Those that are no jobs yet, too.
TEST_F(GraphPortions, TasksWithoutALimitKeepTheDefaultThatTheyWereTakenWith) {
  const auto go_by = [this](const char* limit) {
    config_ = *config::load_config({std::string("job.default-limit=") + limit});
    crash();
  };
  msg::GraphRequest graph = many_kinds();
  for (auto& spec : {&graph.specs[0], &graph.specs[1], &graph.specs[2]})
    spec->jobspec = spec_with(spec == &graph.specs[1] ? R"({"array":{}})" : "", 0).jobspec;
  go_by("1h");
  const auto reply = take(graph);
  ASSERT_TRUE(reply) << to_string(reply.error());
  commit();
  const auto expect_an_hour = [&](const char* when) {
    std::size_t with_default = 0;
    for (const auto& [id, job] : jobs().active()) {
      const bool has_own = job.submission->limit >= 100'000 && job.submission->limit < 3'000'000;
      if (has_own) continue;
      EXPECT_EQ(job.submission->limit, 3'600'000) << when << ": " << id.value();
      ++with_default;
    }
    EXPECT_GT(with_default, kTasks / 2) << when;
  };
  go_by("2h");
  expect_an_hour("all of its tasks are jobs now");
  commit();
  go_by("0");
  expect_an_hour("again");
}

TEST_F(GraphPortions, ItIsReadAndEntersInPortions) {
  int portions = 0;
  const auto reply = take(many_kinds(), &portions);
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_GT(portions, 3);
  int turns = 0;
  while (enter_some(JobId(1))) ++turns;
  EXPECT_GT(turns, 5);
  EXPECT_EQ(reply->ids.size(), kTasks);
}

TEST_F(GraphPortions, AllTasksAreTheSameWhereverTheBrokerIsKilled) {
  const auto graph = many_kinds();
  ASSERT_TRUE(take(graph));
  enter_all(JobId(1));
  commit();
  const auto expected = all_jobs();
  const std::uint64_t next = submit({});
  EXPECT_EQ(expected.size(), kTasks + 4 * 2) << "three equal jobs; an array's tasks are to come";
  for (int killed_after : {0, 1, 2, 4, 7}) {
    SCOPED_TRACE(killed_after);
    begin("node=2/core=2", {0});
    ASSERT_TRUE(take(graph));
    for (int i = 0; i < killed_after; ++i) ASSERT_TRUE(enter_some(JobId(1)));
    commit();
    enter_some(JobId(1));  // is not committed
    crash();
    EXPECT_TRUE(jobs().all_taken());
    EXPECT_EQ(all_jobs(), expected);
    EXPECT_EQ(submit({}), next);
    commit();
    crash();
    EXPECT_EQ(all_jobs().size(), expected.size() + 1) << "they entered once";
  }
}

TEST_F(GraphPortions, NothingIsLeftOfOneThatWasNotTaken) {
  ASSERT_TRUE(take(many_kinds()));
  enter_some(JobId(1));
  crash();  // nothing was committed
  EXPECT_TRUE(jobs().active().empty());
  EXPECT_TRUE(jobs().all_taken());
  EXPECT_EQ(submit({}), 1u);
}

TEST_F(GraphPortions, OthersGetTheNumbersBehindThoseOfAGraphThatEnters) {
  const auto reply = take(many_kinds());
  ASSERT_TRUE(reply);
  ASSERT_TRUE(enter_some(JobId(1)));
  const auto other = submit({});
  EXPECT_GT(other, reply->ids.back());
  commit();
  crash();
  EXPECT_EQ(jobs().find(JobId(other))->submission->name, "true");
  EXPECT_EQ(jobs().find(JobId(reply->ids.back()))->submission->name,
            fmt::format("t{}", kTasks - 1));
}

TEST_F(GraphPortions, TheSameKeyIsTheSameGraphAlsoWhileItEnters) {
  auto graph = many_kinds();
  graph.key = "once";
  const auto first = take(graph);
  ASSERT_TRUE(first);
  ASSERT_TRUE(enter_some(JobId(1)));
  const auto again = take(graph);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->ids, first->ids);
  enter_all(JobId(1));
  EXPECT_EQ(all_jobs().size(), kTasks + 4 * 2);
  graph.tasks.pop_back();
  EXPECT_FALSE(take(graph));
}

TEST_F(GraphPortions, WhatWasTakenIsNotRefusedToWhoAsksAgain) {
  auto graph = many_kinds();
  graph.key = "once";
  const auto first = take(graph);
  ASSERT_TRUE(first);
  commit();
  crash();  // before the client had its answer
  ASSERT_TRUE(life_->gates.set(life_->scheduler.queues().front().name, QueueGates::Gate::submit,
                               false, "for the night"));
  const auto again = take(graph);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->ids, first->ids);
  graph.key = std::string(1'000, 'k');
  EXPECT_THAT(to_string(take(graph).error()), HasSubstr("1000 bytes"));
}

// As many as the scheduler was asked about beside each other.
TEST_F(GraphPortions, AQueueThatIsClosedKeepsNoneOfFiveHundredOut) {
  msg::GraphRequest graph;
  graph.user = "ada";
  graph.specs = {spec_with("", 60)};
  for (std::size_t i = 0; i < 500; ++i)
    graph.tasks.push_back({fmt::format("t{}", i), {0}, {"/bin/true"}, {}});
  ASSERT_TRUE(take(graph));
  ASSERT_TRUE(life_->gates.set(life_->scheduler.queues().front().name, QueueGates::Gate::submit,
                               false, "for the night"));
  enter_all(JobId(1));
  EXPECT_EQ(jobs().active().size(), 500u);
  for (std::uint64_t id = 1; id <= 500; ++id) ASSERT_EQ(state(id), "SCHED") << id;
  graph.key = "another";
  EXPECT_THAT(to_string(take(graph).error()), HasSubstr("for the night"));
  life_->scheduler.check_invariants();
}

// Later tasks share the jobspec of earlier ones, and wait for them.
TEST_F(GraphPortions, NothingIsForgottenWhileItEnters) {
  AfterCommit after_commit;
  Retention retention(life_->journal, jobs(), after_commit, 1, 0, dir_);
  for (int i = 0; i < 3; ++i) jobs().raise(JobId(submit({})), "cancel", "a user says so", time_);
  const auto first = take(many_kinds());
  ASSERT_TRUE(first);
  ASSERT_TRUE(enter_some(JobId(first->ids.front())));
  retention.turn(time_);
  EXPECT_TRUE(*life_->journal.inactive(JobId(1)));
  enter_all(JobId(first->ids.front()));
  retention.turn(time_);
  EXPECT_FALSE(*life_->journal.inactive(JobId(1)));
}

// The way that was taken stays the one that is taken, whatever the queues say later.
TEST_F(GraphPortions, TheWayIsChosenOnce) {
  msg::GraphRequest graph;
  graph.user = "ada";
  resource::JobShape large;
  large.cores_per_task = 100;
  large.command = {"/bin/true"};
  large.cwd = "/";
  graph.specs = {{resource::write_jobspec(*resource::jobspec_for(large)), 1, 16},
                 spec_with("", 77)};
  for (std::size_t i = 0; i < 700; ++i)
    graph.tasks.push_back({fmt::format("t{}", i), {0, 1}, {"/bin/true"}, {}});
  ASSERT_TRUE(take(graph));
  commit();
  crash();
  ASSERT_EQ(jobs().active().size(), 700u);
  for (const auto& [id, job] : jobs().active())
    EXPECT_EQ(job.submission->limit, 77'000) << id.value();
  // Fewer are asked about beside each other where they wait for many.
  begin("node=2/core=2", {0});
  for (std::size_t i = 1; i < 20; ++i) graph.tasks[i].after.assign(1'000, {"afterany", 0});
  ASSERT_TRUE(take(graph));
  enter_all(JobId(1));
  ASSERT_EQ(jobs().active().size(), 700u);
  for (const auto& [id, job] : jobs().active())
    EXPECT_EQ(job.submission->limit, 77'000) << id.value();
  graph.specs.pop_back();
  for (auto& task : graph.tasks) task.ways = {0};
  const auto refused = take(graph);
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("tasks/0"));
}

// A graph at which two brokers failed does not keep a third from its other jobs.
TEST_F(GraphPortions, OneAtWhichBrokersFailIsGivenUpAndSaysSo) {
  const auto other = submit({});
  const auto reply = take(many_kinds());
  ASSERT_TRUE(reply);
  const JobId first(reply->ids.front());
  ASSERT_TRUE(enter_some(first));
  while (const auto intake = jobs().next_intake()) jobs().take_more(*intake, time_);
  commit();
  const auto entered = all_jobs().size();
  const JobId last(all_jobs().rbegin()->first);
  std::set<JobId> looked_at;
  Beginning beginning;
  beginning.at = [&](JobId id) { looked_at.insert(id); };
  crash(beginning);
  const auto next = looked_at.upper_bound(last);
  ASSERT_NE(next, looked_at.end()) << "nobody would know where a broker failed";
  beginning.suspect = Suspect{*next, false};
  crash(beginning);
  EXPECT_TRUE(jobs().all_taken());
  EXPECT_EQ(all_jobs().size(), entered);
  EXPECT_EQ(result(reply->ids.back()), "FAILED");
  EXPECT_THAT(reason(reply->ids.back()), HasSubstr("failed twice"));
  EXPECT_EQ(state(other), "SCHED");
}

}  // namespace
}  // namespace holon::instance
