// Elastic children on hosts: whole nodes come by themselves, as many as they may have.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/instance/tree/whole_nodes.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::WholeNodes;

class ElasticOverNodes : public WholeNodes {
 protected:
  std::vector<std::string> conf() const override {
    return {"grant.max=" + std::to_string(4 * cores_), "grant.idle=200ms"};
  }
};

TEST_F(ElasticOverNodes, AJobOnMoreNodesBringsThem) {
  for (const char* gate : {"first", "second"}) {
    const auto job = hold(3, gate);
    EXPECT_EQ(batch::expand_hosts(live.when_running(job, "/1").nodelist)->size(), 3U);
    EXPECT_EQ(nodes_of("/1"), 3);
    live.release(gate);
    EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
    EXPECT_EQ(live.wait_one(submit_on(2), "/1").result, "COMPLETED");
  }
  expect_all_back();
}

// Its own node has no more, which the instance above says.
TEST_F(ElasticOverNodes, ManySmallJobsBringNodes) {
  std::vector<std::uint64_t> jobs;
  for (std::int64_t i = 0; i < 3 * cores_; ++i)
    jobs.push_back(live.job(live.gated(std::to_string(i)), {}, "/1"));
  for (const auto job : jobs) live.when_running(job, "/1");
  EXPECT_EQ(nodes_of("/1"), 3);
  for (std::int64_t i = 0; i < 3 * cores_; ++i) live.release(std::to_string(i));
  for (const auto job : jobs) EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  expect_all_back();
}

TEST_F(ElasticOverNodes, GoesOnThoughBrokersAreKilled) {
  const auto job = hold(2, "wide");
  ASSERT_TRUE(eventually([&] {
    const auto all = live.jobs(false, false);
    return std::any_of(all.begin(), all.end(), [](const auto& one) { return one.name == "grant"; });
  }));
  kill_child_broker();
  live.kill_broker();
  live.when_running(job, "/1");
  kill_child_broker();
  live.release("wide");
  EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  live.kill_broker();
  expect_all_back();
}

TEST_F(ElasticOverNodes, SaysWhatItWasRefused) {
  const auto job = submit_on(4);
  ASSERT_TRUE(eventually([&] {
    return live.record(job, "/1").reason.find("it refused the last time: / says: ") !=
           std::string::npos;
  })) << live.record(job, "/1").reason;
  live.cancel(job, "/1");
  expect_all_back();
}

// It has one core of its node, whose others somebody else has for long.
class ElasticOnAPart : public WholeNodes {
 protected:
  void SetUp() override {
    WholeNodes::SetUp();
    if (cores_ < 2) GTEST_SKIP() << "a node has one core here";
    own_ = live.record(1).nodelist;
    for (std::int64_t i = 1; i < cores_; ++i) hold_on_one_core(own_);
  }
  JobOptions own() const override { return {}; }
  std::vector<std::string> conf() const override {
    return {"grant.max=" + std::to_string(1 + 2 * cores_), "grant.idle=200ms"};
  }
  // A job of the root, until let_all_go().
  void hold_on_one_core(const std::string& host) {
    held_.push_back(hold_on(host, gate_of(held_.size()), ""));
    live.when_running(held_.back());
  }
  void hold_all_that_is_free() {
    for (std::int64_t left = free_of("/"); left > 0; --left) {
      held_.push_back(live.job(live.gated(gate_of(held_.size())), {}));
      live.when_running(held_.back());
    }
  }
  static std::string gate_of(std::size_t job) { return "of-the-root-" + std::to_string(job); }
  // Those on other nodes than the child's end.
  void let_go_elsewhere() const {
    for (std::size_t i = 0; i < held_.size(); ++i)
      if (live.record(held_[i]).nodelist != own_) let_go(i);
  }
  void let_go(std::size_t job) const {
    live.release(gate_of(job));
    EXPECT_EQ(live.wait_one(held_[job]).result, "COMPLETED");
  }
  void let_all_go() const {
    for (std::size_t i = 0; i < held_.size(); ++i)
      if (live.record(held_[i]).state != "INACTIVE") let_go(i);
  }
  // A task with so many cores on each of so many nodes, which does nothing.
  std::uint64_t spread(std::int64_t nodes, std::int64_t cores) const {
    resource::JobShape shape;
    shape.command = {"/bin/true"};
    shape.nodes = shape.tasks = nodes;
    shape.cores_per_task = cores;
    shape.cwd = "/";
    auto request = Live::request({"/bin/true"});
    request.jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
    const auto taken = live.call<msg::SubmitReply>("submit", request, "/1");
    return taken ? taken->first_id : 0;
  }
  std::size_t entries_of_child(const std::string& name) const {
    const auto history =
        live.call<msg::GrantHistory>("grant.history", msg::GrantHistoryRequest{1'000}, "/1");
    EXPECT_TRUE(history) << history.error().what;
    return history ? static_cast<std::size_t>(
                         std::count_if(history->events.begin(), history->events.end(),
                                       [&](const auto& event) { return event.name == name; }))
                   : 0;
  }

  std::string own_;
  std::vector<std::uint64_t> held_;
};

// Its own part of a node says nothing about the nodes of others.
TEST_F(ElasticOnAPart, ReckonsWithNodesAsTheyAre) {
  EXPECT_EQ(live.wait_one(spread(2, cores_), "/1").result, "COMPLETED");
  EXPECT_EQ(entries_of_child("took"), 1U);
  EXPECT_TRUE(eventually([&] { return nodes_of("/1") == 1; }));
  let_all_go();
}

class ElasticWithALowCeiling : public ElasticOnAPart {
 protected:
  std::vector<std::string> conf() const override {
    return {"grant.max=" + std::to_string(2 * cores_), "grant.idle=200ms"};
  }
};

TEST_F(ElasticWithALowCeiling, GetsNoMoreThanItMay) {
  // Two nodes more are one core too many: it would wait for what never comes.
  ASSERT_TRUE(eventually([&] {
    const auto wide = spread(3, 1);
    if (wide > 0) live.cancel(wide, "/1");
    return wide == 0;
  }));
  EXPECT_EQ(live.wait_one(spread(2, 1), "/1").result, "COMPLETED");
  EXPECT_EQ(entries_of_child("took"), 1U);
  EXPECT_EQ(entries_of_child("declined"), 0U);
  let_all_go();
}

TEST_F(ElasticOnAPart, DoesNotWaitForCoresWhereNodesAreIdle) {
  std::vector<std::uint64_t> jobs;
  for (const char* gate : {"first", "second"}) jobs.push_back(live.job(live.gated(gate), {}, "/1"));
  for (const auto job : jobs) live.when_running(job, "/1");
  EXPECT_EQ(nodes_of("/1"), 2);
  for (const char* gate : {"first", "second"}) live.release(gate);
  for (const auto job : jobs) EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  let_all_go();
}

// A later broker goes on with the ask of an earlier one.
TEST_F(ElasticOnAPart, NorDoesALaterBroker) {
  hold_all_that_is_free();
  std::vector<std::uint64_t> jobs;
  for (const char* gate : {"first", "second"}) jobs.push_back(live.job(live.gated(gate), {}, "/1"));
  live.when_running(jobs[0], "/1");
  ASSERT_TRUE(eventually([&] { return asks().size() == 1 && asks().front().state == "SCHED"; }));
  kill_child_broker();
  EXPECT_EQ(asks().size(), 1U);
  let_go_elsewhere();
  live.when_running(jobs[1], "/1");
  EXPECT_EQ(nodes_of("/1"), 2);
  for (const char* gate : {"first", "second"}) live.release(gate);
  for (const auto job : jobs) EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  let_all_go();
}

// Somebody who takes an ask away does not want another one at once.
TEST_F(ElasticOnAPart, ACancelIsNoReasonToAskForNodes) {
  hold_all_that_is_free();
  std::vector<std::uint64_t> jobs;
  for (const char* gate : {"first", "second"}) jobs.push_back(live.job(live.gated(gate), {}, "/1"));
  live.when_running(jobs[0], "/1");
  ASSERT_TRUE(eventually([&] { return asks().size() == 1; }));
  const auto first = asks().front().id;
  live.cancel(first);
  ASSERT_TRUE(eventually([&] {
    const auto now = asks();
    return now.size() == 1 && now.front().id != first;
  }));
  const auto asked =
      live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{asks().front().id});
  ASSERT_TRUE(asked) << asked.error().what;
  EXPECT_THAT(asked->jobspec, ::testing::Not(HasSubstr("exclusive")));
  let_all_go();
  live.when_running(jobs[1], "/1");
  for (const char* gate : {"first", "second"}) live.release(gate);
  for (const auto job : jobs) EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
}

// The instance between them does not ask for more.
class ElasticGrandchild : public WholeNodes {
 protected:
  JobOptions own() const override { return on_nodes(2); }
};

TEST_F(ElasticGrandchild, GetsTheOtherNodeOfItsParent) {
  ASSERT_EQ(live.child(on_nodes(1), "/1",
                       {"grant.max=" + std::to_string(2 * cores_), "grant.idle=200ms"}),
            1U);
  ASSERT_TRUE(eventually([&] { return nodes_of("/1/1") == 1; }));
  std::vector<std::uint64_t> jobs;
  for (std::int64_t i = 0; i <= cores_; ++i)
    jobs.push_back(live.job(live.gated(std::to_string(i)), {}, "/1/1"));
  for (const auto job : jobs) live.when_running(job, "/1/1");
  EXPECT_EQ(nodes_of("/1/1"), 2);
  for (std::int64_t i = 0; i <= cores_; ++i) live.release(std::to_string(i));
  for (const auto job : jobs) EXPECT_EQ(live.wait_one(job, "/1/1").result, "COMPLETED");
  EXPECT_TRUE(eventually([&] { return nodes_of("/1/1") == 1; })) << nodes_of("/1/1");
}

}  // namespace
}  // namespace holon::instance
