// Who asked for what is kept with what it changed, and who was refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "msg/audit.hpp"
#include "msg/queue.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using testing::Live;

std::vector<msg::AuditEntry> entries_of(const Live& live, bool refused_only = false,
                                        const std::string& path = "") {
  msg::AuditRequest ask;
  ask.refused_only = refused_only;
  auto reply = live.call<msg::AuditReply>("audit", ask, path);
  EXPECT_TRUE(reply) << reply.error().what;
  return reply ? reply->entries : std::vector<msg::AuditEntry>();
}

TEST(AuditTest, NamesWhoAskedForWhat) {
  const Live live({"--resources", "node=1/core=2"});
  const auto first = live.job({"/bin/true"}, {1, 0, 3});
  live.wait({});
  ASSERT_TRUE(live.call<msg::CancelReply>("cancel", msg::CancelRequest{{first}, false, ""}));
  const auto entries = entries_of(live);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].topic, "submit");
  EXPECT_EQ(entries[1].what, "jobs 1-3");
  EXPECT_EQ(entries[1].uid, std::int64_t(geteuid()));
  EXPECT_EQ(entries[1].pid, std::int64_t(getpid()));
  EXPECT_EQ(entries[1].refused, "");
  EXPECT_EQ(entries[0].topic, "cancel");
  EXPECT_EQ(entries[0].what, "job 1");
  EXPECT_GT(entries[0].number, entries[1].number);
  EXPECT_GE(entries[0].time, entries[1].time);
}

TEST(AuditTest, SaysWhatFailedAndWhatWasRefused) {
  const Live live({"--resources", "node=1/core=2"});
  EXPECT_FALSE(live.call<msg::CancelReply>("cancel", msg::CancelRequest{{79, 77, 78}, false, ""}));
  EXPECT_FALSE(live.call<msg::Empty>("lease", msg::Lease{}));
  live.job({"/bin/true"});
  const auto refused = entries_of(live, true);
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused[1].topic, "cancel");
  EXPECT_EQ(refused[1].what, "jobs 77-79");
  EXPECT_THAT(refused[1].refused, ::testing::HasSubstr("79"));
  EXPECT_EQ(refused[0].topic, "lease");
  EXPECT_THAT(refused[0].refused, ::testing::HasSubstr("the parent only"));
  EXPECT_EQ(entries_of(live).size(), 3u);
}

TEST(AuditTest, SurvivesABrokerAndIsBounded) {
  Live live({"--resources", "node=1/core=1", "--conf", "journal.audit=100"});
  for (int i = 0; i < 250; ++i)
    ASSERT_TRUE(live.call<msg::Empty>("queue.gate", msg::GateRequest{"", "start", i % 2 == 1, ""}));
  live.kill_broker();
  const auto entries = entries_of(live);
  ASSERT_FALSE(entries.empty());
  EXPECT_EQ(entries.front().number, 250);
  EXPECT_EQ(entries.front().what, "opens start of all queues");
  EXPECT_EQ(entries.back().number, 101);
}

TEST(AuditTest, CanBeSwitchedOff) {
  const Live live({"--resources", "node=1/core=1", "--conf", "journal.audit=0"});
  live.job({"/bin/true"});
  EXPECT_FALSE(live.call<msg::Empty>("lease", msg::Lease{}));
  EXPECT_TRUE(entries_of(live).empty());
}

TEST(AuditTest, IsReadInPages) {
  const Live live({"--resources", "node=1/core=1"});
  for (int i = 0; i < 7; ++i) live.job({"/bin/true"});
  msg::AuditRequest ask;
  ask.limit = 3;
  std::vector<std::string> seen;
  for (bool more = true; more;) {
    const auto page = live.call<msg::AuditReply>("audit", ask);
    ASSERT_TRUE(page);
    ASSERT_FALSE(page->entries.empty());
    for (const auto& e : page->entries) seen.push_back(e.what);
    more = page->more;
    ask.before = page->entries.back().number;
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"job 7", "job 6", "job 5", "job 4", "job 3", "job 2",
                                            "job 1"}));
}

}  // namespace
}  // namespace holon::instance
