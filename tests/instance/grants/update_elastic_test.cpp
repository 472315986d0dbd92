// How elastic an instance is, changed while it waits or runs (`holon update --elastic`).
#include <gmock/gmock.h>

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

class UpdateElastic : public ::testing::Test {
 protected:
  void TearDown() override { testing::expect_sound_tree(live); }
  Status update(std::uint64_t job, std::int64_t most, std::int64_t least = 0) const {
    msg::UpdateRequest ask;
    ask.ids = {job};
    ask.elastic = most;
    ask.elastic_least = least;
    const auto done = live.call<msg::Empty>("job.update", ask);
    return done ? Status() : tl::unexpected(done.error());
  }
  std::int64_t cores_of_child() const {
    const auto node = live.status("/1");
    return node ? node->cores : -1;
  }
  // One for each core of the machine, which run until they are let go.
  void submit_six() {
    for (int i = 0; i < 6; ++i) jobs_.push_back(live.job(live.gated(std::to_string(i)), {1}, "/1"));
  }
  void release_six() const {
    for (int i = 0; i < 6; ++i) live.release(std::to_string(i));
    for (const auto job : jobs_) EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  }
  void kill_child_broker() const { testing::kill_broker_of(live, "/1"); }
  void expect_cores(std::int64_t cores) const {
    EXPECT_TRUE(eventually([&] { return cores_of_child() == cores; })) << cores_of_child();
  }

  const Live live{{"--resources", "node=1/core=6"}};
  std::vector<std::uint64_t> jobs_;
};

TEST_F(UpdateElastic, ARunningChildMayHaveMoreThanItWasStartedFor) {
  ASSERT_EQ(live.child({2}, "", {"grant.idle=200ms"}), 1U);
  expect_cores(2);
  submit_six();
  EXPECT_TRUE(update(1, 4));
  expect_cores(4);
  kill_child_broker();
  live.kill_broker();
  EXPECT_TRUE(update(1, 5, 2));
  expect_cores(5);
  release_six();
  expect_cores(2);
}

TEST_F(UpdateElastic, WhatIsBeyondALowerMaximumGoesBackAsItsJobsEnd) {
  ASSERT_EQ(live.child({2}, "", {"grant.max=6"}), 1U);
  expect_cores(2);
  submit_six();
  expect_cores(6);
  EXPECT_TRUE(update(1, 3));
  ASSERT_TRUE(eventually([&] {
    const auto reply = live.call<msg::GrantReply>("grant.show", msg::Empty{}, "/1");
    std::int64_t held = 0;
    for (const auto& part : reply->held)
      if (part.state == "held") held += part.cores;
    return held == 3;
  }));
  kill_child_broker();
  for (const auto job : jobs_) EXPECT_EQ(live.record(job, "/1").state, "RUN");
  for (int i = 0; i < 6; ++i) live.release(std::to_string(i));
  for (const auto job : jobs_) EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  expect_cores(3);
  // No more come.
  jobs_.clear();
  for (int i = 6; i < 10; ++i) jobs_.push_back(live.job(live.gated(std::to_string(i)), {1}, "/1"));
  EXPECT_TRUE(update(1, 0));
  for (int i = 6; i < 10; ++i) live.release(std::to_string(i));
  for (const auto job : jobs_) EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  expect_cores(2);
}

TEST_F(UpdateElastic, AnAskIsWithdrawnOnceItAsksForNoMore) {
  ASSERT_EQ(live.child({2}, "", {"grant.max=4"}), 1U);
  expect_cores(2);
  const auto other = live.job(live.gated("other"), {4});
  live.when_running(other);
  submit_six();
  const auto asks = [&] {
    const auto all = live.jobs(false, false);
    return std::count_if(all.begin(), all.end(),
                         [](const auto& job) { return job.name == "grant"; });
  };
  ASSERT_TRUE(eventually([&] { return asks() == 1; }));
  EXPECT_TRUE(update(1, 0));
  EXPECT_TRUE(eventually([&] { return asks() == 0; }));
  live.release("other");
  release_six();
}

TEST_F(UpdateElastic, OfOneThatWaitsAlsoWithHowManyCoresItBegins) {
  const auto other = live.job(live.gated("other"), {6});
  live.when_running(other);
  JobOptions two;
  two.tasks = 2;
  ASSERT_EQ(live.child(two), 2U);
  const auto wrong = update(2, 3, 4);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().what, HasSubstr("begins with 4 cores"));
  EXPECT_TRUE(update(2, 5, 3));
  live.release("other");
  ASSERT_TRUE(eventually([&] {
    const auto node = live.status("/2");
    return node && node->cores == 3;
  }));
  const auto wide = live.job({"/bin/true"}, {5}, "/2");
  EXPECT_EQ(live.wait_one(wide, "/2").result, "COMPLETED");
}

TEST_F(UpdateElastic, WhatCannotBeIsRefused) {
  ASSERT_EQ(live.child({2}), 1U);
  expect_cores(2);
  const auto job = live.job(live.gated("job"));
  live.when_running(job);
  auto refused = update(job, 4);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("is no instance"));
  refused = update(1, 2);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("begins with 2 cores"));
  refused = update(1, 6, 3);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("has begun with 2 cores"));
  live.release("job");
}

}  // namespace
}  // namespace holon::instance
