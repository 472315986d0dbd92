// The configuration of a running instance: what is in force, and the files read again.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "msg/config.hpp"
#include "msg/policy.hpp"
#include "msg/queue.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::read_file;

class ReloadedConfig : public ::testing::Test {
 protected:
  ReloadedConfig() {
    std::string name = ::testing::TempDir() + "holon-conf-XXXXXX";
    dir_ = mkdtemp(name.data());
  }
  ~ReloadedConfig() override { std::filesystem::remove_all(dir_); }

  std::string file() const { return dir_ + "/site.toml"; }
  void write(const std::string& text) const { std::ofstream(file()) << text; }
  std::vector<std::string> options() const {
    return {"--resources", "node=1/core=2", "--conf", file(), "--conf", "job.mpi=none"};
  }
  static Result<msg::ReloadReply> reload(const Live& live) {
    return live.call<msg::ReloadReply>("config.reload", msg::Empty{});
  }
  // "VALUE from SOURCE"
  static std::string value(const Live& live, const std::string& key) {
    const auto reply = live.call<msg::ConfigReply>("config.get", msg::ConfigRequest{key});
    if (!reply) return reply.error().what;
    if (reply->values.size() != 1) return std::to_string(reply->values.size()) + " values";
    return reply->values.front().value + " from " + reply->values.front().source;
  }
  static std::string policy(const Live& live) {
    const auto stats = live.call<msg::StatsReply>("stats", msg::Empty{});
    return stats && !stats->queues.empty() ? stats->queues.front().policy : "";
  }

  std::string dir_;
};

TEST_F(ReloadedConfig, WhatIsInForceIsToldWithItsSource) {
  write("[job]\ngrace = \"7s\"\n");
  const Live live(options());
  EXPECT_EQ(value(live, "job.grace"), "7s from " + file() + ":2");
  EXPECT_EQ(value(live, "job.mpi"), "none from --conf");
  EXPECT_EQ(value(live, "job.tracking"), "auto from default");
  EXPECT_THAT(value(live, "job.gracious"), HasSubstr("nothing sets 'job.gracious'"));
  const auto all = live.call<msg::ConfigReply>("config.get", msg::ConfigRequest{"job"});
  ASSERT_TRUE(all);
  EXPECT_GT(all->values.size(), 5u);
  for (const auto& one : all->values) EXPECT_TRUE(one.key.starts_with("job.")) << one.key;
}

// Also where it came from a client.
TEST_F(ReloadedConfig, APolicyThatWasLoadedIsWhatTheInstanceGoesBy) {
  write("[queue]\ndepth = 5\n");
  const Live live(options());
  const auto load = [](const Live& to, const std::string& queue, const std::string& policy) {
    return to.call<msg::Empty>("policy.load", msg::PolicyLoadRequest{queue, policy, ""});
  };
  ASSERT_TRUE(load(live, "", "easy"));
  EXPECT_EQ(value(live, "queue.policy"), "easy from holon policy");
  EXPECT_EQ(value(live, "queue.depth"), "5 from " + file() + ":2");
  ASSERT_TRUE(live.call<msg::PolicyDisableReply>("policy.disable", msg::PolicyDisableRequest{}));
  EXPECT_EQ(value(live, "queue.policy"), "fcfs from default");
  write(
      "[queues.batch]\ndepth = 5\n[queues.debug]\npolicy = \"fcfs\"\n[queue]\ndefault = "
      "\"batch\"\n");
  const Live several(options());
  ASSERT_TRUE(load(several, "batch", "easy"));
  ASSERT_TRUE(load(several, "debug", "conservative"));
  EXPECT_EQ(value(several, "queues.batch.policy"), "easy from holon policy");
  EXPECT_EQ(value(several, "queues.debug.policy"), "conservative from holon policy");
  EXPECT_EQ(value(several, "queue.policy"), "fcfs from default");
}

TEST_F(ReloadedConfig, WhatWasEditedComesIntoForceWhileJobsRunOn) {
  write("[queue]\npolicy = \"fcfs\"\n[job]\ngrace = \"7s\"\n");
  const Live live(options());
  const auto runs = live.job(live.gated("gate"));
  live.when_running(runs);
  JobOptions wide;
  wide.cores = 2;
  const auto waits = live.job({"/bin/true"}, wide);
  const pid_t broker = live.broker();
  write("[queue]\npolicy = \"easy\"\n[journal]\nkeep = 100\n");
  const auto changed = reload(live);
  ASSERT_TRUE(changed) << to_string(changed.error());
  ASSERT_EQ(changed->changes.size(), 3u);
  EXPECT_EQ(changed->changes[0].key, "job.grace");
  EXPECT_EQ(changed->changes[0].before, "7s");
  EXPECT_EQ(changed->changes[0].after, "");
  EXPECT_EQ(changed->changes[2].key, "queue.policy");
  EXPECT_EQ(changed->changes[2].after, "easy");
  ASSERT_TRUE(eventually([&] { return policy(live) == "easy"; }));
  EXPECT_EQ(value(live, "journal.keep"), "100 from " + file() + ":4");
  EXPECT_EQ(value(live, "job.grace"), "5s from default");
  ASSERT_TRUE(eventually([&] { return live.broker() != broker; }));
  EXPECT_EQ(live.record(runs).state, "RUN");
  live.release("gate");
  EXPECT_EQ(live.wait_one(runs).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(waits).result, "COMPLETED");
  live.kill_broker();
  EXPECT_EQ(policy(live), "easy") << "a later broker has it, too";
  const auto nothing = reload(live);
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->changes.empty());
}

TEST_F(ReloadedConfig, WhatMayNotChangeIsRefusedByNameAndNothingChanges) {
  write("[job]\ngrace = \"7s\"\n");
  const Live live(options());
  const pid_t broker = live.broker();
  const auto refused = [&](const std::string& text) {
    write(text);
    const auto answer = reload(live);
    EXPECT_FALSE(answer) << text;
    return answer ? "" : to_string(answer.error());
  };
  EXPECT_THAT(
      refused("[job]\ngrace = \"9s\"\n[instance]\nheartbeat = \"2s\"\n"),
      HasSubstr(file() + ":4: instance.heartbeat: is '1s' by default, and is to be '2s': only "
                         "the next start"));
  EXPECT_THAT(refused("[job]\ngrace = \"9s\"\ngrce = 1\n"), HasSubstr("unknown key 'job.grce'"));
  EXPECT_THAT(refused("[job\n"), HasSubstr(file() + ":1"));
  std::filesystem::remove(file());
  const auto gone = reload(live);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().what, HasSubstr("no such file"));
  EXPECT_EQ(value(live, "job.grace"), "7s from " + file() + ":2");
  EXPECT_EQ(live.broker(), broker);
}

TEST_F(ReloadedConfig, WhatWouldShutOutAJobIsRefusedWithTheJob) {
  write("[queue]\ndefault = \"day\"\n[queues.day]\n[queues.night]\n");
  const Live live(options());
  JobOptions of_night;
  of_night.system = R"({"queue":"night"})";
  const auto id = live.job(live.gated("gate"), of_night);
  live.when_running(id);
  write("[queue]\ndefault = \"day\"\n[queues.day]\n");
  auto refused = reload(live);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "job /" + std::to_string(id));
  EXPECT_THAT(refused.error().what, HasSubstr("there would be no queue \"night\" for it"));
  live.release("gate");
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  const auto taken = reload(live);
  EXPECT_TRUE(taken) << to_string(taken.error());
}

}  // namespace
}  // namespace holon::instance
