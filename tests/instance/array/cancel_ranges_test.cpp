// Ranges of an array's tasks that are cancelled at once.
#include <gmock/gmock.h>

#include "base/idset.hpp"
#include "instance/basics/clock.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using testing::JobOptions;
using testing::Live;

class CancelRanges : public ::testing::Test {
 protected:
  std::uint64_t array(std::uint64_t tasks) {
    JobOptions options;
    options.count = tasks;
    options.system = R"({"holon":{"array":{}}})";
    return live_.job({"/bin/sleep", "1000"}, options);
  }
  Result<msg::CancelReply> cancel(const std::string& numbers) {
    msg::CancelRequest ask;
    ask.numbers = numbers;
    return live_.call<msg::CancelReply>("cancel", ask);
  }
  static std::string range(std::uint64_t first, std::uint64_t last) {
    return std::to_string(first) + "-" + std::to_string(last);
  }

  Live live_{{"--resources", "node=1/core=1"}};
};

TEST_F(CancelRanges, EndWhatWaitsAndWhatRunsAndNameWhatIsOver) {
  const std::uint64_t id = array(100'000);
  ASSERT_TRUE(eventually([&] { return live_.record(id + 1).state == "RUN"; }));
  const std::string most = range(id + 1, id + 99'000);
  const auto ended = cancel(most);
  ASSERT_TRUE(ended) << to_string(ended.error());
  EXPECT_EQ(ended->cancelled_numbers, most);
  EXPECT_EQ(ended->inactive_numbers, "");
  ASSERT_TRUE(eventually([&] { return live_.record(id).tasks_cancelled == 99'000; }));
  EXPECT_EQ(live_.record(id + 98'000).result, "CANCELED");
  EXPECT_EQ(live_.record(id + 98'000).reason, "cancelled by a user");
  EXPECT_EQ(live_.record(id).result, "") << "the rest of it goes on";
  const auto again = cancel(range(id + 98'999, id + 99'001));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->cancelled_numbers, std::to_string(id + 99'001));
  EXPECT_EQ(again->inactive_numbers, range(id + 98'999, id + 99'000));
  ASSERT_TRUE(cancel(range(id, id + 100'000)));
  EXPECT_EQ(live_.wait_one(id).result, "CANCELED");
  EXPECT_EQ(cancel(range(id, id + 100'000))->inactive_numbers, range(id, id + 100'000));
}

// Many ranges are done a part at a time, between which others are served.
TEST_F(CancelRanges, MayBeOneForEachSecondTask) {
  const std::uint64_t id = array(20'000);
  Idset numbers;
  for (std::uint64_t task = id + 2; task <= id + 20'000; task += 2) numbers.insert(task);
  const auto ended = cancel(numbers.str());
  ASSERT_TRUE(ended) << to_string(ended.error());
  EXPECT_EQ(ended->cancelled_numbers, numbers.str());
  ASSERT_TRUE(eventually([&] { return live_.record(id).tasks_cancelled == 10'000; }));
  EXPECT_EQ(live_.record(id + 19'999).result, "");
  EXPECT_EQ(live_.record(id + 20'000).result, "CANCELED");
  ASSERT_TRUE(cancel(std::to_string(id)));
  const auto whole = live_.wait_one(id);
  EXPECT_EQ(whole.tasks_cancelled, 20'000u);
}

// Other tasks end meanwhile, and the scheduler is given more: those of the request are cancelled
// there.
TEST_F(CancelRanges, EndTasksThatTheSchedulerWasGivenMeanwhile) {
  constexpr std::uint64_t kTasks = 200'000;
  JobOptions options;
  options.count = kTasks;
  options.system = R"({"holon":{"array":{}}})";
  const std::uint64_t id = live_.job({"/bin/true"}, options);
  ASSERT_TRUE(eventually([&] { return live_.record(id).tasks_completed > 2; }));
  Idset numbers;
  for (std::uint64_t task = id + 2; task <= id + kTasks; task += 2) numbers.insert(task);
  const auto completed = [&] {
    msg::TasksRequest ask;
    ask.array = id;
    ask.results = "COMPLETED";
    const auto reply = live_.call<msg::TasksReply>("job.tasks", ask);
    EXPECT_TRUE(reply);
    return reply ? common(*Idset::parse(reply->ids), numbers) : Idset();
  };
  const auto before = live_.record(id).tasks_completed;
  ASSERT_TRUE(cancel(numbers.str()));
  const auto cancelled = double(wall_clock_ms());
  const Idset of_these = completed();
  ASSERT_TRUE(eventually([&] { return live_.record(id).tasks_completed > before + 200; }));
  // One whose tasks were over already, and which is being cleaned up, completes a little later.
  for (const auto task : without(completed(), of_these).ids())
    EXPECT_LE(double(live_.record(task).t_finish), cancelled) << task;
  ASSERT_TRUE(cancel(std::to_string(id)));
}

TEST_F(CancelRanges, AreAllOrNone) {
  const auto job = live_.job({"/bin/sleep", "1000"});
  const auto unknown = cancel(range(job, job + 1));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::not_found);
  const auto many = cancel(range(job, job + 1'000'000'000));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Errc::out_of_range);
  EXPECT_EQ(cancel("3,1").error().code, Errc::invalid_argument);
  msg::CancelRequest both;
  both.numbers = std::to_string(job);
  both.ids = {job};
  EXPECT_EQ(live_.call<msg::CancelReply>("cancel", both).error().code, Errc::invalid_argument);
  EXPECT_EQ(live_.record(job).result, "");
  EXPECT_EQ(cancel(std::to_string(job))->cancelled_numbers, std::to_string(job));
}

}  // namespace
}  // namespace holon::instance
