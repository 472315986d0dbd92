// Grants that move between a running parent and its child.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

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

class LiveGrants : public ::testing::Test {
 protected:
  void TearDown() override { testing::expect_sound_tree(live); }
  Result<msg::GrantAnswer> ask(std::int64_t cores, double seconds = 0,
                               const std::string& path = "/1",
                               const std::string& system = "") const {
    JobOptions options;
    options.tasks = cores;
    options.duration = seconds;
    options.system = system;
    return live.call<msg::GrantAnswer>(
        "grant.ask", msg::GrantAsk{Live::request({"grant"}, options).jobspec}, path);
  }
  msg::GrantReply grants(const std::string& path) const {
    auto reply = live.call<msg::GrantReply>("grant.show", msg::Empty{}, path);
    EXPECT_TRUE(reply) << reply.error().what;
    return reply ? *reply : msg::GrantReply();
  }
  // As the instance above has it.
  std::int64_t extra_of(std::uint64_t id) const {
    std::int64_t cores = 0;
    for (const auto& part : grants("/").given)
      if (part.path == "/" + std::to_string(id) && part.source == "extra") cores += part.cores;
    return cores;
  }
  // What the child has beyond its own, as it sees it.
  msg::GrantPart extra() const {
    for (const auto& part : grants("/1").held)
      if (part.source == "extra") return part;
    return {};
  }
  // A job that has so many cores until the test lets it go.
  std::uint64_t hold(std::int64_t cores, const std::string& gate,
                     const std::string& path = "") const {
    JobOptions options;
    options.cores = cores;
    options.duration = 300;
    const auto job = live.job(live.gated(gate), options, path);
    live.when_running(job, path);
    return job;
  }
  void release() const {
    const auto done = live.call<msg::Empty>("grant.release", msg::GrantRelease{}, "/1");
    EXPECT_TRUE(done) << done.error().what;
  }
  void recall(const msg::GrantRecall& what) const {
    const auto done = live.call<msg::Empty>("grant.recall", what);
    EXPECT_TRUE(done) << done.error().what;
  }
  std::int64_t cores_of(const std::string& path) const {
    const auto node = live.status(path);
    return node ? node->cores : -1;
  }
  std::int64_t free_of(const std::string& path) const {
    const auto node = live.status(path);
    return node ? node->cores_free : -1;
  }
  void kill_child_broker() const { testing::kill_broker_of(live, "/1"); }
  // All is where it was before anything had moved.
  void expect_all_back() const {
    EXPECT_TRUE(eventually([&] { return free_of("/") == 4; })) << free_of("/");
    EXPECT_TRUE(eventually([&] { return cores_of("/1") == 2; })) << cores_of("/1");
    EXPECT_EQ(free_of("/1"), 2);
    EXPECT_EQ(extra_of(1), 0);
  }

  const Live live{{"--resources", "node=1/core=6"}};
  const std::uint64_t child = live.child({2});
};

TEST_F(LiveGrants, AChildGetsMoreRunsAWiderJobAndGivesItBack) {
  ASSERT_EQ(child, 1u);
  const auto answer = ask(2, 600);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_TRUE(answer->is_here);
  EXPECT_EQ(answer->cores, 2);
  EXPECT_GT(answer->until, 0);
  EXPECT_EQ(cores_of("/1"), 4);
  EXPECT_TRUE(eventually([&] { return extra_of(1) == 2; }));
  EXPECT_EQ(free_of("/"), 2);

  // One job on all of it, which says which change of the grant it has seen.
  JobOptions wide;
  wide.cores = 4;
  wide.duration = 300;
  const auto job = live.job(live.gated("wide"), wide, "/1");
  EXPECT_EQ(live.when_running(job, "/1").ncores, 4);
  release();
  EXPECT_EQ(grants("/1").held.size(), 2u);
  EXPECT_EQ(extra().state, "draining");
  EXPECT_EQ(free_of("/"), 2) << "a job holds it still";
  EXPECT_EQ(live.record(job, "/1").state, "RUN");
  live.release("wide");
  EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  expect_all_back();

  // The same units come again, under the same numbers.
  const auto again = ask(2, 600);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_TRUE(again->is_here);
  EXPECT_EQ(cores_of("/1"), 4);
  release();
  expect_all_back();
}

TEST_F(LiveGrants, WhatIsNotFreeIsPromisedAndComesWhenItIs) {
  hold(4, "other");
  const auto answer = ask(2, 60);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_FALSE(answer->is_here);
  EXPECT_EQ(grants("/1").promised.size(), 1u);
  live.release("other");
  EXPECT_TRUE(eventually([&] { return cores_of("/1") == 4; }));
  EXPECT_TRUE(grants("/1").promised.empty());
}

TEST_F(LiveGrants, SaysWhyThereIsNoMore) {
  const auto too_much = ask(9);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code, Errc::unsatisfiable) << too_much.error().what;
  // Of the six cores there the child has two: it would wait for ever.
  const auto beside_its_own = ask(5);
  ASSERT_FALSE(beside_its_own);
  EXPECT_EQ(beside_its_own.error().what,
            "/ says: asks for 5 cores more; beside what /1 has there are 4 on its nodes");
  const auto at_the_root = ask(1, 0, "/");
  ASSERT_FALSE(at_the_root);
  EXPECT_EQ(at_the_root.error().code, Errc::unsupported);
  JobOptions all;
  all.cores = 4;
  live.when_running(live.job(live.gated("other"), all));
  const auto now = ask(1, 60, "/1", R"({"holon":{"immediate":true}})");
  ASSERT_FALSE(now);
  EXPECT_EQ(now.error().code, Errc::unsatisfiable);
  live.release("other");
  const auto nothing = live.call<msg::Empty>("grant.release", msg::GrantRelease{}, "/1");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Errc::not_found);
}

TEST_F(LiveGrants, NobodyMakesAGrantBySubmittingOne) {
  JobOptions options;
  options.system = R"({"holon":{"grant":{"child":1,"ask":7}}})";
  const auto made = live.submit({"/bin/true"}, options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::denied);
  EXPECT_THAT(made.error().what, HasSubstr("holon grant ask"));
}

TEST_F(LiveGrants, GoesBackWhenItsTimeIsOver) {
  const auto answer = ask(2, 1);
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_TRUE(answer->is_here);
  // A job that may last longer is not placed there, though the units are free.
  JobOptions longer;
  longer.cores = 4;
  longer.duration = 300;
  const auto wide = live.job({"/bin/true"}, longer, "/1");
  EXPECT_EQ(live.record(wide, "/1").state, "SCHED");
  EXPECT_TRUE(eventually([&] { return cores_of("/1") == 2; }));
  EXPECT_TRUE(eventually([&] { return free_of("/") == 4; }));
}

TEST_F(LiveGrants, IsRecalledWithoutAnEndOfAnyJobUnlessThatIsAskedFor) {
  ASSERT_TRUE(ask(2));
  JobOptions wide;
  wide.cores = 4;
  const auto job = live.job(live.gated("wide"), wide, "/1");
  // Nothing without a limit is placed where the units have an end; these have none.
  live.when_running(job, "/1");
  ASSERT_TRUE(live.call<msg::Empty>("grant.recall", msg::GrantRecall{1, 0, 0, false, "for ada"}));
  EXPECT_TRUE(eventually([&] { return extra().state == "asked back"; }));
  EXPECT_EQ(extra().why, "for ada");
  EXPECT_EQ(live.record(job, "/1").state, "RUN");
  live.release("wide");
  live.wait_one(job, "/1");
  expect_all_back();

  ASSERT_TRUE(ask(2));
  const auto second = live.job(live.gated("second"), wide, "/1");
  live.when_running(second, "/1");
  ASSERT_TRUE(live.call<msg::Empty>("grant.recall", msg::GrantRecall{1, 0, 0, true, "now"}));
  EXPECT_EQ(live.wait_one(second, "/1").exception, "node-failure");
  expect_all_back();
}

TEST_F(LiveGrants, ACancelOfWhatHoldsItTakesItBack) {
  ASSERT_TRUE(ask(1));
  std::uint64_t grant = 0;
  ASSERT_TRUE(eventually([&] {
    for (const auto& part : grants("/").given)
      if (part.source == "extra") grant = part.grant;
    return grant != 0;
  }));
  EXPECT_EQ(live.record(grant).name, "grant");
  live.cancel(grant);
  EXPECT_EQ(live.wait_one(grant).result, "CANCELED");
  expect_all_back();
}

TEST_F(LiveGrants, TheEndOfTheChildGivesAllBack) {
  ASSERT_TRUE(ask(2));
  JobOptions wide;
  wide.cores = 4;
  live.when_running(live.job(live.gated("wide"), wide, "/1"), "/1");
  live.cancel(child);
  live.wait_one(child);
  EXPECT_TRUE(eventually([&] { return free_of("/") == 6; }));
  EXPECT_TRUE(grants("/").given.empty());
}

// Its place is free when the child has left, in the very turn in which nobody asks for it any more.
TEST_F(LiveGrants, AnAskThatWaitsEndsWithWhoAskedForIt) {
  hold(4, "other");
  const auto answer = ask(2, 60);
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_FALSE(answer->is_here);
  const std::uint64_t grant = child + 2;
  ASSERT_EQ(live.record(grant).name, "grant");
  live.cancel(child);
  live.wait_one(child);
  const auto ended = live.wait_one(grant);
  EXPECT_EQ(ended.result, "CANCELED");
  EXPECT_THAT(ended.reason, HasSubstr("the instance that asked for it is over"));
  EXPECT_TRUE(eventually([&] { return free_of("/") == 2; }));
}

// Whatever a jobspec may say beside its resources would be more than a child may take: a job that
// nobody looks after, or a place in somebody's reservation.
TEST_F(LiveGrants, AnAskIsForResourcesAndATimeAlone) {
  for (const char* more :
       {R"({"holon":{"array":{"first":1,"step":1}}})", R"({"holon":{"reservation":1}})",
        R"({"holon":{"own":true}})", R"({"holon":{"licenses":{"matlab":1}}})",
        R"({"dependencies":[{"type":"afterok","value":"1"}]})", R"({"queue":"other"})"}) {
    const auto refused = ask(2, 60, "/1", more);
    ASSERT_FALSE(refused) << more;
    EXPECT_EQ(refused.error().code, Errc::unsatisfiable) << more;
    EXPECT_THAT(refused.error().what, HasSubstr("accepted are duration, constraints")) << more;
    EXPECT_THAT(refused.error().what, HasSubstr("/ says: ")) << more;
  }
  EXPECT_EQ(free_of("/"), 4);
  EXPECT_EQ(live.jobs(true, false).size(), 1u) << "the child alone";
}

TEST_F(LiveGrants, ARecallIsMadeHarderWhileWhatRunsThereDoesNotEnd) {
  ASSERT_TRUE(ask(2));
  JobOptions wide;
  wide.cores = 4;
  const auto job = live.job(live.gated("wide"), wide, "/1");
  live.when_running(job, "/1");
  recall({.child = 1, .reason = "first"});
  EXPECT_TRUE(eventually([&] { return extra().why == "first"; }));
  recall({.child = 1, .reason = "again"});  // as hard: nothing new
  EXPECT_EQ(live.record(job, "/1").state, "RUN");
  EXPECT_EQ(extra().why, "first");
  recall({.child = 1, .kill = true, .reason = "at once"});
  EXPECT_EQ(live.wait_one(job, "/1").exception, "node-failure");
  expect_all_back();
}

// Both brokers have it in their journals, and when it is due.
TEST_F(LiveGrants, ARecallOutlivesTheBrokersOfBoth) {
  ASSERT_TRUE(ask(2));
  JobOptions wide;
  wide.cores = 4;
  const auto job = live.job(live.gated("wide"), wide, "/1");
  live.when_running(job, "/1");
  recall({.child = 1, .notice = 1'500, .kill = true, .reason = "for ada"});
  live.kill_broker();
  kill_child_broker();
  EXPECT_EQ(live.wait_one(job, "/1").exception, "node-failure");
  expect_all_back();
}

TEST_F(LiveGrants, ARecallOfWhatHasNotComeYetCancelsIt) {
  hold(4, "other");
  ASSERT_TRUE(ask(2, 60));
  ASSERT_EQ(grants("/1").promised.size(), 1u);
  recall({.child = 1, .reason = "no more today"});
  EXPECT_TRUE(eventually([&] { return grants("/1").promised.empty(); }));
  live.release("other");
  expect_all_back();
}

TEST_F(LiveGrants, APromiseThatIsBrokenIsHeardOfThoughTheChildWasAway) {
  hold(4, "other");
  ASSERT_TRUE(ask(2, 60));
  kill_child_broker();
  EXPECT_TRUE(eventually([&] { return grants("/1").promised.size() == 1; })) << "it is told again";
  const pid_t broker = testing::processes_of(live, "/1").broker;
  testing::signal_process(broker, SIGSTOP);
  std::uint64_t grant = 0;
  for (const auto& job : live.jobs(false, false))
    if (job.name == "grant") grant = job.id;
  live.cancel(grant);
  live.kill_broker();
  testing::signal_process(broker, SIGKILL);
  EXPECT_TRUE(eventually([&] { return grants("/1").promised.empty(); }));
  live.release("other");
  expect_all_back();
}

// What a child has lent on goes back with what it has.
TEST_F(LiveGrants, ARecallGoesAllTheWayDown) {
  ASSERT_TRUE(ask(2));
  const auto below = live.child({2}, "/1");
  ASSERT_EQ(below, 1u);
  const auto lent = ask(2, 0, "/1/1");
  ASSERT_TRUE(lent) << lent.error().what;
  ASSERT_TRUE(lent->is_here);
  JobOptions wide;
  wide.cores = 4;
  const auto job = live.job(live.gated("wide"), wide, "/1/1");
  live.when_running(job, "/1/1");
  recall({.child = 1, .reason = "first"});
  EXPECT_TRUE(eventually([&] {
    for (const auto& part : grants("/1/1").held)
      if (part.source == "extra" && part.state == "asked back") return part.why == "first";
    return false;
  }));
  EXPECT_EQ(live.record(job, "/1/1").state, "RUN");
  recall({.child = 1, .kill = true, .reason = "at once"});
  EXPECT_EQ(live.wait_one(job, "/1/1").exception, "node-failure");
  EXPECT_TRUE(eventually([&] { return free_of("/") == 4 && cores_of("/1") == 2; }));
  EXPECT_TRUE(eventually([&] { return cores_of("/1/1") == 2; }));
  EXPECT_EQ(live.status("/1/1")->health, "up") << "its own two are its own";
}

TEST_F(LiveGrants, HistoryTellsTimesAsPeoplesClocksDo) {
  const auto before = wall_clock_ms();
  const auto answer = ask(1, 600);
  ASSERT_TRUE(answer && answer->is_here);
  const auto history =
      live.call<msg::GrantHistory>("grant.history", msg::GrantHistoryRequest{}, "/1");
  ASSERT_TRUE(history);
  ASSERT_FALSE(history->events.empty());
  const auto& took = history->events.back();
  EXPECT_EQ(took.name, "took");
  EXPECT_GE(took.time, before - 1'000);
  const auto entry = nlohmann::json::parse(took.entry);
  EXPECT_EQ(entry["what"]["extend"]["until"], answer->until);
  const auto last =
      live.call<msg::GrantHistory>("grant.history", msg::GrantHistoryRequest{1}, "/1");
  ASSERT_TRUE(last);
  ASSERT_EQ(last->events.size(), 1u);
  EXPECT_EQ(last->events.front().entry, took.entry);
}

TEST_F(LiveGrants, TheInstanceAboveShowsWhatAChildHasBeyondItsOwn) {
  EXPECT_EQ(live.record(1).extra_cores, 0);
  ASSERT_TRUE(ask(2, 600));
  EXPECT_TRUE(eventually([&] { return live.record(1).extra_cores == 2; }));
  EXPECT_EQ(live.record(1).ncores, 2) << "its own";
  std::vector<std::string> commands;
  for (const auto& job : live.jobs(false, false)) commands.push_back(job.command);
  EXPECT_THAT(commands, ::testing::Contains("grant to /1"));
  release();
  expect_all_back();
  EXPECT_TRUE(eventually([&] { return live.record(1).extra_cores == 0; }));
}

TEST_F(LiveGrants, SaysWithHowMuchMoreAJobWouldStartAndWhenThatCouldCome) {
  hold(2, "own", "/1");
  JobOptions narrow;
  narrow.cores = 1;
  narrow.duration = 120;
  const auto waits = live.job({"/bin/true"}, narrow, "/1");
  const auto explained = [&](std::uint64_t job) {
    const auto about =
        live.call<msg::GrantExplained>("grant.explain", msg::GrantExplain{job}, "/1");
    EXPECT_TRUE(about) << about.error().what;
    return about ? *about : msg::GrantExplained();
  };
  const auto now = explained(waits);
  EXPECT_EQ(now.cores, 1);
  EXPECT_EQ(now.limit, 600'000);
  EXPECT_EQ(now.here, 2);
  EXPECT_EQ(now.chance.cores, 6);
  EXPECT_TRUE(now.chance.is_planned);
  EXPECT_EQ(now.chance.at, 0) << "now";
  const auto other = hold(4, "other");
  const auto later = explained(waits);
  EXPECT_FALSE(later.chance.is_planned) << "first come, first served, and nothing is reserved";
  EXPECT_EQ(later.chance.room, live.record(other).expiration);
  EXPECT_EQ(live.jobs(false, false).size(), 2u) << "nothing was asked for";
  EXPECT_THAT(explained(1).why_none, HasSubstr("does not wait for resources"));
  const auto unknown = live.call<msg::GrantExplained>("grant.explain", msg::GrantExplain{99}, "/1");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::not_found);
  const auto root = live.call<msg::GrantExplained>("grant.explain", msg::GrantExplain{other}, "/");
  ASSERT_TRUE(root) << root.error().what;
  EXPECT_THAT(root->why_none, HasSubstr("nobody is above it"));
  live.release("other");
  live.release("own");
}

TEST_F(LiveGrants, WhoIsAskedAboutAnArrayTellsOfItsNextTask) {
  hold(2, "own", "/1");
  JobOptions tasks;
  tasks.system = R"({"holon":{"array":{}}})";
  tasks.duration = 120;
  tasks.count = 3;
  const auto array = live.job({"/bin/true"}, tasks, "/1");
  EXPECT_TRUE(eventually([&] {
    const auto about =
        live.call<msg::GrantExplained>("grant.explain", msg::GrantExplain{array}, "/1");
    return about && about->cores == 1;
  }));
  live.release("own");
}

TEST_F(LiveGrants, AProgramWaitsForAChange) {
  auto client = transport::BlockingClient::connect(live.status("/1")->uri);
  ASSERT_TRUE(client) << to_string(client.error());
  std::optional<Result<std::string>> answer;
  client->client().call({"grant.wait", transport::pack(msg::GrantWait{0}), "", 0},
                        [&](const Result<std::string>& told) { answer = told; });
  ASSERT_TRUE(ask(2, 600));
  ASSERT_TRUE(client->reactor().run_until([&] { return answer.has_value(); }, 60'000));
  ASSERT_TRUE(*answer) << to_string(answer->error());
  const auto reply = transport::unpack<msg::GrantReply>(**answer);
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_EQ(reply->epoch, 1u);
  EXPECT_EQ(reply->held.size(), 2u);
  const auto known = live.call<msg::GrantReply>("grant.wait", msg::GrantWait{0}, "/1");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->epoch, 1u) << "it has changed already";
  const auto never = live.call<msg::GrantReply>("grant.wait", msg::GrantWait{0}, "/");
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, Errc::unsupported) << "a root has what it has";
}

// Its journal is lost, and with it what it had asked for, under numbers that are given again.
TEST_F(LiveGrants, WhatAChildThatBeginsAnewHadAskedForBeforeIsNotItsOwn) {
  hold(4, "other");
  ASSERT_TRUE(ask(2, 60));
  const pid_t broker = testing::processes_of(live, "/1").broker;
  const std::string folder = live.status("/1")->state_dir;
  testing::signal_process(broker, SIGSTOP);
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().filename().string().starts_with("journal"))
      std::filesystem::remove_all(file.path());
  testing::signal_process(broker, SIGKILL);
  EXPECT_TRUE(eventually([&] {
    for (const auto& job : live.jobs(false, false))
      if (job.name == "grant") return false;
    return true;
  }));
  live.release("other");
  EXPECT_TRUE(eventually([&] { return free_of("/") == 4; }));
  EXPECT_EQ(cores_of("/1"), 2) << "nothing comes that nobody has asked for";
}

// It was offered, and the child that had asked for it is no more.
TEST_F(LiveGrants, WhatIsOnItsWayToAChildThatBeginsAnewIsNoAnswerToItsAsks) {
  hold(4, "other");
  ASSERT_TRUE(ask(2, 60));
  const pid_t broker = testing::processes_of(live, "/1").broker;
  const std::string folder = live.status("/1")->state_dir;
  testing::signal_process(broker, SIGSTOP);
  live.release("other");
  const auto state_of_grant = [&]() -> std::string {
    for (const auto& job : live.jobs(false, false))
      if (job.name == "grant") return job.state;
    return "";
  };
  ASSERT_TRUE(eventually([&] { return state_of_grant() == "RUN"; })) << state_of_grant();
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().filename().string().starts_with("journal"))
      std::filesystem::remove_all(file.path());
  testing::signal_process(broker, SIGKILL);
  // The new one may find processes of the one before it there.
  ASSERT_TRUE(eventually([&] { return cores_of("/1") == 4; })) << cores_of("/1");
  const auto first = ask(2, 60);
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_TRUE(first->is_here);
  EXPECT_TRUE(eventually([&] { return cores_of("/1") == 6; })) << cores_of("/1");
}

TEST_F(LiveGrants, SurvivesTheBrokersOfBothBetweenAnyTwoSteps) {
  ASSERT_TRUE(ask(2, 600));
  live.kill_broker();
  EXPECT_TRUE(eventually([&] { return free_of("/") == 2; }));
  kill_child_broker();
  EXPECT_EQ(cores_of("/1"), 4);
  EXPECT_TRUE(eventually([&] { return extra_of(1) == 2; }));
  JobOptions wide;
  wide.cores = 4;
  wide.duration = 300;
  const auto job = live.job(live.gated("wide"), wide, "/1");
  live.when_running(job, "/1");
  release();
  kill_child_broker();
  EXPECT_EQ(extra().state, "draining");
  live.kill_broker();
  EXPECT_EQ(live.record(job, "/1").state, "RUN");
  live.release("wide");
  EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
  live.kill_broker();
  kill_child_broker();
  expect_all_back();
}

}  // namespace
}  // namespace holon::instance
