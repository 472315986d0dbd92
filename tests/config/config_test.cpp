// Configuration: layering, and that every mistake is answered with its place and what is accepted.
#include "config/config.hpp"
#include "config/policies.hpp"
#include "places.hpp"  // written by CMake

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace holon::config {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

TEST(Config, DefaultsAreFcfs) {
  const auto config = load_config({});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->default_policy(), "fcfs");
  EXPECT_EQ(config->grace, 5000);
}

TEST(Config, ANumberOfBytesMayHaveAUnit) {
  EXPECT_EQ(load_config({"job.output-limit=7"})->output_limit, 7u);
  EXPECT_EQ(load_config({"job.output-limit=10M"})->output_limit, 10u << 20);
  for (const char* const wrong : {"10X", "M", "-1", "1.5M", "99999999T", "10MB"})
    EXPECT_FALSE(load_config({std::string("job.output-limit=") + wrong})) << wrong;
}

TEST(Config, LaterWins) {
  const std::string file =
      ::testing::TempDir() + "holon-config-test-" + std::to_string(getpid()) + ".toml";
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
      {"priority.speed-weight=1", "--conf priority.speed-weight", "queuetime, xfactor"},
      {"priority.proc-weight=big", "--conf priority.proc-weight", "no weight"},
      {"priority.accrual=often", "--conf priority.accrual", "fullpolicy"},
      {"fairshare.decay=2", "--conf fairshare.decay", "0 to 1"},
      {"qos.hi.flags=PREEMPTOR", "--conf qos.hi.flags", "RESERVEALWAYS"},
      {"qos.flags=NTR", "--conf qos.flags", "unknown key"},
      {"queue.reservation-depth.x=1", "--conf queue.reservation-depth.x", "unknown key"},
      {"limits.user.ann.omax-job=1", "--conf limits.user.ann.omax-job", "no limit"},
      {"queue.queue-params=depth=3", "--conf queue.queue-params", "queue-depth=N"},
      {"queue.queue-params=queue-depth=0", "--conf queue.queue-params", "queue-depth=N"},
      {"queue.policy-per-queue=easy", "--conf queue.policy-per-queue", "QUEUE:VALUE"},
      {"queue.policy-per-queue=a:lazy", "--conf queue.policy-per-queue", "fcfs, easy"},
      {"environments.mpi.rule=fill", "--conf environments.mpi.rule", "$round_robin"},
      {"instance.heartbeat=0", "--conf instance.heartbeat", "10ms to 5s"},
      {"instance.heartbeat=1m", "--conf instance.heartbeat",
       "instance.heartbeat = \"1m\" does not fit"},
      {"instance.peer-timeout=1s", "--conf instance.peer-timeout",
       "instance.peer-timeout = \"1s\" does not fit: accepted is a duration of 3s and more"},
      {"instance.tree-timeout=0", "--conf instance.tree-timeout", "1ms and more"},
      {"queue.depth=1.5", "--conf queue.depth", "= 1.5 does not fit"},
      {"queue.depth=1e7", "--conf queue.depth", "1 to 1000000"},
      {"nonsense=1", "--conf nonsense",
       "accepted are access. ..., accounts. ..., batch. ..., environments. ..., fairshare. ..., "
       "grant. ..., instance."},
      {"journal.sync=never", "--conf journal.sync", "normal or full"},
      {"resource.prune-filters=ALL", "--conf resource.prune-filters", "ALL:core,ALL:node"},
      {"resource.prune-filters=ALL:core,", "--conf resource.prune-filters", "ALL:core,ALL:node"},
      {"no-such-file.toml", "--conf no-such-file.toml", "no such file"},
      {"/", "--conf /", "a folder"},
      {"/proc/self/mem", "--conf /proc/self/mem", "accepted are the name of a TOML file"},
      {"./a=b.toml", "--conf ./a=b.toml", "no such file"},
  };
  for (const auto& m : mistakes) {
    SCOPED_TRACE(m.item);
    const auto config = load_config({m.item});
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().code, Errc::invalid_argument);
    EXPECT_EQ(config.error().where, m.where);
    EXPECT_THAT(config.error().what, HasSubstr(m.what));
  }
  const auto no_queue = load_config({"queues.a.depth=3", "queue.default=b"});
  ASSERT_FALSE(no_queue);
  EXPECT_EQ(no_queue.error().what, "there is no queue 'b'; name one of a");
  const auto none_named = load_config({"queues.debug.depth=3", "queues.batch.depth=3"});
  ASSERT_FALSE(none_named);
  EXPECT_EQ(
      to_string(none_named.error()),
      "queue.default: with [queues.batch] there, say which queue is the default: [queue] default = "
      "\"batch\", or another of batch, debug");
}

TEST(Config, AHeartbeatMustFitIntoThePeersPatience) {
  const auto config = load_config({"instance.heartbeat=2s", "instance.peer-timeout=5s"});
  ASSERT_FALSE(config);
  EXPECT_EQ(to_string(config.error()),
            "instance.peer-timeout: 5s is less than three heartbeats of 2s (instance.heartbeat)");
}

TEST(Config, AWholeNumberMayBeWrittenWithAnExponent) {
  Config config;
  const auto applied = apply_toml(config, "[queue]\ndepth = 1e3\n", "site.toml");
  ASSERT_TRUE(applied) << to_string(applied.error());
  EXPECT_EQ(config.scheduler.defaults.queue_depth, 1000);
  EXPECT_FALSE(apply_toml(config, "[queue]\ndepth = 1.5\n", "site.toml"));
  EXPECT_FALSE(apply_toml(config, "[queue]\ndepth = 1e300\n", "site.toml"));
}

TEST(Config, AListOfTablesIsCalledSo) {
  Config config;
  const auto applied = apply_toml(config, "[[queue]]\ndepth = 7\n", "site.toml");
  ASSERT_FALSE(applied);
  EXPECT_EQ(to_string(applied.error()),
            "site.toml:1: 'queue' is a list of tables, [[queue]]; accepted is one table, [queue]");
}

TEST(Config, APipeIsReadOnceAndWhatItGaveIsKept) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  const std::string text = "job.grace = \"7s\"\n", name = "/dev/fd/" + std::to_string(ends[0]);
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  const auto items = read_conf({"/dev/null", name, "queue.policy=easy"});
  close(ends[0]);
  ASSERT_TRUE(items) << to_string(items.error());
  EXPECT_EQ(items->at(1).text, text);
  const auto config = config_of(*items);
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->grace, 7'000);
  EXPECT_EQ(config->default_policy(), "easy");
}

TEST(Config, AnEmptyTableIsAQueue) {
  Config config;
  const auto applied = apply_toml(
      config, "[queues.batch]\n[queue]\ndepth = 7\npolicy = \"easy\"\ndefault = \"batch\"\n",
      "site.toml");
  ASSERT_TRUE(applied) << to_string(applied.error());
  ASSERT_TRUE(config.scheduler.queues.contains("batch"));
  EXPECT_EQ(config.scheduler.queues.at("batch").queue_depth, 7) << "it inherits";
  EXPECT_EQ(config.scheduler.queues.at("batch").policy, "easy");
  EXPECT_FALSE(apply_toml(config, "queues = 3\n", "site.toml"));
}

// What a reader copies must work.
TEST(Config, EveryExampleOfThePagesIsAccepted) {
  std::size_t examples = 0;
  for (const auto& page : std::filesystem::directory_iterator(HOLON_SOURCE_DIR "/docs")) {
    std::ifstream in(page.path());
    std::string text;
    bool inside = false;
    const auto check = [&](const std::string& file) {
      std::ofstream(file) << text;
      const auto config = load_config({file});
      EXPECT_TRUE(config) << page.path() << ": " << to_string(config.error()) << "\n" << text;
      std::filesystem::remove(file);
    };
    for (std::string line; std::getline(in, line);) {
      if (inside && line == "```") {
        check(testing::TempDir() + "/holon-example.toml");
        ++examples;
        inside = false;
      } else if (line == "```toml") {
        inside = true;
        text.clear();
      } else if (inside) {
        text += line + "\n";
      }
    }
  }
  EXPECT_GE(examples, 1u);
}

TEST(Config, PrioritiesFairshareAndQos) {
  Config config;
  const auto applied = apply_toml(config, R"(
[priority]
queuetime-weight = 2
xfactor-cap = 10.5
fs-weight = 100
xfminwclimit = "2m"
accrual = "fullpolicy"
interval = "30s"
[priority.user.ann]
priority = -5
fstarget = "20+"
[priority.qos.hi]
qtweight = 7
[fairshare]
interval = "12h"
depth = 8
decay = 0.9
[qos.hi]
flags = "RESERVEALWAYS:NOBF"
[queue.reservation-depth]
0 = 4
1 = 2
[queue.reservation-qos-list]
0 = "hi, mid"
1 = "ALL"
[queues.debug]
reservation-depth.0 = 1
[limits.qos.hi]
omax-job = "2,8"
)",
                                  "site.toml");
  ASSERT_TRUE(applied) << to_string(applied.error());
  const auto& s = config.scheduler;
  EXPECT_EQ(s.priority.factors[std::size_t(qmanager::Factor::queue_time)].weight, 2);
  EXPECT_EQ(s.priority.factors[std::size_t(qmanager::Factor::xfactor)].cap, 10.5);
  EXPECT_EQ(s.priority.components[std::size_t(qmanager::Component::fairshare)].weight, 100);
  EXPECT_EQ(s.priority.least_limit, 120'000);
  EXPECT_EQ(s.priority.accrual, qmanager::Accrual::full_policy);
  EXPECT_EQ(s.priority.interval, 30'000);
  EXPECT_EQ(s.priority.of.at({qmanager::Credential::user, "ann"}), -5);
  EXPECT_EQ(s.priority.qos_queue_time.at("hi"), 7);
  EXPECT_EQ(s.priority.fairshare.interval, 43'200'000);
  EXPECT_EQ(s.priority.fairshare.depth, 8);
  EXPECT_EQ(s.priority.fairshare.decay, 0.9);
  EXPECT_EQ(s.priority.fairshare.targets.at({qmanager::Credential::user, "ann"}).percent, 20);
  EXPECT_TRUE(s.qos.at("hi").reserve_always && s.qos.at("hi").no_backfill);
  EXPECT_EQ(s.defaults.buckets.at(0).qos, (std::vector<std::string>{"hi", "mid"}));
  EXPECT_EQ(s.defaults.buckets.at(1).depth, 2);
  EXPECT_TRUE(s.defaults.buckets.at(1).qos.empty());
  EXPECT_EQ(s.queues.at("debug").buckets.at(0).depth, 1);
  EXPECT_EQ(s.limits.of.at({qmanager::Credential::qos, "hi"}).instead_of_active[0]->hard, 8);
}

TEST(Config, QueuesAndEnvironmentsAsFluxionAndGridEngineWriteThem) {
  Config config;
  const auto applied = apply_toml(config, R"(
[queue]
policy-per-queue = "batch:easy debug:fcfs"
queue-params-per-queue = "batch:queue-depth=7,max-queue-depth=5 debug:queue-depth=100"
policy-params = "reservation-depth=9"
default = "batch"
[queues.debug]
requires = ["fast", "gpu"]
slots = 8
users = "ann"
pools.licence = 3
[environments.mpi]
rule = "$round_robin"
slots = 64
users = ["ann", "@physics"]
xusers = "bob, cy"
[environments.four]
rule = 4
[qos.fast]
users = "ann, @physics"
[accounts.p1]
xusers = "bob"
[accounts.default]
users = ["@staff"]
)",
                                  "site.toml");
  ASSERT_TRUE(applied) << to_string(applied.error());
  const auto& s = config.scheduler;
  EXPECT_EQ(s.queues.at("batch").policy, "easy");
  EXPECT_EQ(s.queues.at("batch").queue_depth, 7);
  EXPECT_EQ(s.queues.at("batch").max_queue_depth, 5);
  EXPECT_EQ(s.queues.at("batch").reservation_depth, 9);
  EXPECT_EQ(s.queues.at("debug").policy, "fcfs");
  EXPECT_EQ(s.queues.at("debug").queue_depth, 100);
  EXPECT_EQ(s.queues.at("debug").properties, (std::vector<std::string>{"fast", "gpu"}));
  EXPECT_EQ(s.queues.at("debug").slots, 8);
  EXPECT_EQ(s.queues.at("debug").pools.at("licence"), 3);
  EXPECT_EQ(s.environments.at("mpi").rule.kind, qmanager::AllocationRule::Kind::round_robin);
  EXPECT_EQ(s.environments.at("mpi").slots, 64);
  EXPECT_EQ(s.environments.at("four").rule.slots, 4);
  EXPECT_EQ(s.queues.at("debug").access, (qmanager::AccessList{{"ann"}, {}}));
  EXPECT_EQ(s.environments.at("mpi").access,
            (qmanager::AccessList{{"ann", "@physics"}, {"bob", "cy"}}));
  EXPECT_EQ(s.qos.at("fast").access, (qmanager::AccessList{{"ann", "@physics"}, {}}));
  EXPECT_EQ(s.accounts.at("p1"), (qmanager::AccessList{{}, {"bob"}}));
  EXPECT_EQ(s.accounts.at("default"), (qmanager::AccessList{{"@staff"}, {}}));
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

TEST(Config, ListsOfUsersAreOfNamesThatSomebodyCanHave) {
  EXPECT_TRUE(load_config({"queue.xusers=ann, @physics"}));
  for (const char* bad : {"[\"root\"]", "@", ",", "ann*", "a\tb", "@@chem", "ann:bob"}) {
    const auto config = load_config({std::string("queue.xusers=") + bad});
    ASSERT_FALSE(config) << bad;
    EXPECT_THAT(to_string(config.error()), HasSubstr("names of users and @GROUPs"));
    EXPECT_FALSE(load_config({std::string("environments.mpi.users=") + bad})) << bad;
  }
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

// The third column of the row of a key, without the marks of code.
TEST(Config, DefaultsAreThoseOfTheDocumentation) {
  std::ifstream in(HOLON_SOURCE_DIR "/docs/config.md");
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(in, line);)
    if (const auto end = line.find("` |"); line.starts_with("| `") && end != std::string::npos)
      rows[line.substr(3, end - 3)] = line;
  std::size_t seen = 0;
  for (const auto& key : config_keys()) {
    const auto row = rows.find(key.name);
    if (key.standard.empty() || row == rows.end()) continue;
    std::string rest = row->second;
    for (int column = 0; column < 2; ++column) rest.erase(0, rest.find(" | ") + 3);
    EXPECT_THAT(rest.substr(0, rest.find(" | ")), HasSubstr(std::string(key.standard))) << key.name;
    ++seen;
  }
  EXPECT_GT(seen, 50u);
}

TEST(Config, WhatIsInForceIsToldWithWhoSaysSo) {
  const std::string file =
      ::testing::TempDir() + "holon-effective-" + std::to_string(getpid()) + ".toml";
  std::ofstream(file) << "[job]\ngrace = \"9s\"\nmax-count = 5\n[queues.default]\ndepth = 3\n";
  const auto items = read_conf({file, "job.grace=7s", "queue.policy=easy"});
  ASSERT_TRUE(items);
  const auto all = effective(*items);
  std::remove(file.c_str());
  ASSERT_TRUE(all) << to_string(all.error());
  const auto of = [&](const std::string& key) {
    for (const auto& one : *all)
      if (one.key == key) return one.value + " from " + one.source;
    return std::string("nothing");
  };
  EXPECT_EQ(of("job.grace"), "7s from --conf");
  EXPECT_EQ(of("job.max-count"), "5 from " + file + ":3");
  EXPECT_EQ(of("queues.default.depth"), "3 from " + file + ":5");
  EXPECT_EQ(of("queue.policy"), "easy from --conf");
  EXPECT_EQ(of("instance.heartbeat"), "1s from default");
  EXPECT_EQ(of("limits.user.ann.max-job"), "nothing");
  EXPECT_FALSE(effective(*read_conf({"job.grace=x"})));
}

TEST(Config, APolicyInLuaIsAText) {
  const auto config = load_config({"policies.mine.lua=base = \"easy\" -- 1",
                                   "queue.policy=mine.lua", "policy.keep-promises=false"});
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->policies.at("mine.lua"), "base = \"easy\" -- 1");
  EXPECT_EQ(config->scheduler.programs.at("mine.lua")->base(), "easy");
  EXPECT_EQ(config->scheduler.defaults.policy, "mine.lua");
  EXPECT_FALSE(config->scheduler.keep_promises);
  Config again;
  ASSERT_TRUE(apply_toml(again, policies_as_toml(*config), "kept.toml"));
  EXPECT_EQ(again.policies, config->policies);
  EXPECT_FALSE(load_config({"queue.policy=none.lua"}));
  EXPECT_FALSE(load_config({"policies.mine=base = 1"}));
  EXPECT_THAT(to_string(load_config({"policies.a.lua=x ="}).error()),
              HasSubstr("a.lua:1: unexpected symbol"));
}

TEST(Config, WhatTravelsOfAPolicyIsItsText) {
  const std::string file =
      ::testing::TempDir() + "holon-config-" + std::to_string(getpid()) + ".lua";
  std::ofstream(file) << "base = 'easy'";
  const std::string name = file.substr(file.rfind('/') + 1);
  const auto words =
      with_policy_texts({"queue.policy=" + file, "queues.b.policy=" + file, "queue.default=b"});
  std::remove(file.c_str());
  ASSERT_TRUE(words) << to_string(words.error());
  EXPECT_THAT(*words, ElementsAre("policies." + name + "=base = 'easy'", "queue.policy=" + name,
                                  "queues.b.policy=" + name, "queue.default=b"));
  EXPECT_TRUE(load_config(*words));
  const std::vector<std::string> given = {"policies.a.lua=base = 'easy'", "queue.policy=a.lua"};
  EXPECT_THAT(with_policy_texts(given).value(), ElementsAreArray(given));
}

// Nobody writes into the pipe: it is not waited for.
TEST(Config, APolicyIsAFileOnADisk) {
  const std::string fifo = ::testing::TempDir() + "holon-fifo-" + std::to_string(getpid()) + ".lua";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(to_string(load_config({"queue.policy=" + fifo}).error()),
              HasSubstr("it is no regular file; accepted are a policy in Lua"));
  std::remove(fifo.c_str());
}

// A queue that was named before it had copied the defaults, and what came later was not heeded.
TEST(Config, AQueueInheritsWhatIsSaidOfAllQueuesInAnyItem) {
  const std::string file =
      ::testing::TempDir() + "holon-queues-" + std::to_string(getpid()) + ".toml";
  std::ofstream(file)
      << "[queue]\ndefault = 'batch'\n[queues.batch]\n[queues.b]\npolicy = 'fcfs'\n";
  const auto config = load_config({"queues.urgent.preempt.mode=requeue", file, "queue.policy=easy",
                                   "queue.preempt.grace=3s", "queue.depth=7"});
  std::remove(file.c_str());
  ASSERT_TRUE(config) << to_string(config.error());
  const auto& queues = config->scheduler.queues;
  EXPECT_EQ(queues.at("batch").policy, "easy");
  EXPECT_EQ(queues.at("b").policy, "fcfs") << "what is said of one queue wins";
  EXPECT_EQ(queues.at("urgent").preempt.grace, 3'000);
  for (const auto& [name, queue] : queues) EXPECT_EQ(queue.queue_depth, 7) << name;
}

TEST(Config, LimitsAndPoolsAreRead) {
  const auto config = load_config(
      {"limits.user.ann.max-job=2,8", "limits.account.default.max-ps=60", "pools.license=5"});
  ASSERT_TRUE(config) << to_string(config.error());
  const auto& limits = config->scheduler.limits.of;
  EXPECT_EQ(limits.at({qmanager::Credential::user, "ann"}).active[0], (qmanager::SoftHard{2, 8}));
  EXPECT_EQ(limits.at({qmanager::Credential::account, "default"}).active[3].hard, 60'000);
  EXPECT_EQ(config->scheduler.pools.at("license"), 5);
  EXPECT_FALSE(load_config({"limits.user.ann.max-fun=2"}));
  EXPECT_FALSE(load_config({"limits.user.ann.max-wc=soon"}));
  EXPECT_FALSE(load_config({"limits.planet.ann.max-job=2"}));
}

TEST(Config, ReservationsThresholdsAndTargetsAsMauiHasThem) {
  const auto config = load_config(
      {"queue.reservation-policy=highest", "queue.reservation-threshold-type=queuetime",
       "queue.reservation-threshold-value=10m", "queue.backfill-metric=peseconds",
       "queue.backfill-max-schedules=50", "queues.b.reservation-threshold-type=xfactor",
       "queues.b.reservation-threshold-value=2.5", "queue.default=b",
       "priority.targetqueuetime-weight=3", "priority.target-weight=2",
       "priority.qos.hi.qttarget=2h", "priority.qos.hi.xftarget=5", "qos.hi.flags=DEDICATED"});
  ASSERT_TRUE(config) << to_string(config.error());
  const auto& s = config->scheduler;
  using Type = qmanager::ReservationThreshold::Type;
  EXPECT_EQ(s.defaults.reservation_policy, qmanager::ReservationPolicy::highest);
  EXPECT_EQ(s.defaults.threshold, (qmanager::ReservationThreshold{Type::queue_time, 600}));
  EXPECT_EQ(s.queues.at("b").threshold, (qmanager::ReservationThreshold{Type::xfactor, 2.5}));
  EXPECT_EQ(s.defaults.backfill_metric, qmanager::BackfillMetric::equivalent_seconds);
  EXPECT_EQ(s.defaults.backfill_max_schedules, 50);
  EXPECT_EQ(s.priority.qos_queue_time_target.at("hi"), 7200);
  EXPECT_EQ(s.priority.qos_xfactor_target.at("hi"), 5);
  EXPECT_TRUE(s.qos.at("hi").dedicated);
  const auto preempt = load_config({"qos.hi.flags=PREEMPTEE"});
  ASSERT_FALSE(preempt);
  EXPECT_THAT(preempt.error().what,
              HasSubstr("is a flag of preemption, and no job is ever stopped"));
}

TEST(Config, EachUserHasASizeOrNone) {
  const auto config = load_config({"per-user.cores=2", "per-user.cores-of=ann=8, bob=1",
                                   "per-user.idle=5m", "per-user.most=16"});
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_TRUE(config->per_user.is_set());
  EXPECT_EQ(cores_of_user(config->per_user.cores_of, "ann"), 8U);
  EXPECT_EQ(cores_of_user(config->per_user.cores_of, "bob"), 1U);
  EXPECT_EQ(cores_of_user(config->per_user.cores_of, "an"), 0U);
  EXPECT_EQ(config->per_user.idle, 300'000);
  EXPECT_EQ(config->per_user.most, 16U);
  const auto alone = load_config({"per-user.most=16"});
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().what, HasSubstr("what the part is says per-user.cores"));
  const auto less = load_config({"per-user.cores=4", "per-user.most=4"});
  ASSERT_FALSE(less);
  EXPECT_THAT(less.error().what, HasSubstr("is 4; more than the part of each user is accepted"));
  EXPECT_FALSE(load_config({})->per_user.is_set());
  for (const char* wrong : {"per-user.cores=0", "per-user.share=1.5", "per-user.cores-of=ann",
                            "per-user.cores-of=ann=x", "per-user.policy=mine.lua",
                            "access.port=70000", "access.munge=perhaps"}) {
    const auto refused = load_config({wrong});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument) << wrong;
  }
  const auto two = load_config({"per-user.share=0.5", "per-user.cores=2"});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().where, "--conf per-user.share");
  EXPECT_THAT(two.error().what, HasSubstr("per-user.cores is set, too (--conf per-user.cores)"));
}

TEST(Config, AKeyIsFoundWhereItWasSetLast) {
  const std::vector<ConfItem> items = {{"a/one.toml", "[access]\n\nusers = 'ann'\n"},
                                       {"queue.policy=easy", ""}};
  EXPECT_EQ(place_of(items, "access.users"), "a/one.toml:3: access.users");
  EXPECT_EQ(place_of(items, "queue.policy"), "--conf queue.policy");
  EXPECT_EQ(place_of(items, "access.operators"), "access.operators");
}

TEST(Config, LimitsOfUsersWithinAQueueOfEverybodyAndOfSingleJobsAreRead) {
  Config config;
  const auto applied = apply_toml(config, R"(
[limits.queue.fast]
max-job = 12
[limits.queue.fast.user.steve]
max-proc = 50
[limits.user.default]
max-wc = "2h,8h"
max-iwc = 90
[limits.qos.hi]
omax-inode = 3
[limits.system]
max-pe = 64
max-proc-per-job = 256
max-procsecond-per-job = 86400
max-job-walltime = "1d"
)",
                                  "site.toml");
  ASSERT_TRUE(applied) << to_string(applied.error());
  using qmanager::Credential;
  using qmanager::Measure;
  const auto at = [](Measure measure) { return static_cast<std::size_t>(measure); };
  const auto& limits = config.scheduler.limits;
  EXPECT_EQ(limits.of.at({Credential::queue, "fast"}).active[0].hard, 12);
  const auto& steve = limits.within_queue.at({Credential::user, "steve", "fast"});
  EXPECT_EQ(steve.active[at(Measure::procs)].hard, 50);
  const auto& user = limits.of.at({Credential::user, "default"});
  EXPECT_EQ(user.active[at(Measure::ticks)], (qmanager::SoftHard{7'200'000, 28'800'000}));
  EXPECT_EQ(user.idle[at(Measure::ticks)].hard, 90'000);
  EXPECT_EQ(limits.of.at({Credential::qos, "hi"}).instead_of_idle[at(Measure::nodes)]->hard, 3);
  EXPECT_EQ(limits.system.active[at(Measure::equivalents)].soft, 64);
  EXPECT_EQ(limits.job_procs, 256);
  EXPECT_EQ(limits.job_proc_ticks, 86'400'000);
  EXPECT_EQ(limits.job_ticks, 86'400'000);
}

}  // namespace
}  // namespace holon::config
