// Jobs that wait for other jobs or a time: each scheme, chains, what can never be, restarts.
#include <gmock/gmock.h>

#include "instance/request/dependencies.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/shared_live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using Scheme = Dependency::Scheme;
using Verdict = Standing::Verdict;

// "afterok:7" as the request has it.
std::string system_with(const std::vector<std::string>& dependencies) {
  std::string list;
  for (const auto& d : dependencies) {
    const auto colon = std::min(d.find(':'), d.size());
    list += (list.empty() ? "" : ",") + std::string(R"({"scheme":")") + d.substr(0, colon) +
            R"(","value":")" + (colon == d.size() ? "" : d.substr(colon + 1)) + "\"}";
  }
  return R"({"dependencies":[)" + list + "]}";
}

JobOptions after_job(const std::vector<std::string>& dependencies) {
  JobOptions options;
  options.system = system_with(dependencies);
  return options;
}

TEST(Judge, FollowsTheStateOfTheOtherJob) {
  const TargetState waits{false, ""}, runs{true, ""}, ok{true, "COMPLETED"}, failed{true, "FAILED"},
      never_ran{false, "CANCELED"};
  struct Case {
    Scheme scheme;
    Verdict waits, runs, ok, failed, never_ran;
  };
  using enum Verdict;
  for (const auto& c : {Case{Scheme::after, open, met, met, met, impossible},
                        Case{Scheme::afterany, open, open, met, met, met},
                        Case{Scheme::afterok, open, open, met, impossible, impossible},
                        Case{Scheme::afternotok, open, open, impossible, met, met}}) {
    const Dependency d{c.scheme, JobId(7), {}, 0, "it:7"};
    EXPECT_EQ(judge(d, waits, 0, {}).verdict, c.waits);
    EXPECT_EQ(judge(d, runs, 0, {}).verdict, c.runs);
    EXPECT_EQ(judge(d, ok, 0, {}).verdict, c.ok);
    EXPECT_EQ(judge(d, failed, 0, {}).verdict, c.failed);
    EXPECT_EQ(judge(d, never_ran, 0, {}).verdict, c.never_ran);
  }
  const Dependency begin{Scheme::begin_time, {}, {}, 100, ""};
  EXPECT_EQ(judge(begin, {}, 99, {}).verdict, open);
  EXPECT_EQ(judge(begin, {}, 100, {}).verdict, met);
}

TEST(Judge, NamesTheJobAsItIsTyped) {
  const Dependency d{Scheme::afterok, JobId(7), {}, 0, "afterok:7"};
  const auto text = [](JobId job) { return "2." + std::to_string(job.value()); };
  EXPECT_EQ(judge(d, {}, 0, {}).text, "waits for job 7 to complete");
  EXPECT_EQ(judge(d, {}, 0, text).text, "waits for job 2.7 to complete");
  EXPECT_EQ(judge(d, {true, "FAILED", JobId(9)}, 0, text).text,
            "afterok:7 can never be met: job 2.9 did not complete (FAILED)");
}

// Whom the room has called by now, all of them.
std::set<JobId> called(WaitingRoom& room, Time now) {
  std::set<JobId> all;
  room.call_due(now);
  while (const auto id = room.next_called()) all.insert(*id);
  return all;
}

TEST(WaitingRoom, CallsWhoWaitsForWhatHappened) {
  WaitingRoom room;
  room.wait_for(JobId(1), JobId(5));
  room.wait_for(JobId(1), JobId(6));
  room.wait_for(JobId(2), JobId(7));
  room.wait_until(50, JobId(8));
  EXPECT_TRUE(called(room, 10).empty());
  EXPECT_EQ(room.next(), 50);
  room.happened(JobId(1));
  EXPECT_EQ(room.next(), 0);
  EXPECT_EQ(called(room, 10), (std::set<JobId>{JobId(5), JobId(6)}));
  room.happened(JobId(1));
  EXPECT_TRUE(called(room, 10).empty()) << "they have not asked again";
  EXPECT_EQ(called(room, 50), std::set<JobId>{JobId(8)});
  EXPECT_EQ(room.next(), std::nullopt);
}

class Dependencies : public testing::SharedLive {};
class LiveDependencies : public testing::SharedLive {};

TEST_F(Dependencies, HoldAJobUntilTheOtherOneHasCompleted) {
  const Live& live = shared({"--resources", "node=1/core=4"});
  const auto first = live.job(live.gated("gate"));
  live.when_running(first);
  const auto second = live.job({"/bin/true"}, after_job({"afterok:" + std::to_string(first)}));
  const auto waits = live.record(second);
  EXPECT_EQ(waits.state, "DEPEND");
  EXPECT_EQ(waits.reason, "waits for job " + std::to_string(first) + " to complete");
  msg::ExplainRequest ask;
  ask.ids = {second};
  const auto why = live.call<msg::ExplainReply>("explain", ask)->jobs.at(0);
  EXPECT_EQ(why.reason, waits.reason);
  EXPECT_EQ(waits.waits_for, "dependency");
  EXPECT_EQ(why.waits_for, "dependency");
  ASSERT_EQ(why.in_the_way.size(), 1u);
  EXPECT_EQ(why.in_the_way[0].id, first);
  EXPECT_EQ(live.status()->pending, 1);
  live.release("gate");
  const auto done = live.wait_one(second);
  EXPECT_EQ(done.result, "COMPLETED");
  EXPECT_EQ(done.waits_for, "");
  EXPECT_GE(done.t_start, live.record(first).t_finish);
  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{second});
  EXPECT_THAT(info->eventlog, HasSubstr(R"("dependency-add","context":{"description":"afterok:)" +
                                        std::to_string(first) + "\"}"));
  EXPECT_THAT(info->eventlog, HasSubstr("dependency-remove"));
}

TEST_F(Dependencies, ThatCanNeverBeMetFailTheJobWithTheReason) {
  const Live& live = shared({"--resources", "node=1/core=4"});
  const auto first = live.job(live.gated("gate"));
  const auto id = std::to_string(first);
  const auto second = live.job({"/bin/true"}, after_job({"afterok:" + id}));
  const auto third = live.job({"/bin/true"}, after_job({"afterok:" + std::to_string(second)}));
  const auto on_failure = live.job({"/bin/true"}, after_job({"afternotok:" + id}));
  const auto in_any_case =
      live.job({"/bin/true"}, after_job({"afterany:" + std::to_string(third)}));
  live.cancel(first);
  const auto failed = live.wait_one(second);
  EXPECT_EQ(failed.result, "FAILED");
  EXPECT_EQ(failed.t_alloc, 0);
  EXPECT_EQ(failed.reason,
            "afterok:" + id + " can never be met: job " + id + " did not complete (CANCELED)");
  EXPECT_THAT(live.wait_one(third).reason,
              HasSubstr("job " + std::to_string(second) + " did not complete (FAILED)"));
  EXPECT_EQ(live.wait_one(on_failure).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(in_any_case).result, "COMPLETED");
  // Known before it is taken:
  const auto refused = live.submit({"/bin/true"}, after_job({"afterok:" + id}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsatisfiable);
  // Met before it is taken:
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"}, after_job({"afterany:" + id}))).result,
            "COMPLETED");
}

TEST_F(Dependencies, AfterIsMetByAStart) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  live.when_running(live.job(live.gated("first")));
  const auto second = live.job(live.gated("second"));
  JobOptions nothing = after_job({"after:" + std::to_string(second)});
  const auto third = live.job({"/bin/true"}, nothing);
  EXPECT_EQ(live.record(third).state, "DEPEND");
  live.release("first");
  live.when_running(second);
  EXPECT_TRUE(eventually([&] { return live.record(third).state == "SCHED"; }));
  live.release("second");
  EXPECT_EQ(live.wait_one(third).result, "COMPLETED");
}

TEST_F(Dependencies, ASingletonWaitsForAllOfItsNameBeforeIt) {
  const Live& live = shared({"--resources", "node=1/core=4"});
  const auto first = live.job(live.gated("gate"));  // sh
  const auto other = live.job(live.gated("other"));
  const auto second = live.job({"/bin/sh", "-c", "true"}, after_job({"singleton"}));
  const auto third = live.job({"/bin/sh", "-c", "true"}, after_job({"singleton"}));
  const auto stranger = live.job({"/bin/true"}, after_job({"singleton"}));
  EXPECT_EQ(live.wait_one(stranger).result, "COMPLETED");
  EXPECT_THAT(live.record(third).reason,
              HasSubstr("waits for job " + std::to_string(second) + ", which has the same name"));
  live.release("other");
  live.wait_one(other);
  EXPECT_EQ(live.record(second).state, "DEPEND") << "the first one still runs";
  live.release("gate");
  EXPECT_GE(live.wait_one(second).t_start, live.wait_one(first).t_finish);
  EXPECT_GE(live.wait_one(third).t_start, live.wait_one(second).t_finish);
}

TEST_F(Dependencies, ABeginTimeIsWaitedFor) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  using namespace std::chrono;
  const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  const auto text = [](std::int64_t ms) {
    return std::to_string(ms / 1000) + "." + std::to_string(1000 + ms % 1000).substr(1);
  };
  const auto soon = live.job({"/bin/true"}, after_job({"begin-time:" + text(now + 700)}));
  const auto later = live.job({"/bin/true"}, after_job({"begin-time:" + text(now + 3'600'000)}));
  EXPECT_EQ(live.record(later).state, "DEPEND");
  EXPECT_EQ(live.record(later).waits_for, "begin-time");
  EXPECT_EQ(live.record(later).t_estimate, now + 3'600'000);
  const auto done = live.wait_one(soon);
  EXPECT_EQ(done.result, "COMPLETED");
  EXPECT_GE(done.t_alloc, now + 700);
  EXPECT_LT(done.t_alloc, now + 20'000);
  live.cancel(later);
  EXPECT_EQ(live.record(later).result, "CANCELED");
}

TEST_F(Dependencies, OutliveTheBroker) {
  const Live live({"--resources", "node=1/core=4"});
  const auto first = live.job(live.gated("gate"));
  live.when_running(first);
  JobOptions three = after_job({"afterok:" + std::to_string(first), "singleton"});
  three.count = 3;
  const auto second = live.job({"/bin/true"}, three);
  live.kill_broker();
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(live.record(second + i).state, "DEPEND");
  live.release("gate");
  for (const auto& record : live.wait({second, second + 1, second + 2}))
    EXPECT_EQ(record.result, "COMPLETED");
  EXPECT_GE(live.record(second + 1).t_start, live.record(second).t_finish);
}

TEST_F(Dependencies, OfWrongInputAreRefusedWithTheirPlace) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto before = live.jobs(true, false).size();
  const std::string at = "/attributes/system/dependencies";
  const std::pair<const char*, std::string> cases[] = {
      {R"({"dependencies":{}})", at},
      {R"({"dependencies":[7]})", at + "/0"},
      {R"({"dependencies":[{"scheme":"afterlife","value":"1"}]})", at + "/0/scheme"},
      {R"({"dependencies":[{"scheme":"afterok","value":"x"}]})", at + "/0/value"},
      {R"({"dependencies":[{"scheme":"afterok","value":7}]})", at + "/0/value"},
      {R"({"dependencies":[{"scheme":"begin-time","value":"soon"}]})", at + "/0/value"},
      {R"({"dependencies":[{"scheme":"afterok","value":"999999"}]})", at + "/0"},
  };
  for (const auto& [system, where] : cases) {
    JobOptions options;
    options.system = system;
    const auto reply = live.submit({"/bin/true"}, options);
    ASSERT_FALSE(reply) << system;
    EXPECT_EQ(reply.error().where, where);
  }
  EXPECT_EQ(live.jobs(true, false).size(), before) << "nothing is kept of a slip of the finger";
}

// "Again until it succeeds": once one has, none of those behind it runs.
TEST_F(LiveDependencies, AChainOfAfternotokEndsAtTheFirstSuccess) {
  const Live live({"--resources", "node=1/core=1"});
  auto fails = live.gated("gate");
  fails.back() += "; false";
  std::vector<std::uint64_t> chain = {live.job(fails)};
  for (int i = 0; i < 4; ++i)
    chain.push_back(
        live.job({"/bin/true"}, after_job({"afternotok:" + std::to_string(chain.back())})));
  live.release("gate");
  const auto over = live.wait(chain);
  EXPECT_EQ(over[0].result, "FAILED");
  EXPECT_EQ(over[1].result, "COMPLETED") << "the second try";
  for (std::size_t i = 2; i < over.size(); ++i) {
    EXPECT_EQ(over[i].t_start, 0) << over[i].reason;
    EXPECT_EQ(over[i].exception, "dependency");
  }
}

// A chain as long as a queue: one end takes all with it, one after the other, without recursion.
TEST_F(Dependencies, ALongChainThatBreaksFallsAsAWhole) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto first = live.job(live.gated("gate"));
  live.when_running(first);
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  ASSERT_TRUE(client);
  std::uint64_t last = first;
  for (int i = 0; i < 1'500; ++i) {
    const auto reply = client->call<msg::SubmitReply>(
        "submit", Live::request({"/bin/true"}, after_job({"afterok:" + std::to_string(last)})));
    ASSERT_TRUE(reply) << reply.error().what;
    last = reply->first_id;
  }
  live.cancel(first);
  EXPECT_EQ(live.wait_one(last).result, "FAILED");
  EXPECT_EQ(live.status()->pending, 0);
}

// Cancels of many are done in portions: a job of a later one found the job that it depends on
// cancelled, and failed for that.
TEST_F(LiveDependencies, AChainThatIsCancelledAsAWholeIsCancelledAndNotFailed) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  constexpr std::uint64_t kLong = 300;
  const auto first = live.job({"/bin/sleep", "1000"});
  std::vector<std::uint64_t> chain = {first};
  for (std::uint64_t i = 1; i < kLong; ++i)
    chain.push_back(
        live.job({"/bin/true"}, after_job({"afterok:" + std::to_string(chain.back())})));
  msg::CancelRequest all;
  all.all = true;
  const auto reply = live.call<msg::CancelReply>("cancel", all);
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(reply->cancelled.size(), kLong);
  for (const auto& over : live.wait(chain)) EXPECT_EQ(over.result, "CANCELED") << over.reason;
}

}  // namespace
}  // namespace holon::instance
