// How many jobs there are is kept, not counted; and of an array each task counts, in whatever adds
// jobs up.
#include <gmock/gmock.h>

#include <map>

#include "msg/events.hpp"
#include "msg/job_filter.hpp"
#include "msg/queue.hpp"
#include "msg/usage.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using Counts = std::map<std::string, std::uint64_t>;

const std::vector<std::string> kTwoQueues = {"--resources", "node=1/core=2",
                                             "--conf",      "queues.default.policy=fcfs",
                                             "--conf",      "queues.debug.policy=fcfs"};

// How many pages it takes.
struct Counted {
  Counts counts;
  int pages = 0;
};

Counted counted(const Live& live, msg::JobsRequest ask) {
  Counted all;
  ask.stats = true;
  do {
    const auto page = live.call<msg::JobsReply>("jobs", ask);
    EXPECT_TRUE(page) << page.error().what;
    if (!page) return all;
    for (const auto& count : page->counts) all.counts[count.state] += count.jobs;
    ask.after = page->next;
    ++all.pages;
  } while (!ask.after.empty());
  return all;
}

std::vector<msg::JobRecord> all_with_tasks(const Live& live) {
  std::vector<msg::JobRecord> all;
  msg::JobsRequest ask;
  ask.all = ask.tasks = true;
  do {
    auto page = live.call<msg::JobsReply>("jobs", ask);
    EXPECT_TRUE(page) << page.error().what;
    if (!page) return all;
    for (auto& job : page->jobs)
      if (job.tasks == 0) all.push_back(std::move(job));
    ask.after = page->next;
  } while (!ask.after.empty());
  return all;
}

Counts counted_here(const std::vector<msg::JobRecord>& jobs, const msg::JobsRequest& ask) {
  Counts counts;
  for (const auto& job : jobs)
    if ((ask.all || job.state != "INACTIVE") && msg::matches(ask.filter, job))
      ++counts[msg::state_word(job)];
  return counts;
}

JobOptions in_queue(const std::string& queue, std::uint64_t count = 1) {
  JobOptions options;
  options.count = count;
  options.system = R"({"queue":")" + queue + R"("})";
  return options;
}

JobOptions an_array(std::uint64_t count, const std::string& more = "") {
  JobOptions options;
  options.count = count;
  options.system = R"({"holon":{"array":{}})" + more + "}";
  return options;
}

std::uint64_t submit_as(const Live& live, const std::string& user, std::vector<std::string> command,
                        const JobOptions& options = {}) {
  auto ask = Live::request(std::move(command), options);
  ask.user = user;
  const auto reply = live.call<msg::SubmitReply>("submit", ask);
  EXPECT_TRUE(reply) << reply.error().what;
  return reply ? reply->first_id : 0;
}

// Jobs of all kinds, which stay as they are.
void make_many_kinds(const Live& live) {
  live.wait_one(submit_as(live, "ada", {"/bin/true"}));
  live.wait_one(submit_as(live, "ada", {"/bin/false"}, in_queue("debug")));
  live.wait_one(
      submit_as(live, "bob", {"/bin/sh", "-c", "exit $(($HOLON_ARRAY_INDEX % 3))"}, an_array(9)));
  JobOptions short_ones = an_array(2, R"(,"queue":"debug")");
  short_ones.duration = 0.2;
  live.wait_one(submit_as(live, "bob", {"/bin/sleep", "60"}, short_ones));
  EXPECT_FALSE(live.submit({"/bin/true"}, {64})) << "refused, which leaves a record";
  const auto stopped = submit_as(live, "ada", live.gated("stopped"));
  live.when_running(stopped);
  EXPECT_TRUE(live.call<msg::Empty>("job.suspend", msg::SuspendRequest{{stopped}, true}));
  live.when_running(submit_as(live, "bob", live.gated("running"), in_queue("debug")));
  submit_as(live, "ada", {"/bin/true"}, in_queue("debug", 30));
  const auto waiting = submit_as(live, "bob", {"/bin/true"}, an_array(20));
  live.cancel(waiting + 3);
  live.cancel(waiting + 19);
  const auto moved = submit_as(live, "bob", {"/bin/true"});
  msg::UpdateRequest update;
  update.ids = {moved};
  update.queue = "debug";
  EXPECT_TRUE(live.call<msg::Empty>("job.update", update));
  JobOptions depends = an_array(
      5, R"(,"dependencies":[{"scheme":"afterok","value":")" + std::to_string(stopped) + R"("}])");
  submit_as(live, "ada", {"/bin/true"}, depends);
}

std::vector<msg::JobsRequest> questions() {
  std::vector<msg::JobsRequest> all;
  for (const char* user : {"", "ada", "bob", "eve"})
    for (const char* queue : {"", "default", "debug"})
      for (const std::vector<std::string>& states :
           {std::vector<std::string>(), {"PENDING"}, {"RUNNING", "FAILED"}, {"SUSPENDED"}})
        for (const bool with_ended : {true, false}) {
          msg::JobsRequest ask;
          ask.all = with_ended;
          ask.filter.user = user;
          ask.filter.queue = queue;
          ask.filter.states = states;
          all.push_back(std::move(ask));
        }
  return all;
}

void expect_kept_to_be_counted(const Live& live, const std::string& when) {
  const auto jobs = all_with_tasks(live);
  for (const auto& ask : questions()) {
    const Counts want = counted_here(jobs, ask);
    const std::string which = when + ": " + ask.filter.user + " " + ask.filter.queue + " " +
                              (ask.filter.states.empty() ? "" : ask.filter.states.front()) +
                              (ask.all ? "" : " active");
    EXPECT_EQ(counted(live, ask).counts, want) << which;
    // A filter that all pass, but that nothing is kept for.
    msg::JobsRequest one_by_one = ask;
    one_by_one.filter.name = "*";
    EXPECT_EQ(counted(live, one_by_one).counts, want) << which << ", one by one";
  }
}

TEST(LiveCounts, AreWhatCountingTheJobsGives) {
  const Live live(kTwoQueues);
  make_many_kinds(live);
  const auto jobs = all_with_tasks(live);
  const Counts all = counted_here(jobs, [] {
    msg::JobsRequest ask;
    ask.all = true;
    return ask;
  }());
  for (const char* kind : {"COMPLETED", "FAILED", "CANCELED", "TIMEOUT", "REJECTED", "RUN",
                           "SUSPENDED", "SCHED", "DEPEND"})
    EXPECT_TRUE(all.contains(kind)) << kind;
  EXPECT_EQ(all.at("TIMEOUT"), 2u);
  EXPECT_EQ(all.at("DEPEND"), 5u);
  expect_kept_to_be_counted(live, "from the beginning");
  live.kill_broker();
  expect_kept_to_be_counted(live, "after a crash");
  const auto node = live.status();
  ASSERT_TRUE(node) << node.error().what;
  EXPECT_EQ(node->inactive + node->pending + node->running, static_cast<std::int64_t>(jobs.size()));
  EXPECT_EQ(node->cancelled, 2);
}

// Whose jobs were that are over is counted once somebody asks, and kept from then on.
TEST(LiveCounts, OfEndedJobsOfAUserAreCountedOnceAndThenKept) {
  const Live live({"--resources", "node=1/core=4"});
  live.wait_one(submit_as(live, "bob", {"/bin/false"}, an_array(2)));
  const auto many = submit_as(live, "ada", {"/bin/true"}, an_array(2'500));
  live.cancel(many);
  live.wait_one(many);
  msg::JobsRequest ask;
  ask.all = true;
  ask.filter.user = "bob";
  const Counts want = {{"FAILED", 2}};
  EXPECT_EQ(counted(live, ask).counts, want) << "counted";
  EXPECT_TRUE(eventually([&] {
    const auto again = counted(live, ask);
    EXPECT_EQ(again.counts, want);
    return again.pages == 1;
  }));
  live.wait_one(submit_as(live, "bob", {"/bin/true"}));
  EXPECT_EQ(counted(live, ask).counts, (Counts{{"FAILED", 2}, {"COMPLETED", 1}}));
}

// ---- arrays ----

TEST(LiveCounts, HistoryAddsUpTheTasksOfAnArray) {
  const Live live(kTwoQueues);
  live.wait_one(
      submit_as(live, "bob", {"/bin/sh", "-c", "exit $(($HOLON_ARRAY_INDEX % 2))"}, an_array(10)));
  live.wait_one(submit_as(live, "ada", {"/bin/true"}));
  const auto jobs = all_with_tasks(live);
  for (const char* by : {"user", "result", "queue", "day", "name"}) {
    msg::UsageTable want;
    for (const auto& job : jobs) msg::add_usage(want, by, job);
    msg::JobsRequest ask;
    ask.all = true;
    ask.by = by;
    const auto reply = live.call<msg::JobsReply>("jobs", ask);
    ASSERT_TRUE(reply) << reply.error().what;
    msg::UsageTable got;
    for (const auto& usage : reply->usage) msg::add_usage(got, usage);
    ASSERT_EQ(got.size(), want.size()) << by;
    for (const auto& [key, usage] : want) {
      EXPECT_EQ(got[key].jobs, usage.jobs) << by << " " << key;
      EXPECT_EQ(got[key].completed, usage.completed) << by << " " << key;
      EXPECT_EQ(got[key].failed, usage.failed) << by << " " << key;
      EXPECT_EQ(got[key].started, usage.started) << by << " " << key;
      EXPECT_EQ(got[key].run_ms, usage.run_ms) << by << " " << key;
      EXPECT_EQ(got[key].core_ms, usage.core_ms) << by << " " << key;
      EXPECT_EQ(got[key].wait_ms, usage.wait_ms) << by << " " << key;
    }
  }
  // Where only the record of an array is known, it stands for its tasks.
  msg::UsageTable by_tasks, by_array;
  for (const auto& job : jobs)
    if (job.user == "bob") msg::add_usage(by_tasks, "user", job);
  msg::add_usage(by_array, "user", live.record(1));
  EXPECT_EQ(by_array["bob"].jobs, 10u);
  EXPECT_EQ(by_array["bob"].failed, 5u);
  EXPECT_EQ(by_array["bob"].started, by_tasks["bob"].started);
  EXPECT_EQ(by_array["bob"].run_ms, by_tasks["bob"].run_ms);
  EXPECT_EQ(by_array["bob"].wait_ms, by_tasks["bob"].wait_ms);
}

TEST(LiveCounts, QueuesCountTheTasksOfAnArrayAndNothingThatWasOnlyTried) {
  const Live live({"--resources", "node=1/core=1", "--conf", "queue.depth=4"});
  const auto queue = [&live] {
    const auto stats = live.call<msg::StatsReply>("stats", msg::Empty{});
    EXPECT_TRUE(stats) << stats.error().what;
    return stats && !stats->queues.empty() ? stats->queues.front() : msg::QueueInfo();
  };
  live.when_running(live.job(live.gated("gate")));
  const auto array = live.job({"/bin/true"}, an_array(1'000));
  EXPECT_EQ(queue().submitted, 1'001);
  EXPECT_EQ(queue().pending, 1'000);
  EXPECT_EQ(queue().cancelled, 0);
  live.cancel(array + 999);
  EXPECT_EQ(queue().submitted, 1'001);
  EXPECT_EQ(queue().cancelled, 1);
  live.cancel(array);
  EXPECT_EQ(queue().submitted, 1'001);
  EXPECT_EQ(queue().pending, 0);
  EXPECT_EQ(queue().cancelled, 1'000);
}

TEST(LiveCounts, AFollowerHearsHowFarAnArrayIs) {
  const Live live(kTwoQueues);
  const auto array =
      live.job({"/bin/sh", "-c", "[ $HOLON_ARRAY_INDEX = 2 ] && exit 3; exit 0"}, an_array(50));
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  ASSERT_TRUE(client);
  msg::EventsRequest ask;
  ask.bare = true;
  ask.arrays = {array};
  std::uint64_t most = 0;
  msg::JobRecord last;
  const auto followed = client->stream<msg::EventsPart>(
      "events", ask, "",
      [&](const msg::EventsPart& part) {
        for (const auto& job : part.jobs) {
          EXPECT_EQ(job.id, array);
          const auto over = job.tasks_completed + job.tasks_failed;
          EXPECT_GE(over, most);
          most = over;
          last = job;
        }
        return last.state != "INACTIVE";
      },
      30'000);
  EXPECT_TRUE(followed) << followed.error().what;
  EXPECT_EQ(last.tasks_completed, 49u);
  EXPECT_EQ(last.tasks_failed, 1u);
  ask.arrays.assign(10'001, 1);
  const auto many = client->stream<msg::EventsPart>(
      "events", ask, "", [](const msg::EventsPart&) { return true; }, 30'000);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Errc::out_of_range);
}

}  // namespace
}  // namespace holon::instance
