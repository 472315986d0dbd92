// Advance reservations in a live instance: made, refused, used, taken back, and still there after
// the broker was killed.
#include <gmock/gmock.h>

#include "instance/basics/clock.hpp"
#include "msg/reservation.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/shared_live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

Result<msg::ReserveReply> reserve(const Live& live, std::int64_t cores, std::int64_t from,
                                  std::int64_t length) {
  msg::ReserveRequest ask;
  ask.jobspec = Live::request({"reservation"}, {cores}).jobspec;
  ask.begin = wall_clock_ms() + from;
  ask.end = ask.begin + length;
  ask.name = "demo";
  ask.user = "ada";
  return live.call<msg::ReserveReply>("reserve", ask);
}

std::vector<msg::Reservation> list(const Live& live) {
  const auto reply = live.call<msg::ReservationsReply>("reservations", msg::Empty{});
  EXPECT_TRUE(reply) << reply.error().what;
  return reply ? reply->reservations : std::vector<msg::Reservation>();
}

JobOptions within(std::uint64_t id, double seconds = 0) {
  JobOptions options;
  options.duration = seconds;
  options.system = R"({"holon":{"reservation":)" + std::to_string(id) + "}}";
  return options;
}

class LiveReservations : public testing::SharedLive {};

TEST_F(LiveReservations, KeepOthersOffAndLetTheirJobsIn) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  const auto made = reserve(live, 2, 0, 3'600'000);
  ASSERT_TRUE(made) << made.error().what;
  ASSERT_EQ(list(live).size(), 1u);
  EXPECT_EQ(list(live)[0].phase, "active");
  EXPECT_EQ(list(live)[0].cores, 2);
  EXPECT_EQ(list(live)[0].nodelist, "node0");
  const auto outside = live.job({"/bin/true"}, {1, 60});
  const auto inside = live.wait_one(live.job({"/bin/true"}, within(made->id, 60)));
  EXPECT_EQ(inside.result, "COMPLETED");
  EXPECT_EQ(live.record(outside).state, "SCHED");
  const auto refused = reserve(live, 1, 0, 60'000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsatisfiable);
  EXPECT_TRUE(live.call<msg::Empty>("unreserve", msg::UnreserveRequest{{made->id}}));
  EXPECT_EQ(live.wait_one(outside).result, "COMPLETED");
  EXPECT_TRUE(list(live).empty());
}

// What is refused within is said of what was reserved, and not of the instance.
TEST_F(LiveReservations, NameWhatTheyHaveToAJobThatAsksForMore) {
  const Live live({"--resources", "node=1/core=8"});
  const auto made = reserve(live, 2, 0, 3'600'000);
  ASSERT_TRUE(made) << made.error().what;
  JobOptions wide = within(made->id, 60);
  wide.tasks = 4;
  const auto refused = live.submit({"/bin/true"}, wide);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "asks for 4 tasks of 1 core; advance reservation " +
                                      std::to_string(made->id) + " can hold 2 at most (2 cores)");
}

// Each policy has a state of its own within, which is counted as outside: what it was told once.
TEST_F(LiveReservations, WhatAPolicyKeepsWithinOutlivesTheBroker) {
  const Live live({"--resources", "node=1/core=2", "--conf",
                   "policies.count.lua=state.n = state.n or 0\n"
                   "function on_event(event) state.n = state.n + 1 end\n"
                   "function priority(job, view) return state.n end",
                   "--conf", "queue.policy=count.lua"});
  const auto made = reserve(live, 1, 0, 3'600'000);
  ASSERT_TRUE(made) << made.error().what;
  const auto highest = [&] {
    const auto reply = live.call<msg::PriorityReply>("priority", msg::PriorityRequest{});
    EXPECT_TRUE(reply) << reply.error().what;
    return reply && !reply->jobs.empty() ? reply->jobs.front().priority : 0;
  };
  const auto runs = live.job(live.gated("gate"), within(made->id, 60));
  live.when_running(runs);  // submitted, started
  const auto second = live.job({"/bin/true"}, within(made->id, 60));
  EXPECT_EQ(highest(), 2);
  live.kill_broker();
  const auto third = live.job({"/bin/true"}, within(made->id, 60));
  EXPECT_EQ(highest(), 3);
  live.release("gate");
  for (const auto& record : live.wait({second, third})) EXPECT_EQ(record.result, "COMPLETED");
}

TEST_F(LiveReservations, AreThereAgainAfterTheBrokerWasKilled) {
  const Live live({"--resources", "node=1/core=2"});
  const auto now = reserve(live, 1, 0, 3'600'000), later = reserve(live, 2, 7'200'000, 60'000);
  ASSERT_TRUE(now && later);
  const auto runs = live.job(live.gated("gate"), within(now->id));
  live.when_running(runs);
  const auto before = list(live);
  live.kill_broker();
  const auto after = list(live);
  ASSERT_EQ(after.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after[i].id, before[i].id);
    EXPECT_EQ(after[i].begin, before[i].begin);
    EXPECT_EQ(after[i].end, before[i].end);
    EXPECT_EQ(after[i].nodelist, before[i].nodelist);
  }
  EXPECT_EQ(after[0].running, 1);
  EXPECT_GT(live.job({"/bin/true"}, {1, 1}), runs) << "numbers are not given twice";
  EXPECT_EQ(live.record(runs).state, "RUN");
  live.release("gate");
  EXPECT_EQ(live.wait_one(runs).result, "COMPLETED");
}

TEST_F(LiveReservations, ThatEndTakeTheirJobsWithThem) {
  const Live live({"--resources", "node=1/core=1", "--conf", "job.grace=1s"});
  const auto made = reserve(live, 1, 0, 1'500);
  ASSERT_TRUE(made) << made.error().what;
  const auto id = live.job(live.gated("gate"), within(made->id));
  const auto ended = live.wait_one(id);
  EXPECT_EQ(ended.result, "TIMEOUT");
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
  EXPECT_TRUE(list(live).empty());
}

// It does not end when it is told to; `ready` says that it will not.
std::vector<std::string> stubborn(const Live& live) {
  return {"/bin/sh", "-c",
          "trap '' TERM; touch " + live.dir() + "/ready; while :; do sleep 1; done"};
}
bool is_ready(const Live& live) {
  return eventually([&] { return std::filesystem::exists(live.dir() + "/ready"); });
}

TEST_F(LiveReservations, ThatAreOverAreHeldForTheirJobsWhenTheBrokerIsKilledInTheirGrace) {
  const Live live({"--resources", "node=1/core=2", "--conf", "job.grace=5s"});
  const auto made = reserve(live, 1, 0, 2'500);
  ASSERT_TRUE(made) << made.error().what;
  const auto inside = live.job(stubborn(live), within(made->id));
  ASSERT_TRUE(is_ready(live));
  const auto outside = live.job(live.gated("gate"));
  live.when_running(outside);
  EXPECT_TRUE(eventually([&] { return wall_clock_ms() > list(live).at(0).end; }));
  live.kill_broker();
  ASSERT_EQ(list(live).size(), 1u);
  EXPECT_EQ(list(live)[0].phase, "ending");
  EXPECT_EQ(live.status()->cores_free, 0) << "the job that does not end still has its core";
  EXPECT_EQ(live.wait_one(inside).result, "TIMEOUT");
  EXPECT_EQ(live.record(outside).state, "RUN");
  live.release("gate");
  EXPECT_EQ(live.wait_one(outside).result, "COMPLETED");
  EXPECT_EQ(live.status()->cores_free, 2);
}

TEST_F(LiveReservations, ThatAreTakenBackAreHeldForTheirJobsToo) {
  const Live live({"--resources", "node=1/core=1", "--conf", "job.grace=3s"});
  const auto made = reserve(live, 1, 0, 3'600'000);
  ASSERT_TRUE(made) << made.error().what;
  const auto inside = live.job(stubborn(live), within(made->id));
  ASSERT_TRUE(is_ready(live));
  EXPECT_TRUE(live.call<msg::Empty>("unreserve", msg::UnreserveRequest{{made->id}}));
  live.kill_broker();
  EXPECT_EQ(live.wait_one(inside).result, "CANCELED");
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
  EXPECT_TRUE(list(live).empty());
}

TEST_F(LiveReservations, AreTakenBackAllOrNone) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  const auto one = reserve(live, 1, 0, 3'600'000), two = reserve(live, 1, 0, 3'600'000);
  ASSERT_TRUE(one && two);
  const auto take_back = [&](std::vector<std::uint64_t> ids) {
    return live.call<msg::Empty>("unreserve", msg::UnreserveRequest{std::move(ids)});
  };
  EXPECT_EQ(take_back({one->id, 99}).error().code, Errc::not_found);
  EXPECT_EQ(list(live).size(), 2u);
  EXPECT_TRUE(take_back({two->id, one->id, one->id}));
  EXPECT_TRUE(eventually([&] { return list(live).empty(); }));
  EXPECT_EQ(take_back({one->id}).error().code, Errc::not_found);
}

TEST_F(LiveReservations, AreMadeAnewWhenAStoppedInstanceIsStartedOnOtherResources) {
  Live live({"--resources", "node=1/core=4"});
  const auto fits = reserve(live, 1, 3'600'000, 60'000),
             too_large = reserve(live, 4, 3'700'000, 60'000);
  ASSERT_TRUE(fits && too_large);
  live.stop();
  live.set_options({"--resources", "node=1/core=2"});
  live.start();
  const auto left = list(live);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].id, fits->id);
  EXPECT_EQ(left[0].cores, 1);
  EXPECT_GT(live.job({"/bin/true"}), too_large->id) << "numbers are not given twice";
}

TEST_F(LiveReservations, OfWrongInputAreRefused) {
  const Live live({"--resources", "node=1/core=1"});
  EXPECT_EQ(reserve(live, 1, 0, -5).error().code, Errc::invalid_argument);
  EXPECT_EQ(reserve(live, 2, 0, 1'000).error().code, Errc::unsatisfiable);
  EXPECT_FALSE(live.submit({"/bin/true"}, within(99)));
  EXPECT_EQ(live.call<msg::Empty>("unreserve", msg::UnreserveRequest{{99}}).error().code,
            Errc::not_found);
}

}  // namespace
}  // namespace holon::instance
