// Policies that users wrote, in live instances: they order queues, outlive broker and file, work in
// children, and where they fail their base decides.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "msg/audit.hpp"
#include "msg/policy.hpp"
#include "msg/queue.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/shared_live.hpp"

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

class LivePolicy : public testing::SharedLive {};

// What stands in the file afterwards, or whether it is there, makes no difference.
TEST_F(LivePolicy, OrdersTheQueueAndOutlivesItsBrokerAndItsFile) {
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

// ---- another one while jobs wait

constexpr const char* kShortestFirst = "function priority(job) return -job.limit end";

Status load_policy(const Live& live, const std::string& policy, const std::string& text,
                   const std::string& queue = "") {
  const auto loaded =
      live.call<msg::Empty>("policy.load", msg::PolicyLoadRequest{queue, policy, text});
  return loaded ? Status() : tl::unexpected(loaded.error());
}

msg::PolicyShown shown_policy(const Live& live) {
  const auto reply = live.call<msg::PolicyShown>("policy.show", msg::PolicyShowRequest{});
  EXPECT_TRUE(reply) << reply.error().what;
  return reply.value_or(msg::PolicyShown());
}

std::int64_t highest_priority(const Live& live) {
  const auto reply = live.call<msg::PriorityReply>("priority", msg::PriorityRequest{});
  EXPECT_TRUE(reply) << reply.error().what;
  return reply && !reply->jobs.empty() ? reply->jobs.front().priority : 0;
}

TEST_F(LivePolicy, IsLoadedWhileJobsWaitAndStaysWhateverHappensToTheBroker) {
  Live live({"--resources", "node=1/core=4"});
  live.when_running(live.job(live.gated("gate"), {4, 60}));
  const auto longer = live.job({"/bin/true"}, {4, 600});
  const auto shorter = live.job({"/bin/true"}, {4, 300});
  ASSERT_TRUE(load_policy(live, "mine.lua", kShortestFirst));
  live.kill_broker();
  EXPECT_EQ(live.status()->policy, "mine.lua");
  const msg::PolicyShown now = shown_policy(live);
  EXPECT_EQ(now.policy, "mine.lua");
  EXPECT_EQ(now.configured, "fcfs");
  EXPECT_TRUE(now.set_live);
  EXPECT_EQ(now.text, kShortestFirst);
  ASSERT_EQ(now.functions.size(), 1u);
  EXPECT_EQ(now.functions[0].name, "priority");
  live.release("gate");
  EXPECT_LE(live.wait_one(shorter).t_finish, live.wait_one(longer).t_alloc);
  live.stop();
  live.start();
  EXPECT_EQ(shown_policy(live).policy, "mine.lua");
  EXPECT_TRUE(live.call<msg::PolicyDisableReply>("policy.disable", msg::PolicyDisableRequest{}));
  EXPECT_EQ(shown_policy(live).policy, "fcfs");
  live.kill_broker();
  EXPECT_EQ(shown_policy(live).policy, "fcfs");
  EXPECT_FALSE(shown_policy(live).set_live);
}

TEST_F(LivePolicy, DisabledIsTheBaseOfOneThatTheConfigurationNames) {
  const Live live({"--resources", "node=1/core=4", "--conf",
                   "policies.mine.lua=base = \"easy\"\nfunction priority() return 1 end", "--conf",
                   "queue.policy=mine.lua"});
  const auto disabled =
      live.call<msg::PolicyDisableReply>("policy.disable", msg::PolicyDisableRequest{});
  ASSERT_TRUE(disabled) << disabled.error().what;
  EXPECT_EQ(disabled->policy, "easy");
  live.kill_broker();
  const msg::PolicyShown now = shown_policy(live);
  EXPECT_EQ(now.policy, "easy");
  EXPECT_EQ(now.configured, "mine.lua");
  EXPECT_EQ(now.text, "");
}

// What an earlier policy of the same name had kept is not found by a later one, before or after a
// crash.
TEST_F(LivePolicy, LoadedBehindAnotherOneItBeginsAnew) {
  const Live live({"--resources", "node=1/core=4"});
  const std::string counts =
      "state.n = state.n or 0\n"
      "function on_event() state.n = state.n + 1 end\n"
      "function priority() return state.n end";
  ASSERT_TRUE(load_policy(live, "counts.lua", counts));
  live.when_running(live.job(live.gated("gate"), {4, 60}));
  live.job({"/bin/true"}, {4, 60});
  EXPECT_EQ(highest_priority(live), 2);
  live.kill_broker();
  live.job({"/bin/true"}, {4, 60});
  EXPECT_EQ(highest_priority(live), 3);
  ASSERT_TRUE(load_policy(live, "easy", ""));
  ASSERT_TRUE(load_policy(live, "counts.lua", counts));
  EXPECT_EQ(highest_priority(live), 0);
  live.kill_broker();
  EXPECT_EQ(highest_priority(live), 0);
  live.release("gate");
}

TEST_F(LivePolicy, WhatIsWrongIsRefusedAndChangesNothing) {
  const Live& live = shared({"--resources", "node=1/core=4"});
  const auto said = [&](const std::string& policy, const std::string& text,
                        const std::string& queue = "") {
    const Status loaded = load_policy(live, policy, text, queue);
    EXPECT_FALSE(loaded) << policy;
    return loaded ? std::string() : to_string(loaded.error());
  };
  EXPECT_THAT(said("mine.lua", "function priority(job)\n  return -job.limit"),
              HasSubstr("mine.lua:2: "));
  EXPECT_THAT(said("mine.lua", "x = 1"), HasSubstr("it says nothing"));
  EXPECT_THAT(said("slow", ""), HasSubstr("\"slow\" is no policy; accepted: fcfs, easy"));
  EXPECT_THAT(said("easy", "base = 'easy'"), HasSubstr("not called FILE.lua"));
  EXPECT_THAT(said("../mine.lua", "base = 'easy'"), HasSubstr("without folders"));
  EXPECT_THAT(said("easy", "", "batch"),
              HasSubstr("there is no queue \"batch\"; there is default"));
  EXPECT_EQ(shown_policy(live).policy, "fcfs");
  const auto audit = live.call<msg::AuditReply>("audit", msg::AuditRequest{});
  ASSERT_TRUE(audit) << audit.error().what;
  ASSERT_FALSE(audit->entries.empty());
  EXPECT_EQ(audit->entries[0].topic, "policy.load");
  EXPECT_EQ(audit->entries[0].what, "easy for queue batch");
  EXPECT_THAT(audit->entries[0].refused, HasSubstr("there is no queue"));
}

// Whatever is loaded later, a kept reservation is not delayed.
TEST_F(LivePolicy, KeptReservationsOutliveThePolicyThatMadeThem) {
  const Live live({"--resources", "node=1/core=4", "--conf", "queue.policy=conservative"});
  live.when_running(live.job(live.gated("gate"), {4, 600}));
  const auto planned = [&](std::uint64_t id) {
    EXPECT_TRUE(testing::eventually([&] { return live.record(id).t_estimate > 0; }));
    return live.record(id).t_estimate;
  };
  const auto first = live.job({"/bin/true"}, {4, 600});
  const auto reserved = planned(first);
  ASSERT_TRUE(load_policy(live, "mine.lua",
                          "base = 'conservative'  function priority(job) return job.id end"));
  const auto second = live.job({"/bin/true"}, {4, 600});
  EXPECT_GT(planned(second), reserved);
  EXPECT_LE(planned(first), reserved);
  live.release("gate");
}

// ---- what would be

TEST_F(LivePolicy, WhatIfTellsWhoWouldStartWhenAndChangesNothing) {
  const Live& live = shared({"--resources", "node=1/core=4"});
  live.when_running(live.job(live.gated("gate"), {4, 60}));
  const auto longer = live.job({"/bin/true"}, {4, 600});
  const auto shorter = live.job({"/bin/true"}, {4, 300});
  const auto wide = live.job({"/bin/true"}, {4, 900});
  msg::WhatIfRequest ask{"", "mine.lua", kShortestFirst, {}};
  const auto reply = live.call<msg::WhatIfReply>("policy.what-if", ask);
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(reply->policy, "fcfs");
  ASSERT_EQ(reply->jobs.size(), 2u);
  EXPECT_EQ(reply->jobs[0].id, longer);
  EXPECT_EQ(reply->jobs[0].t_then - reply->jobs[0].t_now, 300'000);
  EXPECT_EQ(reply->jobs[1].id, shorter);
  EXPECT_EQ(reply->jobs[1].t_then - reply->jobs[1].t_now, -600'000);
  EXPECT_EQ(reply->same, 1u);
  EXPECT_EQ(reply->unknown, 0u);
  EXPECT_EQ(reply->trouble, "");
  ask.ids = {wide};
  EXPECT_EQ(live.call<msg::WhatIfReply>("policy.what-if", ask)->same, 1u);
  ask.ids = {4711};
  EXPECT_EQ(live.call<msg::WhatIfReply>("policy.what-if", ask).error().code, Errc::not_found);
  ask = {"", "bad.lua", "function priority(job) return job.nonsense end", {}};
  const auto bad = live.call<msg::WhatIfReply>("policy.what-if", ask);
  ASSERT_TRUE(bad) << bad.error().what;
  EXPECT_THAT(bad->trouble, HasSubstr("bad.lua:1: a job has no 'nonsense'; fcfs decided "));
  EXPECT_EQ(shown_policy(live).policy, "fcfs");
  EXPECT_EQ(shown_policy(live).calls, 0);
  live.release("gate");
}

TEST_F(LivePolicy, WhatIfKeepsNobodyWaitingOverAQueueThatIsTooLong) {
  const Live& live = shared({"--resources", "node=1/core=4"});
  live.when_running(live.job(live.gated("gate"), {4, 60}));
  JobOptions many{4, 60};
  many.count = 20'001;
  ASSERT_TRUE(live.submit({"/bin/true"}, many));
  ASSERT_TRUE(testing::eventually([&] { return queue_of(live).pending == 20'001; }));
  const msg::WhatIfRequest ask{"", "mine.lua", kShortestFirst, {}};
  const auto reply = live.call<msg::WhatIfReply>("policy.what-if", ask);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::out_of_range);
  EXPECT_THAT(reply.error().what, HasSubstr("20001 jobs wait in queue default; with more than"));
  msg::CancelRequest all;
  all.all = true;
  EXPECT_TRUE(live.call<msg::CancelReply>("cancel", all));
}

// ---- failing

TEST_F(LivePolicy, AFailingOneIsItsBaseAndSaysWhere) {
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
  const std::string told =
      "queue default: mine.lua:2: more than 100000 steps in one call; easy decides now";
  EXPECT_EQ(live.status()->policy_trouble, told);
  const std::string log = testing::read_file(live.dir() + "/state/instance.log");
  EXPECT_THAT(log, HasSubstr("the policy mine.lua of queue default is not asked any more"));
  EXPECT_EQ(log.find("failed: mine.lua:2"), log.rfind("failed: mine.lua:2"));
}

TEST_F(LivePolicy, JobsOfACampaignAreKeptTogether) {
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
TEST_F(LivePolicy, WhatItKeepsOutlivesTheBroker) {
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

TEST_F(LivePolicy, AChildHasItsOwn) {
  const Live& live = shared({"--resources", "node=1/core=4"});
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
