// What children lend of their own, in trees of real brokers and agents whose time is virtual: what
// stands in the way of a return, and what does not.
#include <gmock/gmock.h>

#include <algorithm>

#include "holdings/book.hpp"
#include "instance/grants/grant_codec.hpp"
#include "msg/grant.hpp"
#include "msg/reservation.hpp"
#include "msg/resource.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "tests/world/units/fake_child.hpp"
#include "tests/world/units/tree_scene.hpp"

namespace holon::world {
namespace {

using ::testing::HasSubstr;
namespace h = holdings;

constexpr std::int64_t kSeconds = 1'000;  // ms

std::string cores_for(std::int64_t cores, double seconds) {
  resource::JobShape shape;
  shape.tasks = cores;
  shape.command = {"cores"};
  shape.duration_seconds = seconds;
  return resource::write_jobspec(*resource::jobspec_for(shape));
}

class LoansInTrees : public TreeScene {
 protected:
  Time wall(std::int64_t from_now) const {
    auto& clock = instance().core()->clock;
    return clock.wall(clock.now()) + from_now;
  }
  Result<msg::GrantLent> lend(std::int64_t cores, std::int64_t for_so_long,
                              const std::string& path = "/1") {
    return call<msg::GrantLent>("grant.lend", msg::GrantLend{cores, 0, 0, wall(for_so_long)}, path);
  }
  // Lends, and waits until they are there above.
  void lent(std::int64_t cores, std::int64_t for_so_long, const std::string& path = "/1") {
    const auto done = lend(cores, for_so_long, path);
    ASSERT_TRUE(done) << to_string(done.error());
    pass(2 * kSecond);
  }
  void recall(const std::string& path = "/1") {
    const auto done =
        call<msg::Empty>("grant.recall", msg::GrantRecall{.reason = "they are needed"}, path);
    EXPECT_TRUE(done) << to_string(done.error());
  }
  std::int64_t free_of(const std::string& path) {
    const auto node = call<msg::TreeNode>("status", msg::Empty{}, path);
    return node ? node->cores_free : -1;
  }
  // What the instance above knows of it.
  const h::Link& link_of(std::uint64_t child) const {
    return link_to(instance().core()->grants.book(), h::Peer{child});
  }
  std::string why_lent() {
    const auto reply = call<msg::GrantReply>("grant.show", msg::Empty{});
    EXPECT_TRUE(reply) << to_string(reply.error());
    if (reply)
      for (const auto& part : reply->given)
        if (part.state == "lent") return part.why;
    return "nothing is lent";
  }
  Result<msg::ReserveReply> reserve(std::int64_t cores, std::int64_t begin, std::int64_t end,
                                    const std::string& path = "") {
    msg::ReserveRequest ask;
    ask.jobspec = cores_for(cores, 0);
    ask.begin = wall(begin);
    ask.end = wall(end);
    ask.user = "ada";
    return call<msg::ReserveReply>("reserve", ask, path);
  }
};

//  s    0       2                10             11               34
//       | lent  | the child is not heard ------------------------| heard
//                                | comes back   | the child is fenced around its grant
TEST_F(LoansInTrees, AFenceLeavesNothingWithNobodyThatWasComingBack) {
  begin_root({"grant.fence-timeout=4s"}, 1, "node=1/core=4");
  const auto child = this->child(2, {}, "", 3'600);
  const auto more = call<msg::GrantAnswer>("grant.ask", msg::GrantAsk{cores_for(1, 3'000)}, "/1");
  ASSERT_TRUE(more) << to_string(more.error());
  ASSERT_TRUE(more->is_here);
  lent(1, 10 * kSeconds);
  ASSERT_FALSE(lent_on(link_of(child)).empty());
  machine_->wires.hold_of(*instance("/1").broker(), instance("/1").parent_uri(), 32 * kSecond);
  pass(9 * kSecond);
  ASSERT_TRUE(link_of(child).extending) << "it was to be on its way by now";
  ASSERT_TRUE(
      call<msg::Empty>("grant.recall", msg::GrantRecall{.child = child, .reason = "others wait"}));
  pass(2 * kSecond);
  EXPECT_GT(link_of(child).fence, 0u) << "it was to be fenced by now";
  EXPECT_FALSE(lent_on(link_of(child)).empty());
  pass(25 * kSecond);
  EXPECT_TRUE(until([&] { return lent_on(link_of(child)).empty(); }));
  EXPECT_TRUE(to_clear(link_of(child)).empty());
  EXPECT_TRUE(until([&] { return free_of("/1") == 2; })) << free_of("/1");
  EXPECT_EQ(free_of("/"), 2);
}

TEST_F(LoansInTrees, AReservationAboveHoldsBackItsOwnAlone) {
  begin_root({}, 1, "node=1/core=5");
  child(3, {}, "", 7'200);
  work(7'000 * kSecond, {.tasks = 2, .limit = 7'100});
  lent(2, 3'600 * kSeconds);
  const auto made = reserve(1, 600 * kSeconds, 1'200 * kSeconds);
  ASSERT_TRUE(made) << to_string(made.error());
  recall();
  pass(5 * kSecond);
  EXPECT_EQ(free_of("/1"), 2) << "nobody uses the other one";
  EXPECT_THAT(why_lent(), HasSubstr("they are needed; advance reservation " +
                                    std::to_string(made->id) + " has "));
  pass(1'200 * kSecond);
  EXPECT_EQ(free_of("/1"), 3);
}

// A child that itself runs in a reservation has its own back.
TEST_F(LoansInTrees, TheReservationInWhichTheChildRunsHoldsNothingBack) {
  begin_root({}, 1, "node=1/core=3");
  const auto made = reserve(3, 0, 7'200 * kSeconds);
  ASSERT_TRUE(made) << to_string(made.error());
  resource::JobShape shape;
  shape.tasks = 2;
  shape.command = {"instance", "0", "1"};
  shape.cwd = "/";
  shape.duration_seconds = 3'600;
  auto spec = *resource::jobspec_for(shape);
  spec.other_attributes =
      R"({"system":{"holon":{"reservation":)" + std::to_string(made->id) + "}}}";
  msg::SubmitRequest ask;
  ask.jobspec = resource::write_jobspec(spec);
  ask.user = "ada";
  ask.is_instance = true;
  const auto child = call<msg::SubmitReply>("submit", ask);
  ASSERT_TRUE(child) << to_string(child.error());
  const std::string path = "/" + std::to_string(child->first_id);
  ASSERT_TRUE(until([&] { return is_up(path); }));
  lent(1, 1'800 * kSeconds, path);
  EXPECT_EQ(free_of(path), 1);
  recall(path);
  EXPECT_TRUE(until([&] { return free_of(path) == 2; }, 10 * kSecond)) << free_of(path);
}

TEST_F(LoansInTrees, AJobWithoutALimitIsOverWithTheLoanThatItsQueueLetItOn) {
  begin_root({"queue.default-duration=5s"}, 1, "node=1/core=3");
  child(2, {}, "", 7'200);
  work(7'000 * kSecond, {.limit = 7'100});
  lent(1, 30 * kSeconds);
  const auto endless = work(7'000 * kSecond, {});
  when_running(endless);
  pass(35 * kSecond);
  const auto ended = record(endless);
  EXPECT_EQ(ended.exception, "node-failure");
  EXPECT_THAT(ended.reason, HasSubstr("it has no time limit, and the time for which"));
  EXPECT_EQ(free_of("/1"), 2);
}

TEST_F(LoansInTrees, WhatTheChildHasReservedForItselfIsNotLent) {
  begin_root({}, 1, "node=1/core=5");
  child(5, {}, "", 7'200);
  const auto made = reserve(2, 600 * kSeconds, 900 * kSeconds, "/1");
  ASSERT_TRUE(made) << to_string(made.error());
  lent(3, 3'600 * kSeconds);
  const auto more = lend(1, 3'600 * kSeconds);
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().what,
              HasSubstr("0 cores of its own are idle, 1 is to be lent; 1 is at"));
  recall();
  EXPECT_TRUE(until([&] { return free_of("/1") == 5; }, 10 * kSecond)) << free_of("/1");
}

TEST_F(LoansInTrees, AreAHundredOfOneChildAtMost) {
  begin_root({}, 1, "node=1/core=110");
  child(104, {}, "", 7'200);
  for (int i = 0; i < 100; ++i) {
    const auto done = lend(1, 3'600 * kSeconds);
    ASSERT_TRUE(done) << i << ": " << to_string(done.error());
    pass(500 * kMs);
  }
  const auto more = lend(1, 3'600 * kSeconds);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Errc::busy);
  EXPECT_THAT(more.error().what, HasSubstr("has 100 loans already; 100 at a time are accepted"));
  recall();
  EXPECT_TRUE(until([&] { return free_of("/1") == 104; })) << free_of("/1");
}

// Each lends its own to the one above it, and has that back from there; what a child has been lent
// it does not lend on.
TEST_F(LoansInTrees, AreOfAGrandchildAndOfItsParentAtTheSameTime) {
  begin_root({}, 1, "node=1/core=6");
  child(5, {}, "", 7'200);
  const auto below = "/1/" + std::to_string(child(2, {}, "/1", 7'000));
  lent(1, 60 * kSeconds, below);
  const auto its = work(1'000 * kSecond, {.tasks = 1, .limit = 40}, "/1");
  const auto too_many = lend(4, 60 * kSeconds);
  ASSERT_FALSE(too_many);
  EXPECT_THAT(too_many.error().what, HasSubstr(" of its own "));
  when_running(its, "/1");
  const auto idle = free_of("/1");
  EXPECT_EQ(idle, 3) << "of three of its own and one of below";
  lent(2, 60 * kSeconds);
  const auto wide = work(1'000 * kSecond, {.tasks = 3, .limit = 40});
  when_running(wide);
  EXPECT_EQ(free_of("/"), 0);
  recall();
  EXPECT_EQ(record(wide).state, "RUN");
  EXPECT_EQ(when_over(wide).result, "TIMEOUT");
  pass(70 * kSecond);
  EXPECT_EQ(free_of(below), 2);
  EXPECT_EQ(free_of("/1"), 3);
}

TEST_F(LoansInTrees, ComeBackFromANodeThatIsDrained) {
  begin_root({}, 1, "node=1/core=4");
  child(3, {}, "", 7'200);
  work(7'000 * kSecond, {.limit = 7'100});
  lent(2, 3'600 * kSeconds);
  const auto above = work(1'000 * kSecond, {.limit = 60});
  when_running(above);
  const std::string host = record(above).nodelist;
  ASSERT_TRUE(call<msg::Empty>("resource.drain", msg::DrainRequest{host, true, "bad fan"}));
  recall();
  pass(5 * kSecond);
  EXPECT_EQ(lent_on(link_of(1)).count(), 1u) << "what nobody uses goes back all the same";
  EXPECT_EQ(when_over(above).result, "TIMEOUT");
  EXPECT_TRUE(until([&] { return lent_on(link_of(1)).empty(); }, 10 * kSecond));
  ASSERT_TRUE(call<msg::Empty>("resource.drain", msg::DrainRequest{host, false, ""}));
  EXPECT_TRUE(until([&] { return free_of("/1") == 3; }, 10 * kSecond)) << free_of("/1");
}

class ForgottenLoans : public WithFakeChild {
 protected:
  void hello(h::Epoch epoch) {
    const msg::GrantMessage told{instance::text_of(h::Message{h::Hello{epoch}}, 0), {}, 0};
    ASSERT_TRUE(call<msg::Empty>(*child_, "grant", told));
    pass(kSecond);
  }
};

// Whatever it has lent others use by now, or think that it has.
TEST_F(ForgottenLoans, EndTheChildOfWhichTheJournalKnowsTooLittle) {
  ASSERT_EQ(connect_child(), 1u);
  hello(0);
  EXPECT_EQ(record(1).exception, "");
  hello(2);
  EXPECT_EQ(record(1).exception, "instance");
  EXPECT_THAT(record(1).reason, HasSubstr("or has lent, is not known"));
}

}  // namespace
}  // namespace holon::world
