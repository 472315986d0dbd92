// Policies that users wrote, in live instances: they order queues, outlive broker and file, work in
// children, and where they fail their base decides.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "msg/queue.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

msg::QueueInfo queue_of(const Live& live, const std::string& path = "") {
  const auto stats = live.call<msg::StatsReply>("stats", msg::Empty{}, path);
  EXPECT_TRUE(stats) << stats.error().what;
  return stats && stats->queues.size() == 1 ? stats->queues.front() : msg::QueueInfo();
}

// Submitted with what a policy may look at beside what is needed.
JobOptions with_attributes(const std::string& attributes, std::int64_t cores, double duration) {
  JobOptions options{cores, duration};
  options.system = "{},\"user\":" + attributes;
  return options;
}

// What stands in the file afterwards, or whether it is there, makes no difference.
TEST(LivePolicy, OrdersTheQueueAndOutlivesItsBrokerAndItsFile) {
  const std::string file = ::testing::TempDir() + "holon-live-" + std::to_string(getpid()) + ".lua";
  std::ofstream(file) << "function priority(job) return -job.limit, 'short ones first' end\n"
                         "function admit(job)\n"
                         "  if job.attributes.colour == 'red' then return false, 'not red' end\n"
                         "end\n";
  const Live live({"--resources", "node=1/core=4", "--conf", "queue.policy=" + file});
  std::remove(file.c_str());
  const auto runs = live.job(live.gated("gate"), {4, 60});
  live.when_running(runs);
  const auto longer = live.job({"/bin/true"}, {4, 600});
  const auto red = live.submit({"/bin/true"}, with_attributes(R"({"colour":"red"})", 4, 60));
  ASSERT_FALSE(red);
  EXPECT_THAT(red.error().what, HasSubstr(".lua:2: not red"));
  live.kill_broker();
  const auto shorter =
      live.job({"/bin/true"}, with_attributes(R"({"colour":"blue","n":7})", 4, 300));
  const auto priority = live.call<msg::PriorityReply>("priority", msg::PriorityRequest{});
  ASSERT_TRUE(priority) << priority.error().what;
  ASSERT_EQ(priority->jobs.size(), 2u);
  EXPECT_EQ(priority->jobs[0].id, shorter);
  EXPECT_EQ(priority->jobs[0].priority, -300);
  ASSERT_EQ(priority->jobs[0].parts.size(), 1u);
  EXPECT_THAT(priority->jobs[0].parts[0].factor, HasSubstr(".lua:1: short ones first"));
  live.release("gate");
  const auto first = live.wait_one(shorter);
  const auto second = live.wait_one(longer);
  EXPECT_EQ(first.result, "COMPLETED");
  EXPECT_EQ(second.result, "COMPLETED");
  EXPECT_LE(first.t_finish, second.t_alloc);
  const msg::QueueInfo queue = queue_of(live);
  EXPECT_THAT(queue.policy, HasSubstr(".lua"));
  EXPECT_EQ(queue.base, "fcfs");
  EXPECT_EQ(queue.trouble, "");
}

TEST(LivePolicy, AFailingOneIsItsBaseAndSaysWhere) {
  const Live live({"--resources", "node=1/core=4", "--conf",
                   "policies.mine.lua=base = \"easy\"\nfunction priority() while true do end end",
                   "--conf", "queue.policy=mine.lua"});
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(live.job({"/bin/true"}, {4, 60}));
  for (const auto& record : live.wait(ids)) EXPECT_EQ(record.result, "COMPLETED");
  const msg::QueueInfo queue = queue_of(live);
  EXPECT_EQ(queue.base, "easy");
  EXPECT_EQ(queue.trouble, "mine.lua:2: more than 100000 steps in one call");
  EXPECT_EQ(queue.troubles, 10);
  EXPECT_TRUE(queue.given_up);
}

TEST(LivePolicy, JobsOfACampaignAreKeptTogether) {
  const Live live({"--resources", "rack=2/node=2/core=4", "--conf",
                   "queue.policy=" HOLON_SOURCE_DIR "/docs/examples/policies/keep-together.lua"});
  const auto job_of = [&](const std::string& campaign) {
    const auto id =
        live.job(live.gated("gate"), with_attributes("{\"campaign\":\"" + campaign + "\"}", 1, 60));
    live.when_running(id);
    return live.record(id).nodelist;
  };
  const std::string red = job_of("red");
  const std::string blue = job_of("blue");
  EXPECT_NE(red, blue);
  EXPECT_EQ(job_of("red"), red);
  EXPECT_EQ(job_of("blue"), blue);
  live.kill_broker();
  EXPECT_EQ(job_of("red"), red);
  EXPECT_EQ(queue_of(live).trouble, "");
  live.release("gate");
}

// What it was told is counted once, whatever happens to the broker: the priority tells the count.
TEST(LivePolicy, WhatItKeepsOutlivesTheBroker) {
  const Live live({"--resources", "node=1/core=4", "--conf",
                   "policies.count.lua=state.n = state.n or 0\n"
                   "function on_event(event) state.n = state.n + 1 end\n"
                   "function priority(job, view) return state.n end",
                   "--conf", "queue.policy=count.lua"});
  const auto highest = [&] {
    const auto reply = live.call<msg::PriorityReply>("priority", msg::PriorityRequest{});
    EXPECT_TRUE(reply) << reply.error().what;
    return reply && !reply->jobs.empty() ? reply->jobs.front().priority : 0;
  };
  const auto runs = live.job(live.gated("gate"), {4, 60});
  live.when_running(runs);                               // submitted, started
  const auto second = live.job({"/bin/true"}, {4, 60});  // ranked before it is told
  EXPECT_EQ(highest(), 2);
  live.kill_broker();
  const auto third = live.job({"/bin/true"}, {4, 60});
  EXPECT_EQ(highest(), 3);
  live.release("gate");
  for (const auto& record : live.wait({second, third})) EXPECT_EQ(record.result, "COMPLETED");
  EXPECT_EQ(queue_of(live).trouble, "");
}

TEST(LivePolicy, AChildHasItsOwn) {
  const Live live({"--resources", "node=1/core=4"});
  const auto child =
      live.child({4, 600}, "",
                 {"policies.mine.lua=function may_backfill() return false, 'in line, please' end",
                  "queue.policy=mine.lua"});
  const std::string path = "/" + std::to_string(child);
  live.when_running(child);
  ASSERT_TRUE(testing::eventually([&] { return live.status(path).has_value(); }));
  EXPECT_EQ(queue_of(live, path).policy, "mine.lua");
  EXPECT_EQ(queue_of(live).policy, "fcfs");
  const auto runs = live.job(live.gated("gate"), {3, 60}, path);
  live.when_running(runs, path);
  live.job({"/bin/true"}, {4, 60}, path);
  const auto small = live.job({"/bin/true"}, {1, 60}, path);
  EXPECT_THAT(live.record(small, path).reason, HasSubstr("mine.lua:1: in line, please; job "));
  live.release("gate");
  EXPECT_EQ(live.wait_one(small, path).result, "COMPLETED");
}

}  // namespace
}  // namespace holon::instance
