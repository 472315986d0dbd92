// Consumables that each host has so many of: of a queue (complex_values and slots of a queue
// instance) and of the host itself (memory), beside the slots of parallel environments.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include <fmt/core.h>

#include "qmanager/machine/host_placement.hpp"
#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::AllocationRule;
using qmanager::JobRequest;
using qmanager::Scheduler;
using qmanager::SchedulerConfig;
using HostKind = AllocationRule::Kind;

JobRequest host_job(std::uint64_t id, resource::JobShape shape, Duration limit) {
  JobRequest request;
  request.id = JobId{id};
  request.submitted = static_cast<Time>(id);
  request.limit = limit;
  request.user = "ann";
  shape.command = {"true"};
  request.spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
  return request;
}

JobRequest slots(std::uint64_t id, std::int64_t count, Duration limit, std::int64_t memory = 0) {
  resource::JobShape shape;
  shape.tasks = count;
  shape.memory_per_task = memory;
  return host_job(id, shape, limit);
}

class HostWorld {
 public:
  HostWorld(const char* shape, const SchedulerConfig& config)
      : store_(*resource::ResourceStore::load(*resource::read_shape(shape), {})),
        scheduler_(*Scheduler::create(config, store_)) {}

  Scheduler& scheduler() { return scheduler_; }

  // "": taken.
  std::string submit(const JobRequest& request, Time now = 0) {
    const auto refused = scheduler_.submit(request, now);
    if (!refused) return to_string(refused.error());
    return *refused ? (**refused).reason : "";
  }

  // "1: node0 2, node1 1" for each that starts: slots by host.
  std::string step(Time now) {
    std::string told;
    for (const auto& decision : scheduler_.step(now).decisions) {
      const auto* start = std::get_if<qmanager::Start>(&decision);
      if (start == nullptr) continue;
      told += fmt::format("{}{}:", told.empty() ? "" : "; ", start->job.value());
      std::map<std::string, std::int64_t> by_host;
      for (const auto& [host, count] : hosts(start->allocation)) by_host[host] += count;
      for (const auto& [host, count] : by_host) told += fmt::format(" {} {}", host, count);
    }
    scheduler_.check_invariants();
    store_.check_invariants();
    return told;
  }

  qmanager::HostSlots hosts(const resource::Allocation& allocation) const {
    std::int64_t cores = 0;
    const auto core = store_.graph().words().types.find("core");
    for (const auto& share : allocation.shares)
      cores +=
          store_.graph()[*store_.graph().find_uniq(share.uniq_id)].type == *core ? share.amount : 0;
    return qmanager::slots_by_host(store_.graph(), allocation, cores);
  }

 private:
  resource::ResourceStore store_;
  Scheduler scheduler_;
};

SchedulerConfig with_queue_pool() {
  SchedulerConfig config = policy("easy");
  config.defaults.pools["lic"] = 2;
  return config;
}

JobRequest licensed(std::uint64_t id, std::int64_t count, std::int64_t each, bool per_slot,
                    Duration limit) {
  JobRequest request = slots(id, count, limit);
  request.consumes = {{"lic", each, per_slot}};
  return request;
}

TEST(HostConsumables, OfAQueueAreThereOnEachHost) {
  HostWorld world("node=2/core=8", with_queue_pool());
  for (std::uint64_t id = 1; id <= 3; ++id)
    EXPECT_EQ(world.submit(licensed(id, 1, 2, true, 10)), "");
  EXPECT_EQ(world.step(0), "1: node0 1; 2: node1 1");
  EXPECT_EQ(world.scheduler().outlook(JobId{3})->reason,
            "no host has room for its slots beside what its queue gives of consumables");
  world.scheduler().plan(0);
  EXPECT_EQ(world.scheduler().outlook(JobId{3})->planned_start, 10);
  ASSERT_TRUE(world.scheduler().finish(JobId{2}, 4));
  EXPECT_EQ(world.step(4), "3: node1 1");
  EXPECT_EQ(world.submit(licensed(4, 1, 3, true, 10)),
            "asks for 3 lic a slot, and each node has 2 for the jobs of queue default");
  EXPECT_EQ(world.submit(licensed(5, 5, 1, true, 10)),
            "asks for more slots than all nodes have room for beside the consumables of its queue");
}

TEST(HostConsumables, PerSlotTheySpreadAJobPerJobTheyAreOfItsFirstHost) {
  HostWorld world("node=2/core=8", with_queue_pool());
  EXPECT_EQ(world.submit(licensed(1, 3, 1, true, 10)), "");
  EXPECT_EQ(world.submit(licensed(2, 6, 1, false, 10)), "") << "one is left on node1";
  EXPECT_EQ(world.submit(licensed(3, 1, 1, false, 10)), "");
  EXPECT_EQ(world.step(0), "1: node0 2 node1 1; 2: node1 6");
  const auto plan = world.scheduler().plan(0);
  ASSERT_GE(plan.size(), 2u);
  EXPECT_EQ(plan[0].consumes, (std::vector<qmanager::Consumes>{{"lic@default@node0", 2, false},
                                                               {"lic@default@node1", 1, false}}));
  EXPECT_EQ(plan[1].consumes, (std::vector<qmanager::Consumes>{{"lic@default@node1", 1, false}}));
}

TEST(HostConsumables, SlotsOfAQueueAreThoseOfEachHost) {
  SchedulerConfig config = policy("conservative");
  config.queues["default"] = config.queues["narrow"] = config.defaults;
  config.queues["narrow"].slots = 2;
  HostWorld world("node=2/core=4", config);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    JobRequest request = slots(id, 2, 10);
    request.queue = "narrow";
    EXPECT_EQ(world.submit(request), "");
  }
  EXPECT_EQ(world.step(0), "1: node0 2; 2: node1 2");
  EXPECT_EQ(world.submit(slots(4, 4, 10)), "");
  EXPECT_EQ(world.step(0), "4: node0 2 node1 2") << "of another queue";
  EXPECT_EQ(world.scheduler().outlook(JobId{3})->planned_start, 10);
  JobRequest wide = slots(5, 5, 10);
  wide.queue = "narrow";
  EXPECT_NE(world.submit(wide), "");
}

// Nodes are found by the matcher; each has some slots of the job.
TEST(HostConsumables, HoldForJobsOfNodesToo) {
  SchedulerConfig config = policy("easy");
  config.defaults.slots = 2;
  HostWorld world("node=3/core=4", config);
  resource::JobShape shape;
  shape.nodes = 2;
  shape.tasks = 6;
  EXPECT_EQ(world.submit(host_job(1, shape, 10)),
            "asks for more slots than all nodes have room for beside the consumables of its queue");
  shape.tasks = 4;
  EXPECT_EQ(world.submit(host_job(2, shape, 10)), "");
  EXPECT_EQ(world.submit(slots(3, 2, 10)), "");
  EXPECT_EQ(world.submit(slots(4, 1, 10)), "");
  world.step(0);
  EXPECT_EQ(world.scheduler().running(), 2u) << "two slots on each of three nodes: 2 and 3";
  world.scheduler().plan(0);
  EXPECT_EQ(world.scheduler().outlook(JobId{4})->planned_start, 10);
}

TEST(HostConsumables, MemoryPerSlotOfAParallelEnvironment) {
  SchedulerConfig config = policy("easy");
  config.environments["fill"] = {.slots = {}, .rule = {HostKind::fill_up, 0}};
  config.environments["rr"] = {.slots = {}, .rule = {HostKind::round_robin, 0}};
  config.environments["one"] = {.slots = {}, .rule = {HostKind::one_host, 0}};
  HostWorld world("node=2/core=4,memory=8,gpu=1", config);
  const auto in = [&](std::uint64_t id, const char* environment, std::int64_t count,
                      std::int64_t memory) {
    JobRequest request = slots(id, count, 10, memory);
    request.environment = environment;
    return request;
  };
  EXPECT_EQ(world.submit(in(1, "fill", 3, 3)), "");
  EXPECT_EQ(world.submit(in(2, "rr", 2, 2)), "");
  EXPECT_EQ(world.submit(in(3, "fill", 2, 3)), "");
  EXPECT_EQ(world.step(0), "1: node0 2 node1 1; 2: node0 1 node1 1");
  ASSERT_TRUE(world.scheduler().finish(JobId{1}, 5));
  EXPECT_EQ(world.step(5), "3: node0 2");
  EXPECT_NE(world.submit(in(4, "one", 3, 3)), "") << "no host has nine";
  EXPECT_NE(world.submit(in(5, "fill", 5, 3)), "") << "four slots have three each, on two hosts";
  resource::JobShape gpu;
  gpu.tasks = 2;
  gpu.gpus_per_task = 1;
  JobRequest request = host_job(6, gpu, 10);
  request.environment = "fill";
  EXPECT_EQ(world.submit(request), "");
  ASSERT_TRUE(world.scheduler().finish(JobId{2}, 6));
  EXPECT_EQ(world.step(6), "6: node0 1 node1 1") << "a GPU each";
}

TEST(HostConsumables, OfAnAdvanceReservationAreKeptForIt) {
  HostWorld world("node=2/core=8", with_queue_pool());
  qmanager::AdvanceRequest request;
  request.resources = licensed(90, 2, 2, true, 0);
  request.when = {10, 20};
  ASSERT_FALSE(world.scheduler().reserve_ahead(request, 0)->refused);
  EXPECT_EQ(world.submit(licensed(1, 1, 1, true, 10)), "");
  EXPECT_EQ(world.submit(licensed(2, 1, 1, true, 11)), "");
  EXPECT_EQ(world.step(0), "1: node0 1");
  world.scheduler().plan(0);
  EXPECT_EQ(world.scheduler().outlook(JobId{2})->planned_start, 20);
  EXPECT_EQ(world.step(10), "") << "job 1 is late, and the reservation has begun";
  ASSERT_TRUE(world.scheduler().finish(JobId{1}, 12));
  EXPECT_EQ(world.step(12), "");
  EXPECT_EQ(world.step(20), "2: node0 1");
}

TEST(HostConsumables, AreHeldAgainAfterARestart) {
  const SchedulerConfig config = with_queue_pool();
  HostWorld before("node=2/core=8", config);
  ASSERT_EQ(before.submit(licensed(1, 3, 1, true, 10)), "");
  const auto step = before.scheduler().step(0);
  const auto& start = std::get<qmanager::Start>(step.decisions.at(0));
  HostWorld after("node=2/core=8", config);
  ASSERT_TRUE(after.scheduler().recover(licensed(1, 3, 1, true, 10), start.allocation));
  ASSERT_EQ(after.submit(licensed(2, 1, 2, true, 10), 1), "");
  ASSERT_EQ(after.submit(licensed(3, 1, 1, true, 10), 1), "");
  EXPECT_EQ(after.step(1), "3: node1 1") << "node0 has none left, node1 one";
}

// Random jobs, some late, some of whole nodes, in all policies; what runs never has more of a pool
// on a host than there is, and nobody waits for ever.
TEST(HostConsumables, AreNeverOverdrawn) {
  for (const char* name : {"fcfs", "easy", "hybrid:3", "conservative", "conservative-rebuild"})
    for (unsigned seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", name, seed));
      std::mt19937 random(seed);
      SchedulerConfig config = policy(name);
      config.defaults.pools["lic"] = 3;
      config.defaults.slots = 3;
      config.environments["rr"] = {.slots = {}, .rule = {HostKind::round_robin, 0}};
      HostWorld world("node=3/core=4", config);
      std::multimap<Time, JobId> ends;
      std::optional<Time> wake;
      std::uint64_t next = 1;
      std::size_t started = 0;
      for (Time now = 0; now < 400; ++now) {
        for (; now < 40 && random() % 2 == 0; ++next) {
          JobRequest request = slots(next, 1 + random() % 4, 1 + random() % 9);
          if (random() % 5 == 0) {
            resource::JobShape nodes;
            nodes.nodes = nodes.tasks = 1 + random() % 3;
            nodes.exclusive = true;
            request = host_job(next, nodes, 1 + random() % 9);
          } else if (random() % 3 == 0) {
            request.environment = "rr";
          }
          request.submitted = now;
          if (random() % 2 == 0)
            request.consumes = {
                {"lic", 1 + static_cast<std::int64_t>(random() % 2), random() % 2 == 0}};
          if (world.submit(request, now) != "") continue;
        }
        for (auto at = ends.begin(); at != ends.end() && at->first <= now; at = ends.erase(at))
          ASSERT_TRUE(world.scheduler().finish(at->second, now));
        if (random() % 3 == 0) world.scheduler().plan(now);
        for (const auto& decision : world.scheduler().step(now).decisions)
          if (const auto* start = std::get_if<qmanager::Start>(&decision)) {
            ++started;
            ends.emplace(now + 1 + static_cast<Time>(random() % 10), start->job);
          }
        world.scheduler().check_invariants();
      }
      EXPECT_EQ(world.scheduler().pending(), 0u);
      EXPECT_GT(started, 10u);
    }
}

}  // namespace
}  // namespace holon::tests
