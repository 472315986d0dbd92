// Tasks begin before the time that their start names, or never: what they are to run on may be
// taken from the instance then (grants/reach.hpp).
#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

// Time is the machine's, and what the test adds to it.
class StartBy : public JobsTest {
 protected:
  StartBy() {
    auto* const reactor = reactor_.get();
    reactor->set_clock([this, began = reactor->now()] {
      return began + ahead_ +
             (std::chrono::steady_clock::now() - since_) / std::chrono::milliseconds(1);
    });
  }
  void pass(Duration time) { ahead_ += time; }

  msg::Start due_in(Duration left, std::uint64_t job = 1) {
    msg::Start to = start(job);
    to.start_by = reactor_->now() + left;
    return to;
  }
  // With a prolog that says that it has begun, and waits for the test.
  msg::Start prepared(Duration left) {
    msg::Start to = due_in(left);
    to.prolog = "touch " + dir_ + "/begun; while [ ! -e " + dir_ + "/go ]; do sleep 0.01; done";
    to.epilog = "touch " + dir_ + "/after";
    return to;
  }
  void begin(msg::Start to) {
    ASSERT_TRUE(jobs_->start(request(shell("echo ran"), std::move(to))));
    ASSERT_TRUE(until([&] { return exists("begun"); }));
  }
  msg::Finished go_on() {
    std::ofstream(dir_ + "/go") << "";
    EXPECT_TRUE(until([&] { return finished_.contains(1); }));
    return finished_[1];
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(dir_ + "/" + name); }

 private:
  Duration ahead_ = 0;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

constexpr Duration kAnHour = 3'600'000;

TEST_F(StartBy, WhatComesInTimeBegins) {
  EXPECT_EQ(run(shell("echo ran"), due_in(kAnHour)).reason, "exit");
  EXPECT_EQ(output(), "ran\n");
}

//   start_by
//      |     start
//      |       x
TEST_F(StartBy, WhatComesLateIsNotBegun) {
  msg::Start to = due_in(0);
  to.prolog = "touch " + dir_ + "/before";
  to.epilog = "touch " + dir_ + "/after";
  const auto ended = run(shell("echo ran"), to);
  EXPECT_EQ(ended.reason, "late");
  EXPECT_FALSE(ended.tasks.at(0).started);
  EXPECT_EQ(output(), "");
  EXPECT_FALSE(exists("before"));
  EXPECT_FALSE(exists("after")) << "nothing of the job was here";
}

//   start                 start_by
//     |-------- prolog --------|-------x
TEST_F(StartBy, WhatIsPreparedForTooLongIsNotBegun) {
  begin(prepared(kAnHour));
  pass(kAnHour);
  const auto ended = go_on();
  EXPECT_EQ(ended.reason, "late");
  EXPECT_FALSE(ended.tasks.at(0).started);
  EXPECT_EQ(output(), "");
  EXPECT_TRUE(exists("after")) << "its prolog has run";
}

//   start        sure   start_by            another start_by
//     |-------- prolog ----|------- tasks ---------|
TEST_F(StartBy, IsLaterWhenTheInstanceAboveIsHeardMeanwhile) {
  begin(prepared(kAnHour));
  jobs_->renew({{{1, reactor_->now() + 3 * kAnHour}, {99, 1}}});
  pass(2 * kAnHour);
  EXPECT_EQ(go_on().reason, "exit");
  EXPECT_EQ(output(), "ran\n");
}

TEST_F(StartBy, IsSoonerWhenLessIsSure) {
  begin(prepared(3 * kAnHour));
  jobs_->renew({{{1, reactor_->now() + kAnHour}}});
  pass(2 * kAnHour);
  EXPECT_EQ(go_on().reason, "late");
}

TEST_F(StartBy, IsNeverWhenNothingMayBeTakenAnyMore) {
  begin(prepared(kAnHour));
  jobs_->renew({{{1, 0}}});
  pass(2 * kAnHour);
  EXPECT_EQ(go_on().reason, "exit");
}

// An agent begins a few jobs at once; the others wait in it.
TEST_F(StartBy, OfWhatWaitsIsRenewedLikewise) {
  msg::StartRequest many{{shell("echo ran")}, {}};
  for (std::uint64_t job = 1; job <= 10; ++job) many.jobs.push_back(due_in(kAnHour, job));
  ASSERT_TRUE(jobs_->start(many));
  ASSERT_EQ(jobs_->waiting().size(), 2U);
  jobs_->renew({{{9, reactor_->now() + 3 * kAnHour}}});
  pass(2 * kAnHour);
  ASSERT_TRUE(until([&] { return finished_.size() == 10; }));
  EXPECT_EQ(finished_[8].reason, "exit");
  EXPECT_EQ(finished_[9].reason, "exit");
  EXPECT_EQ(finished_[10].reason, "late");
}

}  // namespace
}  // namespace holon::launch
