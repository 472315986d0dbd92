// StoreOptions::as_fluxion: each oddity with and without.
#include <gtest/gtest.h>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

ResourceStore store_of_oddity(std::string_view shape, bool as_fluxion) {
  StoreOptions options;
  options.match_policy = "low";
  options.horizon = {0, 1000};
  options.as_fluxion = as_fluxion;
  return ResourceStore::load(read_shape(shape).value(), options).value();
}

Jobspec nodes(int count) {
  JobShape shape;
  shape.nodes = count;
  shape.tasks = count;
  shape.cores_per_task = 1;
  shape.exclusive = true;
  return jobspec_for(shape).value();
}

MatchOutcome match_oddity(ResourceStore& store, std::uint64_t job, int count, MatchOp op) {
  return store.match(JobId{job}, nodes(count), op, 0, 10).value();
}

TEST(AsFluxion, ADownMachineNeverSatisfies) {
  for (const bool as_fluxion : {false, true}) {
    ResourceStore store = store_of_oddity("node=2/core=1", as_fluxion);
    ASSERT_TRUE(store.set_status("/cluster0", false));
    const auto outcome = match_oddity(store, 1, 1, MatchOp::allocate_with_satisfiability);
    EXPECT_EQ(std::holds_alternative<Never>(outcome), as_fluxion);
    EXPECT_TRUE(std::holds_alternative<NotNow>(match_oddity(store, 1, 1, MatchOp::allocate)));
    ASSERT_TRUE(store.set_status("/cluster0", true));
    EXPECT_TRUE(std::holds_alternative<Allocation>(match_oddity(store, 1, 2, MatchOp::allocate)));
  }
}

TEST(AsFluxion, SoIsACopy) {
  ResourceStore store = store_of_oddity("node=2/core=1", true);
  ASSERT_TRUE(store.set_status("/cluster0", false));
  ResourceStore copy = store.clone();
  EXPECT_TRUE(std::holds_alternative<Never>(
      match_oddity(copy, 1, 1, MatchOp::allocate_with_satisfiability)));
}

TEST(AsFluxion, NodesThatCameLaterAreNotCounted) {
  for (const bool as_fluxion : {false, true}) {
    ResourceStore store = store_of_oddity("node=1/core=1", as_fluxion);
    ASSERT_TRUE(store.grow(read_shape("node=2/core=1").value()));
    EXPECT_EQ(std::holds_alternative<NotNow>(match_oddity(store, 1, 2, MatchOp::allocate)),
              as_fluxion);
  }
}

TEST(AsFluxion, TheIndexOfThePlanMissesWhatWasAdded) {
  for (const bool as_fluxion : {false, true}) {
    ResourceStore store = store_of_oddity("node=1/core=1", as_fluxion);
    match_oddity(store, 1, 1, MatchOp::allocate);                 // node0, from 0 to 10
    match_oddity(store, 2, 1, MatchOp::allocate_orelse_reserve);  // node0, from 10 to 20
    ASSERT_TRUE(store.grow(read_shape("node=2/core=1").value()));
    match_oddity(store, 3, 1, MatchOp::allocate);  // node1, from 0 to 10
    const auto outcome = match_oddity(store, 4, 1, MatchOp::allocate_orelse_reserve);
    // node1 is free at 10; Fluxion sees room first at 20, where only node0 was known
    EXPECT_EQ(std::get<Allocation>(outcome).when.begin, as_fluxion ? 20 : 10);
  }
}

TEST(AsFluxion, AJobWithoutLimitIsReservedUpToTheEnd) {
  for (const bool as_fluxion : {false, true}) {
    ResourceStore store = store_of_oddity("node=1/core=1", as_fluxion);
    match_oddity(store, 1, 1, MatchOp::allocate);  // node0, from 0 to 10
    const auto outcome =
        store.match(JobId{2}, nodes(1), MatchOp::allocate_orelse_reserve, 0, 0).value();
    ASSERT_EQ(std::holds_alternative<Allocation>(outcome), as_fluxion);
    if (!as_fluxion) continue;
    EXPECT_EQ(std::get<Allocation>(outcome).when, (Interval{10, 1000}));
  }
}

// node > slot > core on a machine with sockets between node and core.
TEST(AsFluxion, WhatStandsBelowALevelThatWasLeftOutIsFoundAndLost) {
  for (const bool as_fluxion : {false, true}) {
    ResourceStore store = store_of_oddity("node=1/socket=1/core=1", as_fluxion);
    const auto spec = parse_jobspec(
                          "version: 9999\nresources: [{type: node, count: 1, with: [{type: slot, "
                          "label: s, count: 1, with: [{type: core, count: 1}]}]}]\n"
                          "tasks: []\nattributes: {}\n")
                          .value();
    const auto ask = [&](MatchOp op) { return store.match(JobId{1}, spec, op, 0, 10).value(); };
    EXPECT_TRUE(std::holds_alternative<Allocation>(ask(MatchOp::satisfiability)));
    EXPECT_EQ(std::holds_alternative<NotNow>(ask(MatchOp::allocate)), as_fluxion);
    EXPECT_EQ(store.find(JobId{1}) == nullptr, as_fluxion);
  }
}

}  // namespace
}  // namespace holon::resource
