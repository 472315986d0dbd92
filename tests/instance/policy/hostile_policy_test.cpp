// Policies that mean harm, or are only wrong, in a live instance: it answers meanwhile, their base
// decides, and what went wrong is told with its line. And the examples of the documentation there.
#include <gmock/gmock.h>

#include <atomic>
#include <ctime>
#include <thread>

#include "msg/policy.hpp"
#include "msg/queue.hpp"
#include "msg/schedule.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

void give_policy(const Live& live, const std::string& text) {
  const auto loaded =
      live.call<msg::Empty>("policy.load", msg::PolicyLoadRequest{"", "mine.lua", text});
  ASSERT_TRUE(loaded) << to_string(loaded.error());
}

msg::QueueInfo default_queue(const Live& live) {
  const auto stats = live.call<msg::StatsReply>("stats", msg::Empty{});
  EXPECT_TRUE(stats) << stats.error().what;
  return stats && stats->queues.size() == 1 ? stats->queues.front() : msg::QueueInfo();
}

// Asks for the instance's status again and again, and measures how long each answer takes.
class Patience {
 public:
  explicit Patience(const Live& live)
      : asks_([this, &live] {
          while (!over_) {
            const auto before = std::chrono::steady_clock::now();
            if (!live.status()) ++failed;
            const auto took = std::chrono::steady_clock::now() - before;
            longest =
                std::max(longest, std::chrono::duration_cast<std::chrono::milliseconds>(took));
            ++asked;
          }
        }) {}
  ~Patience() { end(); }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;
  void end() {
    over_ = true;
    if (asks_.joinable()) asks_.join();
  }

  int asked = 0, failed = 0;
  std::chrono::milliseconds longest{0};

 private:
  std::atomic<bool> over_ = false;
  std::thread asks_;  // last: it uses the others
};

struct Harm {
  std::string hook;
  const char* body;
};

// What a policy can do to whoever runs it: each of these in each hook.
constexpr const char* kHarmful[] = {
    "while true do end",
    "local t = {} while true do t[#t + 1] = {} end",
    "local s = 'x' while true do s = s .. s end",
    "return ('a'):rep(60000):find('.-.-.-.-b')",
    "return ('x'):rep(1e9)",
    "local function f() return 1 + f() end return f()",
    "error({})",
    "return coroutine.yield()",
    "return 0/0",
    "table.sort({3, 2, 1}, function() while true do end end)",
    "table.sort({1, 2, 3, 4, 5, 6, 7, 8}, function() return true end) error('lie')",
    "setmetatable({}, {__gc = function() while true do end end}) error('later')",
    "job.cores = 1",
};
// Nobody looks at what on_event says.
constexpr const char* kHarmlessInEvents = "return 0/0";

std::string text_of(const Harm& harm) {
  const std::string& hook = harm.hook;
  const char* const parameters = hook == "on_event" ? "(event, job, view)"
                                 : hook == "score"  ? "(job, place, view)"
                                                    : "(job, view)";
  return "base = 'easy'\nfunction " + hook + parameters + " " + harm.body + " end";
}

class HostileHooks : public ::testing::TestWithParam<const char*> {};

TEST_P(HostileHooks, TheInstanceAnswersAndTheBaseTakesOver) {
  const Live live({"--resources", "node=1/core=4"});
  Patience patience(live);
  const std::string hook = GetParam();
  for (const char* const body : kHarmful) {
    if (hook == "on_event" && std::string(body) == kHarmlessInEvents) continue;
    const std::string text = text_of({hook, body});
    give_policy(live, text);
    JobOptions many{4, 60};
    many.count = 12;
    const auto taken = live.submit({"/bin/true"}, many);
    ASSERT_TRUE(taken) << text << "\n" << taken.error().what;
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < taken->count; ++i) ids.push_back(taken->first_id + i);
    for (const auto& record : live.wait(ids)) EXPECT_EQ(record.result, "COMPLETED") << text;
    const msg::QueueInfo queue = default_queue(live);
    EXPECT_TRUE(queue.given_up) << text << "\n" << queue.trouble;
    EXPECT_EQ(queue.base, "easy");
    EXPECT_GE(queue.troubles, 10) << text;
    EXPECT_EQ(queue.trouble.find("mine.lua:2: "), 0u) << queue.trouble;
    EXPECT_EQ(live.status()->policy_trouble,
              "queue default: " + queue.trouble + "; easy decides now");
  }
  patience.end();
  EXPECT_EQ(patience.failed, 0);
  RecordProperty("longest_answer_ms", static_cast<int>(patience.longest.count()));
  std::printf("the longest of %d answers took %d ms\n", patience.asked,
              static_cast<int>(patience.longest.count()));
  EXPECT_LT(patience.longest, std::chrono::seconds(10));
}

INSTANTIATE_TEST_SUITE_P(Each, HostileHooks,
                         ::testing::Values("admit", "priority", "may_reserve", "may_backfill",
                                           "on_event", "score"),
                         [](const auto& at) { return std::string(at.param); });

// A policy that stays just below what a call may take, over a long queue.
TEST(HostilePolicies, ASlowOneOverALongQueueIsGivenUpToo) {
  const Live live({"--resources", "node=1/core=4", "--conf", "queue.depth=10000"});
  const auto runs = live.job(live.gated("gate"), {4, 600});
  live.when_running(runs);
  JobOptions many{4, 60};
  many.count = 3000;
  ASSERT_TRUE(live.submit({"/bin/true"}, many));
  Patience patience(live);
  give_policy(live,
              "base = 'conservative'  function may_backfill() return nil end\n"
              "function priority(job) local n = job.waited for i = 1, 19000 do n = n + i end "
              "return n end");
  EXPECT_TRUE(testing::eventually([&] {
    live.job({"/bin/true"}, {4, 60});
    return default_queue(live).given_up;
  }));
  EXPECT_THAT(default_queue(live).trouble, HasSubstr("it takes more steps in a pass than"));
  patience.end();
  EXPECT_EQ(patience.failed, 0);
  std::printf("the longest of %d answers took %d ms\n", patience.asked,
              static_cast<int>(patience.longest.count()));
  msg::CancelRequest all;
  all.all = true;
  EXPECT_TRUE(live.call<msg::CancelReply>("cancel", all));
}

// ---- the examples of docs/own-policy.md

std::string example(const std::string& name) {
  return testing::read_file(HOLON_SOURCE_DIR "/docs/examples/policies/" + name);
}

JobOptions attributed(const std::string& attributes, std::int64_t cores, double duration) {
  JobOptions options{cores, duration};
  options.system = "{},\"user\":" + attributes;
  return options;
}

// Jobs that wait, in the order in which they are looked at.
std::vector<std::uint64_t> in_order(const Live& live) {
  const auto reply = live.call<msg::PriorityReply>("priority", msg::PriorityRequest{});
  EXPECT_TRUE(reply) << reply.error().what;
  std::vector<std::uint64_t> ids;
  if (reply)
    for (const auto& job : reply->jobs) ids.push_back(job.id);
  return ids;
}

class Example : public ::testing::Test {
 protected:
  // Everything is in use until release().
  void begin(const std::string& file) {
    give_policy(live, example(file));
    live.when_running(live.job(live.gated("gate"), attributed(R"({"campaign":"red"})", 4, 600)));
  }
  void expect_no_trouble() const { EXPECT_EQ(default_queue(live).trouble, ""); }

  Live live{{"--resources", "node=1/core=4"}};
};

using Ids = std::vector<std::uint64_t>;

TEST_F(Example, ShortestFirst) {
  begin("shortest-first.lua");
  const auto longer = live.job({"/bin/true"}, {4, 600});
  const auto shorter = live.job({"/bin/true"}, {4, 300});
  EXPECT_EQ(in_order(live), (Ids{shorter, longer}));
  live.release("gate");
  EXPECT_LE(live.wait_one(shorter).t_finish, live.wait_one(longer).t_alloc);
  expect_no_trouble();
}

std::string clock_in(std::time_t seconds) {
  const std::time_t when = std::time(nullptr) + seconds;
  std::tm local{};
  localtime_r(&when, &local);
  char text[6];
  std::strftime(text, sizeof text, "%H:%M", &local);
  return text;
}

TEST_F(Example, DeadlinesAreMetOrRefused) {
  begin("deadline.lua");
  const auto with_deadline = [&](std::time_t in, double limit) {
    return live.submit({"/bin/true"},
                       attributed("{\"deadline\":\"" + clock_in(in) + "\"}", 4, limit));
  };
  const auto refused = with_deadline(7'200, 10'800);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("it may run for 10800 s, and its deadline is in"));
  EXPECT_THAT(refused.error().what, HasSubstr("mine.lua:"));
  const auto later = with_deadline(36'000, 60);
  const auto sooner = with_deadline(18'000, 600);
  ASSERT_TRUE(later && sooner);
  const auto none = live.job({"/bin/true"}, {4, 60});
  EXPECT_EQ(in_order(live), (Ids{sooner->first_id, later->first_id, none}));
  live.release("gate");
  live.wait({none});
  expect_no_trouble();
}

TEST_F(Example, CampaignsShareFairly) {
  begin("campaigns.lua");
  const auto red = live.job({"/bin/true"}, attributed(R"({"campaign":"red"})", 4, 60));
  const auto blue = live.job({"/bin/true"}, attributed(R"({"campaign":"blue"})", 4, 60));
  EXPECT_EQ(in_order(live), (Ids{blue, red}));
  live.kill_broker();
  EXPECT_EQ(in_order(live), (Ids{blue, red}));
  live.release("gate");
  live.wait({red, blue});
  expect_no_trouble();
}

bool is_night() {
  const int hour = std::stoi(clock_in(0));
  return hour >= 20 || hour < 7;
}

TEST_F(Example, WideJobsAtNight) {
  const bool night = is_night();
  begin("night-and-day.lua");
  const auto narrow = live.job({"/bin/true"}, {1, 60});
  const auto wide = live.job({"/bin/true"}, {4, 60});
  const Ids order = in_order(live);
  if (night == is_night()) {
    EXPECT_EQ(order, (night ? Ids{wide, narrow} : Ids{narrow, wide}));
  }
  live.release("gate");
  live.wait({narrow, wide});
  expect_no_trouble();
}

}  // namespace
}  // namespace holon::instance
