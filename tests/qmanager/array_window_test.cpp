// Tasks of an array are given to the scheduler as it can use them (instance/array): every job and
// every task must start as if all tasks had been queued at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "qmanager/machine/flat_machine.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::JobRequest;
using qmanager::Scheduler;

struct Work {
  JobRequest request;
  Duration runs = 1;
  bool is_task = false;
};

// Some jobs, an array in their midst, and some more; the same seed gives the same.
std::vector<Work> some_work(unsigned seed, std::int64_t procs) {
  std::mt19937 random(seed);
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  std::vector<Work> all;
  Time now = 0;
  const auto add = [&](std::int64_t wanted, Duration limit, Duration runs, bool is_task) {
    Work work;
    work.request.id = JobId(all.size() + 1);
    work.request.user = "ada";
    work.request.submitted = now;
    work.request.procs = wanted;
    work.request.limit = limit;
    work.runs = std::min(runs, limit);
    work.is_task = is_task;
    all.push_back(std::move(work));
  };
  for (std::int64_t i = between(0, 6); i > 0; --i) {
    add(between(1, procs), between(1, 20), between(1, 20), false);
    now += between(0, 3);
  }
  const std::int64_t wanted = between(1, std::max<std::int64_t>(1, procs / 2));
  const Duration limit = between(1, 12);
  for (std::int64_t i = between(10, 150); i > 0; --i) add(wanted, limit, between(1, 12), true);
  for (std::int64_t i = between(2, 20); i > 0; --i) {
    now += between(0, 8);
    add(between(1, procs), between(1, 20), between(1, 20), false);
  }
  return all;
}

class Driver {
 public:
  Driver(const qmanager::SchedulerConfig& config, std::int64_t procs, std::vector<Work> work,
         std::uint64_t window)
      : scheduler_(*Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(procs))),
        work_(std::move(work)),
        window_(window) {}

  std::map<JobId, Time> starts() {
    for (Time now = 0; started_.size() < work_.size() && now < 20'000; ++now) turn(now);
    return started_;
  }

 private:
  void turn(Time now) {
    bool dirty = false;
    while (!ends_.empty() && ends_.begin()->first <= now) {
      EXPECT_TRUE(scheduler_.finish(ends_.begin()->second, now));
      ends_.erase(ends_.begin());
      dirty = true;
    }
    for (; next_ < work_.size() && work_[next_].request.submitted <= now; ++next_) {
      if (work_[next_].is_task)
        waiting_.push_back(next_);
      else
        submit(next_, now);
      dirty = true;
    }
    while (dirty || (wake_ && *wake_ <= now)) dirty = pass(now);
  }

  void submit(std::size_t i, Time now) {
    const auto taken = scheduler_.submit(work_[i].request, now);
    ASSERT_TRUE(taken && !*taken);
  }

  // As JobManager::schedule(). Is there more to do now?
  bool pass(Time now) {
    for (; queued_ < window_ && !waiting_.empty(); waiting_.pop_front(), ++queued_)
      submit(waiting_.front(), now);
    const auto result = scheduler_.step(now);
    wake_ = result.wake;
    for (const auto& decision : result.decisions) {
      const auto* start = std::get_if<qmanager::Start>(&decision);
      if (start == nullptr) continue;
      const Work& work = work_[start->job.value() - 1];
      started_.emplace(start->job, now);
      ends_.emplace(now + work.runs, start->job);
      queued_ -= work.is_task;
    }
    return result.more || (queued_ == 0 && !waiting_.empty());
  }

  Scheduler scheduler_;
  std::vector<Work> work_;
  std::uint64_t window_, queued_ = 0;
  std::size_t next_ = 0;
  std::deque<std::size_t> waiting_;
  std::multimap<Time, JobId> ends_;
  std::map<JobId, Time> started_;
  std::optional<Time> wake_;
};

TEST(ArrayWindow, EverythingStartsAsIfAllTasksWereQueuedAtOnce) {
  for (const char* name : {"fcfs", "easy", "hybrid:2", "hybrid:5", "conservative", "conservative:3",
                           "conservative-rebuild"})
    for (const std::int64_t depth : {1, 4, 32})
      for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(std::string(name) + ", depth " + std::to_string(depth) + ", seed " +
                     std::to_string(seed));
        const std::int64_t procs = 2 + seed % 7;
        const auto work = some_work(seed, procs);
        const auto task =
            std::find_if(work.begin(), work.end(), [](const Work& one) { return one.is_task; });
        auto config = policy(name);
        config.defaults.queue_depth = depth;
        const auto window = static_cast<std::uint64_t>(procs / task->request.procs + depth + 1);
        const auto all = Driver(config, procs, work, work.size()).starts();
        ASSERT_EQ(all.size(), work.size());
        ASSERT_EQ(Driver(config, procs, work, window).starts(), all);
      }
}

// The test sees a difference where there is one.
TEST(ArrayWindow, OneThatIsTooShortIsNoticed) {
  int differ = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const std::int64_t procs = 2 + seed % 7;
    const auto work = some_work(seed, procs);
    auto config = policy("easy");
    config.defaults.queue_depth = 4;
    differ += Driver(config, procs, work, 1).starts() !=
              Driver(config, procs, work, work.size()).starts();
  }
  EXPECT_GT(differ, 0);
}

}  // namespace
}  // namespace holon::tests
