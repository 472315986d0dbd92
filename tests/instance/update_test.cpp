// What users change of jobs that are there: limits, sizes, names; and that they stop for a while.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "instance/basics/clock.hpp"
#include "msg/audit.hpp"
#include "tests/instance/shared_live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::read_file;

Status update(const Live& live, msg::UpdateRequest ask, const std::string& path = "") {
  const auto reply = live.call<msg::Empty>("job.update", ask, path);
  return reply ? Status() : tl::unexpected(reply.error());
}

msg::UpdateRequest of(std::vector<std::uint64_t> ids) {
  msg::UpdateRequest ask;
  ask.ids = std::move(ids);
  return ask;
}

msg::UpdateRequest longer(std::vector<std::uint64_t> ids, std::int64_t by) {
  auto ask = of(std::move(ids));
  ask.extend = by;
  return ask;
}

Status suspend(const Live& live, std::vector<std::uint64_t> ids, bool stop) {
  const auto reply =
      live.call<msg::Empty>("job.suspend", msg::SuspendRequest{std::move(ids), stop});
  return reply ? Status() : tl::unexpected(reply.error());
}

JobOptions lasting(double seconds, std::int64_t cores = 1) {
  JobOptions options;
  options.duration = seconds;
  options.cores = cores;
  return options;
}

char state_of(std::int64_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return stat.empty() ? '-' : stat[stat.rfind(')') + 2];
}

// The tasks are no shells that start something: a child that is stopped on its way from vfork to
// exec keeps its parent in D.
bool all_in_state(const msg::JobRecord& record, char state) {
  return eventually([&] {
    for (const auto pid : record.pids)
      if (state_of(pid) != state) return false;
    return true;
  });
}

class Update : public testing::SharedLive {};
class Suspend : public testing::SharedLive {};

TEST_F(Update, OfALimitIsHeardByTheAgentAndOutlivesTheBroker) {
  const Live live({"--resources", "node=1/core=2"});
  const auto id = live.job({"/bin/sleep", "600"}, lasting(60));
  const auto before = live.when_running(id);
  ASSERT_TRUE(update(live, longer({id}, 60'000)));
  const auto after = live.record(id);
  EXPECT_EQ(after.limit, 120'000);
  EXPECT_EQ(after.expiration, before.expiration + 60'000);
  live.kill_broker();
  EXPECT_EQ(live.record(id).limit, 120'000);
  EXPECT_EQ(live.record(id).expiration, after.expiration);
  // The agent ends it at the limit that it is told: one that is nearly over.
  auto ask = of({id});
  ASSERT_TRUE(eventually([&] {
    ask.limit = wall_clock_ms() - before.t_alloc + 1'000;
    return bool(update(live, ask));
  }));
  const auto ended = live.wait_one(id);
  EXPECT_EQ(ended.result, "TIMEOUT");
  EXPECT_EQ(ended.reason, "its time limit was reached");
  EXPECT_EQ(ended.limit, ask.limit);
}

TEST_F(Update, OfALimitGoesAsFarAsTheInstance) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  const auto child = live.child(lasting(600, 2));
  ASSERT_TRUE(eventually([&] { return !live.record(child).child_uri.empty(); }));
  const std::string path = "/" + std::to_string(child);
  const auto inner = live.job({"/bin/sleep", "600"}, lasting(60), path);
  live.when_running(inner, path);
  const auto status = update(live, longer({inner}, 3'600'000), path);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unsatisfiable);
  EXPECT_THAT(status.error().what, HasSubstr("its instance ends in"));
  EXPECT_EQ(live.record(inner, path).limit, 60'000);
  // The child's lease follows its job's limit, and so may the jobs in it.
  const auto end = live.status(path)->expiration;
  ASSERT_TRUE(update(live, longer({child}, 7'200'000)));
  ASSERT_TRUE(eventually([&] { return live.status(path)->expiration > end + 7'000'000; }));
  EXPECT_TRUE(update(live, longer({inner}, 3'600'000), path));
  EXPECT_EQ(live.record(inner, path).limit, 3'660'000);
}

TEST_F(Update, OfJobsThatWaitIsOfAllOrOfNone) {
  const Live live({"--resources", "node=1/core=4", "--conf", "queues.day.depth=100", "--conf",
                   "queues.night.depth=100", "--conf", "queue.default=day"});
  const auto runs = live.job(live.gated("gate"), lasting(600, 4));
  live.when_running(runs);
  const auto first = live.job({"/bin/true"}), second = live.job({"/bin/true"});
  auto ask = of({first, second});
  ask.slots = 4;
  ask.name = "fit";
  ask.queue = "night";
  ask.urgency = 20;
  ask.limit = 60'000;
  ASSERT_TRUE(update(live, ask));
  for (int broker = 0; broker < 2; ++broker) {
    for (const auto id : {first, second}) {
      const auto record = live.record(id);
      EXPECT_EQ(record.ntasks, 4);
      EXPECT_EQ(record.name, "fit");
      EXPECT_EQ(record.queue, "night");
      EXPECT_EQ(record.urgency, 20);
      EXPECT_EQ(record.limit, 60'000);
      EXPECT_EQ(record.state, "SCHED");
    }
    live.kill_broker();
  }
  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{first});
  ASSERT_TRUE(info);
  EXPECT_THAT(info->jobspec, HasSubstr("\"name\":\"fit\""));
  EXPECT_THAT(info->eventlog, HasSubstr("\"jobspec-update\""));
  // Of what cannot be, nothing is done: neither to those that could.
  auto too_large = of({first, second});
  too_large.slots = 8;
  EXPECT_EQ(update(live, too_large).error().code, Errc::unsatisfiable);
  auto started = of({first, runs});
  started.name = "other";
  EXPECT_THAT(update(live, started).error().what, HasSubstr("only its limit can be changed"));
  auto nowhere = of({first});
  nowhere.queue = "dusk";
  EXPECT_EQ(update(live, nowhere).error().code, Errc::not_found);
  auto nobody = of({first, 99});
  nobody.name = "other";
  EXPECT_EQ(update(live, nobody).error().code, Errc::not_found);
  EXPECT_EQ(update(live, of({first})).error().code, Errc::invalid_argument);
  EXPECT_EQ(live.record(first).ntasks, 4);
  EXPECT_EQ(live.record(first).name, "fit");
  live.release("gate");
  for (const auto id : {first, second}) {
    const auto record = live.wait_one(id);
    EXPECT_EQ(record.result, "COMPLETED");
    EXPECT_EQ(record.ncores, 4);
    EXPECT_EQ(record.name, "fit");
  }
  EXPECT_EQ(update(live, longer({first}, 1'000)).error().code, Errc::denied);
  const auto audit = live.call<msg::AuditReply>("audit", msg::AuditRequest{});
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->entries.back().topic, "submit");
}

TEST_F(Suspend, StopsAllTasksOnAllNodesUntilTheyMayGoOn) {
  const Live live({"--resources", "node=2/core=2", "--agents", "2"});
  JobOptions wide;
  wide.tasks = 3;
  const auto id = live.job({"/bin/sleep", "600"}, wide);
  ASSERT_TRUE(eventually([&] { return live.record(id).pids.size() == 3; }));
  ASSERT_TRUE(suspend(live, {id}, true));
  const auto record = live.record(id);
  EXPECT_EQ(record.state, "RUN");
  EXPECT_GT(record.t_suspended, 0);
  EXPECT_TRUE(all_in_state(record, 'T'));
  live.kill_broker();
  EXPECT_EQ(live.record(id).t_suspended, record.t_suspended);
  EXPECT_TRUE(all_in_state(record, 'T'));
  EXPECT_TRUE(suspend(live, {id}, true)) << "it is, already";
  ASSERT_TRUE(suspend(live, {id}, false));
  EXPECT_EQ(live.record(id).t_suspended, 0);
  EXPECT_TRUE(eventually([&] {
    for (const auto pid : record.pids)
      if (state_of(pid) == 'T') return false;
    return true;
  }));
  live.cancel(id);
  EXPECT_EQ(live.wait_one(id).result, "CANCELED");
}

TEST_F(Suspend, OfAJobThatIsToEndLetsItEnd) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  const auto cancelled = live.job({"/bin/sleep", "600"});
  const auto limited = live.job({"/bin/sleep", "600"}, lasting(600));
  live.when_running(cancelled);
  const auto running = live.when_running(limited);
  ASSERT_TRUE(suspend(live, {cancelled, limited}, true));
  auto ask = of({limited});
  ASSERT_TRUE(eventually([&] {
    ask.limit = wall_clock_ms() - running.t_alloc + 1'000;
    return bool(update(live, ask));
  }));
  live.cancel(cancelled);
  EXPECT_EQ(live.wait_one(cancelled).result, "CANCELED");
  EXPECT_EQ(live.wait_one(limited).result, "TIMEOUT");
  EXPECT_EQ(live.record(limited).t_suspended, 0);
}

TEST_F(Suspend, OfWhatDoesNotRunIsOfNone) {
  const Live& live = shared({"--resources", "node=1/core=1"});
  const auto runs = live.job({"/bin/sleep", "600"});
  const auto record = live.when_running(runs);
  const auto waits = live.job({"/bin/true"});
  EXPECT_EQ(suspend(live, {runs, waits}, true).error().code, Errc::denied);
  EXPECT_EQ(suspend(live, {runs, 999999}, true).error().code, Errc::not_found);
  EXPECT_EQ(suspend(live, {}, true).error().code, Errc::invalid_argument);
  EXPECT_EQ(live.record(runs).t_suspended, 0);
  EXPECT_NE(state_of(record.pids.front()), 'T');
  live.cancel(runs);
  EXPECT_EQ(live.wait_one(waits).result, "COMPLETED");
}

// The message is lost with the connection: what the broker knows comes with the next hello.
TEST_F(Suspend, OfAnAgentThatIsAwayIsMadeGoodWhenItIsBack) {
  const Live live({"--resources", "node=1/core=1"});
  const auto id = live.job({"/bin/sleep", "600"}, lasting(60));
  const auto record = live.when_running(id);
  const pid_t agent = live.agent();
  testing::signal_process(agent, SIGSTOP);
  // Nobody answers for the agent; the broker has it in its journal.
  EXPECT_FALSE(live.call<msg::Empty>("job.suspend", msg::SuspendRequest{{id}, true}, "", 300));
  ASSERT_TRUE(update(live, longer({id}, 600'000)));
  live.kill_broker();
  testing::signal_process(agent, SIGCONT);
  EXPECT_TRUE(all_in_state(record, 'T'));
  EXPECT_GT(live.record(id).t_suspended, 0);
  ASSERT_TRUE(suspend(live, {id}, false));
  live.cancel(id);
  EXPECT_EQ(live.wait_one(id).result, "CANCELED");
}

JobOptions with_file(const Live& live, const std::string& refuse = "") {
  JobOptions options;
  options.environment = {
      {"PATH", "/usr/bin:/bin"}, {"FILE", live.dir() + "/told"}, {"REFUSE", refuse}};
  return options;
}

TEST(Hooks, APrologRunsBeforeTheTasksAndMayRefuse) {
  const Live live({"--resources", "node=1/core=1", "--conf",
                   "job.prolog=echo before $HOLON_JOB_ID >> $FILE; test -z \"$REFUSE\"", "--conf",
                   "job.hook-timeout=20s"});
  const std::vector<std::string> tells = {"/bin/sh", "-c", "echo task >> $FILE"};
  const auto first = live.job(tells, with_file(live));
  EXPECT_EQ(live.wait_one(first).result, "COMPLETED");
  const auto second = live.job(tells, with_file(live, "yes"));
  const auto record = live.wait_one(second);
  EXPECT_EQ(record.result, "FAILED");
  EXPECT_EQ(record.reason, "the prolog ended with exit code 1");
  EXPECT_EQ(record.exit_code, 126);
  EXPECT_EQ(read_file(live.dir() + "/told"), "before 1\ntask\nbefore 2\n");
}

TEST(Hooks, OneThatHangsIsKilled) {
  const Live live({"--resources", "node=1/core=1", "--conf", "job.prolog=sleep 600", "--conf",
                   "job.hook-timeout=200ms"});
  const auto record = live.wait_one(live.job({"/bin/true"}));
  EXPECT_EQ(record.reason, "the prolog took longer than job.hook-timeout");
}

TEST(Hooks, ACancelEndsAProlog) {
  const Live live(
      {"--resources", "node=1/core=1", "--conf", "job.prolog=echo begun > $FILE; exec sleep 600"});
  const auto id = live.job({"/bin/true"}, with_file(live));
  ASSERT_TRUE(eventually([&] { return read_file(live.dir() + "/told") == "begun\n"; }));
  live.cancel(id);
  EXPECT_EQ(live.wait_one(id).result, "CANCELED");
}

TEST(Hooks, AnEpilogRunsWhenNothingOfTheJobDoesAnyMore) {
  const Live live({"--resources", "node=1/core=1", "--conf",
                   "job.epilog=kill -0 $(cat $FILE) 2> /dev/null; echo $? > $FILE.end; exit 3"});
  const auto id =
      live.job({"/bin/sh", "-c", "sleep 600 & echo $! > $FILE; exit 4"}, with_file(live));
  const auto record = live.wait_one(id);
  EXPECT_EQ(record.exit_code, 4) << "how the epilog ends says nothing of the job";
  EXPECT_EQ(read_file(live.dir() + "/told.end"), "1\n") << "the task's child was gone";
}

TEST(Limits, OfATasksProcessAreAsAskedFor) {
  const Live live({"--resources", "node=1/core=1"});
  JobOptions options;
  options.system = R"({"shell":{"options":{"rlimit":{"nofile":77,"core":0}}}})";
  const auto id =
      live.job({"/bin/sh", "-c", "test $(ulimit -n) = 77 && test $(ulimit -c) = 0"}, options);
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  options.system = R"({"shell":{"options":{"rlimit":{"files":77}}}})";
  const auto refused = live.submit({"/bin/true"}, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("'files' is no limit of a process"));
  EXPECT_EQ(refused.error().where, "/attributes/system/shell/options/rlimit/files");
}

}  // namespace
}  // namespace holon::instance
