// StoreOptions::as_fluxion: each oddity with and without.
#include <gtest/gtest.h>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

ResourceStore store_of(std::string_view shape, bool as_fluxion) {
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

MatchOutcome match(ResourceStore& store, std::uint64_t job, int count, MatchOp op) {
  return store.match(JobId{job}, nodes(count), op, 0, 10).value();
}

TEST(AsFluxion, ADownMachineNeverSatisfies) {
  for (const bool as_fluxion : {false, true}) {
    ResourceStore store = store_of("node=2/core=1", as_fluxion);
    ASSERT_TRUE(store.set_status("/cluster0", false));
    const auto outcome = match(store, 1, 1, MatchOp::allocate_with_satisfiability);
    EXPECT_EQ(std::holds_alternative<Never>(outcome), as_fluxion);
    EXPECT_TRUE(std::holds_alternative<NotNow>(match(store, 1, 1, MatchOp::allocate)));
    ASSERT_TRUE(store.set_status("/cluster0", true));
    EXPECT_TRUE(std::holds_alternative<Allocation>(match(store, 1, 2, MatchOp::allocate)));
  }
}

TEST(AsFluxion, NodesThatCameLaterAreNotCounted) {
  for (const bool as_fluxion : {false, true}) {
    ResourceStore store = store_of("node=1/core=1", as_fluxion);
    ASSERT_TRUE(store.grow(read_shape("node=2/core=1").value()));
    EXPECT_EQ(std::holds_alternative<NotNow>(match(store, 1, 2, MatchOp::allocate)), as_fluxion);
  }
}

TEST(AsFluxion, TheIndexOfThePlanMissesWhatWasAdded) {
  for (const bool as_fluxion : {false, true}) {
    ResourceStore store = store_of("node=1/core=1", as_fluxion);
    match(store, 1, 1, MatchOp::allocate);                 // node0, from 0 to 10
    match(store, 2, 1, MatchOp::allocate_orelse_reserve);  // node0, from 10 to 20
    ASSERT_TRUE(store.grow(read_shape("node=2/core=1").value()));
    match(store, 3, 1, MatchOp::allocate);  // node1, from 0 to 10
    const auto outcome = match(store, 4, 1, MatchOp::allocate_orelse_reserve);
    // node1 is free at 10; Fluxion sees room first at 20, where only node0 was known
    EXPECT_EQ(std::get<Allocation>(outcome).when.begin, as_fluxion ? 20 : 10);
  }
}

}  // namespace
}  // namespace holon::resource
