// What a live instance says about its schedule: explain, plan, windows, at any place of the tree.
#include <gmock/gmock.h>

#include "instance/basics/clock.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

const msg::ExplainRequest kAll;

std::vector<msg::Span> plan_of(const Live& live, bool vertices, const std::string& path = "") {
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  EXPECT_TRUE(client);
  std::vector<msg::Span> spans;
  const auto took = [&spans](const msg::PlanPart& part) {
    spans.insert(spans.end(), part.spans.begin(), part.spans.end());
    return true;
  };
  EXPECT_TRUE(client->stream<msg::PlanPart>("plan", msg::PlanRequest{vertices}, path, took));
  return spans;
}

TEST(Explain, NamesWhoIsInTheWayAndTheCheapestChange) {
  const Live live({"--resources", "node=1/core=4", "--conf", "queue.policy=easy"});
  const auto runs = live.job(live.gated("gate"), {3, 60});
  live.when_running(runs);
  const auto waits = live.job({"/bin/true"}, {4, 60});
  const auto reply = live.call<msg::ExplainReply>("explain", kAll);
  ASSERT_TRUE(reply) << reply.error().what;
  ASSERT_EQ(reply->jobs.size(), 1u);
  EXPECT_FALSE(reply->more);
  const auto& about = reply->jobs.front();
  EXPECT_EQ(about.id, waits);
  EXPECT_EQ(about.path, "/" + std::to_string(waits));
  EXPECT_EQ(about.state, "SCHED");
  EXPECT_EQ(about.pending, 1u);
  EXPECT_EQ(about.considered, 1);
  EXPECT_EQ(about.t_planned, live.record(runs).expiration);
  ASSERT_EQ(about.in_the_way.size(), 1u);
  EXPECT_EQ(about.in_the_way[0].id, runs);
  EXPECT_EQ(about.in_the_way[0].nodelist, "node0");
  EXPECT_EQ(about.in_the_way[0].until, live.record(runs).expiration);
  live.release("gate");
  EXPECT_EQ(live.wait_one(waits).result, "COMPLETED");
}

TEST(Priority, IsTheSumOfWhatIsWeightedHighestFirst) {
  const Live live({"--resources", "node=1/core=4", "--conf", "priority.proc-weight=10", "--conf",
                   "priority.usageconsumed-weight=0.001"});
  const auto runs = live.job(live.gated("gate"), {4, 60});
  live.when_running(runs);
  const auto narrow = live.job({"/bin/true"}, {1, 60});
  const auto wide = live.job({"/bin/true"}, {3, 60});
  const auto reply = live.call<msg::PriorityReply>("priority", msg::PriorityRequest{});
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(reply->pending, 2u);
  ASSERT_EQ(reply->jobs.size(), 2u);
  EXPECT_EQ(reply->jobs[0].id, wide);
  EXPECT_EQ(reply->jobs[0].priority, 30);
  EXPECT_EQ(reply->jobs[0].set_by, "");
  ASSERT_EQ(reply->jobs[0].parts.size(), 2u);
  EXPECT_EQ(reply->jobs[0].parts[0].factor, "proc");
  EXPECT_EQ(reply->jobs[0].parts[0].points, 30);
  EXPECT_EQ(reply->jobs[1].id, narrow);
  // A running one, where it is asked for; and the first of the others.
  const auto one = live.call<msg::PriorityReply>("priority", msg::PriorityRequest{{runs}, 0});
  ASSERT_TRUE(one) << one.error().what;
  EXPECT_EQ(one->jobs.at(0).state, "RUN");
  EXPECT_EQ(live.call<msg::PriorityReply>("priority", msg::PriorityRequest{{}, 1})->jobs.size(),
            1u);
  EXPECT_FALSE(live.call<msg::PriorityReply>("priority", msg::PriorityRequest{{99}, 0}));
  live.release("gate");
  EXPECT_EQ(live.wait_one(narrow).result, "COMPLETED");
  const auto over = live.call<msg::PriorityReply>("priority", msg::PriorityRequest{{runs}, 0});
  ASSERT_FALSE(over);
  EXPECT_THAT(over.error().what, HasSubstr("is over"));
}

TEST(Explain, AJobTooLongForTheGapIsToldHowLongItMayBe) {
  const Live live({"--resources", "node=1/core=2", "--conf", "queue.policy=easy"});
  live.when_running(live.job(live.gated("gate"), {1, 100}));
  live.job({"/bin/true"}, {2, 60});  // reserved for when the first one ends
  const auto third = live.job({"/bin/true"}, {1, 3600});
  msg::ExplainRequest ask;
  ask.ids = {third};
  const auto reply = live.call<msg::ExplainReply>("explain", ask);
  ASSERT_TRUE(reply) << reply.error().what;
  const auto& remedies = reply->jobs.at(0).remedies;
  ASSERT_EQ(remedies.size(), 1u);
  EXPECT_EQ(remedies[0].kind, "limit");
  EXPECT_GT(remedies[0].value, 50'000);
  EXPECT_LE(remedies[0].value, 100'000);
  EXPECT_THAT(remedies[0].text, HasSubstr("a time limit of 1m"));
  // It is true: with that limit it starts at once.
  const auto now = live.job({"/bin/true"}, {1, static_cast<double>(remedies[0].value) / 1000 - 20});
  EXPECT_EQ(live.wait_one(now).selection, "backfill");
}

TEST(Explain, SaysSoOfJobsThatDoNotWaitAndComesInPages) {
  const Live live({"--resources", "node=1/core=1"});
  const auto runs = live.job(live.gated("gate"));
  live.when_running(runs);
  live.job({"/bin/true"}, {1, 0, 10});
  msg::ExplainRequest ask;
  ask.ids = {runs};
  EXPECT_THAT(live.call<msg::ExplainReply>("explain", ask)->jobs.at(0).reason, HasSubstr("node0"));
  ask.ids = {99};
  EXPECT_EQ(live.call<msg::ExplainReply>("explain", ask).error().code, Errc::not_found);
  ask.ids.assign(msg::kMaxExplained + 1, runs);
  EXPECT_EQ(live.call<msg::ExplainReply>("explain", ask).error().code, Errc::out_of_range);
  ask = {};
  ask.limit = 6;
  const auto first = live.call<msg::ExplainReply>("explain", ask);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->jobs.size(), 6u);
  EXPECT_TRUE(first->more);
  ask.after = first->jobs.back().id;
  const auto second = live.call<msg::ExplainReply>("explain", ask);
  EXPECT_EQ(second->jobs.size(), 4u);
  EXPECT_FALSE(second->more);
}

TEST(Explain, TellsTheBeginTimeThatAJobWaitsFor) {
  const Live live({"--resources", "node=1/core=1"});
  const auto begin = wall_clock_ms() + 3'600'000;
  JobOptions options;
  options.system = R"({"dependencies":[{"scheme":"begin-time","value":")" +
                   std::to_string(begin / 1000) + "\"}]}";
  msg::ExplainRequest ask;
  ask.ids = {live.job({"/bin/true"}, options)};
  const auto reply = live.call<msg::ExplainReply>("explain", ask);
  ASSERT_TRUE(reply) << reply.error().what;
  const auto& job = reply->jobs.at(0);
  EXPECT_EQ(job.reason, "waits for its begin time");
  EXPECT_NEAR(static_cast<double>(job.t_planned), static_cast<double>(begin), 1000);
}

TEST(Plan, ShowsWhatRunsAndWhatIsReserved) {
  const Live live({"--resources", "node=2/core=2", "--conf", "queue.policy=conservative"});
  const auto a = live.job(live.gated("a"), {2, 60}), b = live.job(live.gated("b"), {2, 90});
  live.when_running(a);
  live.when_running(b);
  const auto c = live.job({"/bin/true"}, {2, 30});
  const auto spans = plan_of(live, true);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].id, a);
  EXPECT_EQ(spans[0].kind, "allocation");
  EXPECT_EQ(spans[0].end, live.record(a).expiration);
  EXPECT_EQ(spans[0].vertices.size(), 2u);
  EXPECT_EQ(spans[2].id, c);
  EXPECT_EQ(spans[2].kind, "reservation");
  EXPECT_EQ(spans[2].begin, live.record(a).expiration);
  EXPECT_EQ(spans[2].cores, 2);
  EXPECT_EQ(spans[2].nodelist, spans[0].nodelist);
  EXPECT_TRUE(plan_of(live, false).at(0).vertices.empty());
}

TEST(Windows, LastUntilTheNextReservation) {
  const Live live({"--resources", "node=2/core=2", "--conf", "queue.policy=easy"});
  live.when_running(live.job(live.gated("a"), {2, 600}));
  live.when_running(live.job(live.gated("b"), {1, 300}));
  live.job({"/bin/true"}, {2, 30});  // from the end of the second one
  const auto reply = live.call<msg::WindowsReply>("windows", msg::Empty{});
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(reply->cores, 4);
  ASSERT_EQ(reply->windows.size(), 1u);
  EXPECT_EQ(reply->windows[0].cores, 1);
  EXPECT_LE(reply->windows[0].length, 300'000);
  EXPECT_GT(reply->windows[0].length, 250'000);
}

TEST(Schedule, IsAskedOfAnyInstanceOfTheTree) {
  const Live live({"--resources", "node=1/core=2"});
  const auto child = live.child({2, 0});
  live.when_running(child);
  const std::string path = "/" + std::to_string(child);
  const auto inner = live.job(live.gated("gate"), {2, 50}, path);
  live.when_running(inner, path);
  live.job({"/bin/true"}, {1, 5}, path);
  const auto reply = live.call<msg::ExplainReply>("explain", kAll, path);
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(reply->jobs.at(0).path, path + "/2");
  EXPECT_EQ(plan_of(live, true, path).at(0).path, path + "/1");
  EXPECT_TRUE(live.call<msg::WindowsReply>("windows", msg::Empty{}, path)->windows.empty());
  EXPECT_EQ(live.call<msg::WindowsReply>("windows", msg::Empty{}, "/77").error().code,
            Errc::not_found);
}

}  // namespace
}  // namespace holon::instance
