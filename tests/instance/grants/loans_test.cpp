// Children that lend what they own, live: until a time, and back before it.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "instance/basics/clock.hpp"
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

constexpr std::int64_t kSecond = 1'000;  // ms
constexpr std::int64_t kLong = 3'600 * kSecond;

// A root of six cores, of which the child has four.
class Loans : public ::testing::Test {
 protected:
  void TearDown() override { testing::expect_sound_tree(live); }

  Result<msg::GrantLent> lend(std::int64_t cores, std::int64_t for_so_long = kLong,
                              const std::string& path = "/1") const {
    return live.call<msg::GrantLent>(
        "grant.lend", msg::GrantLend{cores, 0, 0, wall_clock_ms() + for_so_long}, path);
  }
  // Lends, and waits until they are free above.
  msg::GrantLent lent(std::int64_t cores, std::int64_t for_so_long = kLong) const {
    const std::int64_t before = free_of("/");
    const auto done = lend(cores, for_so_long);
    EXPECT_TRUE(done) << done.error().what;
    if (!done) return {};
    EXPECT_TRUE(eventually([&] { return free_of("/") == before + cores; })) << free_of("/");
    EXPECT_TRUE(eventually([&] { return live.record(done->job, "/1").state == "RUN"; }));
    return *done;
  }
  void recall(bool kill = false, std::uint64_t job = 0) const {
    const auto done = live.call<msg::Empty>(
        "grant.recall", msg::GrantRecall{0, job, 0, kill, "they are needed"}, "/1");
    EXPECT_TRUE(done) << done.error().what;
  }
  std::int64_t lent_as_shown(const std::string& path) const {
    const auto reply = live.call<msg::GrantReply>("grant.show", msg::Empty{}, path);
    std::int64_t cores = 0;
    if (!reply) return -1;
    for (const auto& parts : {reply->held, reply->given})
      for (const auto& part : parts)
        if (part.path == "/1" && part.state == "lent") cores += part.cores;
    return cores;
  }
  std::int64_t free_of(const std::string& path) const {
    const auto node = live.status(path);
    return node ? node->cores_free : -1;
  }
  // A job of so many cores until the test lets it go.
  std::uint64_t hold(std::int64_t cores, const std::string& gate, const std::string& path = "",
                     double seconds = 600) const {
    JobOptions options;
    options.cores = cores;
    options.duration = seconds;
    return live.job(live.gated(gate), options, path);
  }
  void expect_all_back() const {
    EXPECT_TRUE(eventually([&] { return free_of("/1") == 4; })) << free_of("/1");
    EXPECT_TRUE(eventually([&] { return lent_as_shown("/") == 0; }));
    EXPECT_EQ(lent_as_shown("/1"), 0);
    EXPECT_EQ(live.record(1).lent_cores, 0);
  }

  const Live live{{"--resources", "node=1/core=6", "--conf", "queue.policy=easy"}};
  const std::uint64_t child = live.child({4}, "", {"queue.policy=easy"});
};

TEST_F(Loans, IdleCoresAreUsedAboveAndComeBack) {
  ASSERT_EQ(child, 1u);
  const auto loan = lent(3);
  EXPECT_EQ(loan.cores, 3);
  EXPECT_EQ(free_of("/1"), 1);
  EXPECT_EQ(lent_as_shown("/"), 3);
  EXPECT_EQ(lent_as_shown("/1"), 3);
  EXPECT_EQ(live.record(1).lent_cores, 3);
  EXPECT_EQ(live.record(loan.job, "/1").name, "lend");

  // In the child what is wider than the rest is planned for when they are back.
  const auto wide = hold(4, "wide", "/1");
  EXPECT_TRUE(eventually([&] { return live.record(wide, "/1").t_estimate != 0; }));
  EXPECT_NEAR(static_cast<double>(live.record(wide, "/1").t_estimate),
              static_cast<double>(loan.until), 2'000);
  // Above nothing is placed there that may last longer.
  JobOptions endless;
  endless.cores = 3;
  const auto open = live.job({"/bin/true"}, endless);
  const auto too_long = hold(3, "too-long", "", 2 * 3'600);
  const auto above = hold(5, "above");
  live.when_running(above);
  EXPECT_EQ(live.record(open).state, "SCHED");
  EXPECT_EQ(live.record(too_long).state, "SCHED");

  recall();
  EXPECT_EQ(live.record(above).state, "RUN");
  EXPECT_EQ(live.record(wide, "/1").state, "SCHED");
  live.cancel(open);
  live.cancel(too_long);
  live.release("above");
  live.when_running(wide, "/1");
  EXPECT_EQ(live.wait_one(loan.job, "/1").result, "COMPLETED");
  live.release("wide");
  EXPECT_EQ(live.wait_one(wide, "/1").result, "COMPLETED");
  expect_all_back();
}

TEST_F(Loans, WhatNobodyUsesComesBackAtOnceAndTheRestWhenItsJobEnds) {
  const auto own = hold(2, "own");
  live.when_running(own);
  const auto loan = lent(3);
  const auto above = hold(1, "above");
  live.when_running(above);
  recall();
  EXPECT_TRUE(eventually([&] { return free_of("/1") == 3; })) << free_of("/1");
  EXPECT_TRUE(eventually([&] { return live.record(loan.job, "/1").ncores == 1; }));
  EXPECT_EQ(live.record(1).lent_cores, 1);
  EXPECT_EQ(live.record(above).state, "RUN");
  // It takes no new work when it is free for a moment.
  const auto next = hold(1, "next");
  live.release("above");
  live.wait_one(above);
  expect_all_back();
  EXPECT_EQ(live.record(next).state, "SCHED");
  live.release("own");
  live.release("next");
  live.wait_one(next);
}

TEST_F(Loans, AJobAboveIsEndedIfTheRecallSaysSo) {
  const auto own = hold(2, "own");
  live.when_running(own);
  lent(2);
  const auto above = hold(2, "above");
  live.when_running(above);
  recall();
  EXPECT_EQ(live.record(above).state, "RUN");
  recall(true);
  const auto ended = live.wait_one(above);
  EXPECT_EQ(ended.exception, "node-failure");
  EXPECT_THAT(ended.reason, HasSubstr("/1 has it back: they are needed"));
  EXPECT_EQ(live.record(own).state, "RUN");
  expect_all_back();
  live.release("own");
}

TEST_F(Loans, TheyAreBackWhenTheirTimeIsOver) {
  const auto loan = lent(3, 12 * kSecond);
  // Its limit ends it in time: nobody asks for anything.
  const auto above = hold(5, "above", "", 1);
  EXPECT_EQ(live.wait_one(above).result, "TIMEOUT");
  expect_all_back();
  EXPECT_GE(wall_clock_ms(), loan.until);
  EXPECT_EQ(live.wait_one(loan.job, "/1").result, "COMPLETED");
}

TEST_F(Loans, ACancelOfTheJobThatHoldsThemHasThemBack) {
  const auto loan = lent(3);
  live.cancel(loan.job, "/1");
  EXPECT_EQ(live.wait_one(loan.job, "/1").result, "CANCELED");
  expect_all_back();
}

TEST_F(Loans, SaysWhatCannotBeLent) {
  const auto refused = [&](const Result<msg::GrantLent>& answer, Errc code) {
    EXPECT_FALSE(answer);
    if (answer) return std::string();
    EXPECT_EQ(answer.error().code, code) << answer.error().what;
    return answer.error().what;
  };
  EXPECT_THAT(refused(lend(5), Errc::invalid_argument),
              HasSubstr("asks to lend 5 cores; it has 4 cores of its own, of which one stays: 3 at "
                        "most are accepted"));
  EXPECT_THAT(refused(lend(0), Errc::invalid_argument), HasSubstr("one of them at least"));
  EXPECT_THAT(refused(lend(1, -kLong), Errc::invalid_argument), HasSubstr("is over"));
  EXPECT_THAT(refused(lend(1, kLong, "/"), Errc::unsupported), HasSubstr("root of its tree"));
  const auto nodes = live.call<msg::GrantLent>(
      "grant.lend", msg::GrantLend{0, 0, 1, wall_clock_ms() + kLong}, "/1");
  EXPECT_THAT(refused(nodes, Errc::unsupported), HasSubstr("cores (-n) and GPUs (-g)"));

  const auto busy = hold(2, "busy", "/1");
  live.when_running(busy, "/1");
  const auto idle = refused(lend(3), Errc::busy);
  EXPECT_THAT(idle, HasSubstr("2 cores of its own are idle, 3 are to be lent; 3 are at "));
  EXPECT_EQ(free_of("/1"), 2) << "all or nothing";
  EXPECT_EQ(live.jobs(true, false).size(), 1u);
  live.release("busy");
  live.wait_one(busy, "/1");
  lent(1);
  const auto more = live.call<msg::GrantAnswer>(
      "grant.ask", msg::GrantAsk{Live::request({"grant"}).jobspec}, "/1");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Errc::busy);
  recall();
  expect_all_back();
}

TEST_F(Loans, NoLongerThanTheChildItself) {
  JobOptions options{1};
  options.duration = 60;
  const auto brief = live.child(options);
  ASSERT_EQ(brief, 2u);
  const auto refused = lend(1, kLong, "/2");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
  EXPECT_THAT(refused.error().what, HasSubstr("is after the end of this instance"));
}

TEST_F(Loans, NobodySubmitsAJobThatHoldsSome) {
  JobOptions options;
  options.system = R"({"holon":{"lend":true}})";
  const auto made = live.submit({"/bin/true"}, options, "/1");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::denied);
}

TEST_F(Loans, OutliveTheBrokersOfBoth) {
  const auto own = hold(2, "own");
  live.when_running(own);
  const auto loan = lent(3);
  const auto above = hold(2, "above");
  live.when_running(above);
  live.kill_broker();
  testing::kill_broker_of(live, "/1");
  EXPECT_TRUE(eventually([&] { return lent_as_shown("/") == 3; }));
  EXPECT_EQ(lent_as_shown("/1"), 3);
  EXPECT_EQ(free_of("/"), 1);
  EXPECT_EQ(free_of("/1"), 1);
  EXPECT_EQ(live.record(above).state, "RUN");
  // Asked back while the other broker is dead.
  const pid_t root = testing::processes_of(live, "/").broker;
  recall(true);
  testing::signal_process(root, SIGKILL);
  EXPECT_EQ(live.wait_one(above).exception, "node-failure");
  expect_all_back();
  EXPECT_EQ(live.wait_one(loan.job, "/1").result, "COMPLETED");
  live.release("own");
}

TEST_F(Loans, ComeBackThoughABrokerDiesAsTheirTimeIsOver) {
  lent(3, 12 * kSecond);
  testing::kill_broker_of(live, "/1");
  live.kill_broker();
  expect_all_back();
}

TEST_F(Loans, BelongToTheInstanceAboveWhenTheChildEnds) {
  lent(3);
  const auto above = hold(5, "above");
  live.when_running(above);
  const auto asked = wall_clock_ms();
  live.cancel(child);
  live.wait_one(child);
  EXPECT_LT(wall_clock_ms() - asked, 15 * kSecond) << "it waits for nothing that is lent";
  EXPECT_TRUE(eventually([&] { return free_of("/") == 1; })) << free_of("/");
  EXPECT_EQ(live.record(above).state, "RUN");
  const auto rest = hold(1, "rest", "", 0);
  live.when_running(rest);
  live.release("above");
  live.wait_one(above);
  const auto all = hold(5, "all", "", 0);
  live.when_running(all);
  live.release("rest");
  live.release("all");
  live.wait_one(all);
}

TEST_F(Loans, TheEndOfTheChildMoves) {
  JobOptions options{1};
  options.duration = 3'600;
  const auto second = live.child(options);
  ASSERT_EQ(second, 2u);
  lent(3);
  msg::UpdateRequest longer;
  longer.ids = {1};
  longer.limit = 2 * kLong;
  const auto moved = live.call<msg::Empty>("job.update", longer);
  ASSERT_TRUE(moved) << moved.error().what;
  const auto above = hold(4, "above");
  live.when_running(above);
  recall();
  live.release("above");
  expect_all_back();
}

TEST_F(Loans, AnotherChildHasThemNoLongerThanTheyAreLent) {
  const auto second = live.child({1});
  ASSERT_EQ(second, 2u);
  const auto own = hold(1, "own");
  live.when_running(own);
  lent(3);
  const auto ask = [&](double seconds) {
    JobOptions options;
    options.tasks = 2;
    options.duration = seconds;
    options.system = R"({"holon":{"immediate":true}})";
    return live.call<msg::GrantAnswer>(
        "grant.ask", msg::GrantAsk{Live::request({"grant"}, options).jobspec}, "/2");
  };
  EXPECT_FALSE(ask(2 * 3'600)) << "longer than they are lent";
  const auto got = ask(600);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_TRUE(got->is_here);
  const auto below = hold(3, "below", "/2", 300);
  live.when_running(below, "/2");
  recall(true);
  EXPECT_EQ(live.wait_one(below, "/2").exception, "node-failure");
  expect_all_back();
  live.release("own");
}

TEST_F(Loans, ComeFromTwoLoansOfDifferentTimes) {
  const auto first = lent(1, 12 * kSecond);
  const auto second = lent(2);
  EXPECT_EQ(live.record(1).lent_cores, 3);
  EXPECT_EQ(live.wait_one(first.job, "/1").result, "COMPLETED");
  EXPECT_TRUE(eventually([&] { return lent_as_shown("/") == 2; }));
  EXPECT_EQ(free_of("/1"), 2);
  recall(false, second.job);
  expect_all_back();
}

TEST_F(Loans, TellsWhatHelpsWhileItLends) {
  const auto loan = lent(3);
  const auto wide = hold(4, "wide", "/1");
  const auto told = live.call<msg::GrantExplained>("grant.explain", msg::GrantExplain{wide}, "/1");
  ASSERT_TRUE(told) << told.error().what;
  EXPECT_EQ(told->cores, 0) << "what it would ask for is refused";
  EXPECT_THAT(told->why_none, HasSubstr("lends 3 cores of its own"));
  EXPECT_THAT(told->why_none, HasSubstr("holon -i /1 grant recall"));
  EXPECT_EQ(live.status("/1")->lent_cores, 3);
  recall();
  live.when_running(wide, "/1");
  live.wait_one(loan.job, "/1");
  EXPECT_EQ(live.status("/1")->lent_cores, 0);
  live.release("wide");
  live.wait_one(wide, "/1");
  expect_all_back();
}

// A child with GPUs lends some of them, with a core and without.
class LoansOfGpus : public ::testing::Test {
 protected:
  void TearDown() override { testing::expect_sound_tree(live); }

  static std::string with_gpus(const std::string& jobspec, int gpus) {
    auto spec = nlohmann::json::parse(jobspec);
    spec["resources"][0]["with"].push_back({{"type", "gpu"}, {"count", gpus}});
    return spec.dump();
  }
  std::uint64_t submit(std::vector<std::string> command, const JobOptions& options, int gpus,
                       const std::string& path = "") const {
    auto request = Live::request(std::move(command), options);
    request.jobspec = with_gpus(request.jobspec, gpus);
    const auto job = live.call<msg::SubmitReply>("submit", request, path);
    EXPECT_TRUE(job) << job.error().what;
    return job ? job->first_id : 0;
  }
  std::uint64_t begin_child() const {
    JobOptions options;
    options.cores = 3;
    options.is_instance = true;
    return submit({HOLON_BINARY, "start", "--grant", "--bg"}, options, 2);
  }
  Result<msg::GrantLent> lend(std::int64_t cores, std::int64_t gpus) const {
    return live.call<msg::GrantLent>("grant.lend",
                                     msg::GrantLend{cores, gpus, 0, wall_clock_ms() + kLong}, "/1");
  }
  std::int64_t free_gpus(const std::string& path) const {
    const auto node = live.status(path);
    return node ? node->gpus_free : -1;
  }

  const Live live{{"--resources", "node=1/core=4,gpu=2"}};
};

TEST_F(LoansOfGpus, AreUsedAboveAndComeBack) {
  ASSERT_EQ(begin_child(), 1u);
  ASSERT_TRUE(eventually([&] { return free_gpus("/1") == 2; }));
  const auto more = lend(0, 3);
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().what, HasSubstr("2 GPUs of its own"));
  const auto first = lend(0, 1);
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(first->gpus, 1);
  const auto second = lend(1, 1);
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_TRUE(eventually([&] { return free_gpus("/") == 2; })) << free_gpus("/");
  EXPECT_EQ(free_gpus("/1"), 0);
  EXPECT_TRUE(eventually([&] { return live.record(1).lent_gpus == 2; }));
  EXPECT_EQ(live.status("/1")->lent_gpus, 2);

  JobOptions options;
  options.duration = 600;
  const auto above = submit(live.gated("above"), options, 2);
  live.when_running(above);
  const auto below = submit({"/bin/true"}, options, 1, "/1");
  ASSERT_TRUE(live.call<msg::Empty>("grant.recall",
                                    msg::GrantRecall{0, 0, 0, false, "they are needed"}, "/1"));
  EXPECT_EQ(live.record(above).state, "RUN");
  EXPECT_EQ(live.record(below, "/1").state, "SCHED");
  live.release("above");
  EXPECT_EQ(live.wait_one(below, "/1").result, "COMPLETED");
  EXPECT_TRUE(eventually([&] { return free_gpus("/1") == 2; })) << free_gpus("/1");
  EXPECT_EQ(live.record(1).lent_gpus, 0);
}

// Where tasks are bound to their cores the agents above look before somebody else gets these.
class LoansOfRealCores : public ::testing::Test {
 protected:
  void SetUp() override {
    if (live.status()->cores_free < 2) GTEST_SKIP() << "needs two cores";
    ASSERT_EQ(live.child({2}), 1u);
  }
  void TearDown() override { testing::expect_sound_tree(live); }

  const Live live{std::vector<std::string>{}};
};

TEST_F(LoansOfRealCores, ComeBackInTimeThoughNoAgentHasLooked) {
  ASSERT_TRUE(eventually([&] { return live.status("/1").has_value(); }));
  const pid_t agent = live.agent();
  testing::signal_process(agent, SIGSTOP);
  const auto loan = live.call<msg::GrantLent>(
      "grant.lend", msg::GrantLend{1, 0, 0, wall_clock_ms() + 3 * kSecond}, "/1");
  EXPECT_TRUE(loan) << loan.error().what;
  EXPECT_TRUE(eventually([&] { return live.record(loan->job, "/1").state == "RUN"; }));
  EXPECT_EQ(live.wait_one(loan->job, "/1").result, "COMPLETED") << "while the agent stands still";
  EXPECT_EQ(live.status("/1")->cores_free, 2);
  testing::signal_process(agent, SIGCONT);
}

}  // namespace
}  // namespace holon::instance
