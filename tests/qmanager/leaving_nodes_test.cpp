// Nodes that leave at a time that is known, as those of a batch job do: no job is placed on one
// that would outlast it, reservations follow when the time moves, and who waits for that is told
// so.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/core.h>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::Scheduler;

class LeavingNodes {
 public:
  LeavingNodes(const std::string& shape, const std::string& name)
      : store_(*resource::ResourceStore::load(*resource::read_shape(shape), {})),
        scheduler_(*Scheduler::create(policy(name), store_)) {}

  // Some cores of a node, which stays.
  void cores_leave(int node, int first, int last, Time end) {
    for (int core = first; core <= last; ++core)
      store_.set_end_of(
          *store_.graph().find_path(fmt::format("/cluster0/node{}/core{}", node, core)), end);
    scheduler_.resources_changed();
  }
  void leaves(int node, Time end) {
    store_.set_end_of(*store_.graph().find_path(fmt::format("/cluster0/node{}", node)), end);
    scheduler_.resources_changed();
  }
  // 0 ticks: without a limit.
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
  void submit(std::uint64_t id, std::int64_t cores, Duration limit, Time now = 0) {
    const auto taken = scheduler_.submit(request(id, cores, limit), now);
    ASSERT_TRUE(taken && !*taken);
  }
  std::optional<Time> planned(std::uint64_t id) const {
    return scheduler_.outlook(JobId{id})->planned_start;
  }
  std::string reason(std::uint64_t id) const { return scheduler_.outlook(JobId{id})->reason; }
  // Of what somebody holds now or later, nothing lasts longer than its nodes do.
  void check(Time now) const {
    for (const auto& span : scheduler_.plan(now))
      for (const auto& share : span.allocation.shares) {
        const auto v = store_.graph().find_uniq(share.uniq_id);
        ASSERT_TRUE(v);
        ASSERT_LE(span.when.end, store_.graph().end_of(*v))
            << "job " << span.job.value() << " on " << store_.graph().path(*v);
      }
    scheduler_.check_invariants();
  }

  Scheduler& operator*() { return scheduler_; }
  Scheduler* operator->() { return &scheduler_; }
  const Scheduler* operator->() const { return &scheduler_; }

 private:
  resource::ResourceStore store_;
  Scheduler scheduler_;
};

TEST(LeavingNodes, TakeOnlyWhatEndsBeforeTheyDo) {
  for (const char* name : {"fcfs", "easy", "hybrid:2", "conservative", "conservative-rebuild"}) {
    SCOPED_TRACE(name);
    LeavingNodes world("node=2/core=1", name);
    world.leaves(1, 100);
    world.submit(1, 1, 100);
    world.submit(2, 1, 0);
    world.submit(3, 1, 101);
    world->step(0);
    EXPECT_EQ(world->running(), 2U);
    EXPECT_EQ(world->outlook(JobId{3})->position, 0U);
    ASSERT_TRUE(world->finish(JobId{1}, 50));
    world.submit(4, 1, 50, 50);
    world->step(50);
    // Under fcfs the third is in front of it, and it is in the way of nobody elsewhere.
    EXPECT_EQ(world->running(), std::string_view(name) == "fcfs" ? 1U : 2U);
    world->check_invariants();
  }
}

TEST(LeavingNodes, WhoWaitsForThemIsToldWhen) {
  LeavingNodes world("node=2/core=2", "easy");
  world.leaves(0, 60);
  world.leaves(1, 60);
  world.submit(1, 1, 61);
  world.submit(2, 1, 0);
  world->step(0);
  EXPECT_EQ(world.reason(1),
            "what it needs is free, but from 60 on node[0-1] of it gone, before its time limit "
            "would end");
  EXPECT_EQ(world.reason(2),
            "what it needs is free, but from 60 on node[0-1] of it gone, and it has no time limit "
            "to end before that");
  const auto why = world->explain(JobId{1}, 0);
  ASSERT_TRUE(why && !why->changes.empty());
  EXPECT_EQ(why->changes.front().value, 60) << "a shorter limit would let it start";
}

TEST(LeavingNodes, AReservationThatWouldOutlastOneIsMadeAgain) {
  LeavingNodes world("node=2/core=1", "conservative");
  world.leaves(0, 200);
  world.submit(1, 1, 50);
  world.submit(2, 1, 30);
  world->step(0);
  world.submit(3, 1, 100, 1);
  world->step(1);
  ASSERT_EQ(world.planned(3), 30) << "where the second ends";
  world.check(1);
  world.leaves(0, 100);
  world->step(2);
  EXPECT_EQ(world.planned(3), 50);
  world.check(2);
  world.leaves(0, 300);
  world->step(3);
  EXPECT_EQ(world.planned(3), 30) << "it is there for longer, and the reservation moves forward";
  world.check(3);
}

TEST(LeavingNodes, AJobSaysThatPartOfANodeWillBeGone) {
  LeavingNodes world("node=2/core=4", "fcfs");
  world.cores_leave(0, 2, 3, 60);
  world.cores_leave(1, 3, 3, 90);
  world.submit(1, 8, 0);
  world->step(0);
  EXPECT_EQ(world.reason(1),
            "what it needs is free, but from 60 on 2 cores of node0 gone, and it has no time limit "
            "to end before that");
  world.leaves(1, 60);
  world->step(1);
  EXPECT_EQ(
      world.reason(1),
      "what it needs is free, but from 60 on node1 of it and 2 cores of node0 gone, and it has "
      "no time limit to end before that");
}

TEST(LeavingNodes, ALimitCannotBeMovedPastTheirEnd) {
  LeavingNodes world("node=1/core=2", "easy");
  world.leaves(0, 100);
  world.submit(1, 1, 50);
  world->step(0);
  const auto moved = world->set_limit(JobId{1}, 101, 10);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().what, "a node it runs on is there until 100 only");
  EXPECT_EQ(*world->set_limit(JobId{1}, 100, 10), 100);
  EXPECT_EQ(*world->set_limit(JobId{1}, 40, 10), 40);
  world.check(10);
}

// A job that does not end at its limit keeps what it has.
TEST(LeavingNodes, AnOverrunIsStillHeld) {
  LeavingNodes world("node=1/core=1", "easy");
  world.leaves(0, 100);
  world.submit(1, 1, 90);
  world->step(0);
  world.submit(2, 1, 5, 90);
  world->step(92);
  EXPECT_EQ(world->running(), 1U) << "the first is still there";
  world->check_invariants();
  ASSERT_TRUE(world->finish(JobId{1}, 94));
  world->step(94);
  EXPECT_EQ(world->running(), 1U) << "and now the second is";
}

// Nodes that are not there: the same shape with more of them.
TEST(LeavingNodes, WhatWouldStartOnMoreOfThemIsAskedWithoutAnyChange) {
  LeavingNodes world("node=1/core=2", "easy");
  world.submit(1, 2, 50);
  world->step(0);
  world.submit(2, 2, 100);
  world.submit(3, 2, 101);
  world.submit(4, 1, 60);
  world->step(1);
  const auto more = *resource::read_shape("node=4/core=2");
  const auto starts = world->starts_on(more, 101, 1, {});
  ASSERT_TRUE(starts) << starts.error().what;
  std::set<JobId> jobs;
  for (const auto& [host, on_it] : *starts) jobs.insert(on_it.begin(), on_it.end());
  EXPECT_EQ(jobs, (std::set<JobId>{JobId{2}, JobId{4}}))
      << "the third would outlast them, and has its place here";
  EXPECT_FALSE(starts->contains("node0")) << "it is here";
  EXPECT_EQ(world->running(), 1U);
  EXPECT_EQ(world->pending(), 3U);
  world->check_invariants();
  EXPECT_TRUE(world->starts_on(more, 1, 1, {})->empty()) << "they would be gone at once";
}

TEST(LeavingNodes, WhatWouldStartWithoutSomeJobsIsAskedWithoutAnyChange) {
  LeavingNodes world("node=2/core=2", "easy");
  world.submit(1, 2, 50);
  world.submit(2, 2, 50);
  world->step(0);
  world.submit(3, 2, 100);
  world.submit(4, 2, 100);
  world.submit(5, 2, 100);
  world->step(1);
  const auto starts = world->starts_without({JobId{2}, JobId{3}}, 1, {});
  ASSERT_TRUE(starts) << starts.error().what;
  EXPECT_EQ(*starts, (Scheduler::HostsByJob{{JobId{4}, {"node0"}}}));
  EXPECT_TRUE(world->starts_without({}, 1, {})->empty());
  EXPECT_EQ(world->starts_without({JobId{9}}, 1, {}).error().code, Errc::not_found);
  EXPECT_EQ(world->running(), 2U);
  EXPECT_EQ(world->pending(), 3U);
  world->check_invariants();
}

TEST(LeavingNodes, WhenAJobThatIsNotThereWouldStartIsAskedWithoutAnyChange) {
  LeavingNodes world("node=1/core=4", "easy");
  world.submit(1, 2, 50);
  world->step(0);
  world.submit(2, 4, 100);
  world->step(1);
  const auto chance = [&](std::int64_t cores, Duration limit) {
    return world->chance_of(LeavingNodes::request(9, cores, limit), 1, {});
  };
  ASSERT_TRUE(chance(2, 49));
  EXPECT_EQ(chance(2, 49)->planned, 1) << "two are free until the first ends";
  ASSERT_TRUE(chance(2, 50));
  EXPECT_FALSE(chance(2, 50)->planned) << "the policy plans the first that waits alone";
  EXPECT_EQ(chance(2, 50)->room, 150) << "it would be in the way of the second";
  const auto never = chance(5, 10);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, Errc::unsatisfiable);
  EXPECT_EQ(world->pending(), 1U);
  EXPECT_EQ(world->running(), 1U);
  world.check(1);
}

TEST(LeavingNodes, WhatIsTooLargeForWhatIsHereWouldStartOnMore) {
  auto store = *resource::ResourceStore::load(*resource::read_shape("node=1/core=2"), {});
  auto config = policy("fcfs");
  config.awaited = [](const qmanager::JobRequest&) {
    return std::string("batch jobs bring nodes");
  };
  Scheduler scheduler = *Scheduler::create(config, store);
  resource::JobShape shape;
  shape.nodes = shape.tasks = 3;
  shape.cores_per_task = 2;
  shape.command = {"true"};
  qmanager::JobRequest request;
  request.id = JobId{1};
  request.limit = 10;
  request.spec = std::make_shared<const resource::Jobspec>(*resource::jobspec_for(shape));
  ASSERT_FALSE(scheduler.submit(request, 0)->has_value());
  scheduler.step(0);
  const auto starts = scheduler.starts_on(*resource::read_shape("node=5/core=2"), 100, 0, {});
  ASSERT_TRUE(starts);
  ASSERT_FALSE(starts->empty());
  for (const auto& [host, jobs] : *starts) EXPECT_EQ(jobs, std::vector<JobId>{JobId{1}}) << host;
}

// Random histories: jobs come and end, nodes get an end, and it moves.
TEST(LeavingNodes, NothingIsEverPlannedToOutlastOne) {
  for (const char* name : {"fcfs", "easy", "hybrid:3", "conservative", "conservative-rebuild"})
    for (unsigned seed = 0; seed < 25; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", name, seed));
      std::mt19937 dice(seed);
      const auto roll = [&](int most) { return static_cast<int>(dice() % most); };
      const int nodes = 2 + roll(3);
      LeavingNodes world(fmt::format("node={}/core=2", nodes), name);
      std::map<std::uint64_t, Time> running;  // and when each is to end
      std::uint64_t next = 1;
      std::vector<Time> end(nodes, kTimeMax);
      for (Time now = 0; now < 120; ++now) {
        if (roll(3) == 0) {
          world.submit(next, 1 + roll(2 * nodes), roll(5) == 0 ? 0 : 1 + roll(30), now);
          ++next;
        }
        if (roll(10) == 0) {
          // Never so early that something that runs there would outlast it: see LeavingNodes.
          const int node = 1 + roll(nodes - 1);
          end[node] = end[node] == kTimeMax ? kTimeMax : end[node] + roll(20);
          if (end[node] != kTimeMax) world.leaves(node, end[node]);
        }
        if (now == 0)
          for (int node = 1; node < nodes; ++node)
            if (roll(2) == 0) world.leaves(node, end[node] = 20 + roll(60));
        for (const auto& decision : world->step(now).decisions)
          if (const auto* start = std::get_if<qmanager::Start>(&decision))
            running[start->job.value()] = start->allocation.when.end;
        ASSERT_NO_FATAL_FAILURE(world.check(now));
        for (auto at = running.begin(); at != running.end();) {
          const auto [job, limit] = *at;
          const bool ends = now + 1 >= limit || roll(12) == 0;
          if (ends) {
            ASSERT_TRUE(world->finish(JobId{job}, now + 1));
          }
          at = ends ? running.erase(at) : std::next(at);
        }
      }
    }
}

// Jobs that all are alike, so that it does not matter which of them is reserved for first. Once no
// reservation moves any more, all of them begin when they would in an engine that knows what runs,
// and has planned nothing before.
//
// One pass moves each reservation once, in the order of the queue. A job that has lost its place
// because a node leaves sooner is reserved for behind those that came later; the place that one of
// these leaves in the same pass is given to it when something is given back the next time.
class Alike {
 public:
  Alike(int nodes, unsigned seed) : dice_(seed), world_(shape(nodes), "conservative") {
    ends_.resize(nodes, kTimeMax);
  }

  void play() {
    for (Time now = 0; now < 100; ++now) {
      if (roll(3) == 0) submit(now);
      if (roll(6) == 0) move_an_end(now);
      step(now);
      ASSERT_NO_FATAL_FAILURE(world_.check(now));
      ASSERT_NO_FATAL_FAILURE(move_until_none_does(now));
      ASSERT_EQ(planned(world_, now), planned_from_nothing(now)) << "at " << now;
      finish_some(now + 1);
    }
  }
  bool has_waited() const { return has_waited_; }

 private:
  static constexpr Duration kLength = 10;

  static std::string shape(int nodes) { return fmt::format("node={}/core=1", nodes); }
  int roll(int most) { return static_cast<int>(dice_() % static_cast<unsigned>(most)); }

  void submit(Time now) {
    world_.submit(next_, 1, kLength, now);
    waiting_.insert(next_++);
  }
  // The first node stays; no node leaves before what may run on it ends.
  void move_an_end(Time now) {
    const int nodes = static_cast<int>(ends_.size());
    const int node = 1 + roll(nodes - 1);
    ends_[node] = roll(4) == 0 ? kTimeMax : now + kLength + roll(50);
    world_.leaves(node, ends_[node]);
  }
  void step(Time now) {
    for (const auto& decision : world_->step(now).decisions)
      if (const auto* start = std::get_if<qmanager::Start>(&decision)) begin(*start);
  }
  // A job that comes last and is cancelled gives back what was reserved for it.
  void move_until_none_does(Time now) {
    std::vector<Time> before;
    for (int rounds = 0; !waiting_.empty() && before != planned(world_, now); ++rounds) {
      ASSERT_LT(rounds, 50) << "at " << now;
      before = planned(world_, now);
      const JobId last{next_++};
      world_.submit(last.value(), 1, kLength, now);
      step(now);
      ASSERT_TRUE(world_->cancel(last, now));
      step(now);
    }
  }
  void begin(const qmanager::Start& start) {
    waiting_.erase(start.job.value());
    running_.emplace(start.job.value(), start.allocation);
  }
  void finish_some(Time now) {
    for (auto at = running_.begin(); at != running_.end();) {
      const bool ends = now >= at->second.when.end || roll(15) == 0;
      if (ends) {
        ASSERT_TRUE(world_->finish(JobId{at->first}, now));
      }
      at = ends ? running_.erase(at) : std::next(at);
    }
  }
  // When those that wait are to start, ascending; `now`: they have.
  std::vector<Time> planned(const LeavingNodes& world, Time now) {
    std::vector<Time> all;
    for (const std::uint64_t id : waiting_) {
      const auto outlook = world->outlook(JobId{id});
      has_waited_ = has_waited_ || outlook;
      all.push_back(outlook ? outlook->planned_start.value_or(kTimeMax) : now);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  std::vector<Time> planned_from_nothing(Time now) {
    LeavingNodes world(shape(static_cast<int>(ends_.size())), "conservative");
    for (std::size_t node = 1; node < ends_.size(); ++node)
      world.leaves(static_cast<int>(node), ends_[node]);
    for (const auto& [id, allocation] : running_)
      EXPECT_TRUE(world->recover(LeavingNodes::request(id, 1, kLength), allocation));
    for (const std::uint64_t id : waiting_) world.submit(id, 1, kLength, now);
    world->step(now);
    return planned(world, now);
  }

  std::mt19937 dice_;
  LeavingNodes world_;
  std::vector<Time> ends_;
  std::map<std::uint64_t, resource::Allocation> running_;
  std::set<std::uint64_t> waiting_;
  std::uint64_t next_ = 1;
  bool has_waited_ = false;
};

TEST(LeavingNodes, ReservationsMoveToWhereAnEngineWithoutAPastWouldPutThem) {
  int waited = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Alike history(2 + static_cast<int>(seed % 3), seed);
    ASSERT_NO_FATAL_FAILURE(history.play());
    waited += history.has_waited() ? 1 : 0;
  }
  EXPECT_GT(waited, 80);
}

}  // namespace
}  // namespace holon::tests
