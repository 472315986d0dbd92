// Agents: what a broker gives to which agent, and when it stops to count on one. The broker is
// real, the agents are the test's; time is virtual, so that each patience is known to the
// millisecond.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "launch/remote/output_messages.hpp"
#include "msg/resource.hpp"
#include "tests/world/units/scene.hpp"

namespace holon::world {
namespace {

namespace lm = launch::msg;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AgentsTest : public Scene {
 protected:
  Peer& user() { return user_ != nullptr ? *user_ : *(user_ = &peer("user")); }
  void strike() override {
    user_ = nullptr;
    Scene::strike();
  }
  bool is_offline() const { return !core().offline.none(); }
  msg::ResourceReply resources() {
    const auto text = answer(user(), "resource.list", msg::Empty{});
    EXPECT_TRUE(text) << text.error().what;
    return text ? *transport::unpack<msg::ResourceReply>(*text) : msg::ResourceReply();
  }
  // As a user is told of it.
  msg::JobRecord told(std::uint64_t job) {
    msg::JobsRequest ask;
    ask.ids = {job};
    const auto text = answer(user(), "jobs", ask);
    EXPECT_TRUE(text) << text.error().what;
    return text ? transport::unpack<msg::JobsReply>(*text)->jobs.at(0) : msg::JobRecord();
  }
  bool is_told(const Peer& one, const std::string& topic) {
    return until([&] {
      return std::any_of(one.heard.begin(), one.heard.end(),
                         [&](const auto& word) { return word.first == topic; });
    });
  }
  static std::vector<std::uint64_t> jobs_of(const std::vector<lm::StartRequest>& requests) {
    std::vector<std::uint64_t> jobs;
    for (const auto& request : requests)
      for (const auto& start : request.jobs) jobs.push_back(start.job);
    return jobs;
  }
  // Since the moment that an agent was lost.
  Micros time_until(const std::function<bool()>& done) {
    const Micros begin = machine_->timeline.now();
    EXPECT_TRUE(until(done, 600 * kSecond));
    return machine_->timeline.now() - begin;
  }

 private:
  Peer* user_ = nullptr;
};

constexpr Micros kSlack = 500 * kMs;  // for messages on their way, and whole milliseconds

TEST_F(AgentsTest, OneThatIsAwayIsMissedAfterPeerTimeoutAndGivenUpAfterItsOwn) {
  begin_broker({"instance.peer-timeout=10s", "instance.orphan-timeout=60s", "job.grace=1s",
                "instance.shutdown-timeout=4s"});
  Peer& first = agent(hello_of(0, 7));
  const auto job = submit(user());
  ASSERT_TRUE(until([&] { return first.all<lm::StartRequest>("agent.start").size() == 1; }));
  ASSERT_TRUE(answer(first, "agent.report", started(job, 4711)));
  lose(first);
  const Micros missed = time_until([&] { return is_offline(); });
  EXPECT_GE(missed, 10 * kSecond);
  EXPECT_LE(missed, 10 * kSecond + kSlack);
  EXPECT_EQ(state(job), "RUN") << "it may run on";
  // Its own patience, twice that until it knows of it, and the time of a child to end.
  const Micros given_up = missed + time_until([&] { return state(job) == "INACTIVE"; });
  EXPECT_GE(given_up, 85 * kSecond);
  EXPECT_LE(given_up, 85 * kSecond + kSlack);
  EXPECT_EQ(result(job), "FAILED");
}

// The broker that was told of the start could not write it down: a full disk.
TEST_F(AgentsTest, OfAnEndThatIsHeardWithoutTheStartBothAreKept) {
  begin_broker({});
  Peer& one = agent(hello_of(0, 7));
  const auto job = submit(user());
  ASSERT_TRUE(until([&] { return one.all<lm::StartRequest>("agent.start").size() == 1; }));
  pass(60 * kSecond);
  auto end = finished(job);
  end.clock = 100'000;
  end.finished.back().t_start = 60'000;
  end.finished.back().t_finish = 90'000;
  ASSERT_TRUE(answer(one, "agent.report", end));
  ASSERT_TRUE(until([&] { return state(job) == "INACTIVE"; }));
  EXPECT_EQ(record(job).t_finish - record(job).t_start, 30'000);
}

// Its supervisor has given it up.
TEST_F(AgentsTest, TheNodesOfOneThatDoesNotComeBackAreDownAndTheOthersGoOn) {
  begin_broker({"instance.peer-timeout=10s"}, "node=2/core=1", 2);
  Peer& first = agent(hello_of(0, 7));
  Peer& second = agent(hello_of(1, 8));
  EXPECT_EQ(resources().nodes_down, "");
  lose(second);
  const Micros missed = time_until([&] { return is_offline(); });
  EXPECT_GE(missed, 10 * kSecond);
  EXPECT_LE(missed, 10 * kSecond + kSlack);
  EXPECT_EQ(resources().nodes_down, "node1");
  EXPECT_EQ(resources().down.at("core"), 1);
  const auto beside = submit(user());
  ASSERT_TRUE(is_told(first, "agent.start"));
  ASSERT_TRUE(answer(first, "agent.report", finished(beside)));
  EXPECT_EQ(result(beside), "COMPLETED");
  const auto waits = submit(user(), 2);
  ASSERT_TRUE(until([&] { return !told(waits).reason.empty(); }));
  EXPECT_THAT(told(waits).reason,
              HasSubstr("1 of 2 nodes is down: node1: its agent has been away since "));
  restart_broker();
  agent(hello_of(0, 7));
  EXPECT_EQ(resources().nodes_down, "node1") << "the next broker knows it, too";
  EXPECT_EQ(state(waits), "SCHED");
}

// Whether it still runs nobody knows, and that is said.
TEST_F(AgentsTest, TheJobsOfOneThatIsAwayAreInDoubt) {
  begin_broker({"instance.peer-timeout=10s"}, "node=1/core=1");
  Peer& one = agent(hello_of(0, 7));
  const auto job = submit(user());
  ASSERT_TRUE(is_told(one, "agent.start"));
  ASSERT_TRUE(answer(one, "agent.report", started(job, 4711)));
  lose(one);
  pass(9 * kSecond);
  EXPECT_EQ(told(job).reason, "");
  pass(kSecond + kSlack);
  const auto record = told(job);
  EXPECT_EQ(record.state, "RUN");
  EXPECT_THAT(record.reason, HasSubstr("node0: its agent has been away since "));
}

TEST_F(AgentsTest, OneThatComesLateBringsItsNodesUp) {
  begin_broker({"instance.peer-timeout=10s"}, "node=2/core=1", 2);
  agent(hello_of(0, 7));
  ASSERT_TRUE(until([&] { return is_offline(); }));
  EXPECT_EQ(resources().nodes_down, "node1");
  Peer& second = agent(hello_of(1, 8));
  EXPECT_EQ(resources().nodes_down, "");
  submit(user(), 2);
  EXPECT_TRUE(is_told(second, "agent.start"));
}

// By then an agent that lives has ended what it ran.
TEST_F(AgentsTest, OneThatStaysAwayForTooLongHasLostItsParts) {
  begin_broker({"instance.peer-timeout=10s", "instance.orphan-timeout=100ms", "job.grace=0",
                "instance.shutdown-timeout=0"},
               "node=2/core=1", 2);
  Peer& first = agent(hello_of(0, 7));
  Peer& second = agent(hello_of(1, 8));
  const auto job = submit(user(), 2);
  for (Peer* one : {&first, &second}) ASSERT_TRUE(is_told(*one, "agent.start"));
  ASSERT_TRUE(answer(first, "agent.report", started(job, 4711)));
  ASSERT_TRUE(answer(second, "agent.report", started(job, 4712)));
  lose(second);
  const Micros given_up =
      time_until([&] { return !first.all<lm::KillRequest>("agent.kill").empty(); });
  EXPECT_GE(given_up, 20 * kSecond) << "its part fails, and ends the other";
  EXPECT_LE(given_up, 20 * kSecond + 2 * kSlack);
  EXPECT_EQ(told(job).state, "CLEANUP");
  EXPECT_THAT(told(job).reason, HasSubstr("its agent has been away for"));
  ASSERT_TRUE(answer(first, "agent.report", finished(job)));
  ASSERT_TRUE(until([&] { return state(job) == "INACTIVE"; }));
  EXPECT_EQ(result(job), "FAILED");
  const auto text = answer(peer("agent 1"), "agent.hello", hello_of(1, 50));
  ASSERT_TRUE(text) << text.error().what;
  const auto welcome = *transport::unpack<lm::Welcome>(*text);
  ASSERT_THAT(welcome.orphans, SizeIs(1)) << "what it may have left is ended first";
  EXPECT_EQ(welcome.orphans.front().pid, 4712);
}

TEST_F(AgentsTest, OneThatComesBackWithItsTasksKeepsThem) {
  begin_broker({"instance.peer-timeout=10s"});
  auto hello = hello_of(0, 7);
  Peer& before = agent(hello);
  const auto job = submit(user());
  ASSERT_TRUE(answer(before, "agent.report", started(job, 4711)));
  lose(before);
  ASSERT_TRUE(until([&] { return is_offline(); }));
  hello.running = started(job, 4711).started;
  Peer& after = agent(hello);
  EXPECT_FALSE(is_offline());
  EXPECT_EQ(state(job), "RUN");
  EXPECT_THAT(after.all<lm::StartRequest>("agent.start"), IsEmpty());
  ASSERT_TRUE(answer(after, "agent.report", finished(job)));
  EXPECT_EQ(result(job), "COMPLETED");
}

// Whether it was started only that very process could say.
// The broker was stopped meanwhile, or had no time: the report lay in its socket.
TEST_F(AgentsTest, AReportThatWaitedIsOfWhenItsAgentSaysItWas) {
  begin_broker({});
  Peer& first = agent(hello_of(0, 7));
  const auto agents_clock = [&] { return 5'000'000 + machine_->timeline.now() / kMs; };
  const auto run = [&](Micros lies) {
    const auto job = submit(user(), 1, false, 1, 3);
    EXPECT_TRUE(until([&] { return state(job) == "RUN"; }));
    auto begun = started(job, 4711);
    begun.clock = begun.started.front().t_start = agents_clock();
    EXPECT_TRUE(answer(first, "agent.report", begun));
    pass(kSecond);
    lm::Report ended;
    ended.clock = agents_clock();
    ended.finished.emplace_back();
    ended.finished.back().job = job;
    ended.finished.back().reason = "exit";
    ended.finished.back().t_start = begun.clock;
    ended.finished.back().t_finish = ended.clock;
    pass(lies);
    EXPECT_TRUE(answer(first, "agent.report", ended));
    EXPECT_TRUE(until([&] { return state(job) == "INACTIVE"; }));
    EXPECT_EQ(result(job), "COMPLETED");
    const auto record = core().jobs.record(JobId(job));
    return record->t_finish - record->t_start;
  };
  for (const Micros lies : {Micros{0}, 6 * kSecond, 600 * kSecond, Micros{0}}) {
    const auto ran = run(lies);
    EXPECT_GE(ran, 900) << lies;
    EXPECT_LE(ran, 1'700) << lies << ": but for how far the clocks may have gone apart";
  }
}

// The broker was stopped right after it had started its first job.
TEST_F(AgentsTest, AFirstReportThatWaitedIsOfWhenItsAgentSaysItWas) {
  begin_broker({});
  const auto agents_clock = [&] { return 5'000'000 + machine_->timeline.now() / kMs; };
  auto hello = hello_of(0, 7);
  hello.clock = agents_clock();
  Peer& first = agent(hello);
  const auto job = submit(user(), 1, false, 1, 3);
  EXPECT_TRUE(until([&] { return state(job) == "RUN"; }));
  auto report = started(job, 4711);
  report.started.front().t_start = agents_clock();
  pass(kSecond);
  report.clock = agents_clock();
  report.finished.emplace_back();
  report.finished.back().job = job;
  report.finished.back().reason = "exit";
  report.finished.back().t_start = report.started.front().t_start;
  report.finished.back().t_finish = report.clock;
  pass(6 * kSecond);
  EXPECT_TRUE(answer(first, "agent.report", report));
  EXPECT_TRUE(until([&] { return state(job) == "INACTIVE"; }));
  const auto record = core().jobs.record(JobId(job));
  EXPECT_GE(record->t_finish - record->t_start, 900);
  EXPECT_LE(record->t_finish - record->t_start, 1'100);
  EXPECT_LE(record->t_start - record->t_submit, 1'000) << "it began when it did";
}

TEST_F(AgentsTest, AStartIsSentAgainToTheSameProcessAndToNoOther) {
  begin_broker({});
  const auto hello = hello_of(0, 7);
  Peer& before = agent(hello);
  const auto job = submit(user());
  ASSERT_TRUE(until([&] { return !before.all<lm::StartRequest>("agent.start").empty(); }));
  lose(before);
  Peer& same = agent(hello);
  ASSERT_TRUE(until([&] { return !same.all<lm::StartRequest>("agent.start").empty(); }));
  EXPECT_EQ(jobs_of(same.all<lm::StartRequest>("agent.start")), std::vector{job});
  lose(same);
  Peer& another = agent(hello_of(0, 8));
  EXPECT_TRUE(until([&] { return state(job) == "INACTIVE"; }));
  EXPECT_EQ(result(job), "FAILED");
  EXPECT_THAT(core().jobs.record(JobId(job))->reason, HasSubstr("died"));
  EXPECT_THAT(another.all<lm::StartRequest>("agent.start"), IsEmpty());
}

TEST_F(AgentsTest, WhatOneHasLeftIsEndedByTheNextBeforeThatIsGivenAnything) {
  begin_broker({});
  Peer& before = agent(hello_of(0, 7));
  const auto job = submit(user());
  ASSERT_TRUE(answer(before, "agent.report", started(job, 4711)));
  lose(before);
  auto hello = hello_of(0, 8);
  Peer& next = peer("agent 0");
  auto text = answer(next, "agent.hello", hello);
  auto welcome = *transport::unpack<lm::Welcome>(*text);
  ASSERT_THAT(welcome.orphans, SizeIs(1));
  EXPECT_EQ(welcome.orphans.front().pid, 4711);
  const auto waits = submit(user(), 2);
  pass(5 * kSecond);
  EXPECT_THAT(next.all<lm::StartRequest>("agent.start"), IsEmpty()) << "it was not taken";
  restart_broker();
  text = answer(next, "agent.hello", hello);
  welcome = *transport::unpack<lm::Welcome>(*text);
  EXPECT_THAT(welcome.orphans, SizeIs(1)) << "a later broker knows it, too";
  hello.swept = true;
  ASSERT_TRUE(answer(next, "agent.hello", hello));
  ASSERT_TRUE(until([&] { return !next.all<lm::StartRequest>("agent.start").empty(); }));
  EXPECT_EQ(jobs_of(next.all<lm::StartRequest>("agent.start")), std::vector{waits});
}

TEST_F(AgentsTest, EachIsToldItsPartAndEndsNoOther) {
  begin_broker({}, "node=2/core=1", 2);
  Peer& first = agent(hello_of(0, 7));
  Peer& second = agent(hello_of(1, 8));
  const auto job = submit(user(), 2);
  for (Peer* one : {&first, &second})
    ASSERT_TRUE(until([&] { return one->all<lm::StartRequest>("agent.start").size() == 1; }));
  EXPECT_EQ(second.all<lm::StartRequest>("agent.start").front().jobs.front().node_index, 1u);
  ASSERT_TRUE(answer(first, "agent.report", finished(job)));
  ASSERT_TRUE(answer(first, "agent.report", finished(job, 9)));
  EXPECT_EQ(state(job), "RUN");
  for (const std::uint32_t rank : {0, 1}) EXPECT_TRUE(core().agents.of(rank).has(JobId(job)));
  ASSERT_TRUE(answer(second, "agent.report", finished(job)));
  EXPECT_EQ(result(job), "COMPLETED");
  for (const std::uint32_t rank : {0, 1})
    EXPECT_FALSE(core().agents.of(rank).has(JobId(job))) << "nobody asks about it any more";
}

TEST_F(AgentsTest, NobodySpeaksForARankWithoutItsSecret) {
  begin_broker({}, "node=2/core=1", 2);
  agent(hello_of(1, 8));
  auto forged = hello_of(1, 9);
  forged.secret = hello_of(0, 0).secret;
  Peer& stranger = peer("agent 1");
  EXPECT_EQ(answer(stranger, "agent.hello", forged).error().code, Errc::denied);
  EXPECT_EQ(answer(stranger, "agent.report", finished(1)).error().code, Errc::denied);
  forged = hello_of(0, 9);
  forged.rank = 2;
  EXPECT_EQ(answer(stranger, "agent.hello", forged).error().code, Errc::denied);
}

// Two that were let in at the same time, on one host: what the first one was given runs there.
TEST_F(AgentsTest, TheSecondOfTwoOnAnotherHostIsSentHome) {
  begin_broker({"instance.rejoin-timeout=20s"}, "node=2/core=1", 2, {"node0", "node1"});
  agent(hello_of(0, 7));
  const auto come = [&](std::uint64_t incarnation) -> std::pair<Peer*, lm::Welcome> {
    Peer& one = peer_with_key(1);
    const auto text = answer(one, "agent.hello", hello_of(1, incarnation));
    EXPECT_TRUE(text) << text.error().what;
    return {&one, *transport::unpack<lm::Welcome>(*text)};
  };
  const auto [first, welcome] = come(8);
  EXPECT_TRUE(welcome.accepted) << welcome.refusal;
  const auto job = submit(user(), 2);
  ASSERT_TRUE(until([&] { return !first->all<lm::StartRequest>("agent.start").empty(); }));
  const auto [second, refusal] = come(9);
  EXPECT_FALSE(refusal.accepted);
  EXPECT_THAT(refusal.refusal, HasSubstr("is there already"));
  EXPECT_EQ(state(job), "RUN");
  ASSERT_TRUE(answer(*first, "agent.report", started(job, 4711)));
  lose(*first);
  ASSERT_TRUE(until([&] { return !core().agents.is_connected(1); }));
  const auto [third, orphans] = come(10);
  EXPECT_TRUE(orphans.accepted) << "the one before it is gone";
  EXPECT_THAT(orphans.orphans, SizeIs(1));
}

// The connection of a killed agent may still have its hello in it, which is read last.
TEST_F(AgentsTest, TheHelloOfADeadOneDoesNotTakeThePlaceOfTheNext) {
  begin_broker({});
  auto hello = hello_of(0, 8);
  hello.began = 2'000;
  Peer& living = agent(hello);
  const auto job = submit(user());
  ASSERT_TRUE(until([&] { return !living.all<lm::StartRequest>("agent.start").empty(); }));
  ASSERT_TRUE(answer(living, "agent.report", started(job, 4711)));
  hello.incarnation = 7;
  hello.began = 1'000;
  const auto text = answer(peer("agent 0 before"), "agent.hello", hello);
  ASSERT_TRUE(text) << text.error().what;
  EXPECT_FALSE(transport::unpack<lm::Welcome>(*text)->accepted);
  EXPECT_EQ(state(job), "RUN");
  ASSERT_TRUE(answer(living, "agent.report", finished(job)));
  EXPECT_EQ(state(job), "INACTIVE");
}

// Reports are acknowledged when they are in the journal: whenever the broker is lost, either they
// are, or the agent, which has no answer, says them again.
TEST_F(AgentsTest, AnAcknowledgedEndIsAnEndForEveryLaterBroker) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    set(seed);
    begin_broker({});
    auto hello = hello_of(0, 7);
    Peer& one = agent(hello);
    const auto job = submit(user());
    ASSERT_TRUE(answer(one, "agent.report", started(job, 4711)));
    bool is_acknowledged = false;
    broker_->kill_after(static_cast<std::int64_t>(seed % 12) + 1);
    one.ask("agent.report", finished(job),
            [&](const Result<std::string>& reply) { is_acknowledged = reply.has_value(); });
    pass(kSecond);
    const bool was = is_acknowledged;
    restart_broker();
    if (was) {
      EXPECT_EQ(result(job), "COMPLETED");
      continue;
    }
    hello.finished = finished(job).finished;
    ASSERT_TRUE(answer(one, "agent.hello", hello));
    EXPECT_EQ(result(job), "COMPLETED");
  }
}

// What was lost with its agent may be handed over after the broker was lost, too.
TEST_F(AgentsTest, OutputThatComesLateIsTakenByEveryLaterBroker) {
  begin_broker({}, "node=2/core=1", 2);
  agent(hello_of(0, 7));
  Peer& before = agent(hello_of(1, 8));
  const auto job = submit(user(), 2);
  ASSERT_TRUE(answer(before, "agent.report", started(job, 4711)));
  lose(before);
  auto hello = hello_of(1, 9);
  hello.swept = true;
  agent(hello);
  ASSERT_TRUE(until([&] { return core().agents.of(1).left().of(JobId(job)) != nullptr; }));
  pass(kSecond);
  restart_broker();
  agent(hello_of(0, 7));
  Peer& next = agent(hello);
  lm::KeepRequest piece;
  piece.job = job;
  piece.late = true;
  piece.data = "what it wrote\n";
  const auto kept = answer(next, "agent.keep", piece);
  ASSERT_TRUE(kept) << kept.error().what;
  EXPECT_EQ(transport::unpack<lm::KeepReply>(*kept)->size, piece.data.size());
  piece.job = job + 1;
  EXPECT_EQ(answer(next, "agent.keep", piece).error().code, Errc::not_found);
}

// A piece that did not fit is not there in part: the agent asks where the file ends, and sends it
// again.
TEST_F(AgentsTest, OutputThatCannotBeWrittenLeavesTheFileAsItWas) {
  begin_broker({}, "node=2/core=1", 2);
  agent(hello_of(0, 7));
  Peer& one = agent(hello_of(1, 8));
  const auto job = submit(user(), 2);
  ASSERT_TRUE(answer(one, "agent.report", started(job, 4711)));
  lm::KeepRequest piece;
  piece.job = job;
  piece.data = std::string(1'000, 'a');
  ASSERT_TRUE(answer(one, "agent.keep", piece));
  std::string file;
  for (const auto& entry :
       std::filesystem::directory_iterator(options_.start.state_dir + "/output"))
    if (entry.file_size() == 1'000) file = entry.path();
  ASSERT_NE(file, "");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit low{64 << 20, before.rlim_max};  // the journal needs less
  lm::KeepRequest next = piece;
  next.offset = low.rlim_cur - piece.data.size() / 2;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const auto refused = answer(one, "agent.keep", next);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::system);
  EXPECT_EQ(std::filesystem::file_size(file), 1'000u);
}

TEST_F(AgentsTest, WhereLateOutputGoesIsForgottenWithItsJob) {
  begin_broker({"journal.keep=1"}, "node=2/core=1", 2);
  Peer& first = agent(hello_of(0, 7));
  Peer& before = agent(hello_of(1, 8));
  const auto job = submit(user(), 2);
  ASSERT_TRUE(answer(before, "agent.report", started(job, 4711)));
  lose(before);
  auto hello = hello_of(1, 9);
  hello.swept = true;
  Peer& second = agent(hello);
  const auto is_known = [&] { return core().agents.of(1).left().of(JobId(job)) != nullptr; };
  ASSERT_TRUE(until(is_known));
  ASSERT_TRUE(answer(first, "agent.report", finished(job)));
  const auto next = submit(user(), 2);
  for (Peer* const one : {&first, &second}) {
    ASSERT_TRUE(until([&] { return one->all<lm::StartRequest>("agent.start").size() > 0; }));
    ASSERT_TRUE(answer(*one, "agent.report", finished(next)));
  }
  ASSERT_TRUE(until([&] { return !is_known(); }));
  pass(kSecond);
  restart_broker();
  EXPECT_FALSE(is_known());
}

TEST_F(AgentsTest, AFolderOfOutputsThatWasGivenAnotherNameIsMadeAgain) {
  begin_broker({}, "node=1/core=2");
  Peer& one = agent(hello_of(0, 7));
  submit(user());
  ASSERT_TRUE(until([&] { return one.all<lm::StartRequest>("agent.start").size() == 1; }));
  const std::string folder = options_.start.state_dir + "/output";
  std::filesystem::rename(folder, folder + ".old");
  submit(user());
  ASSERT_TRUE(until([&] { return one.all<lm::StartRequest>("agent.start").size() == 2; }));
  EXPECT_TRUE(std::filesystem::is_directory(folder));
}

// The files that a job has may be those of its next attempt.
TEST_F(AgentsTest, WhatCouldNotBeWrittenAtAJobsEndIsNotTakenForKeptLater) {
  begin_broker({});
  const auto hello = hello_of(0, 7);
  Peer& before = agent(hello);
  const auto job = submit(user());
  auto end = finished(job);
  end.finished.front().output = "what it wrote\n";
  const std::string folder = options_.start.state_dir + "/output";
  std::filesystem::remove_all(folder);
  std::ofstream(folder) << "in its place";
  const auto told = [&](Peer& who) {
    const auto reply = answer(who, "agent.report", end);
    return reply ? transport::unpack<lm::Reported>(*reply)->to_files : std::vector<std::uint64_t>();
  };
  EXPECT_THAT(told(before), ElementsAre(job));
  std::filesystem::remove(folder);
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/" + std::to_string(job) + ".out") << "of the next attempt\n";
  EXPECT_THAT(told(before), ElementsAre(job)) << "it has not heard the answer";
  restart_broker();
  EXPECT_THAT(told(agent(hello)), ElementsAre(job));
}

}  // namespace
}  // namespace holon::world
