// Matching on one small cluster: what is found, what is not, and that it is given back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asks.hpp"
#include "resource/graph/graph.hpp"
#include "resource/graph/spec.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

using testing::HasSubstr;

// cluster0 > node0..n-1 > core0..c-1, memory0 of 16 units
GraphSpec cluster(int nodes, int cores) {
  GraphSpec spec;
  const auto root = spec.add("cluster", 0, GraphSpec::kNone);
  for (int n = 0; n < nodes; ++n) {
    const auto node = spec.add("node", n, root, n);
    for (int c = 0; c < cores; ++c) spec.add("core", c, node, n);
    spec.add("memory", 0, node, n, 16);
  }
  return spec;
}

ResourceStore store_of_graph(const GraphSpec& spec, std::string policy = "first",
                             Interval horizon = {0, kTimeMax}) {
  StoreOptions options;
  options.match_policy = std::move(policy);
  options.horizon = horizon;
  return ResourceStore::load(spec, options).value();
}

Jobspec shaped(std::int64_t nodes, std::int64_t tasks, std::int64_t cores, bool exclusive = false) {
  JobShape shape;
  shape.nodes = nodes;
  shape.tasks = tasks;
  shape.cores_per_task = cores;
  shape.exclusive = exclusive;
  return jobspec_for(shape).value();
}

MatchOutcome match_once(ResourceStore& store, std::uint64_t job, const Jobspec& spec, MatchOp op,
                        Time now = 0, Duration duration = 10) {
  auto outcome = store.match(JobId{job}, spec, op, now, duration);
  if (!outcome) throw std::runtime_error(to_string(outcome.error()));
  store.check_invariants();
  return *outcome;
}

// "core0 core1 node0": what is held, by name, in the order of emission.
std::string held_text(const ResourceStore& store, const Allocation& allocation) {
  std::string names;
  for (const Share& share : allocation.shares)
    if (share.amount > 0)
      names +=
          (names.empty() ? "" : " ") + store.graph().name(*store.graph().find_uniq(share.uniq_id));
  return names;
}

template <class T>
const T& as(const MatchOutcome& outcome) {
  return std::get<T>(outcome);
}

TEST(Match, TakesCoresWithoutTheNode) {
  ResourceStore store = store_of_graph(cluster(2, 4), "low");
  const auto got = as<Allocation>(match_once(store, 1, shaped(1, 2, 1), MatchOp::allocate));
  EXPECT_EQ(held_text(store, got), "core0 core1");
  EXPECT_EQ(got.when, (Interval{0, 10}));
  EXPECT_EQ(store.available("core", 0), 6);
  EXPECT_EQ(store.available("node", 0), 2);
  ASSERT_NE(store.find(JobId{1}), nullptr);
  EXPECT_EQ(*store.find(JobId{1}), got);
}

// node0..n-1 > socket0 > numanode0..1 > core0..1, as hwloc sees machines.
GraphSpec machines(int nodes) {
  GraphSpec spec;
  const auto root = spec.add("cluster", 0, GraphSpec::kNone);
  for (int n = 0; n < nodes; ++n) {
    const auto socket = spec.add("socket", 0, spec.add("node", n, root, n), n);
    for (int m = 0; m < 2; ++m) {
      const auto numa = spec.add("numanode", m, socket, n);
      for (int c = 0; c < 2; ++c) spec.add("core", 2 * m + c, numa, n);
    }
  }
  return spec;
}

TEST(Match, LevelsThatNobodyAskedForAreWalkedThrough) {
  ResourceStore store = store_of_graph(machines(2), "low");
  const auto got = as<Allocation>(match_once(store, 1, shaped(2, 6, 1), MatchOp::allocate));
  EXPECT_EQ(held_text(store, got), "core0 core1 core2 core0 core1 core2");
  EXPECT_EQ(as<Allocation>(match_once(store, 2, shaped(1, 1, 1), MatchOp::allocate)).when.begin, 0);
  EXPECT_TRUE(
      std::holds_alternative<NotNow>(match_once(store, 3, shaped(2, 2, 1), MatchOp::allocate)));
  const auto later =
      as<Allocation>(match_once(store, 3, shaped(2, 2, 1), MatchOp::allocate_orelse_reserve));
  EXPECT_EQ(later.when.begin, 10);
  EXPECT_TRUE(std::holds_alternative<Never>(
      match_once(store, 4, shaped(2, 10, 1), MatchOp::allocate_with_satisfiability)));
  StoreOptions fluxion;
  fluxion.as_fluxion = true;
  ResourceStore strict = ResourceStore::load(machines(2), fluxion).value();
  EXPECT_TRUE(std::holds_alternative<Never>(
      match_once(strict, 1, shaped(2, 6, 1), MatchOp::allocate_with_satisfiability)));
}

TEST(Match, AnExclusiveNodeIsTakenWithAllThatIsInIt) {
  ResourceStore store = store_of_graph(cluster(2, 2), "low");
  const auto got = as<Allocation>(match_once(store, 1, shaped(1, 1, 1, true), MatchOp::allocate));
  EXPECT_EQ(held_text(store, got), "core0 core1 memory0 node0");
  EXPECT_EQ(store.available("core", 0), 2);
  EXPECT_EQ(store.available("memory", 0), 16);
}

TEST(Match, ASharedNodeCannotBeTakenExclusively) {
  ResourceStore store = store_of_graph(cluster(1, 4));
  match_once(store, 1, shaped(0, 1, 1), MatchOp::allocate);
  EXPECT_TRUE(std::holds_alternative<NotNow>(
      match_once(store, 2, shaped(1, 1, 1, true), MatchOp::allocate)));
  ASSERT_TRUE(store.release(JobId{1}));
  EXPECT_TRUE(std::holds_alternative<Allocation>(
      match_once(store, 2, shaped(1, 1, 1, true), MatchOp::allocate)));
  EXPECT_TRUE(
      std::holds_alternative<NotNow>(match_once(store, 3, shaped(0, 1, 1), MatchOp::allocate)));
}

TEST(Match, ARefusalSaysWhatWasAskedForAndWhatThereIs) {
  ResourceStore store = store_of_graph(cluster(2, 4));
  const auto refusal = [&](const Jobspec& spec) {
    return as<Never>(match_once(store, 1, spec, MatchOp::satisfiability)).reason;
  };
  EXPECT_EQ(refusal(shaped(0, 5, 2)),
            "asks for 5 tasks of 2 cores; this instance can hold 4 at most (8 cores)");
  EXPECT_EQ(refusal(shaped(0, 1, 5)), "no node has 5 cores; the largest has 4");
  EXPECT_EQ(refusal(shaped(3, 3, 1)), "asks for 3 nodes; this instance has 2");
  EXPECT_EQ(refusal(shaped(2, 4, 3)),
            "asks for 2 tasks of 3 cores on each node; the largest node can hold 1");
  JobShape shape;
  shape.memory_per_task = 1000;
  EXPECT_EQ(refusal(jobspec_for(shape).value()),
            "no node has 1000 GiB of memory; the largest has 16");
  shape.memory_per_task = 0;
  shape.gpus_per_task = 1;
  EXPECT_EQ(refusal(jobspec_for(shape).value()), "no node has 1 GPU");
  Jobspec bound = shaped(2, 2, 1);
  bound.constraints = {"hostlist", {"node1"}, {}};
  EXPECT_EQ(refusal(bound), "asks for 2 nodes; this instance has 1 with host:node1");
}

TEST(Match, WhatDoesNotFitWaitsAndWhatNeverFitsIsRefused) {
  ResourceStore store = store_of_graph(cluster(2, 4));
  match_once(store, 1, shaped(2, 2, 4), MatchOp::allocate);
  const auto busy = match_once(store, 2, shaped(1, 1, 1), MatchOp::allocate_with_satisfiability);
  EXPECT_THAT(as<NotNow>(busy).reason, HasSubstr("the node it needs is not free"));
  const auto never = match_once(store, 2, shaped(3, 3, 1), MatchOp::allocate_with_satisfiability);
  EXPECT_THAT(as<Never>(never).reason, HasSubstr("asks for 3 nodes; this instance has 2"));
  EXPECT_TRUE(std::holds_alternative<Never>(
      match_once(store, 2, shaped(1, 1, 5), MatchOp::satisfiability)));
  EXPECT_TRUE(std::holds_alternative<Allocation>(
      match_once(store, 2, shaped(2, 2, 4), MatchOp::satisfiability)));
}

TEST(Match, ReservesAtTheFirstTimeThatFits) {
  ResourceStore store = store_of_graph(cluster(2, 4));
  match_once(store, 1, shaped(1, 1, 4, true), MatchOp::allocate, 0, 10);
  match_once(store, 2, shaped(1, 1, 4, true), MatchOp::allocate, 0, 30);
  const auto both =
      as<Allocation>(match_once(store, 3, shaped(2, 2, 4), MatchOp::allocate_orelse_reserve));
  EXPECT_EQ(both.when, (Interval{30, 40}));
  const auto one = as<Allocation>(
      match_once(store, 4, shaped(1, 1, 4), MatchOp::allocate_orelse_reserve, 0, 20));
  EXPECT_EQ(one.when, (Interval{10, 30}));
  const auto late = as<Allocation>(
      match_once(store, 5, shaped(1, 1, 4), MatchOp::allocate_orelse_reserve, 0, 21));
  EXPECT_EQ(late.when, (Interval{40, 61}));
}

// Who waits may be reserved for again and again, as often as somebody looks.
TEST(Match, AReservationThatIsGivenBackLeavesTheNextChoiceAsItWas) {
  const auto placed = [](bool is_reserved_for) {
    ResourceStore store = store_of_graph(cluster(3, 4));
    match_once(store, 1, shaped(1, 1, 3), MatchOp::allocate);
    match_once(store, 2, shaped(2, 2, 2), MatchOp::allocate, 0, 20);
    EXPECT_TRUE(store.release(JobId{1}));
    if (is_reserved_for) {
      const auto outcome =
          match_once(store, 3, shaped(3, 3, 4, true), MatchOp::allocate_orelse_reserve);
      EXPECT_EQ(as<Allocation>(outcome).when.begin, 20);
      EXPECT_TRUE(store.release(JobId{3}));
    }
    return held_text(store,
                     as<Allocation>(match_once(store, 4, shaped(0, 1, 1), MatchOp::allocate)));
  };
  EXPECT_EQ(placed(true), placed(false));
}

TEST(Match, NothingIsPlannedPastTheHorizon) {
  ResourceStore store = store_of_graph(cluster(1, 1), "first", {0, 100});
  EXPECT_EQ(as<Allocation>(match_once(store, 1, shaped(0, 1, 1), MatchOp::allocate, 0, 60)).when,
            (Interval{0, 60}));
  EXPECT_TRUE(std::holds_alternative<NotNow>(
      match_once(store, 2, shaped(0, 1, 1), MatchOp::allocate_orelse_reserve, 0, 41)));
  EXPECT_EQ(
      as<Allocation>(match_once(store, 2, shaped(0, 1, 1), MatchOp::allocate_orelse_reserve, 0, 40))
          .when,
      (Interval{60, 100}));
}

TEST(Match, AJobThatOverrunsKeepsItsUnits) {
  ResourceStore store = store_of_graph(cluster(1, 1));
  match_once(store, 1, shaped(0, 1, 1), MatchOp::allocate, 0, 10);
  EXPECT_TRUE(
      std::holds_alternative<NotNow>(match_once(store, 2, shaped(0, 1, 1), MatchOp::allocate, 10)));
  EXPECT_TRUE(std::holds_alternative<NotNow>(
      match_once(store, 2, shaped(1, 1, 1, true), MatchOp::allocate, 500)));
  ASSERT_TRUE(store.release(JobId{1}));
  EXPECT_TRUE(std::holds_alternative<Allocation>(
      match_once(store, 2, shaped(0, 1, 1), MatchOp::allocate, 500)));
}

TEST(Match, DownIsOutOfReachUntilItIsUp) {
  ResourceStore store = store_of_graph(cluster(2, 2));
  ASSERT_TRUE(store.set_status("/cluster0/node1", false));
  EXPECT_EQ(store.available("core", 0), 2);
  EXPECT_TRUE(std::holds_alternative<NotNow>(
      match_once(store, 1, shaped(2, 2, 1), MatchOp::allocate_with_satisfiability)));
  ASSERT_TRUE(store.set_status("/cluster0/node1", true));
  EXPECT_TRUE(
      std::holds_alternative<Allocation>(match_once(store, 1, shaped(2, 2, 1), MatchOp::allocate)));
  EXPECT_EQ(store.set_status("/cluster0/node7", true).error().code, Errc::not_found);
}

TEST(Match, ADrainedNodeTakesNoNewWorkAndKeepsWhatItHas) {
  ResourceStore store = store_of_graph(cluster(2, 2), "low");
  match_once(store, 1, shaped(1, 1, 1), MatchOp::allocate, 0, 20);  // node0
  ASSERT_TRUE(store.set_drained("/cluster0/node0", true));
  const Allocation before = *store.find(JobId{1});
  EXPECT_EQ(store.available("core", 0), 2);
  EXPECT_TRUE(
      std::holds_alternative<NotNow>(match_once(store, 2, shaped(2, 2, 1), MatchOp::allocate)));
  EXPECT_TRUE(std::holds_alternative<Allocation>(
      match_once(store, 2, shaped(2, 2, 2), MatchOp::satisfiability)));
  EXPECT_EQ(
      held_text(store, as<Allocation>(match_once(store, 2, shaped(1, 2, 1), MatchOp::allocate))),
      "core0 core1");
  EXPECT_EQ(*store.find(JobId{1}), before);
  ASSERT_TRUE(store.set_drained("/cluster0/node0", false));
  EXPECT_TRUE(
      std::holds_alternative<Allocation>(match_once(store, 3, shaped(1, 1, 1), MatchOp::allocate)));
  EXPECT_EQ(store.set_drained("/cluster0/node7", true).error().code, Errc::not_found);
}

TEST(Match, DryOperationsHoldNothing) {
  ResourceStore store = store_of_graph(cluster(1, 2));
  match_once(store, 1, shaped(0, 2, 1), MatchOp::without_allocating);
  EXPECT_EQ(store.find(JobId{1}), nullptr);
  EXPECT_EQ(store.available("core", 0), 2);
  match_once(store, 1, shaped(0, 2, 1), MatchOp::allocate);
  const auto later =
      as<Allocation>(match_once(store, 2, shaped(0, 1, 1), MatchOp::without_allocating_future));
  EXPECT_EQ(later.when, (Interval{10, 20}));
  EXPECT_EQ(store.find(JobId{2}), nullptr);
}

TEST(Match, AnAllocationCanBeImposedAgain) {
  ResourceStore store = store_of_graph(cluster(2, 2), "low");
  const auto core = as<Allocation>(match_once(store, 1, shaped(0, 1, 1), MatchOp::allocate));
  const auto node = as<Allocation>(match_once(store, 2, shaped(1, 1, 1, true), MatchOp::allocate));
  ResourceStore again = store_of_graph(cluster(2, 2), "low");
  ASSERT_TRUE(again.update(node));
  ASSERT_TRUE(again.update(core));
  again.check_invariants();
  EXPECT_EQ(again.available("core", 0), store.available("core", 0));
  Allocation stolen = core;
  stolen.job = JobId{3};
  EXPECT_EQ(again.update(stolen).error().code, Errc::overcommitted);
  EXPECT_EQ(again.update(core).error().code, Errc::exists);
  stolen.shares[0].uniq_id = 999;
  EXPECT_EQ(again.update(stolen).error().code, Errc::not_found);
  again.check_invariants();
}

// Whatever R lists below it.
TEST(Match, AnExclusiveNodeIsNotImposedWhereAnotherJobHasACore) {
  ResourceStore store = store_of_graph(cluster(2, 2), "low");
  match_once(store, 1, shaped(1, 1, 1), MatchOp::allocate);
  const auto node = [&](const char* path) {
    Allocation allocation;
    allocation.job = JobId{2};
    allocation.when = {0, 10};
    allocation.shares = {{store.graph()[store.graph().find_path(path).value()].uniq_id, 1, true}};
    return allocation;
  };
  EXPECT_EQ(store.update(node("/cluster0/node0")).error().code, Errc::overcommitted);
  ASSERT_TRUE(store.update(node("/cluster0/node1")));
  EXPECT_TRUE(
      std::holds_alternative<NotNow>(match_once(store, 3, shaped(2, 2, 1), MatchOp::allocate)));
}

TEST(Match, TheEndOfAnAllocationMovesUnlessSomebodyIsInTheWay) {
  ResourceStore store = store_of_graph(cluster(1, 2));
  match_once(store, 1, shaped(0, 2, 1), MatchOp::allocate, 0, 10);
  match_once(store, 2, shaped(1, 1, 1, true), MatchOp::allocate_orelse_reserve, 0, 10);
  EXPECT_EQ(store.set_end(JobId{1}, 11).error().code, Errc::overcommitted);
  ASSERT_TRUE(store.set_end(JobId{1}, 4));
  store.check_invariants();
  EXPECT_EQ(
      as<Allocation>(match_once(store, 3, shaped(0, 1, 1), MatchOp::allocate_orelse_reserve, 0, 6))
          .when,
      (Interval{4, 10}));
  ASSERT_TRUE(store.release(JobId{2}));
  ASSERT_TRUE(store.release(JobId{3}));
  ASSERT_TRUE(store.set_end(JobId{1}, 500));
  store.check_invariants();
  EXPECT_EQ(store.set_end(JobId{9}, 5).error().code, Errc::not_found);
}

TEST(Match, ConstraintsChooseNodes) {
  GraphSpec spec = cluster(4, 1);
  spec.properties.push_back({1, "fast", ""});
  ResourceStore store = store_of_graph(spec, "low");
  const auto where = [&](Constraint constraint) {
    Jobspec jobspec = shaped(1, 1, 1);
    jobspec.constraints = std::move(constraint);
    const auto outcome = match_once(store, 1, jobspec, MatchOp::without_allocating);
    if (!std::holds_alternative<Allocation>(outcome)) return std::string("nowhere");
    for (const Share& share : as<Allocation>(outcome).shares)
      if (store.graph().type_name(*store.graph().find_uniq(share.uniq_id)) == "node")
        return store.graph().name(*store.graph().find_uniq(share.uniq_id));
    return std::string("no node");
  };
  EXPECT_EQ(where({"properties", {"fast"}, {}}), "node0");
  EXPECT_EQ(where({"properties", {"^fast"}, {}}), "node1");
  EXPECT_EQ(where({"properties", {"slow"}, {}}), "nowhere");
  EXPECT_EQ(where({"hostlist", {"node[2-3]"}, {}}), "node2");
  std::string odd;  // many single names: they are kept in another way than ranges
  for (int n = 1; n < 100; n += 2) odd += (n == 1 ? "node" : ",node") + std::to_string(n);
  EXPECT_EQ(where({"hostlist", {odd}, {}}), "node1");
  EXPECT_EQ(where({"hostlist", {odd.substr(odd.find(',') + 1)}, {}}), "node3");
  EXPECT_EQ(where({"ranks", {"3,7"}, {}}), "node3");
  EXPECT_EQ(where({"not", {}, {{"ranks", {"0-1"}, {}}}}), "node2");
  EXPECT_EQ(where({"and", {}, {{"ranks", {"1-3"}, {}}, {"hostlist", {"node2"}, {}}}}), "node2");
  EXPECT_EQ(where({"or", {}, {}}), "node0");
  EXPECT_FALSE(store.match(
      JobId{1},
      [] {
        Jobspec j = shaped(1, 1, 1);
        j.constraints = {"ranks", {"x"}, {}};
        return j;
      }(),
      MatchOp::allocate, 0, 1));
}

// A child of one of the many types must not pass for one of another.
TEST(Match, FindsASlotInAGraphOfManyTypes) {
  GraphSpec spec;
  const auto root = spec.add("cluster", 0, GraphSpec::kNone);
  for (int type = 0; type < 80; ++type) spec.add("kind" + std::to_string(type), 0, root);
  spec.add("foo", 0, spec.add("node", 0, root, 0), 0);
  ResourceStore store = store_of_graph(spec, "low");
  Jobspec jobspec;
  jobspec.resources = {asks("slot", 1, {asks("foo", 1)})};
  const auto got = match_once(store, 1, jobspec, MatchOp::allocate);
  ASSERT_TRUE(std::holds_alternative<Allocation>(got));
  EXPECT_EQ(held_text(store, as<Allocation>(got)), "foo0");
}

TEST(Match, ScoresOfHugeIdsStayNumbers) {
  for (const char* name : {"high", "low", "hinode", "lonode", "locality"}) {
    GraphSpec spec = cluster(2, 3);
    for (auto& row : spec.rows)
      if (row.id > 0) row.id = INT64_MAX - row.id;
    ResourceStore store = store_of_graph(spec, name);
    EXPECT_TRUE(std::holds_alternative<Allocation>(
        match_once(store, 1, shaped(2, 2, 3), MatchOp::allocate)))
        << name;
  }
}

// A job that holds nothing must not be one that is there.
TEST(Match, ARequestThatHoldsNothingIsRefusedByEveryMethod) {
  ResourceStore store = store_of_graph(cluster(2, 2));
  Jobspec nothing, passes_through;
  passes_through.resources = {asks("node", 1)};
  ASSERT_TRUE(store.allocate(JobId{9}, shaped(1, 1, 1), {5, 20}, 0));
  for (const Jobspec& spec : {nothing, passes_through}) {
    EXPECT_EQ(store.match(JobId{1}, spec, MatchOp::allocate, 0, 10).error().code,
              Errc::invalid_argument);
    EXPECT_EQ(store.allocate(JobId{1}, spec, {0, 10}, 0).error().code, Errc::invalid_argument);
    EXPECT_EQ(store.extend(JobId{9}, spec, 0).error().code, Errc::invalid_argument);
    EXPECT_EQ(store.find(JobId{1}), nullptr);
    store.check_invariants();
  }
}

TEST(Match, AReservationThatIsOverIsNotExtended) {
  ResourceStore store = store_of_graph(cluster(2, 2));
  ASSERT_TRUE(store.allocate(JobId{1}, shaped(1, 1, 1), {5, 20}, 0));
  const auto late = store.extend(JobId{1}, shaped(1, 1, 1), 20);
  ASSERT_TRUE(late);
  EXPECT_THAT(as<NotNow>(*late).reason, HasSubstr("over"));
  store.check_invariants();
  EXPECT_TRUE(
      std::holds_alternative<Allocation>(store.extend(JobId{1}, shaped(1, 1, 1), 19).value()));
}

TEST(Match, LabelsAreThoseOfWhatIsHeld) {
  ResourceStore store = store_of_graph(cluster(3, 2), "low");
  const auto labelled = [&](const char* label) {
    Jobspec jobspec = shaped(1, 1, 1, true);
    jobspec.resources[0].label = label;
    return jobspec;
  };
  match_once(store, 1, labelled("first"), MatchOp::allocate);
  ASSERT_TRUE(store.extend(JobId{1}, labelled("second"), 0));
  const auto id = [&](const char* path) {
    return store.graph()[store.graph().find_path(path).value()].uniq_id;
  };
  using Labels = std::vector<std::pair<std::int64_t, std::string>>;
  EXPECT_EQ(store.find(JobId{1})->labels,
            (Labels{{id("/cluster0/node0"), "first"}, {id("/cluster0/node1"), "second"}}));
  const VertexId node0 = store.graph().find_path("/cluster0/node0").value();
  ASSERT_FALSE(store.release_part(JobId{1}, std::span(&node0, 1)).value());
  EXPECT_EQ(store.find(JobId{1})->labels, (Labels{{id("/cluster0/node1"), "second"}}));
  store.check_invariants();
}

TEST(Match, AJobUntilTheEndBeginsBeforeTimeZeroToo) {
  ResourceStore store = store_of_graph(cluster(1, 1), "first", {-10, kTimeMax});
  const auto got = as<Allocation>(match_once(store, 1, shaped(1, 1, 1), MatchOp::allocate, -5, 0));
  EXPECT_EQ(got.when.begin, -5);
  EXPECT_GT(got.when.end, kTimeMax / 2);
}

TEST(Match, UnknownPoliciesAndFiltersAreNamed) {
  const auto refused = [](StoreOptions options) {
    const auto store = ResourceStore::load(cluster(1, 1), options);
    return store ? std::string("accepted") : store.error().where;
  };
  StoreOptions policy, filters, traverser;
  policy.match_policy = "best";
  filters.prune_filters = "ALL";
  traverser.traverser = "quick";
  EXPECT_EQ(refused(policy), "match-policy");
  EXPECT_EQ(refused(filters), "prune-filters");
  EXPECT_EQ(refused(traverser), "traverser");
  policy.match_policy = "policy=low node_exclusive=true";
  EXPECT_EQ(refused(policy), "accepted");
}

}  // namespace
}  // namespace holon::resource
