// A job that asks for no limit keeps the one that it was taken with (job.default-limit), whatever
// the broker that begins later goes by.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/world/units/manager_scene.hpp"

namespace holon::instance {
namespace {

constexpr Duration kMinute = 60'000;

class DefaultLimit : public testing::ManagerScene {
 protected:
  DefaultLimit() { go_by("1h"); }

  void go_by(const std::string& limit) {
    config_ = *config::load_config({"job.default-limit=" + limit});
    commit();
    crash();
  }
  std::int64_t limit_of(std::uint64_t id) { return jobs().record(JobId(id))->limit; }
  Status update(std::uint64_t id, Duration limit, Duration extend = 0) {
    msg::UpdateRequest ask;
    ask.ids = {id};
    ask.limit = limit;
    ask.extend = extend;
    return jobs().update(ask, time_);
  }
  Status extend(std::uint64_t id, Duration by) { return update(id, -1, by); }
};

// Each of these is what a broker may find configured that begins anew.
const std::vector<std::string> kLater = {"0", "10m", "5h"};

TEST_F(DefaultLimit, OfARunningJobIsThatOfItsBeginning) {
  const auto id = submit_running({.cores = 2, .tasks = 2});
  EXPECT_EQ(limit_of(id), 60 * kMinute);
  const Time end = life(id).expiration;
  EXPECT_EQ(end, time_ + 60 * kMinute);
  for (const auto& later : kLater) {
    go_by(later);
    EXPECT_EQ(limit_of(id), 60 * kMinute) << later;
    EXPECT_EQ(life(id).expiration, end) << later;
  }
  time_ += 40 * kMinute;
  go_by("10m");
  const auto extended = extend(id, 5 * kMinute);
  ASSERT_TRUE(extended) << to_string(extended.error());
  EXPECT_EQ(life(id).expiration, end + 5 * kMinute) << "later than before, whatever a default is";
}

TEST_F(DefaultLimit, OfWhatWaitsIsThatOfItsSubmission) {
  submit_running({.cores = 2, .tasks = 2});
  const auto one = submit({}), several = submit({.count = 3}),
             child = submit({.is_instance = true});
  const auto limited = submit({.limit = 120});
  for (const auto& later : kLater) {
    go_by(later);
    for (const auto id : {one, several, several + 2, child})
      EXPECT_EQ(limit_of(id), 60 * kMinute) << later << ": " << id;
    EXPECT_EQ(limit_of(limited), 2 * kMinute) << later;
  }
  ASSERT_TRUE(extend(child, 5 * kMinute));
  EXPECT_EQ(limit_of(child), 65 * kMinute);
}

TEST_F(DefaultLimit, OfAJobThatRunsAgainIsThatOfItsFirstAttempt) {
  const auto id = submit_running({.cores = 2, .tasks = 2, .wishes = R"({"requeue":1})"});
  end(id, 0, 0, "lost");
  ASSERT_EQ(life(id).retries, 1u);
  go_by("0");
  EXPECT_EQ(limit_of(id), 60 * kMinute);
}

TEST_F(DefaultLimit, IsNotGivenToWhoWasTakenWithoutOne) {
  go_by("0");
  const auto runs = submit_running({.cores = 2, .tasks = 2});
  const auto waits = submit({});
  go_by("10m");
  EXPECT_EQ(limit_of(runs), 0);
  EXPECT_EQ(life(runs).expiration, 0);
  EXPECT_EQ(limit_of(waits), 0);
  EXPECT_FALSE(extend(runs, kMinute)) << "it has no limit that could be moved";
}

TEST_F(DefaultLimit, OfAnArrayIsThatOfItsTasksAlsoWhenAllAreOver) {
  const auto array = submit({.cores = 2, .tasks = 2, .wishes = R"({"array":{}})", .count = 3});
  jobs().schedule(time_);
  start(array + 1);
  end(array + 1, 0);
  jobs().schedule(time_);
  start(array + 2);
  for (const auto& later : kLater) {
    go_by(later);
    for (std::uint64_t id = array; id <= array + 3; ++id)
      EXPECT_EQ(limit_of(id), 60 * kMinute) << later << ": " << id;
  }
  end(array + 2, 0);
  jobs().schedule(time_);
  EXPECT_EQ(life(array + 3).expiration, time_ + 60 * kMinute);
  start(array + 3);
  end(array + 3, 0);
  go_by("0");
  EXPECT_TRUE(jobs().active().empty());
  EXPECT_EQ(limit_of(array + 2), 60 * kMinute);
}

TEST_F(DefaultLimit, OfAChangedJobIsWhatItWasOrWhatItIsChangedTo) {
  submit_running({.cores = 2, .tasks = 2});
  const auto urgent = submit({}), longer = submit({}), none = submit({.limit = 120});
  msg::UpdateRequest ask;
  ask.ids = {urgent};
  ask.name = "fit";
  ASSERT_TRUE(jobs().update(ask, time_));
  ASSERT_TRUE(update(longer, 90 * kMinute));
  ASSERT_TRUE(update(none, 0)) << "who asks for none gets the default";
  for (const auto& later : kLater) {
    go_by(later);
    EXPECT_EQ(limit_of(urgent), 60 * kMinute) << later;
    EXPECT_EQ(limit_of(longer), 90 * kMinute) << later;
    EXPECT_EQ(limit_of(none), 60 * kMinute) << later;
  }
}

}  // namespace
}  // namespace holon::instance
