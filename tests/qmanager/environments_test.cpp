// Parallel environments by pattern, and who may use them and queues.
#include <gtest/gtest.h>

#include <random>

#include "qmanager/machine/flat_machine.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::AllocationRule;
using qmanager::SchedulerConfig;
using Kind = AllocationRule::Kind;

void two_environments(SchedulerConfig& c) {
  c.environments["mpi-a"] = {.slots = 2, .rule = {Kind::fill_up, 0}};
  c.environments["mpi-b"] = {.slots = 4, .rule = {Kind::fill_up, 0}};
  c.environments["omp"] = {.slots = 9, .rule = {Kind::one_host, 0}};
}

// A pattern instead of an environment's name.
const Drawing kPatterns[] = {
    {"the first by name that has room, and none where none has", two_environments, 8, R"(
        A   0      2     3     3   pe=mpi-*
        B   0      2     3     3   pe=mpi-*
        C   0      2     3     3   pe=mpi-?
        D   0      1     1     1   pe=mpi-*)",
     R"(
      n0 |AAAD|
      n1 |AAA.|
      n2 |BBB.|
      n3 |BBB.|
      n4 |CCC.|
      n5 |CCC.|
      n6 |....|
      n7 |....|
)"},
    {"a range of slots goes where it gets the most", two_environments, 8, R"(
        A   0      1     2     2   pe=mpi-* slots=1-8
        B   0      1     2     2   pe=mpi-* slots=1-8)",
     R"(
      n0 |AA|
      n1 |AA|
      n2 |AA|
      n3 |AA|
      n4 |BB|
      n5 |BB|
      n6 |..|
      n7 |..|
)"},
    {"a reservation is made where it begins first", two_environments, 8, R"(
        A   0      2     5     5   pe=mpi-a
        B   0      3     3     3   pe=mpi-b
        C   0      2     2     2   pe=mpi-*
        D   0      1     9     9   pe=mpi-b)",
     R"(
      n0 |AAAAA....|
      n1 |AAAAA....|
      n2 |BBBCC....|
      n3 |BBBCC....|
      n4 |BBB......|
      n5 |DDDDDDDDD|
      n6 |.........|
      n7 |.........|
)"},
};

TEST(Environments, PatternsAreForAnyThatMatches) {
  for (const char* each : {"easy", "conservative", "conservative-rebuild"}) {
    SCOPED_TRACE(each);
    expect_drawings(kPatterns, each);
  }
}

TEST(Environments, AreForWhomTheirListsName) {
  SchedulerConfig config = policy("easy");
  two_environments(config);
  config.environments["mpi-a"].access = {.users = {"ann", "@chem"}, .xusers = {"cy"}};
  config.environments["omp"].access = {.users = {}, .xusers = {"@chem"}};
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(9));
  struct Ask {
    const char* job;
    const char* refusal;  // "": taken
  };
  for (const Ask& ask :
       {Ask{"A 0 1 5 5 user=ann pe=mpi-a", ""}, Ask{"A 0 1 5 5 user=bob group=chem pe=mpi-a", ""},
        Ask{"A 0 1 5 5 user=bob pe=mpi-a", "parallel environment mpi-a is not for user \"bob\""},
        Ask{"A 0 1 5 5 user=cy group=chem pe=mpi-a",
            "parallel environment mpi-a is not for user \"cy\""},
        Ask{"A 0 1 5 5 pe=mpi-a", "parallel environment mpi-a is not for user \"\""},
        Ask{"A 0 1 5 5 user=bob pe=mpi-*", ""}, Ask{"A 0 1 5 5 user=bob pe=omp", ""},
        Ask{"A 0 1 5 5 user=bob group=chem pe=om*",
            "parallel environment omp is not for user \"bob\""}}) {
    SCOPED_TRACE(ask.job);
    auto job = parse_jobs(ask.job).front().request;
    const auto refused = scheduler.submit(job, 0);
    ASSERT_TRUE(refused) << to_string(refused.error());
    EXPECT_EQ(*refused ? (**refused).reason : "", ask.refusal);
    if (!*refused) {
      ASSERT_TRUE(scheduler.cancel(job.id, 0));
    }
  }
  // The one it may use, though the other one comes first.
  auto bob = parse_jobs("A 0 1 5 5 user=bob pe=mpi-*").front().request;
  ASSERT_FALSE(scheduler.submit(bob, 0)->has_value());
  const auto step = scheduler.step(0);
  ASSERT_EQ(step.decisions.size(), 1u);
  EXPECT_EQ(std::get<qmanager::Start>(step.decisions[0]).environment, "mpi-b");
  ASSERT_EQ(scheduler.plan(0).size(), 1u);
  EXPECT_EQ(scheduler.plan(0)[0].consumes,
            (std::vector<qmanager::Consumes>{{"mpi-b/slots", 1, false}}));
}

TEST(Environments, APatternThatMatchesNoneIsAnError) {
  SchedulerConfig config = policy("easy");
  two_environments(config);
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(9));
  const auto refused = scheduler.submit(parse_jobs("A 0 1 5 5 pe=pvm*").front().request, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::not_found);
}

TEST(Queues, AreForWhomTheirListsName) {
  SchedulerConfig config = policy("easy");
  config.queues["mine"] = config.queues["all"] = config.defaults;
  config.queues["mine"].access.users = {"ann"};
  config.default_queue = "all";
  auto scheduler = *qmanager::Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(1));
  const auto jobs = parse_jobs(
      "A 0 1 5 5 user=ann queue=mine\nB 0 1 5 5 user=bob queue=mine\nC 0 1 5 5 user=bob");
  EXPECT_FALSE(scheduler.submit(jobs[0].request, 0)->has_value());
  const auto refused = scheduler.submit(jobs[1].request, 0);
  ASSERT_TRUE(refused && *refused);
  EXPECT_EQ((**refused).reason, "queue mine is not for user \"bob\"");
  EXPECT_FALSE(scheduler.submit(jobs[2].request, 0)->has_value());
}

// Why PE_RANGE_ALG is no setting here: whichever way the numbers of a range are tried, upwards
// until one does not fit, downwards until one does, or by halves, the same one is found, because a
// smaller number that the rule allows fits wherever a larger one does.
TEST(Environments, ItPlaysNoPartInWhichOrderTheNumbersOfARangeAreTried) {
  std::mt19937 random(7);
  const auto up_to = [&](int most) { return static_cast<std::int64_t>(random() % unsigned(most)); };
  for (int round = 0; round < 20'000; ++round) {
    const char* const rules[] = {"$fill_up", "$round_robin", "$pe_slots", "1", "2", "3"};
    const AllocationRule rule = *qmanager::parse_allocation_rule(rules[up_to(6)]);
    std::vector<std::int64_t> free;
    for (std::int64_t hosts = 1 + up_to(5); hosts > 0; --hosts) free.push_back(up_to(7));
    std::vector<std::int64_t> range;  // what Grid Engine tries: what the rule allows at all
    for (std::int64_t n = 1 + up_to(4); n <= 24; n += 1 + up_to(3))
      if (rule.kind != Kind::per_host || n % rule.slots == 0) range.push_back(n);
    const auto fits = [&](std::int64_t n) { return qmanager::spread(rule, n, free).has_value(); };
    std::int64_t least = 0, highest = 0, binary = 0;
    for (const std::int64_t n : range) {
      if (!fits(n)) break;
      least = n;
    }
    for (auto n = range.rbegin(); n != range.rend() && highest == 0; ++n)
      if (fits(*n)) highest = *n;
    std::int64_t low = 0, high = static_cast<std::int64_t>(range.size()) - 1;
    while (low <= high) {
      const std::int64_t middle = (low + high) / 2;
      const std::int64_t n = range[static_cast<std::size_t>(middle)];
      if (fits(n))
        binary = n, low = middle + 1;
      else
        high = middle - 1;
    }
    ASSERT_EQ(least, highest) << round;
    ASSERT_EQ(least, binary) << round;
  }
}

}  // namespace
}  // namespace holon::tests
