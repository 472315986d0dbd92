// Children: who is taken for a child, and what is believed of it. The broker is real, agent and
// child are the test's, and the broker may be killed between any two of its effects.
#include <gmock/gmock.h>

#include "tests/world/units/scene.hpp"

namespace holon::world {
namespace {

namespace lm = launch::msg;
using ::testing::HasSubstr;

class ChildrenScene : public Scene {
 protected:
  static constexpr pid_t kChild = 4711;

  // Of a broker with a child that is about to start: its agent has been told so.
  void begin_child(std::vector<std::string> conf = {}) {
    begin_broker(std::move(conf));
    agent_ = &agent(hello_of(0, 7));
    job_ = submit(peer("user"), 1, true);
    ASSERT_TRUE(until([&] { return !agent_->all<lm::StartRequest>("agent.start").empty(); }));
    const auto start = agent_->all<lm::StartRequest>("agent.start").front().jobs.front();
    token_ = start.secrets.at("HOLON_TOKEN");
  }
  void report_started() { ASSERT_TRUE(answer(*agent_, "agent.report", started(job_, kChild))); }
  msg::Hello hello(std::uint64_t epoch) const {
    msg::Hello hello;
    hello.token = token_;
    hello.job = job_;
    hello.uri = "ipc:///child";
    hello.epoch = epoch;
    return hello;
  }
  Result<msg::Grant> say_hello(Peer& child, std::uint64_t epoch) {
    const auto text = answer(child, "hello", hello(epoch));
    if (!text) return tl::unexpected(text.error());
    return transport::unpack<msg::Grant>(*text);
  }
  // The agent comes back to a broker that was started again.
  void agent_returns() {
    auto again = hello_of(0, 7);
    again.running = started(job_, kChild).started;
    ASSERT_TRUE(answer(*agent_, "agent.hello", again));
  }

  Peer* agent_ = nullptr;
  std::uint64_t job_ = 0;
  std::string token_;
};

TEST_F(ChildrenScene, AHelloThatIsFasterThanTheAgentWaitsForIt) {
  begin_child();
  Peer& child = peer("child", kChild);
  std::optional<bool> granted;
  child.ask("hello", hello(0),
            [&](const Result<std::string>& text) { granted = text.has_value(); });
  pass(20 * kSecond);
  EXPECT_FALSE(granted) << "who it is nobody knows yet";
  report_started();
  ASSERT_TRUE(until([&] { return granted.has_value(); }));
  EXPECT_TRUE(*granted);
}

TEST_F(ChildrenScene, OnlyAProcessOfTheJobWithItsTokenIsTheChild) {
  begin_child();
  report_started();
  Peer& stranger = peer("child", kChild + 1);
  const auto refused = say_hello(stranger, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::denied);
  EXPECT_THAT(refused.error().what, HasSubstr("is none of job"));
  Peer& child = peer("child", kChild);
  token_ += "x";
  EXPECT_EQ(say_hello(child, 0).error().code, Errc::denied);
  token_.pop_back();
  const auto grant = say_hello(child, 0);
  ASSERT_TRUE(grant) << grant.error().what;
  EXPECT_EQ(grant->epoch, 1u);
  EXPECT_EQ(grant->path, "/1");
}

TEST_F(ChildrenScene, WhoeverShowsAnEarlierEpochIsNotTheChildAnyMore) {
  begin_child();
  report_started();
  Peer& before = peer("child", kChild);
  ASSERT_EQ(say_hello(before, 0)->epoch, 1u);
  Peer& after = peer("child", kChild);
  ASSERT_EQ(say_hello(after, 0)->epoch, 2u) << "it had lost its journal";
  EXPECT_EQ(say_hello(before, 1).error().code, Errc::denied);
  const msg::Records records{{}};
  EXPECT_EQ(answer(before, "record", records).error().code, Errc::denied);
  EXPECT_TRUE(answer(after, "record", records));
  EXPECT_EQ(say_hello(after, 2)->epoch, 2u);
}

// An epoch that a child was told is in the journal: no later broker sells it a second time, and the
// child, which shows it, is the child for each of them.
TEST_F(ChildrenScene, AnEpochIsSoldOnceWhateverBecomesOfTheBroker) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    set(seed);
    begin_child();
    report_started();
    Peer& child = peer("child", kChild);
    std::uint64_t told = 0;
    broker_->kill_after(static_cast<std::int64_t>(seed % 14) + 1);
    child.ask("hello", hello(0), [&](const Result<std::string>& text) {
      if (text) told = transport::unpack<msg::Grant>(*text)->epoch;
    });
    pass(kSecond);
    restart_broker();
    agent_returns();
    if (told != 0) {
      const auto known = say_hello(child, told);
      ASSERT_TRUE(known) << known.error().what;
      EXPECT_EQ(known->epoch, told);
    }
    const auto next = say_hello(child, 0);
    ASSERT_TRUE(next) << next.error().what;
    EXPECT_GT(next->epoch, told);
  }
}

TEST_F(ChildrenScene, RecordsThatWereAcknowledgedAreThereForEveryLaterBroker) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    set(seed);
    begin_child();
    report_started();
    Peer& child = peer("child", kChild);
    ASSERT_TRUE(say_hello(child, 0));
    msg::JobRecord record;
    record.path = "/1/5";
    record.id = 5;
    record.state = "RUN";
    bool is_acknowledged = false;
    broker_->kill_after(static_cast<std::int64_t>(seed % 10) + 1);
    child.ask("record", msg::Records{{record}},
              [&](const Result<std::string>& text) { is_acknowledged = text.has_value(); });
    pass(kSecond);
    restart_broker();
    const auto known = core().records.find("/1/5");
    EXPECT_TRUE(known || !is_acknowledged);
    EXPECT_EQ(known ? known->state : "RUN", "RUN");
  }
}

TEST_F(ChildrenScene, RecordsOfJobsThatAreNotBelowTheChildAreTakenFromNobody) {
  begin_child();
  report_started();
  Peer& child = peer("child", kChild);
  ASSERT_TRUE(say_hello(child, 0));
  for (const char* path : {"/2/5", "/5", "/1", "/1/../2/5"}) {
    msg::JobRecord record;
    record.path = path;
    record.id = 5;
    record.state = "RUN";
    EXPECT_EQ(answer(child, "record", msg::Records{{record}}).error().code, Errc::denied) << path;
    EXPECT_FALSE(core().journal.descendant(path)->has_value()) << path;
  }
}

TEST_F(ChildrenScene, WhatItHoldsIsHeldUntilItsAgentSaysThatItsProcessesAreGone) {
  begin_child();
  report_started();
  Peer& child = peer("child", kChild);
  ASSERT_TRUE(say_hello(child, 0));
  ASSERT_TRUE(answer(child, "ending", msg::Ending{true}));
  lose(child);
  pass(60 * kSecond);
  EXPECT_TRUE(core().jobs.find(JobId(job_))->life.holds_resources);
  ASSERT_TRUE(answer(*agent_, "agent.report", finished(job_)));
  ASSERT_TRUE(until([&] { return state(job_) == "INACTIVE"; }));
  Peer& late = peer("child", kChild);
  EXPECT_EQ(say_hello(late, 1).error().code, Errc::denied);
}

}  // namespace
}  // namespace holon::world
