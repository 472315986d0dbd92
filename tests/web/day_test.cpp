// A page that is left open for a day, in fast motion: the records of 24 hours come in less than a
// minute, the page's clock and timers run as fast. browser/day.mjs looks at what is left in the
// tab.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/web/browser/checks.hpp"
#include "tests/web/browser/fixed_page.hpp"
#include "tests/web/jobs.hpp"
#include "web/server.hpp"

namespace holon::web {
namespace {

using testing::ended_job;
using testing::part_with;
using testing::running_job;
using testing::waiting_job;

constexpr Time kDawn = 1'772'409'600'000;  // 2026-03-02 00:00:00 UTC
constexpr Time kAMinute = 60'000;
constexpr int kMinutesADay = 1'440;
constexpr std::uint64_t kJobsAMinute = 20;
constexpr int kChildEach = 10;  // minutes
constexpr const char* kMarkupName = "<img src=x onerror=hacked(1)>";

// Each minute some jobs are submitted, those of the minute before end, one in ten with a failure;
// each ten minutes a child begins and the one before has ended.
class Day {
 public:
  bool operator()(Model& model, Time& now) {
    now = kDawn + minute_ * kAMinute;
    auto part = part_with(jobs_of(now));
    for (const auto& job : part.jobs) part.events.push_back(event_of(job));
    part.node = {root()};
    model.take("/", part, now);
    if (minute_ % kChildEach == 0) turn_over(model, now);
    return ++minute_ < kMinutesADay;
  }

 private:
  std::vector<msg::JobRecord> jobs_of(Time now) {
    std::vector<msg::JobRecord> jobs;
    const auto minute = static_cast<std::uint64_t>(minute_);
    for (std::uint64_t i = 0; i < kJobsAMinute; ++i) {
      const std::uint64_t id = 1 + minute * kJobsAMinute + i;
      const std::string node = "n" + std::to_string(1 + i % 4);
      if (minute > 0) {
        auto old = ended_job(id - kJobsAMinute, {now - kAMinute, now}, node,
                             i % 10 == 3 ? "FAILED" : "COMPLETED");
        old.reason = kMarkupName;
        jobs.push_back(named(old));
      }
      jobs.push_back(named(i % 4 == 0 ? waiting_job(id, now) : running_job(id, now, node)));
    }
    return jobs;
  }
  static msg::JobRecord named(msg::JobRecord job) {
    job.name = kMarkupName + std::to_string(job.id);
    return job;
  }
  static msg::JobEvent event_of(const msg::JobRecord& job) {
    const bool is_over = job.state == "INACTIVE", runs = job.state == "RUN";
    return {job.id, is_over ? job.t_inactive : job.t_submit,
            is_over ? "clean"
            : runs  ? "start"
                    : "submit",
            "{}"};
  }
  msg::TreeNode root() const {
    msg::TreeNode node;
    node.name = "day";
    node.policy = "fcfs";
    node.health = "up";
    node.nodes = 4;
    node.cores = 32;
    node.cores_free = minute_ % 32;
    node.running = 15;
    node.pending = 5;
    node.inactive = minute_ * static_cast<std::int64_t>(kJobsAMinute);
    node.failed = node.inactive / 10;
    node.t_started = kDawn;
    return node;
  }
  // A child that is over stays on record.
  void turn_over(Model& model, Time now) const {
    const auto child = [](int number, const char* health) {
      auto part = part_with({running_job(1, kDawn, "n1", "/" + std::to_string(number))});
      part.node[0].health = health;
      part.node[0].name = kMarkupName;
      return part;
    };
    const int number = 1'000'000 + minute_;
    model.take("/" + std::to_string(number), child(number, "up"), now);
    if (minute_ == 0) return;
    const int before = number - kChildEach;
    model.take("/" + std::to_string(before), child(before, "ended"), now);
  }

  int minute_ = 0;
};

TEST(PageLeftOpen, ForADayNeitherGrowsNorRunsWhatItIsTold) {
  if (!has_page()) GTEST_SKIP() << "there is no page in this build: npm or esbuild was missing";
  if (!testing::has_browser())
    GTEST_SKIP() << "there is no chromium, or npm could not fetch what drives it";
  const testing::FixedPage page(Model(4'000), kDawn, Day());
  std::string home = ::testing::TempDir() + "holon-day-XXXXXX";
  ASSERT_NE(mkdtemp(home.data()), nullptr);
  EXPECT_GE(testing::run_checks("day.mjs", home,
                                {page.address(), std::to_string(kMinutesADay * kJobsAMinute)}),
            8);
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace holon::web
