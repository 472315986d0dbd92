// A child that asks for more by itself (grant.max), and gives back what is idle.
#include <gmock/gmock.h>

#include <algorithm>

#include "msg/grant.hpp"
#include "tests/instance/grants/sound_tree.hpp"
#include "tests/instance/live.hpp"
#include "tests/instance/tree/tree.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

class ElasticChild : public ::testing::Test {
 protected:
  void TearDown() override { testing::expect_sound_tree(live); }
  static JobOptions cores(std::int64_t count, double seconds = 300) {
    JobOptions options;
    options.cores = count;
    options.duration = seconds;
    return options;
  }
  std::int64_t cores_of(const std::string& path) const {
    const auto node = live.status(path);
    return node ? node->cores : -1;
  }
  std::int64_t free_of(const std::string& path) const {
    const auto node = live.status(path);
    return node ? node->cores_free : -1;
  }
  std::int64_t running_in(const std::string& path) const {
    const auto node = live.status(path);
    return node ? static_cast<std::int64_t>(node->running) : -1;
  }
  void submit_eight() const {
    for (int i = 0; i < 8; ++i) live.job(live.gated(std::to_string(i)), cores(1), "/1");
  }
  void release_eight() const {
    for (int i = 0; i < 8; ++i) live.release(std::to_string(i));
  }
  // Grants that are not over, in the root.
  std::vector<msg::JobRecord> grants() const {
    std::vector<msg::JobRecord> found;
    for (auto& job : live.jobs(false, false))
      if (job.name == "grant") found.push_back(job);
    return found;
  }
  // Has the child heard that it is to give back all that is not its own?
  bool has_heard_of_recall() const {
    const auto reply = live.call<msg::GrantReply>("grant.show", msg::Empty{}, "/1");
    if (!reply) return false;
    return std::all_of(reply->held.begin(), reply->held.end(), [](const msg::GrantPart& part) {
      return part.source != "extra" || part.state == "asked back";
    });
  }
  void expect_all_back() const {
    EXPECT_TRUE(eventually([&] { return free_of("/") == 4 && cores_of("/1") == 2; }))
        << free_of("/") << " free, " << cores_of("/1") << " in the child";
    EXPECT_TRUE(grants().empty());
  }

  const Live live{{"--resources", "node=1/core=6"}};
  const std::uint64_t child = live.child({2}, "", {"grant.max=4", "grant.idle=200ms"});
};

TEST_F(ElasticChild, HasMoreWhileJobsWaitInItAndNoMoreThanItMay) {
  submit_eight();
  EXPECT_TRUE(eventually([&] { return running_in("/1") == 4; })) << running_in("/1");
  EXPECT_EQ(cores_of("/1"), 4);
  EXPECT_EQ(free_of("/"), 2);
  release_eight();
  expect_all_back();
}

TEST_F(ElasticChild, RunsAJobThatIsLargerThanItself) {
  const auto job = live.job(live.gated("wide"), cores(4), "/1");
  EXPECT_EQ(live.when_running(job, "/1").ncores, 4);
  live.release("wide");
  EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  expect_all_back();
}

TEST_F(ElasticChild, AsksForNothingThatNobodyWaitsFor) {
  const auto two = live.job(live.gated("two"), cores(2), "/1");
  live.when_running(two, "/1");
  // Held: no core would let it start.
  auto held = Live::request(live.gated("held"), cores(1));
  held.urgency = 0;
  ASSERT_TRUE(live.call<msg::SubmitReply>("submit", held, "/1"));
  live.release("two");
  live.wait_one(two, "/1");
  EXPECT_EQ(cores_of("/1"), 2);
  EXPECT_EQ(live.jobs(true, false).size(), 1u) << "the child alone: there was no grant";
}

TEST_F(ElasticChild, TakesWhatThereIsOfWhatItCouldUse) {
  live.when_running(live.job(live.gated("other"), cores(3)));
  submit_eight();
  EXPECT_TRUE(eventually([&] { return running_in("/1") == 3; })) << running_in("/1");
  EXPECT_EQ(cores_of("/1"), 3);
  live.release("other");
  EXPECT_TRUE(eventually([&] { return running_in("/1") == 4; })) << running_in("/1");
  release_eight();
  expect_all_back();
}

TEST_F(ElasticChild, WithdrawsAnAskThatNobodyWaitsForAnyMore) {
  live.when_running(live.job(live.gated("other"), cores(4)));
  const auto wide = live.job(live.gated("wide"), cores(4), "/1");
  ASSERT_TRUE(eventually([&] { return grants().size() == 1; }));
  EXPECT_EQ(grants().front().state, "SCHED");
  live.cancel(wide, "/1");
  EXPECT_TRUE(eventually([&] { return grants().empty(); }));
  live.release("other");
  expect_all_back();
}

TEST_F(ElasticChild, AsksOnceThoughBrokersAreKilled) {
  live.when_running(live.job(live.gated("other"), cores(4)));
  const auto wide = live.job(live.gated("wide"), cores(4), "/1");
  ASSERT_TRUE(eventually([&] { return grants().size() == 1; }));
  const pid_t broker = testing::processes_of(live, "/1").broker;
  testing::signal_process(broker, SIGKILL);
  live.kill_broker();
  ASSERT_TRUE(eventually([&] {
    const auto node = live.status("/1");
    return node && node->pid != broker && node->health == "up";
  }));
  live.release("other");
  EXPECT_EQ(live.when_running(wide, "/1").ncores, 4);
  EXPECT_EQ(cores_of("/1"), 4);
  EXPECT_EQ(grants().size(), 1u);
  live.release("wide");
  EXPECT_EQ(live.wait_one(wide, "/1").result, "COMPLETED");
  expect_all_back();
}

TEST_F(ElasticChild, WithdrawsWhatAnEarlierBrokerHasAskedFor) {
  live.when_running(live.job(live.gated("other"), cores(4)));
  const auto wide = live.job(live.gated("wide"), cores(4), "/1");
  ASSERT_TRUE(eventually([&] { return grants().size() == 1; }));
  testing::kill_broker_of(live, "/1");
  EXPECT_EQ(grants().size(), 1u);
  live.cancel(wide, "/1");
  EXPECT_TRUE(eventually([&] { return grants().empty(); }));
  live.release("other");
  expect_all_back();
}

TEST_F(ElasticChild, AsksAnewWhereLessWouldDo) {
  live.when_running(live.job(live.gated("other"), cores(3)));
  live.when_running(live.job(live.gated("own"), cores(2), "/1"), "/1");
  const auto wide = live.job(live.gated("wide"), cores(2), "/1");
  ASSERT_TRUE(eventually([&] { return grants().size() == 1; }));
  EXPECT_EQ(grants().front().state, "SCHED") << "there is one core";
  live.cancel(wide, "/1");
  const auto small = live.job(live.gated("small"), cores(1), "/1");
  live.when_running(small, "/1");
  EXPECT_EQ(cores_of("/1"), 3);
  for (const char* gate : {"small", "own", "other"}) live.release(gate);
  expect_all_back();
}

// Which of its nodes are full above is not known to the child.
TEST(ElasticChildOfTwoNodes, NamesNoNodeWhereAnyWouldDo) {
  const Live live({"--resources", "node=2/core=5"});
  JobOptions on_both;
  on_both.tasks = 2;
  on_both.cores = 3;
  ASSERT_EQ(live.child(on_both, "", {"grant.max=10"}), 1u);
  live.when_running(live.job(live.gated("own"), on_both, "/1"), "/1");
  on_both.cores = 2;
  live.when_running(live.job(live.gated("other"), on_both));
  const auto ask_for = [&](std::int64_t cores) {
    JobOptions options;
    options.cores = cores;
    const auto job = live.job({"/bin/true"}, options, "/1");
    std::string jobspec;
    EXPECT_TRUE(eventually([&] {
      for (const auto& one : live.jobs(false, false))
        if (one.name == "grant")
          if (const auto asked =
                  live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{one.id}))
            jobspec = asked->jobspec;
      return !jobspec.empty();
    }));
    live.cancel(job, "/1");
    EXPECT_TRUE(eventually([&] { return live.jobs(false, false).size() == 2; }));
    return jobspec;
  };
  EXPECT_THAT(ask_for(2), HasSubstr(R"("and")")) << "both on one node";
  EXPECT_THAT(ask_for(1), ::testing::Not(HasSubstr(R"("and")")));
  live.release("own");
  live.release("other");
}

// Whoever recalls would see it asked for again at once.
TEST_F(ElasticChild, RestsAfterARecall) {
  submit_eight();
  ASSERT_TRUE(eventually([&] { return running_in("/1") == 4; }));
  ASSERT_TRUE(live.call<msg::Empty>("grant.recall", msg::GrantRecall{1, 0, 0, false, "now"}));
  ASSERT_TRUE(eventually([&] { return has_heard_of_recall(); }))
      << "before that the next jobs begin where these end";
  const auto asked = live.jobs(true, false).size();
  for (int i = 0; i < 4; ++i) live.release(std::to_string(i));
  EXPECT_TRUE(eventually([&] { return cores_of("/1") == 2 && free_of("/") == 4; }));
  EXPECT_TRUE(eventually([&] { return running_in("/1") == 2; }));
  // Two wait meanwhile, and would be asked for within half a second.
  EXPECT_EQ(live.wait_one(live.job({"/bin/sleep", "2"})).result, "COMPLETED");
  EXPECT_EQ(live.jobs(true, false).size(), asked + 1) << "no other grant";
  for (int i = 4; i < 8; ++i) live.release(std::to_string(i));
  EXPECT_TRUE(eventually([&] { return running_in("/1") == 0; }));
  EXPECT_EQ(live.jobs(true, false).size(), asked + 1);
}

TEST_F(ElasticChild, RefusesWhatIsMoreThanItMayHave) {
  const auto refused = live.submit({"/bin/true"}, cores(5), "/1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsatisfiable);
}

// To the child's end is no end of its own.
TEST_F(ElasticChild, HasMoreForJobsWithoutALimit) {
  const auto below = live.child({2, 60}, "", {"grant.max=4"});
  const std::string path = "/" + std::to_string(below);
  const auto job = live.job(live.gated("endless"), cores(4, 0), path);
  EXPECT_EQ(live.when_running(job, path).ncores, 4);
  live.release("endless");
  EXPECT_EQ(live.wait_one(job, path).result, "COMPLETED");
}

// What a grandchild asks for is a job in the child, for which that asks in turn.
TEST_F(ElasticChild, AsksForWhatThoseBelowItAskFor) {
  const auto below = live.child({2}, "/1", {"grant.max=4", "grant.idle=200ms"});
  ASSERT_EQ(below, 1u);
  const auto job = live.job(live.gated("wide"), cores(4), "/1/1");
  EXPECT_EQ(live.when_running(job, "/1/1").ncores, 4);
  live.release("wide");
  EXPECT_EQ(live.wait_one(job, "/1/1").result, "COMPLETED");
  EXPECT_TRUE(eventually([&] { return cores_of("/1/1") == 2; })) << cores_of("/1/1");
  EXPECT_TRUE(eventually([&] { return free_of("/") == 4 && cores_of("/1") == 2; }));
}

TEST_F(ElasticChild, SaysWhatATooLargeJobWaitsFor) {
  live.when_running(live.job(live.gated("other"), cores(4)));
  const auto wide = live.job(live.gated("wide"), cores(4), "/1");
  EXPECT_TRUE(eventually([&] {
    return live.record(wide, "/1").reason.find("up to 4 cores (grant.max)") != std::string::npos;
  })) << live.record(wide, "/1").reason;
  live.cancel(wide, "/1");
  live.release("other");
}

}  // namespace
}  // namespace holon::instance
