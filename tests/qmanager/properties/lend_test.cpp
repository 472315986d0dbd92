// A running job that others use a part of until a time, and a job that is given exactly what
// somebody says: what the scheduler makes of what children lend.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"
#include "tests/qmanager/scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::LentParts;
using resource::Allocation;

// Four cores of one node, under each of two policies.
class Lending : public ::testing::TestWithParam<const char*> {
 protected:
  resource::ResourceStore store_ =
      *resource::ResourceStore::load(*resource::read_shape("node=1/core=4"), {});
  qmanager::Scheduler scheduler_ = *qmanager::Scheduler::create(policy(GetParam()), store_);

  static qmanager::JobRequest request(std::uint64_t id, std::int64_t cores, Duration limit) {
    resource::JobShape shape;
    shape.tasks = cores;
    shape.command = {"true"};
    qmanager::JobRequest request;
    request.id = JobId{id};
    request.limit = limit;
    request.spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
    return request;
  }
  void submit(std::uint64_t id, std::int64_t cores, Duration limit, Time now) {
    const auto taken = scheduler_.submit(request(id, cores, limit), now);
    ASSERT_TRUE(taken && !*taken);
  }
  // The jobs that start in a pass, with what they have.
  std::map<std::uint64_t, Allocation> step(Time now) {
    std::map<std::uint64_t, Allocation> started;
    for (const auto& decision : scheduler_.step(now).decisions)
      if (const auto* start = std::get_if<qmanager::Start>(&decision))
        started[start->job.value()] = start->allocation;
    scheduler_.check_invariants();
    return started;
  }
  Allocation cores(std::initializer_list<int> which) const {
    Allocation some;
    for (const int core : which) {
      const auto v = store_.graph().find_path(fmt::format("/cluster0/node0/core{}", core));
      some.shares.push_back({store_.graph()[*v].uniq_id, 1, true});
    }
    return some;
  }
  // Of a job that has all four, these from `begin` on.
  LentParts lent(std::initializer_list<int> which, Time begin) const {
    Allocation part = cores(which);
    part.when = {begin, kTimeMax};
    LentParts parts{cores({0, 1, 2, 3}), {part}};
    for (const auto& share : part.shares) std::erase(parts.rest.shares, share);
    return parts;
  }
  std::optional<Time> planned(std::uint64_t id) const {
    return scheduler_.outlook(JobId{id})->planned_start;
  }
};

INSTANTIATE_TEST_SUITE_P(Policies, Lending, ::testing::Values("easy", "conservative"));

TEST_P(Lending, OthersHaveAPartThatComesBackInTime) {
  submit(1, 4, 1'000, 0);
  ASSERT_EQ(step(0).size(), 1u);
  ASSERT_TRUE(scheduler_.set_lent(JobId(1), lent({2, 3}, 100), 10));
  submit(2, 2, 91, 10);  // until 101
  EXPECT_TRUE(step(10).empty());
  EXPECT_EQ(planned(2), 1'000);
  EXPECT_NE(scheduler_.outlook(JobId{2})->reason.find("job 1, which has lent it"),
            std::string::npos)
      << scheduler_.outlook(JobId{2})->reason;
  submit(3, 2, 90, 10);
  EXPECT_TRUE(step(10).contains(3));
  // Not as long as another job is there.
  EXPECT_FALSE(scheduler_.set_lent(JobId(1), {cores({0, 1, 2, 3}), {}}, 50));
  scheduler_.check_invariants();
  ASSERT_TRUE(scheduler_.finish(JobId(3), 60));
  submit(4, 1, 40, 60);
  ASSERT_TRUE(scheduler_.set_lent(JobId(1), {cores({0, 1, 2, 3}), {}}, 60));
  EXPECT_TRUE(step(60).empty());
  ASSERT_TRUE(scheduler_.finish(JobId(1), 70));
  EXPECT_EQ(step(70).size(), 2u);
}

TEST_P(Lending, TheEndOfTheLenderMovesWithAllThatItHasBack) {
  submit(1, 4, 1'000, 0);
  step(0);
  ASSERT_TRUE(scheduler_.set_lent(JobId(1), lent({0, 1, 2, 3}, 100), 10));
  submit(2, 4, 200, 10);
  step(10);
  EXPECT_EQ(planned(2), 1'000);
  ASSERT_TRUE(scheduler_.set_end(JobId(1), 1'500, 20));
  step(20);
  EXPECT_EQ(planned(2), 1'500);
  ASSERT_TRUE(scheduler_.finish(JobId(1), 30));
  EXPECT_TRUE(step(30).contains(2)) << "with the lender goes what it was to have back";
}

// One job on the loan is late, and something waits: what the other core is to its lender stays as
// it was, and that core comes back.
TEST_P(Lending, ALateJobKeepsOnlyItsOwnCore) {
  submit(1, 4, 1'000, 0);
  step(0);
  ASSERT_TRUE(scheduler_.set_lent(JobId(1), lent({2, 3}, 100), 10));
  submit(2, 1, 90, 10);
  const auto started = step(10);
  ASSERT_TRUE(started.contains(2));
  submit(3, 1, 50, 20);
  submit(4, 4, 50, 20);
  EXPECT_TRUE(step(20).contains(3));
  ASSERT_TRUE(scheduler_.finish(JobId(3), 70));
  step(100);
  step(103);  // job 2 is past the time of the loan
  LentParts late = lent({2, 3}, 100);
  const auto is_held_by_2 = [&](const resource::Share& share) {
    const auto& held = started.at(2).shares;
    return std::any_of(held.begin(), held.end(),
                       [&](const auto& own) { return own.uniq_id == share.uniq_id; });
  };
  for (const auto& share : late.parts[0].shares)
    if (!is_held_by_2(share)) late.rest.shares.push_back(share);
  std::erase_if(late.parts[0].shares, [&](const auto& share) { return !is_held_by_2(share); });
  ASSERT_EQ(late.parts[0].shares.size(), 1u);
  ASSERT_TRUE(scheduler_.set_lent(JobId(1), late, 105));
  submit(5, 1, 10, 105);
  EXPECT_TRUE(step(105).empty()) << "nothing is free but what is late";
  ASSERT_TRUE(scheduler_.finish(JobId(2), 120));
  EXPECT_TRUE(step(120).empty()) << "its core is the lender's again";
}

TEST_P(Lending, AJobInAnAdvanceReservationLends) {
  qmanager::AdvanceRequest reserved;
  reserved.resources = request(90, 4, 0);
  reserved.when = {5, 505};
  ASSERT_FALSE(scheduler_.reserve_ahead(reserved, 0)->refused);
  auto inside = request(1, 4, 400);
  inside.advance = JobId{90};
  ASSERT_TRUE(scheduler_.submit(inside, 0));
  step(0);
  ASSERT_TRUE(step(5).contains(1));
  ASSERT_TRUE(scheduler_.set_lent(JobId(1), lent({2, 3}, 100), 10));
  auto other = request(2, 2, 50);
  other.advance = JobId{90};
  ASSERT_TRUE(scheduler_.submit(other, 10));
  EXPECT_TRUE(step(10).contains(2));
}

// What it would have had back is not there for it, and in nobody's way.
TEST_P(Lending, AJobWhosePlaceIsTakenHasNothingBack) {
  qmanager::SchedulerConfig config = policy(GetParam());
  config.queues["work"] = config.defaults;
  config.queues["urgent"] = config.defaults;
  config.queues["urgent"].preempt = {qmanager::PreemptMode::cancel, 5};
  config.default_queue = "work";
  auto scheduler = *qmanager::Scheduler::create(config, store_);
  auto preemptible = request(1, 4, 1'000);
  preemptible.preemptible = true;
  ASSERT_TRUE(scheduler.submit(preemptible, 0));
  scheduler.step(0);
  ASSERT_TRUE(scheduler.set_lent(JobId(1), lent({2, 3}, 100), 10));
  auto urgent = request(2, 4, 200);
  urgent.queue = "urgent";
  ASSERT_TRUE(scheduler.submit(urgent, 10));
  const auto preempted = scheduler.step(10).decisions;
  EXPECT_TRUE(std::any_of(preempted.begin(), preempted.end(), [](const auto& decision) {
    const auto* given = std::get_if<qmanager::Preempt>(&decision);
    return given != nullptr && given->job == JobId(1);
  }));
  scheduler.check_invariants();
  ASSERT_TRUE(scheduler.finish(JobId(1), 12));
  const auto started = scheduler.step(12).decisions;
  EXPECT_TRUE(std::any_of(started.begin(), started.end(), [](const auto& decision) {
    const auto* start = std::get_if<qmanager::Start>(&decision);
    return start != nullptr && start->job == JobId(2);
  }));
  scheduler.check_invariants();
}

// A job that holds what is lent is late, and an advance reservation stands behind it: what it holds
// no longer is the reservation's.
TEST_P(Lending, WhatALateJobHoldsNoLongerIsTheReservations) {
  Allocation held = cores({0, 1});
  held.job = JobId(1);
  held.when = {5, 100};
  ASSERT_TRUE(scheduler_.start_on(request(1, 2, 95), held, 5));
  qmanager::AdvanceRequest reserved;
  reserved.resources = request(90, 4, 0);
  reserved.when = {100, 500};
  ASSERT_FALSE(scheduler_.reserve_ahead(reserved, 5)->refused);
  auto inside = request(2, 3, 50);
  inside.advance = JobId{90};
  ASSERT_TRUE(scheduler_.submit(inside, 10));
  step(100);
  EXPECT_TRUE(step(105).empty()) << "two cores are in use";
  ASSERT_TRUE(scheduler_.set_lent(JobId(1), {cores({0}), {}}, 110));
  EXPECT_TRUE(step(110).contains(2));
  ASSERT_TRUE(scheduler_.finish(JobId(1), 120));
  step(120);
}

TEST(LentParts, HaveNumbersThatTellWhoseTheyAre) {
  EXPECT_EQ(qmanager::owner_of(qmanager::number_of_part(JobId(7), 3)), JobId(7));
  EXPECT_EQ(qmanager::owner_of(JobId(7)), JobId(7));
}

TEST_P(Lending, AJobIsStartedOnExactlyTheseAndOthersArePlannedBehindIt) {
  submit(1, 1, 50, 0);
  ASSERT_EQ(step(0).size(), 1u);
  submit(2, 4, 10, 0);
  step(0);
  EXPECT_EQ(planned(2), 50);
  Allocation held = cores({0, 1});  // job 1 has the last
  held.job = JobId(3);
  held.when = {5, 100};
  ASSERT_TRUE(scheduler_.start_on(request(3, 2, 95), held, 5));
  step(5);
  EXPECT_EQ(planned(2), 100);
  // What is late is waited for.
  ASSERT_TRUE(scheduler_.finish(JobId(1), 50));
  EXPECT_TRUE(step(100).empty());
  EXPECT_GT(planned(2), 100);
  ASSERT_TRUE(scheduler_.finish(JobId(3), 120));
  EXPECT_TRUE(step(120).contains(2));
}

}  // namespace
}  // namespace holon::tests
