// What users and operators ask of the queues: licences, urgency, gates, statistics; and that it
// outlives the broker.
#include <gmock/gmock.h>

#include "msg/queue.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/shared_live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

const std::vector<std::string> kTwoWithReservation = {"--resources", "node=1/core=2", "--conf",
                                                      "queue.max-reservation=1"};

JobOptions with(const std::string& system, std::int64_t cores = 1) {
  JobOptions options;
  options.cores = cores;
  options.system = system;
  return options;
}

Status gate(const Live& live, const std::string& queue, const std::string& gate, bool open,
            const std::string& reason = "") {
  const auto reply =
      live.call<msg::Empty>("queue.gate", msg::GateRequest{queue, gate, open, reason});
  return reply ? Status() : tl::unexpected(reply.error());
}

Status set_urgency(const Live& live, std::vector<std::uint64_t> ids, std::uint32_t urgency) {
  const auto reply = live.call<msg::Empty>("urgency", msg::UrgencyRequest{std::move(ids), urgency});
  return reply ? Status() : tl::unexpected(reply.error());
}

TEST(Licenses, AreSharedByThoseWhoAskForThem) {
  const Live live({"--resources", "node=1/core=4", "--conf", "pools.matlab=2"});
  const auto first = live.job(live.gated("gate"), with(R"({"holon":{"licenses":{"matlab":2}}})"));
  live.when_running(first);
  const auto second = live.job({"/bin/true"}, with(R"({"holon":{"licenses":{"matlab":1}}})"));
  EXPECT_EQ(live.record(second).state, "SCHED") << "cores are free, licences are not";
  live.kill_broker();
  EXPECT_EQ(live.record(second).state, "SCHED") << "the new broker knows who has them";
  live.release("gate");
  EXPECT_EQ(live.wait_one(second).result, "COMPLETED");
  const auto unknown = live.submit({"/bin/true"}, with(R"({"holon":{"licenses":{"maple":1}}})"));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().what, HasSubstr("there are matlab"));
  const auto many = live.submit({"/bin/true"}, with(R"({"holon":{"licenses":{"matlab":3}}})"));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Errc::unsatisfiable);
}

class Urgency : public testing::SharedLive {};
class SchedulingOptions : public testing::SharedLive {};

TEST_F(SchedulingOptions, ThatDoNotFitAreRefusedWithTheirPlace) {
  const Live& live = shared(kTwoWithReservation);
  const std::pair<const char*, const char*> cases[] = {
      {R"({"holon":{"licences":{}}})", "/attributes/system/holon/licences"},
      {R"({"holon":{"licenses":{"a":-1}}})", "/attributes/system/holon/licenses/a"},
      {R"({"holon":{"reserve":1}})", "/attributes/system/holon/reserve"},
      {R"({"holon":[]})", "/attributes/system/holon"},
      {R"({"bank":7})", "/attributes/system/bank"},
      {R"({"shell":{"options":{"output":"a-{{idd}}"}}})",
       "/attributes/system/shell/options/output"},
      {R"({"shell":{"options":{"error":"{{name}}-{{foo}}"}}})",
       "/attributes/system/shell/options/error"},
  };
  for (const auto& [system, where] : cases) {
    const auto reply = live.submit({"/bin/true"}, with(system));
    ASSERT_FALSE(reply) << system;
    EXPECT_EQ(reply.error().where, where);
    EXPECT_EQ(reply.error().code, Errc::invalid_argument);
  }
}

TEST_F(SchedulingOptions, ThatNobodyCanFulfilAreSlipsOfTheFinger) {
  const Live live({"--resources", "node=1/core=1", "--conf", "qos.high.flags=NTR"});
  const auto unknown = live.submit({"/bin/true"}, with(R"({"holon":{"qos":"hihg"}})"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::not_found);
  EXPECT_EQ(unknown.error().what, "there is no QOS 'hihg' here; there are high");
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"}, with(R"({"holon":{"qos":"high"}})"))).result,
            "COMPLETED");
  const auto empty = live.submit({""});
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().where, "/tasks/0/command/0");
  EXPECT_EQ(live.jobs(true, false).size(), 1u) << "nothing is kept of a slip of the finger";
}

TEST_F(SchedulingOptions, AnImmediateJobStartsNowOrFails) {
  const Live& live = shared(kTwoWithReservation);
  const auto starts = live.job(live.gated("gate"), with(R"({"holon":{"immediate":true}})", 2));
  live.when_running(starts);
  const auto fails =
      live.wait_one(live.job({"/bin/true"}, with(R"({"holon":{"immediate":true}})")));
  EXPECT_EQ(fails.result, "FAILED");
  EXPECT_EQ(fails.t_alloc, 0);
  EXPECT_THAT(fails.reason, HasSubstr("at once"));
}

TEST_F(SchedulingOptions, AJobThatAsksForNoReservationGetsNone) {
  const Live& live = shared(kTwoWithReservation);
  live.when_running(live.job(live.gated("gate"), {1, 60}));
  JobOptions wide = with(R"({"holon":{"reserve":false}})", 2);
  wide.duration = 60;
  const auto without = live.job({"/bin/true"}, wide);
  const auto narrow = live.job({"/bin/true"}, {1, 3600});  // would delay it
  EXPECT_EQ(live.wait_one(narrow).result, "COMPLETED");
  EXPECT_EQ(live.record(without).t_estimate, 0);
}

TEST(Slots, OfARangeAreTheMostThatFitAndEachHasATask) {
  const Live live({"--resources", "node=2/core=4"});
  live.when_running(live.job(live.gated("gate"), {3, 0}));
  const auto id =
      live.job({"/bin/sh", "-c", "echo $HOLON_NTASKS"}, with(R"({"holon":{"slots":"1-16"}})"));
  const auto record = live.wait_one(id);
  EXPECT_EQ(record.ncores, 5);
  EXPECT_EQ(record.ntasks, 5);
  EXPECT_EQ(testing::read_file(record.output), "5\n5\n5\n5\n5\n");
  const auto listed =
      live.wait_one(live.job({"/bin/true"}, with(R"({"holon":{"slots":"1,2,4,8"}})")));
  EXPECT_EQ(listed.ntasks, 4);
  const auto ranges =
      live.wait_one(live.job({"/bin/true"}, with(R"({"holon":{"slots":"1-2,4,8-9"}})")));
  EXPECT_EQ(ranges.ntasks, 4);
  const auto from_one = live.wait_one(live.job({"/bin/true"}, with(R"({"holon":{"slots":"-3"}})")));
  EXPECT_EQ(from_one.ntasks, 3);
  for (const char* bad : {"", "0", "-0", "--4", "0-4", "5-4", "four", "-", "4-x", "4-5,1-2"}) {
    const auto refused =
        live.submit({"/bin/true"}, with(R"({"holon":{"slots":")" + std::string(bad) + "\"}}"));
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().where, "/attributes/system/holon/slots");
  }
}

TEST(Environments, SpreadSlotsOverHostsAsTheirRuleSays) {
  const Live live({"--resources", "node=3/core=4", "--conf", "environments.pair.rule=2"});
  JobOptions four = with(R"({"holon":{"environment":"pair"}})");
  four.tasks = 4;
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"}, four)).nnodes, 2);
  EXPECT_FALSE(live.submit({"/bin/true"}, with(R"({"holon":{"environment":"nosuch"}})")));
}

// A pattern is for any environment that matches; in which one a job runs is known to a later
// broker.
TEST(Queue, APatternOfEnvironmentsIsSettledWhenAJobStarts) {
  const Live live({"--resources", "node=1/core=8", "--conf", "environments.mpi-a.slots=2", "--conf",
                   "environments.mpi-b.slots=3", "--conf", "environments.mpi-b.users=ada", "--conf",
                   "environments.mpi-c.xusers=ada", "--conf", "instance.monitor=true"});
  JobOptions two = with(R"({"holon":{"environment":"mpi-*"}})");
  two.tasks = 2;
  const auto first = live.job(live.gated("first"), two);
  const auto second = live.job(live.gated("second"), two);
  live.when_running(first);
  live.when_running(second);
  const auto third = live.job({"/bin/sh", "-c", "test $HOLON_PE = mpi-b"}, two);
  const std::string schedule = live.dir() + "/state/schedule";
  const auto written = [&](std::uint64_t job, const std::string& environment) {
    return eventually([&] {
      std::istringstream lines(testing::read_file(schedule));
      for (std::string line; std::getline(lines, line);)
        if (line.starts_with(std::to_string(job) + ":1:") &&
            line.ends_with(":P:" + environment + ":slots:2.000000"))
          return true;
      return false;
    });
  };
  EXPECT_TRUE(written(first, "mpi-a"));
  EXPECT_TRUE(written(second, "mpi-b"));
  std::filesystem::remove(schedule);
  live.kill_broker();
  EXPECT_TRUE(written(first, "mpi-a"));
  EXPECT_TRUE(written(second, "mpi-b"));
  EXPECT_EQ(live.record(third).state, "SCHED");
  live.cancel(second);
  EXPECT_EQ(live.wait_one(third).result, "COMPLETED");
  live.cancel(first);
  const auto refused = live.submit({"/bin/true"}, with(R"({"holon":{"environment":"mpi-c"}})"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "parallel environment mpi-c is not for user \"ada\"");
}

TEST_F(Urgency, HoldsAndExpeditesAndOutlivesTheBroker) {
  const Live live({"--resources", "node=1/core=1"});
  const auto runs = live.job(live.gated("gate"));
  live.when_running(runs);
  const auto first = live.job({"/bin/true"}), second = live.job({"/bin/true"}),
             third = live.job({"/bin/true"});
  EXPECT_TRUE(set_urgency(live, {first}, 0));
  EXPECT_TRUE(set_urgency(live, {third}, 31));
  live.kill_broker();
  EXPECT_EQ(live.record(first).urgency, 0u);
  EXPECT_THAT(live.record(first).reason, HasSubstr("held"));
  EXPECT_EQ(live.record(third).urgency, 31u);
  live.release("gate");
  const auto a = live.wait_one(third), b = live.wait_one(second);
  EXPECT_GE(b.t_start, a.t_finish) << "the expedited one first";
  EXPECT_EQ(live.record(first).state, "SCHED");
  EXPECT_TRUE(set_urgency(live, {first}, 16));
  EXPECT_EQ(live.wait_one(first).result, "COMPLETED");
}

TEST_F(Urgency, OfJobsThatStartedOrAreNotThereChangesNothing) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto runs = live.job(live.gated("gate"));
  live.when_running(runs);
  const auto waits = live.job({"/bin/true"});
  EXPECT_EQ(set_urgency(live, {waits, runs}, 0).error().code, Errc::denied);
  EXPECT_EQ(set_urgency(live, {waits, 999999}, 0).error().code, Errc::not_found);
  EXPECT_EQ(set_urgency(live, {waits}, 32).error().code, Errc::invalid_argument);
  EXPECT_EQ(live.record(waits).urgency, 16u) << "all or none";
}

TEST(Gates, StayAsTheyWereSetWhateverHappensToTheBroker) {
  const Live live({"--resources", "node=1/core=1", "--conf", "queues.default.policy=fcfs", "--conf",
                   "queues.debug.policy=fcfs"});
  live.when_running(live.job(live.gated("gate")));
  const auto waits = live.job({"/bin/true"});
  EXPECT_TRUE(gate(live, "default", "submit", false, "maintenance at six"));
  EXPECT_TRUE(gate(live, "", "start", false, "a crash is looked at"));
  EXPECT_EQ(gate(live, "nosuch", "start", false).error().code, Errc::not_found);
  EXPECT_EQ(gate(live, "debug", "lid", false).error().code, Errc::invalid_argument);
  live.kill_broker();
  const auto refused = live.submit({"/bin/true"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::denied);
  EXPECT_THAT(refused.error().what, HasSubstr("maintenance at six"));
  EXPECT_THAT(live.record(waits).reason, HasSubstr("stopped: a crash is looked at"));
  live.release("gate");
  live.wait_one(1);
  EXPECT_EQ(live.record(waits).state, "SCHED");
  msg::ExplainRequest ask;
  ask.ids = {waits};
  EXPECT_EQ(live.call<msg::ExplainReply>("explain", ask)->jobs.at(0).remedies.at(0).kind, "gate");
  EXPECT_TRUE(gate(live, "", "start", true));
  EXPECT_EQ(live.wait_one(waits).result, "COMPLETED");
  const auto stats = live.call<msg::StatsReply>("stats", msg::Empty{});
  ASSERT_TRUE(stats);
  ASSERT_EQ(stats->queues.size(), 2u);
  for (const auto& queue : stats->queues) {
    EXPECT_TRUE(queue.started);
    EXPECT_EQ(queue.enabled, queue.name == "debug");
  }
}

TEST(Stats, CountWhatTheSchedulerDid) {
  const Live live(
      {"--resources", "node=1/core=2", "--conf", "queue.policy=easy", "--conf", "queue.depth=7"});
  live.when_running(live.job(live.gated("gate"), {1, 100}));
  live.job({"/bin/true"}, {2, 100});
  live.wait_one(live.job({"/bin/true"}, {1, 10}));
  const auto stats = live.call<msg::StatsReply>("stats", msg::Empty{});
  ASSERT_TRUE(stats) << stats.error().what;
  EXPECT_EQ(stats->vertices, 4);  // cluster, node, two cores
  EXPECT_GE(stats->passes, 3);
  EXPECT_GE(stats->longest_us, stats->mean_us);
  ASSERT_EQ(stats->queues.size(), 1u);
  const auto& queue = stats->queues.front();
  EXPECT_EQ(queue.depth, 7);
  EXPECT_EQ(queue.submitted, 3);
  EXPECT_EQ(queue.begun, 2);
  EXPECT_EQ(queue.backfilled, 1);
  EXPECT_EQ(queue.finished, 1);
  EXPECT_EQ(queue.running, 1);
  EXPECT_EQ(queue.pending, 1);
  EXPECT_EQ(queue.considered, 1);
}

}  // namespace
}  // namespace holon::instance
