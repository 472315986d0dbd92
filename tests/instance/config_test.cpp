// Configuration: layering, and that every mistake is answered with its place and what is accepted.
#include "instance/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace holon::instance {
namespace {

using ::testing::HasSubstr;

TEST(Config, DefaultsAreFcfs) {
  const auto config = load_config({});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->default_policy(), "fcfs");
  EXPECT_EQ(config->grace, 5000);
}

TEST(Config, LaterWins) {
  const std::string file = ::testing::TempDir() + "holon-config-test.toml";
  std::ofstream(file)
      << "[queues.debug]\ndepth = 7\n[queue]\npolicy = \"hybrid\"\ndefault = \"debug\"\n"
         "[job]\ngrace = \"2s\"\n";
  const auto config =
      load_config({"job.grace=9", file, "queue.reservation-depth=8", "job.default-limit=1.5h"});
  std::remove(file.c_str());
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->default_policy(), "hybrid");
  EXPECT_EQ(config->scheduler.queues.at("debug").queue_depth, 7);
  EXPECT_EQ(config->scheduler.queues.at("debug").policy, "hybrid");
  EXPECT_EQ(config->scheduler.defaults.reservation_depth, 8);
  EXPECT_EQ(config->grace, 2000);
  EXPECT_EQ(config->default_limit, 5'400'000);
}

struct Mistake {
  std::string item, where, what;
};

TEST(Config, EveryMistakeSaysWhereAndWhatIsAccepted) {
  const Mistake mistakes[] = {
      {"queue.polcy=easy", "--conf queue.polcy", "did you mean 'queue.policy'"},
      {"queue.policy=eazy", "--conf queue.policy", "fcfs, easy, hybrid[:N], conservative[:N]"},
      {"queue.policy=3", "--conf queue.policy", "= 3 does not fit"},
      {"queue.depth=0", "--conf queue.depth", "1 to 1000000"},
      {"queue.depth=many", "--conf queue.depth", "1 to 1000000"},
      {"queues.x.speed=1", "--conf queues.x.speed", "unknown key"},
      {"queues.policy=easy", "--conf queues.policy", "unknown key"},
      {"=easy", "--conf ", "unknown key"},
      {"job.grace=soon", "--conf job.grace", "a duration"},
      {"job.grace=-1", "--conf job.grace", "a duration"},
      {"journal.sync=never", "--conf journal.sync", "normal or full"},
      {"no-such-file.toml", "--conf no-such-file.toml", "no such file"},
      {"./a=b.toml", "--conf ./a=b.toml", "no such file"},
  };
  for (const auto& m : mistakes) {
    SCOPED_TRACE(m.item);
    const auto config = load_config({m.item});
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().where, m.where);
    EXPECT_THAT(config.error().what, HasSubstr(m.what));
  }
  const auto no_queue = load_config({"queues.a.depth=3", "queue.default=b"});
  ASSERT_FALSE(no_queue);
  EXPECT_THAT(no_queue.error().what, HasSubstr("no queue 'b'"));
}

TEST(Config, MistakesInFilesHaveALineAndChangeNothing) {
  Config config;
  auto unknown = apply_toml(config, "[job]\ngrace = 1\n\n[queue]\nprio = 3\n", "site.toml");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().where, "site.toml:5");
  EXPECT_EQ(config.grace, Config{}.grace);
  auto syntax = apply_toml(config, "[job]\ngrace = = 1\n", "site.toml");
  ASSERT_FALSE(syntax);
  EXPECT_EQ(syntax.error().where, "site.toml:2");
  auto list = apply_toml(config, "[job]\ngrace = [1]\n", "site.toml");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().where, "site.toml:2");
}

TEST(Config, Durations) {
  EXPECT_EQ(*parse_duration_ms("250ms"), 250);
  EXPECT_EQ(*parse_duration_ms("30"), 30'000);
  EXPECT_EQ(*parse_duration_ms("1.5m"), 90'000);
  for (const char* bad : {"", "s", "5x", "-1s", "1e30d", "nan", "5 m"})
    EXPECT_FALSE(parse_duration_ms(bad)) << bad;
}

TEST(Config, TheDocumentationNamesEveryKey) {
  std::ifstream in(HOLON_SOURCE_DIR "/docs/config.md");
  std::ostringstream text;
  text << in.rdbuf();
  for (const auto& key : config_keys()) EXPECT_THAT(text.str(), HasSubstr(std::string(key.name)));
}

TEST(Config, LimitsAndPoolsAreRead) {
  const auto config = load_config(
      {"limits.user.ann.max-job=2,8", "limits.account.default.max-ps=60", "pools.license=5"});
  ASSERT_TRUE(config) << to_string(config.error());
  const auto& limits = config->scheduler.limits.of;
  EXPECT_EQ(limits.at({qmanager::Credential::user, "ann"}).jobs, (qmanager::SoftHard{2, 8}));
  EXPECT_EQ(limits.at({qmanager::Credential::account, "default"}).proc_ticks.hard, 60'000);
  EXPECT_EQ(config->scheduler.pools.at("license"), 5);
  EXPECT_FALSE(load_config({"limits.user.ann.max-fun=2"}));
  EXPECT_FALSE(load_config({"limits.planet.ann.max-job=2"}));
}

}  // namespace
}  // namespace holon::instance
