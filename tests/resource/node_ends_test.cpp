// Nodes that will be gone at a time that is known: nothing is placed there that would last longer.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

ResourceStore store_with_policy(const std::string& shape, const std::string& policy) {
  StoreOptions options;
  options.match_policy = policy;
  options.horizon = {0, 100'000};
  return ResourceStore::load(read_shape(shape).value(), options).value();
}

Jobspec single_cores(std::int64_t count) {
  JobShape shape;
  shape.tasks = count;
  shape.command = {"true"};
  return jobspec_for(shape).value();
}

VertexId node(const ResourceStore& store, int number) {
  return store.graph().find_path("/cluster0/node" + std::to_string(number)).value();
}

// Where it begins; -1: nowhere.
Time begin_of(const Result<MatchOutcome>& outcome) {
  if (!outcome) return -2;
  const auto* found = std::get_if<Allocation>(&*outcome);
  return found == nullptr ? -1 : found->when.begin;
}

Time starts(ResourceStore& store, std::uint64_t job, std::int64_t cores, Duration length,
            MatchOp op = MatchOp::allocate, Time now = 0) {
  return begin_of(store.match(JobId{job}, single_cores(cores), op, now, length));
}

TEST(NodeEnds, WhatWouldLastLongerIsNotPlacedThere) {
  for (const char* policy : {"first", "low", "high", "lonode", "hinode"}) {
    SCOPED_TRACE(policy);
    auto store = store_with_policy("node=1/core=4", policy);
    store.set_end_of(node(store, 0), 100);
    EXPECT_EQ(starts(store, 1, 1, 101), -1);
    EXPECT_EQ(starts(store, 1, 1, 100), 0) << "it ends when the node does";
    EXPECT_EQ(starts(store, 2, 1, 60, MatchOp::allocate, 50), -1);
    EXPECT_EQ(starts(store, 2, 1, 50, MatchOp::allocate, 50), 50)
        << "the same request, refused a moment ago for a longer time";
    EXPECT_EQ(starts(store, 3, 1, 1, MatchOp::allocate, 100), -1) << "it is gone";
    store.check_invariants();
  }
}

TEST(NodeEnds, AnEndThatMovesBackLetsInWhatWasRefused) {
  for (const char* policy : {"first", "low", "high"}) {
    SCOPED_TRACE(policy);
    auto store = store_with_policy("node=2/core=2", policy);
    store.set_end_of(node(store, 0), 10);
    store.set_end_of(node(store, 1), 10);
    EXPECT_EQ(starts(store, 1, 3, 20), -1);
    EXPECT_EQ(starts(store, 1, 3, 20, MatchOp::allocate_orelse_reserve), -1);
    store.set_end_of(node(store, 0), 20);
    store.set_end_of(node(store, 1), kTimeMax);
    EXPECT_EQ(starts(store, 1, 3, 20), 0);
    EXPECT_FALSE(store.graph()[node(store, 1)].has_end);
  }
}

TEST(NodeEnds, AReservationGoesToTheNodeThatStays) {
  auto store = store_with_policy("node=2/core=1", "first");
  store.set_end_of(node(store, 1), 50);
  ASSERT_EQ(starts(store, 1, 1, 50), 0) << "on the last, which is looked at first";
  ASSERT_EQ(starts(store, 2, 1, 30), 0);
  EXPECT_EQ(starts(store, 3, 1, 40, MatchOp::allocate_orelse_reserve), 30);
  EXPECT_EQ(store.graph().ancestor_of_type(
                store.graph().find_uniq(store.find(JobId{3})->shares.front().uniq_id).value(),
                store.graph().words().types.find("node").value()),
            node(store, 0));
}

TEST(NodeEnds, WhatIsFreeOverATimeKnowsThem) {
  auto store = store_with_policy("node=2/core=2", "first");
  store.set_end_of(node(store, 1), 50);
  EXPECT_EQ(store.available("core", 49), 4);
  EXPECT_EQ(store.available("core", 50), 2);
  EXPECT_EQ(store.available(Interval{0, 50}).size(), 7U);
  EXPECT_EQ(store.available(Interval{0, 51}).size(), 4U);
}

TEST(NodeEnds, ARemovedNodeTakesItsEndAlong) {
  auto store = store_with_policy("node=2/core=1", "first");
  store.set_end_of(node(store, 1), 50);
  const auto copy = store.clone();
  ASSERT_TRUE(store.shrink("/cluster0/node1"));
  EXPECT_FALSE(store.graph().has_ends());
  EXPECT_EQ(copy.graph().end_of(node(copy, 1)), 50);
  store.check_invariants();
}

// A node that ends is one that somebody holds from then on: the starts are the same. Not under
// "first", which looks last at nodes on which something was taken.
TEST(NodeEnds, AreAsIfSomebodyHeldTheNodeFromThenOn) {
  constexpr std::uint64_t kHolders = 1'000'000;
  for (const char* policy : {"low", "high"})
    for (unsigned seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(std::string(policy) + ", seed " + std::to_string(seed));
      std::mt19937 dice(seed);
      const auto roll = [&](int most) { return static_cast<int>(dice() % most); };
      const int nodes = 2 + roll(4), cores = 1 + roll(3);
      const std::string shape = "node=" + std::to_string(nodes) + "/core=" + std::to_string(cores);
      auto ends = store_with_policy(shape, policy), held = store_with_policy(shape, policy);
      for (int n = 0; n < nodes; ++n) {
        if (roll(3) == 0) continue;
        const Time end = 1 + roll(40);
        ends.set_end_of(node(ends, n), end);
        Allocation gone{JobId{kHolders + static_cast<std::uint64_t>(n)}, {end, 100'000}, {}, {}};
        for (const VertexId v : held.graph().subtree(node(held, n)))
          gone.shares.push_back({held.graph()[v].uniq_id, 1, true});
        ASSERT_TRUE(held.update(gone, 0));
      }
      Time now = 0;
      // What overruns is counted beside a holder that has come meanwhile: each job ends in time.
      std::map<std::uint64_t, Time> until;
      for (std::uint64_t job = 1; job < 30; ++job) {
        now += roll(3);
        std::erase_if(until, [&](const auto& one) {
          if (one.second > now) return false;
          EXPECT_TRUE(ends.release(JobId{one.first}));
          EXPECT_TRUE(held.release(JobId{one.first}));
          return true;
        });
        const auto op = roll(2) == 0 ? MatchOp::allocate : MatchOp::allocate_orelse_reserve;
        const int count = 1 + roll(nodes * cores);
        const Duration length = 1 + roll(30);
        const Time begin = starts(ends, job, count, length, op, now);
        ASSERT_EQ(begin, starts(held, job, count, length, op, now)) << "job " << job;
        if (begin < 0) continue;
        until[job] = begin + length;
        if (roll(3) > 0) continue;
        ASSERT_TRUE(ends.release(JobId{job}));
        ASSERT_TRUE(held.release(JobId{job}));
        until.erase(job);
      }
      ends.check_invariants();
    }
}

}  // namespace
}  // namespace holon::resource
