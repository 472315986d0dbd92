// What an agent says of whom it has refused something: believed, but bounded here, too.
#include <gmock/gmock.h>

#include "launch/remote/refusal_notes.hpp"
#include "msg/audit.hpp"
#include "tests/instance/lone_broker.hpp"

namespace holon::instance {
namespace {

using testing::FakeAgent;
using testing::LoneBroker;

class ToldRefusals : public ::testing::Test {
 protected:
  Result<msg::Empty> tell(std::size_t n, std::int64_t first_user, std::int64_t users) {
    launch::msg::RefusedRequest told;
    for (std::size_t i = 0; i < n; ++i)
      told.refused.push_back(
          {first_user + static_cast<std::int64_t>(i) % users, 7, "agent.vouch", "no\x1b[2J"});
    return agent_.connection().call<msg::Empty>("agent.refused", told);
  }
  std::vector<msg::AuditEntry> audit() const {
    msg::AuditRequest ask;
    ask.refused_only = true;
    std::vector<msg::AuditEntry> all;
    for (bool more = true; more;) {
      const auto reply = broker_.call<msg::AuditReply>("audit", ask);
      EXPECT_TRUE(reply) << reply.error().what;
      if (!reply || reply->entries.empty()) break;
      all.insert(all.end(), reply->entries.begin(), reply->entries.end());
      ask.before = all.back().number;
      more = reply->more;
    }
    return all;
  }

  LoneBroker broker_{"node=2/core=1", 2};
  FakeAgent agent_{broker_, FakeAgent::hello_of(broker_, 1)};
};

TEST_F(ToldRefusals, AreKeptOnceAUserAndMinute) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tell(100, 61'000, 2));
  const auto entries = audit();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].uid, 61'001);
  EXPECT_EQ(entries[1].uid, 61'000);
  EXPECT_EQ(entries[1].topic, "agent.vouch");
  EXPECT_EQ(entries[1].refused, "no?[2J");
}

// One that somebody has taken over makes up users.
TEST_F(ToldRefusals, OfOneAgentAreATenthOfTheEntriesThatAreKept) {
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(tell(100, 70'000 + 100 * i, 100));
  EXPECT_EQ(audit().size(), 1'000U);
}

TEST_F(ToldRefusals, AreAtMostSoManyAtOnce) {
  const auto answer = tell(101, 61'000, 101);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().what, "101 refusals, of which 100 may be told at once");
  EXPECT_TRUE(audit().empty());
}

}  // namespace
}  // namespace holon::instance
