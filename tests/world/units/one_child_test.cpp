// Children: one process at a time is the child, what it tells is kept before it is acknowledged,
// and what it holds is free only when its processes are gone.
#include <gmock/gmock.h>

#include "tests/world/units/fake_child.hpp"

namespace holon::world {
namespace {

using ::testing::HasSubstr;

class OneChildTest : public WithFakeChild {
 protected:
  std::int64_t free_cores() { return status().cores_free; }
  std::string health() {
    const auto node = call<msg::TreeNode>(*user_, "tree", msg::TreeRequest{200});
    EXPECT_TRUE(node) << node.error().what;
    return !node || node->children.empty() ? "none" : node->children.front().health;
  }
};

TEST_F(OneChildTest, WhoeverSaysHelloAgainTakesThePlaceOfTheConnectionBefore) {
  ASSERT_EQ(connect_child(), 1u);
  Peer& before = *child_;
  ASSERT_EQ(connect_child(), 1u) << "it shows the epoch that it has";
  EXPECT_TRUE(until([&] { return before.times_lost > 0; }));
  ASSERT_TRUE(send_records({record_at("/1/5", "RUN")}));
  const auto refused = call<msg::Empty>(before, "record", msg::Records{{record_at("/1/6", "RUN")}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::denied);
}

// One that has lost its journal has no epoch, and what was granted before is void.
TEST_F(OneChildTest, AHelloWithoutAnEpochBuysTheNextOneAndTheOneBeforeIsWorthNothing) {
  ASSERT_EQ(connect_child(), 1u);
  hello_.epoch = 0;
  ASSERT_EQ(connect_child(), 2u);
  hello_.epoch = 1;
  EXPECT_EQ(connect_child(), 0u);
  hello_.epoch = 2;
  restart_broker();
  EXPECT_EQ(connect_child(), 2u) << "the journal has it";
}

TEST_F(OneChildTest, WhatIsAcknowledgedIsInTheJournalAndNothingElseIs) {
  ASSERT_EQ(connect_child(), 1u);
  ASSERT_TRUE(send_records({record_at("/1/5", "RUN")}));
  ASSERT_TRUE(send_records({record_at("/1/5", "SCHED")})) << "a late one is heard, and no news";
  auto foreign = record_at("/2/5", "RUN");
  for (const char* path : {"/2/5", "/1", "/1/../2/5", "/5"}) {
    foreign.path = path;
    const auto refused = send_records({record_at("/1/6", "RUN"), foreign});
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, Errc::denied) << path;
    EXPECT_THAT(refused.error().what, HasSubstr(path));
  }
  lose_child();
  restart_broker();
  const auto records = listed();
  EXPECT_EQ(records.size(), 2u) << "of a message with a wrong record none is taken";
  EXPECT_EQ(records.at("/1/5").state, "RUN");
}

TEST_F(OneChildTest, WhatItHoldsIsFreeWhenItsProcessesAreGoneAndNotBefore) {
  ASSERT_EQ(connect_child(), 1u);
  EXPECT_EQ(free_cores(), 1);
  silent_ = true;
  EXPECT_EQ(health(), "unreachable");
  ASSERT_TRUE(answer(*child_, "ending", msg::Ending{true}));
  EXPECT_EQ(free_cores(), 1) << "it has said that it ends, and has not ended";
  lose_child();
  EXPECT_EQ(health(), "ending");
  EXPECT_EQ(free_cores(), 1);
  end_child({}, "/1");
  EXPECT_EQ(free_cores(), 2);
  EXPECT_EQ(health(), "none");
  EXPECT_EQ(connect_child(), 0u) << "nobody is the child of a job that is over";
}

// What a child shows its parent speaks for no agent, over no connection.
TEST_F(OneChildTest, ItsTokenMakesItNoAgent) {
  ASSERT_EQ(connect_child(), 1u);
  const auto before = listed();
  for (const std::uint32_t rank : {0U, 1U}) {
    launch::msg::Hello hello;
    hello.rank = rank;
    hello.incarnation = 4711;
    hello.secret = hello_.token;
    for (const char* topic : {"agent.hello", "agent.report", "agent.keep"}) {
      const auto refused = call<launch::msg::Welcome>(*child_, topic, hello);
      ASSERT_FALSE(refused) << topic;
      EXPECT_EQ(refused.error().code, Errc::denied) << topic;
    }
  }
  const auto place =
      call<launch::msg::JoinReply>(*child_, "agent.join", launch::msg::JoinRequest());
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error().code, Errc::denied);
  EXPECT_EQ(listed().size(), before.size());
  EXPECT_TRUE(agent_->all<msg::Empty>("bye").empty());
  EXPECT_TRUE(send_records({record_at("/1/5", "RUN")})) << "it is the child still";
}

// An invitation is for the agents that the parent has started for a child of several.
TEST_F(OneChildTest, NobodyIsInvitedToAChildOfOneAgentOrWithoutItsToken) {
  ASSERT_EQ(connect_child(), 1u);
  for (const auto& token : {hello_.token, std::string("guess")}) {
    const auto refused =
        call<msg::InvitationReply>(*child_, "invitation", msg::InvitationRequest{token, 1});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::denied);
  }
}

}  // namespace
}  // namespace holon::world
