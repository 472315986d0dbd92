// Children that go on: whatever ends one that nobody has cancelled, it is started again from its
// journal, with what waits in it and with what may run again.
#include <gmock/gmock.h>

#include <csignal>

#include "tests/world/units/tree_scene.hpp"

namespace holon::world {
namespace {

constexpr Micros kSecond = 1'000'000;

class GoesOn : public TreeScene {
 protected:
  void SetUp() override {
    begin_root({});
    child_ = child_that_goes_on(2);
    Wanted again{.tasks = 2};
    again.system = R"({"holon": {"requeue": 5}})";
    runs_ = work(30 * kSecond, again, path());
    when_running(runs_, path());
    waits_ = work(kSecond, {.tasks = 2}, path());
  }
  std::string path() const { return "/" + std::to_string(child_); }
  void expect_all_done() {
    EXPECT_TRUE(until([&] { return record(child_).retries == 1 && is_up(path()); }));
    EXPECT_EQ(when_over(runs_, path()).result, "COMPLETED");
    EXPECT_EQ(when_over(waits_, path()).result, "COMPLETED");
    EXPECT_EQ(record(child_).state, "RUN");
  }

  std::uint64_t child_ = 0, runs_ = 0, waits_ = 0;
};

TEST_F(GoesOn, WhenAllOfItIsKilled) {
  instance(path()).on_signal(SIGKILL);
  expect_all_done();
}

// What waits in the instance above would have its place for as long as it likes.
TEST_F(GoesOn, InItsOwnPlaceWhereItWasThereForAWhile) {
  const auto above = work(600 * kSecond, {});
  pass(2 * kSecond);
  instance(path()).on_signal(SIGKILL);
  expect_all_done();
  EXPECT_EQ(record(above).t_start, 0);
}

TEST_F(GoesOn, WhenItsSupervisorIsLost) {
  instance(path()).lose_supervisor();
  expect_all_done();
}

TEST_F(GoesOn, WhenItIsToldToStopByHand) {
  instance(path()).on_signal(SIGTERM);
  expect_all_done();
}

// Its broker is not there to hear the signal.
TEST_F(GoesOn, WhenItIsToldToStopWhileItsBrokerIsAway) {
  Instance& before = instance(path());
  before.broker()->kill("by a test");
  before.on_signal(SIGTERM);
  expect_all_done();
}

// The next broker of that run goes on with the end that the one before was asked for.
TEST_F(GoesOn, ButNotBehindAShutdownWhoseBrokerDies) {
  const auto stubborn = work(600 * kSecond, {.tasks = 2, .ignores_term = true}, path());
  ASSERT_NE(stubborn, 0u);
  ASSERT_TRUE(call<msg::Empty>("shutdown", msg::ShutdownRequest{}, path()));
  instance(path()).broker()->kill("by a test");
  EXPECT_EQ(when_over(child_).retries, 0u);
  EXPECT_EQ(record(waits_, path()).result, "CANCELED");
}

// It is between two starts, and would be all that is left of a tree.
TEST_F(GoesOn, ButNotBehindAnOrderlyEndOfWhatIsAbove) {
  instance(path()).on_signal(SIGKILL);
  EXPECT_TRUE(until([&] { return record(child_).state == "DEPEND"; }));
  Instance& before = instance();
  before.on_signal(SIGTERM);
  EXPECT_TRUE(until([&] { return before.over(); }));
  begin_root({});
  EXPECT_EQ(record(child_).result, "CANCELED");
}

// It has kept its queue for a next start that the cancel takes away.
TEST_F(GoesOn, ButNotWhereACancelComesWhileItEnds) {
  const auto stubborn = work(600 * kSecond, {.tasks = 2, .ignores_term = true}, path());
  ASSERT_TRUE(call<msg::CancelReply>("cancel", msg::CancelRequest{{runs_}, false, ""}, path()));
  when_running(stubborn, path());
  const auto waits = work(kSecond, {.tasks = 2}, path());
  instance(path()).on_signal(SIGTERM);
  EXPECT_TRUE(until([&] { return instance(path()).core()->ending; }));
  ASSERT_TRUE(call<msg::CancelReply>("cancel", msg::CancelRequest{{child_}, false, ""}));
  EXPECT_EQ(when_over(child_).result, "CANCELED");
  EXPECT_EQ(record(waits, path()).result, "CANCELED");
  EXPECT_THAT(record(waits, path()).reason, ::testing::HasSubstr("was told to stop"))
      << "by its own instance, not in its journal afterwards";
}

TEST_F(GoesOn, ButNotBehindACancel) {
  const auto cancelled = call<msg::CancelReply>("cancel", msg::CancelRequest{{child_}, false, ""});
  ASSERT_TRUE(cancelled);
  EXPECT_EQ(when_over(child_).result, "CANCELED");
  EXPECT_EQ(record(runs_, path()).result, "CANCELED");
  EXPECT_EQ(record(waits_, path()).result, "CANCELED");
}

}  // namespace
}  // namespace holon::world
