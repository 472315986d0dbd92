// A task of an array is told of as people type it ("1.2"), at every place of the tree: the number
// that it has among the jobs says nothing to anybody.
#include <gmock/gmock.h>

#include "msg/queue.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/array/array_jobs.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using testing::array_of;
using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

// One task of array 1 runs, 1.2 is the first that waits, and job 6 stands behind.
struct Behind {
  std::uint64_t array, job;
};
Behind one_behind_an_array(const Live& live, const std::string& path) {
  JobOptions options = array_of(4);
  options.cores = 2;
  options.duration = 60;
  const auto array = live.job({"/bin/sleep", "1000"}, options, path);
  live.when_running(array + 1, path);
  return {array, live.job({"/bin/true"}, {1, 60}, path)};
}

std::vector<std::string> paths_in_plan(const Live& live, const std::string& path) {
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  std::vector<std::string> paths;
  const auto took = [&](const msg::PlanPart& part) {
    for (const auto& span : part.spans) paths.push_back(span.path);
    return true;
  };
  EXPECT_TRUE(client->stream<msg::PlanPart>("plan", msg::PlanRequest(), path, took));
  return paths;
}

void expect_names(const Live& live, const std::string& path) {
  const auto [array, job] = one_behind_an_array(live, path);
  const std::string task = std::to_string(array) + ".";
  const auto reason = [&] { return live.record(job, path).reason; };
  const std::string told = "first come, first served: job " + task + "2 in front of it waits";
  EXPECT_TRUE(eventually([&] { return reason() == told; })) << reason();
  msg::ExplainRequest ask;
  ask.ids = {job, array + 2};
  const auto about = live.call<msg::ExplainReply>("explain", ask, path);
  ASSERT_TRUE(about) << about.error().what;
  EXPECT_EQ(about->jobs.at(0).reason, told);
  const std::string prefix = (path == "/" ? "" : path) + "/" + task;
  EXPECT_EQ(about->jobs.at(1).path, prefix + "2");
  ASSERT_FALSE(about->jobs.at(1).in_the_way.empty());
  EXPECT_EQ(about->jobs.at(1).in_the_way.front().path, prefix + "1");
  const auto windows = live.call<msg::WindowsReply>("windows", msg::Empty(), path);
  ASSERT_TRUE(windows);
  ASSERT_FALSE(windows->closed.empty());
  EXPECT_EQ(windows->closed.at(0).reason, "first come, first served: job " + task + "2 waits");
  EXPECT_EQ(paths_in_plan(live, path).at(0), prefix + "1");
  const auto ranked = live.call<msg::PriorityReply>("priority", msg::PriorityRequest(), path);
  ASSERT_TRUE(ranked);
  EXPECT_EQ(ranked->jobs.at(0).path, prefix + "2");
  const auto refused = live.call<msg::Empty>("urgency", msg::UrgencyRequest{{array + 1}, 20}, path);
  EXPECT_EQ(refused.error().what, "job " + prefix + "1 has started already");
}

TEST(TaskNames, AreAsTypedInTheRootAndInAChild) {
  const Live live({"--resources", "node=1/core=4", "--conf", "queue.policy=fcfs"});
  live.child({2}, "", {"queue.policy=fcfs"});
  expect_names(live, "/1");
  expect_names(live, "/");
}

TEST(TaskNames, AreAsTypedWhereAnArrayIsOver) {
  const Live live({"--resources", "node=1/core=2"});
  const auto array = live.job({"/bin/sh", "-c", "exit $((HOLON_ARRAY_INDEX == 2))"}, array_of(3));
  live.wait_one(array);
  JobOptions after;
  after.system =
      R"({"dependencies":[{"scheme":"afterok","value":")" + std::to_string(array + 2) + R"("}]})";
  const auto never = live.submit({"/bin/true"}, after);
  ASSERT_FALSE(never);
  EXPECT_THAT(never.error().what, HasSubstr("can never be met: job 1.2 did not complete"));
  const auto refused = live.call<msg::Empty>("urgency", msg::UrgencyRequest{{array + 2}, 20});
  EXPECT_EQ(refused.error().what, "job /1.2 is over: FAILED");
}

}  // namespace
}  // namespace holon::instance
