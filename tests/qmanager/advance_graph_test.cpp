// Advance reservations over the resource graph: which cores they have, and that these are known
// again after a restart.
#include <gtest/gtest.h>

#include <memory>

#include "qmanager/scheduler.hpp"
#include "resource/formats/readers.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::AdvanceRequest;
using qmanager::Scheduler;

qmanager::JobRequest cores(std::uint64_t id, std::int64_t count, Duration limit) {
  qmanager::JobRequest job;
  job.id = JobId{id};
  job.limit = limit;
  job.user = "ann";
  resource::JobShape shape;
  shape.tasks = count;
  shape.command = {"true"};
  job.spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
  return job;
}

TEST(AdvanceOverTheGraph, ItsJobsGetItsCores) {
  auto store = *resource::ResourceStore::load(*resource::read_shape("node=2/core=4"), {});
  auto scheduler = *Scheduler::create(policy("conservative"), store);
  ASSERT_FALSE(scheduler.submit(cores(1, 6, 10), 0)->has_value());
  ASSERT_FALSE(scheduler.submit(cores(2, 8, 10), 0)->has_value());
  scheduler.step(0);
  EXPECT_EQ(scheduler.outlook(JobId{2})->planned_start, 10);
  AdvanceRequest request;
  request.resources = cores(90, 3, 0);
  request.when = {15, 25};
  EXPECT_TRUE(scheduler.reserve_ahead(request, 0)->refused) << "job 2 has 10 to 20 reserved";
  request.when = {20, 30};
  const auto granted = scheduler.reserve_ahead(request, 0);
  ASSERT_FALSE(granted->refused) << granted->refused->reason;
  EXPECT_EQ(scheduler.outlook(JobId{2})->planned_start, 10);
  const auto held = scheduler.advances()[0].allocation;
  auto inside = cores(3, 2, 8);
  inside.advance = JobId{90};
  ASSERT_FALSE(scheduler.submit(inside, 0)->has_value());
  ASSERT_FALSE(scheduler.submit(cores(4, 6, 15), 1)->has_value());
  scheduler.step(1);
  for (const JobId id : {JobId{1}, JobId{2}}) {
    ASSERT_TRUE(scheduler.finish(id, id == JobId{1} ? 10 : 20));
    const auto step = scheduler.step(id == JobId{1} ? 10 : 20);
    scheduler.check_invariants();
    store.check_invariants();
    for (const auto& decision : step.decisions) {
      const auto* start = std::get_if<qmanager::Start>(&decision);
      if (start == nullptr || start->job != JobId{3}) continue;
      int taken = 0;
      for (const auto& share : start->allocation.shares) {
        const auto mine = std::find_if(held.shares.begin(), held.shares.end(),
                                       [&](const auto& s) { return s.uniq_id == share.uniq_id; });
        ASSERT_NE(mine, held.shares.end()) << "not a vertex of the reservation";
        taken += share.amount > 0;
      }
      EXPECT_GE(taken, 2);
    }
  }
  EXPECT_EQ(scheduler.advances()[0].running, 1u);
  // A node that goes takes its cores with it.
  ASSERT_TRUE(store.set_status("/cluster0", false));
  scheduler.resources_changed();
  auto late = cores(5, 1, 2);
  late.advance = JobId{90};
  scheduler.submit(late, 21);
  for (const auto& decision : scheduler.step(21).decisions)
    EXPECT_FALSE(std::holds_alternative<qmanager::Start>(decision));
}

TEST(AdvanceOverTheGraph, ComesBackAfterARestart) {
  auto store = *resource::ResourceStore::load(*resource::read_shape("node=2/core=4"), {});
  resource::Allocation held, running;
  AdvanceRequest request;
  request.resources = cores(90, 3, 0);
  request.when = {0, 30};
  auto inside = cores(3, 2, 8);
  inside.advance = JobId{90};
  {
    auto scheduler = *Scheduler::create(policy("easy"), store);
    ASSERT_FALSE(scheduler.reserve_ahead(request, 0)->refused);
    held = scheduler.advances()[0].allocation;
    ASSERT_FALSE(scheduler.submit(inside, 0)->has_value());
    running = std::get<qmanager::Start>(scheduler.step(0).decisions.at(0)).allocation;
  }
  auto again = *resource::ResourceStore::load(*resource::read_shape("node=2/core=4"), {});
  auto scheduler = *Scheduler::create(policy("easy"), again);
  ASSERT_TRUE(scheduler.recover_advance(request, held));
  const auto recovered = scheduler.recover(inside, running);
  ASSERT_TRUE(recovered) << to_string(recovered.error());
  EXPECT_EQ(scheduler.advances()[0].running, 1u);
  ASSERT_FALSE(scheduler.submit(cores(5, 6, 5), 1)->has_value());
  EXPECT_FALSE(std::holds_alternative<qmanager::Start>(scheduler.step(1).decisions.at(0)))
      << "five cores are free";
  ASSERT_TRUE(scheduler.finish(JobId{3}, 8));
  scheduler.step(8);
  scheduler.step(30);
  EXPECT_TRUE(scheduler.advances().empty());
  EXPECT_EQ(scheduler.running(), 1u);
  again.check_invariants();
}

}  // namespace
}  // namespace holon::tests
