// urgency, queue and stats, and the scheduling options of submit, against a broker of canned
// answers.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "msg/config.hpp"
#include "msg/instance.hpp"
#include "msg/queue.hpp"
#include "msg/reservation.hpp"
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json system_of(const FakeBroker& broker) {
  return json::parse(broker.last<msg::SubmitRequest>("submit").jobspec)["attributes"]["system"];
}

TEST(Submit, NamesTheOptionOfTheQueueOnlyWhereItWasGiven) {
  FakeBroker broker;
  broker.refuse("submit", {Errc::denied, "queue day takes no jobs now", "queue"});
  broker.start();
  EXPECT_EQ(run_cli({"submit", "true"}).err, "holon submit: queue day takes no jobs now\n");
  EXPECT_EQ(run_cli({"submit", "-q", "day", "true"}).err,
            "holon submit: --queue day: queue day takes no jobs now\n");
}

TEST(Submit, TellsTheSchedulerWhatItIsAsked) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{5, 1});
  broker.start();
  const Ran ran = run_cli({"submit", "-L", "matlab=2,ansys", "--license", "maple:3,spice=2/slot",
                           "-A", "proj", "--qos", "high", "-R", "n", "-q", "batch", "true"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  const json system = system_of(broker);
  EXPECT_EQ(system["bank"], "proj");
  EXPECT_EQ(system["queue"], "batch");
  EXPECT_EQ(system["holon"]["licenses"], json({{"matlab", 2}, {"ansys", 1}, {"maple", 3}}));
  EXPECT_EQ(system["holon"]["licenses_per_slot"], json({{"spice", 2}}));
  EXPECT_EQ(system["holon"]["qos"], "high");
  EXPECT_EQ(system["holon"]["reserve"], false);
  EXPECT_EQ(system["holon"]["group"], getgrgid(getgid())->gr_name);
  EXPECT_FALSE(system["holon"].contains("immediate"));
}

TEST(Submit, WritesDependenciesAsRfc26HasThem) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{5, 1});
  broker.start();
  const Ran ran = run_cli({"submit", "--dependency", "afterok:7", "--dependency", "singleton",
                           "--begin-time", "2030-01-02T03:04", "true"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  const json list = system_of(broker)["dependencies"];
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0], json({{"scheme", "afterok"}, {"value", "7"}}));
  EXPECT_EQ(list[1], json({{"scheme", "singleton"}, {"value", ""}}));
  EXPECT_EQ(list[2]["scheme"], "begin-time");
  EXPECT_EQ(run_cli({"submit", "--begin-time", "teatime", "true"}).code, kUsage);
}

TEST(Submit, ARangeOfSlotsLeavesTheLeastInTheJobspec) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{5, 1});
  broker.start();
  EXPECT_EQ(run_cli({"submit", "-n", "4-16", "--pe", "mpi", "true"}).code, kOk);
  const json spec = json::parse(broker.last<msg::SubmitRequest>("submit").jobspec);
  EXPECT_EQ(spec["resources"][0]["count"], 4);
  EXPECT_EQ(system_of(broker)["holon"]["slots"], "4-16");
  EXPECT_EQ(system_of(broker)["holon"]["environment"], "mpi");
  EXPECT_EQ(run_cli({"submit", "-n", "5", "true"}).code, kOk);
  EXPECT_FALSE(system_of(broker)["holon"].contains("slots"));
  EXPECT_EQ(run_cli({"submit", "-n", "4-16", "-N", "2", "true"}).code, kUsage);
  EXPECT_EQ(run_cli({"submit", "-n", "16-4", "true"}).code, kUsage);
  for (const char* range : {"-3", "1-3,5-6", "-2,4"}) {
    EXPECT_EQ(run_cli({"submit", "-n", range, "true"}).code, kOk) << range;
    EXPECT_EQ(system_of(broker)["holon"]["slots"], range);
    const json ranged = json::parse(broker.last<msg::SubmitRequest>("submit").jobspec);
    EXPECT_EQ(ranged["resources"][0]["count"], 1);
  }
}

TEST(Reserve, TakesAParallelEnvironmentAndARangeOfSlots) {
  FakeBroker broker;
  broker.answer("reserve", msg::ReserveReply{7});
  broker.start();
  EXPECT_EQ(run_cli({"reserve", "-d", "1h", "-n", "2-4", "--pe", "fill"}).out, "7\n");
  const json spec = json::parse(broker.last<msg::ReserveRequest>("reserve").jobspec);
  EXPECT_EQ(spec["attributes"]["system"]["holon"]["environment"], "fill");
  EXPECT_EQ(spec["attributes"]["system"]["holon"]["slots"], "2-4");
}

TEST(Submit, RefusesSchedulingOptionsThatMakeNoSense) {
  const std::vector<std::vector<std::string>> cases = {
      {"-L", "=2"},  {"-L", "a=0"},     {"-L", "a=x"},         {"-L", "a,,b"},
      {"-R", "yep"}, {"--now", "soon"}, {"--group", "nosuch"}, {"--urgency", "32"}};
  for (const auto& options : cases) {
    std::vector<std::string> args = {"submit"};
    args.insert(args.end(), options.begin(), options.end());
    args.push_back("true");
    const Ran ran = run_cli(args);
    EXPECT_EQ(ran.code, kUsage) << options[1];
    EXPECT_THAT(ran.err, HasSubstr(options[0].substr(0, 2)));
  }
}

TEST(Submit, NowFailsWithTheReasonWhereTheJobDidNotStart) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{5, 2});
  broker.stream<msg::JobEvent>("job.watch",
                               {{5, 0, "submit", "{}"},
                                {5, 1, "alloc", "{}"},
                                {6, 1, "exception", R"({"note":"it could not start at once"})"}});
  broker.start();
  const Ran ran = run_cli({"submit", "--now", "y", "--count", "2", "true"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.out, "5\n6\n");
  EXPECT_EQ(ran.err, "holon submit: job 6: it could not start at once\n");
  EXPECT_EQ(system_of(broker)["holon"]["immediate"], true);
}

TEST(Signal, IsNamedOrNumberedBeforeTheJobs) {
  FakeBroker broker;
  broker.answer("job.signal", msg::Empty{});
  broker.start();
  for (const char* signal : {"USR1", "sigusr1", "10"}) {
    EXPECT_EQ(run_cli({"signal", signal, "3-5", "8"}).code, kOk);
    EXPECT_THAT(broker.last<msg::SignalRequest>("job.signal").ids, ElementsAre(3, 4, 5, 8));
    EXPECT_EQ(broker.last<msg::SignalRequest>("job.signal").signal, SIGUSR1);
  }
  EXPECT_EQ(run_cli({"signal", "KILL", "/3/5"}).code, kOk);
  EXPECT_EQ(broker.asked().back(), "job.signal /3");
  for (const char* signal : {"7up", "0", "SIG"}) {
    const Ran ran = run_cli({"signal", signal, "3"});
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_THAT(ran.err, HasSubstr("is no signal"));
  }
  EXPECT_EQ(run_cli({"signal", "USR1"}).code, kUsage);
}

TEST(Submit, AWarningIsASignalAndATimeBeforeTheLimit) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{5, 1});
  broker.start();
  const std::pair<const char*, double> cases[] = {
      {"USR1@90", 90}, {"SIGUSR1@5m", 300}, {"10", 60}, {"usr1@0.5s", 0.5}};
  for (const auto& [word, seconds] : cases) {
    EXPECT_EQ(run_cli({"submit", "--signal", word, "true"}).code, kOk) << word;
    const json signal = system_of(broker)["shell"]["options"]["signal"];
    EXPECT_EQ(signal["signum"], SIGUSR1);
    EXPECT_EQ(signal["timeleft"], seconds);
  }
  for (const char* word : {"USR9@60", "USR1@", "USR1@0", "USR1@soon", "USR1@-5", "@60"}) {
    const Ran ran = run_cli({"submit", "--signal", word, "true"});
    EXPECT_EQ(ran.code, kUsage) << word;
    EXPECT_THAT(ran.err, HasSubstr("--signal"));
  }
}

TEST(Submit, ToRunAgainNeedsANumberOfTimesAndExitCodes) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{5, 1});
  broker.start();
  EXPECT_EQ(run_cli({"submit", "--requeue", "3", "--retry-on", "1-3,75", "true"}).code, kOk);
  EXPECT_EQ(system_of(broker)["holon"]["requeue"], 3);
  EXPECT_EQ(system_of(broker)["holon"]["retry_on"], "1-3,75");
  const std::vector<std::string> cases[] = {{"--requeue", "1001"},
                                            {"--requeue", "-1"},
                                            {"--requeue", "1", "--retry-on", "256"},
                                            {"--requeue", "1", "--retry-on", "0-3"},
                                            {"--requeue", "1", "--retry-on", "some"},
                                            {"--retry-on", "3"}};
  for (auto words : cases) {
    words.insert(words.begin(), "submit");
    words.emplace_back("true");
    const Ran ran = run_cli(words);
    EXPECT_EQ(ran.code, kUsage) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("--re"));
  }
}

TEST(Submit, APreemptibleJobSaysSoAndWhatItWantsToHear) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{5, 1});
  broker.start();
  EXPECT_EQ(run_cli({"submit", "--preemptible", "--checkpoint-signal", "USR1", "true"}).code, kOk);
  EXPECT_EQ(system_of(broker)["holon"]["preemptible"], true);
  EXPECT_EQ(system_of(broker)["holon"]["checkpoint_signal"], SIGUSR1);
  EXPECT_EQ(run_cli({"submit", "true"}).code, kOk);
  EXPECT_FALSE(system_of(broker)["holon"].contains("preemptible"));
  EXPECT_EQ(run_cli({"batch", "--preemptible", "--wrap", "true"}).code, kOk);
  EXPECT_EQ(system_of(broker)["holon"]["preemptible"], true);
  const Ran ran = run_cli({"submit", "--checkpoint-signal", "USR9", "true"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("--checkpoint-signal: 'USR9' is no signal"));
}

TEST(Submit, MemoryIsReservedInWholeGibibytesAndKeptToTheByte) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{5, 1});
  broker.start();
  EXPECT_EQ(run_cli({"submit", "--mem", "512M", "true"}).code, kOk);
  EXPECT_EQ(system_of(broker)["holon"]["memory"], 512 << 20);
}

TEST(Config, IsAskedForByKey) {
  FakeBroker broker;
  broker.answer("config.get", msg::ConfigReply{{{"job.grace", "7s", "site.toml:3"},
                                                {"job.mpi", "auto", "default"}}});
  broker.answer("config.reload",
                msg::ReloadReply{{{"job.grace", "7s", ""}, {"queue.depth", "", "3"}}});
  broker.start();
  EXPECT_EQ(run_cli({"config", "get", "job"}).out,
            "KEY        VALUE  SOURCE\n"
            "job.grace  7s     site.toml:3\n"
            "job.mpi    auto   default\n");
  EXPECT_EQ(broker.last<msg::ConfigRequest>("config.get").key, "job");
  EXPECT_EQ(run_cli({"config", "get", "--set"}).out,
            "KEY        VALUE  SOURCE\n"
            "job.grace  7s     site.toml:3\n");
  const json all = json::parse(run_cli({"config", "get", "--json"}).out);
  EXPECT_EQ(all["values"][1]["source"], "default");
  EXPECT_EQ(run_cli({"config", "reload"}).out,
            "job.grace: 7s -> (not set)\n"
            "queue.depth: (not set) -> 3\n");
  EXPECT_EQ(json::parse(run_cli({"config", "reload", "--json"}).out)["changes"][1]["after"], "3");
}

TEST(Urgency, TakesNumbersAndWords) {
  FakeBroker broker;
  broker.answer("urgency", msg::Empty{});
  broker.start();
  EXPECT_EQ(run_cli({"urgency", "3-5", "8", "hold"}).code, kOk);
  EXPECT_THAT(broker.last<msg::UrgencyRequest>("urgency").ids, ElementsAre(3, 4, 5, 8));
  EXPECT_EQ(broker.last<msg::UrgencyRequest>("urgency").urgency, 0u);
  EXPECT_EQ(run_cli({"urgency", "/3/5", "31"}).code, kOk);
  EXPECT_EQ(broker.asked().back(), "urgency /3");
  EXPECT_EQ(run_cli({"urgency", "3"}).code, kUsage);
  EXPECT_EQ(run_cli({"urgency", "3", "32"}).code, kUsage);
  EXPECT_EQ(run_cli({"urgency", "3", "soon"}).code, kUsage);
  EXPECT_EQ(run_cli({"urgency"}).code, kUsage);
}

msg::StatsReply two_queues() {
  msg::StatsReply stats;
  msg::QueueInfo batch;
  batch.name = "batch";
  batch.policy = "easy";
  batch.enabled = false;
  batch.disabled_because = "maintenance";
  batch.pending = 12;
  batch.depth = 32;
  msg::QueueInfo debug;
  debug.name = "debug";
  debug.policy = "fcfs";
  debug.started = false;
  stats.queues = {batch, debug};
  stats.passes = 10;
  stats.last_us = 350;
  stats.mean_us = 1'200;
  stats.longest_us = 3'400'000;
  stats.vertices = 37;
  return stats;
}

TEST(Queue, StatusShowsTheGates) {
  FakeBroker broker;
  broker.answer("stats", two_queues());
  broker.start();
  EXPECT_EQ(run_cli({"queue", "status"}).out,
            "QUEUE  POLICY  WAIT  HELD  BLOCKED  PLANNED  RUN  TAKES JOBS       STARTS THEM\n"
            "batch  easy      12     0        0        0    0  no: maintenance  yes\n"
            "debug  fcfs       0     0        0        0    0  yes              no\n");
  const json out = json::parse(run_cli({"queue", "status", "debug", "--json"}).out);
  ASSERT_EQ(out["queues"].size(), 1u);
  EXPECT_EQ(out["queues"][0]["name"], "debug");
  EXPECT_EQ(run_cli({"queue", "status", "nosuch"}).code, kFailed);
}

TEST(Queue, GatesAreNamedOrAll) {
  FakeBroker broker;
  broker.answer("queue.gate", msg::Empty{});
  broker.start();
  EXPECT_EQ(run_cli({"queue", "disable", "batch", "-m", "later"}).code, kOk);
  auto request = broker.last<msg::GateRequest>("queue.gate");
  EXPECT_EQ(request.queue, "batch");
  EXPECT_EQ(request.gate, "submit");
  EXPECT_FALSE(request.open);
  EXPECT_EQ(request.reason, "later");
  EXPECT_EQ(run_cli({"queue", "start", "--all"}).code, kOk);
  request = broker.last<msg::GateRequest>("queue.gate");
  EXPECT_EQ(request.queue, "");
  EXPECT_EQ(request.gate, "start");
  EXPECT_TRUE(request.open);
  EXPECT_EQ(run_cli({"queue", "stop"}).code, kUsage);
  EXPECT_EQ(run_cli({"queue", "stop", "batch", "--all"}).code, kUsage);
  EXPECT_EQ(run_cli({"queue", "halt"}).code, kUsage);
  for (const char* verb : {"status", "enable", "disable", "start", "stop"})
    EXPECT_THAT(run_cli({"queue", verb, "--help"}).out, HasSubstr("Examples\n"));
}

TEST(Stats, AreASheetOrJson) {
  FakeBroker broker;
  broker.answer("stats", two_queues());
  broker.start();
  EXPECT_THAT(run_cli({"stats"}).out,
              HasSubstr("10 passes over 37 vertices: the last took 350 us, the mean 1.2 ms, the "
                        "longest 3.4 s\n"));
  EXPECT_EQ(json::parse(run_cli({"stats", "--json"}).out)["queues"][0]["depth"], 32);
}

}  // namespace
}  // namespace holon::cli
