// Pools shared by units: who asks for 4 of 16 GiB holds 4, and the other 12 are there for others.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "asks.hpp"
#include "resource/formats/readers.hpp"
#include "resource/formats/rv1.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

ResourceStore store_of(std::string_view shape, const std::string& policy = "first",
                       const std::string& traverser = "simple", bool as_fluxion = false) {
  StoreOptions options;
  options.match_policy = policy;
  options.traverser = traverser;
  options.as_fluxion = as_fluxion;
  return ResourceStore::load(read_shape(shape).value(), options).value();
}

// slot[slots]{core[cores], memory[units]}
Jobspec slots(std::int64_t slots, std::int64_t cores, std::int64_t units) {
  Jobspec jobspec;
  jobspec.resources = {asks("slot", slots, {asks("core", cores), asks("memory", units)})};
  return jobspec;
}

Jobspec memory(std::int64_t units, std::optional<bool> exclusive = std::nullopt) {
  Jobspec jobspec;
  jobspec.resources = {asks("memory", units)};
  jobspec.resources[0].exclusive = exclusive;
  return jobspec;
}

std::optional<Allocation> match(ResourceStore& store, std::uint64_t job, const Jobspec& spec,
                                MatchOp op = MatchOp::allocate, Duration duration = 10) {
  auto outcome = store.match(JobId{job}, spec, op, 0, duration).value();
  store.check_invariants();
  const auto* allocation = std::get_if<Allocation>(&outcome);
  return allocation == nullptr ? std::nullopt : std::optional(*allocation);
}

Amount units_of(const ResourceStore& store, const Allocation& allocation, const char* type) {
  Amount units = 0;
  for (const Share& share : allocation.shares)
    if (store.graph().type_name(*store.graph().find_uniq(share.uniq_id)) == type)
      units += share.amount;
  return units;
}

const std::vector<std::string> kPolicies = {"first",  "high",     "low",      "hinode",
                                            "lonode", "locality", "variation"};
const std::vector<std::string> kTraversers = {"simple", "flexible"};

TEST(Pools, FourAndEightFitInSixteenAndThreeEightsDoNot) {
  for (const std::string& traverser : kTraversers)
    for (const std::string& policy : kPolicies) {
      SCOPED_TRACE(policy + " " + traverser);
      ResourceStore store = store_of("node=1/core=8,memory=16", policy, traverser);
      ASSERT_TRUE(match(store, 1, slots(1, 1, 4)));
      const auto second = match(store, 2, slots(1, 1, 8));
      ASSERT_TRUE(second);
      EXPECT_EQ(units_of(store, *second, "memory"), 8);
      EXPECT_EQ(store.available("memory", 0), 4);
      EXPECT_FALSE(match(store, 3, slots(1, 1, 8)));
      ASSERT_TRUE(store.release(JobId{1}));
      EXPECT_EQ(store.available("memory", 0), 8);
      EXPECT_TRUE(match(store, 3, slots(1, 1, 8)));
      EXPECT_FALSE(match(store, 4, slots(1, 1, 1)));
    }
}

TEST(Pools, FluxionTakesThemWhole) {
  ResourceStore store = store_of("node=1/core=8,memory=16", "first", "simple", true);
  const auto first = match(store, 1, slots(1, 1, 4));
  ASSERT_TRUE(first);
  EXPECT_EQ(units_of(store, *first, "memory"), 16);
  EXPECT_FALSE(match(store, 2, slots(1, 1, 4)));
}

TEST(Pools, ExclusiveTakesAllOrWaits) {
  ResourceStore store = store_of("node=1/core=8,memory=16");
  const auto all = match(store, 1, memory(4, true));
  ASSERT_TRUE(all);
  EXPECT_EQ(units_of(store, *all, "memory"), 16);
  EXPECT_FALSE(match(store, 2, memory(1)));
  ASSERT_TRUE(store.release(JobId{1}));
  ASSERT_TRUE(match(store, 2, memory(1)));
  EXPECT_FALSE(match(store, 3, memory(4, true)));
}

TEST(Pools, AnExclusiveNodeTakesItsPoolsWhole) {
  ResourceStore store = store_of("node=2/core=2,memory=16");
  ASSERT_TRUE(match(store, 1, memory(1)));
  Jobspec whole;
  whole.resources = {asks("node", 1, {asks("slot", 1, {asks("core", 1), asks("memory", 2)})})};
  whole.resources[0].exclusive = true;
  const auto got = match(store, 2, whole);
  ASSERT_TRUE(got);
  EXPECT_EQ(units_of(store, *got, "memory"), 16);
  EXPECT_FALSE(match(store, 3, whole));
}

TEST(Pools, SlotsShareAPoolAndASlotMaySpanTwo) {
  for (const std::string& traverser : kTraversers) {
    ResourceStore store = store_of("node=1/core=8,memory=2:6", "low", traverser);
    const auto got = match(store, 1, slots(3, 1, 4));
    ASSERT_TRUE(got);
    EXPECT_EQ(units_of(store, *got, "memory"), 12);
    EXPECT_EQ(got->shares.size(), 3U + 2U + 2U);  // each pool once
    EXPECT_EQ(store.available("memory", 0), 0);
  }
}

TEST(Pools, AReservationWaitsForTheUnits) {
  ResourceStore store = store_of("node=1/core=8,memory=16");
  ASSERT_TRUE(match(store, 1, slots(1, 1, 12), MatchOp::allocate, 30));
  const auto later = match(store, 2, slots(1, 1, 8), MatchOp::allocate_orelse_reserve, 20);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->when.begin, 30);
  EXPECT_TRUE(match(store, 3, slots(1, 1, 4), MatchOp::allocate_orelse_reserve, 40));
  EXPECT_EQ(store.find(JobId{3})->when.begin, 0);
}

TEST(Pools, EveryFormatSaysHowManyUnits) {
  ResourceStore store = store_of("node=1/core=8,memory=16");
  const auto got = match(store, 1, slots(1, 2, 4));
  ASSERT_TRUE(got);
  const auto written = [&](WriteFormat format) {
    return write_allocation(format, store.graph(), *got).value();
  };
  EXPECT_NE(written(WriteFormat::simple).find("memory0[4:s]"), std::string::npos);
  EXPECT_NE(written(WriteFormat::jgf).find("\"size\": 4"), std::string::npos);
  EXPECT_NE(written(WriteFormat::rv1).find("\"size\": 4"), std::string::npos);
  EXPECT_EQ(to_rv1(store.graph(), *got).value().hosts.at(0).memory, 4);
  const auto read = read_allocation_jgf(store.graph(), written(WriteFormat::jgf));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->shares, got->shares);
}

TEST(Pools, AChildGetsTheUnitsAndARestartKeepsThem) {
  ResourceStore store = store_of("node=2/core=4,memory=16");
  const auto got = match(store, 1, slots(1, 2, 6));
  ASSERT_TRUE(got);
  const auto grant = grant_jgf(store.graph(), *got).value();
  ResourceStore child = ResourceStore::load(read_jgf(grant).value(), {}).value();
  EXPECT_EQ(child.total("memory"), 6);
  EXPECT_FALSE(match(child, 1, memory(7)));
  EXPECT_TRUE(match(child, 1, memory(6)));

  ResourceStore again = store_of("node=2/core=4,memory=16");
  ASSERT_TRUE(again.update(*got));
  again.check_invariants();
  EXPECT_EQ(again.available("memory", 0), 26);
  Allocation too_much = *got;
  too_much.job = JobId{2};
  ASSERT_TRUE(match(again, 3, memory(21)));
  EXPECT_FALSE(again.update(too_much));
}

TEST(Pools, ExtendingAddsUnitsToThePoolAndPartsAreGivenBack) {
  ResourceStore store = store_of("node=1/core=4,memory=16");
  ASSERT_TRUE(match(store, 1, slots(1, 1, 6)));
  ASSERT_TRUE(std::holds_alternative<Allocation>(store.extend(JobId{1}, memory(4), 0).value()));
  store.check_invariants();
  EXPECT_EQ(units_of(store, *store.find(JobId{1}), "memory"), 10);
  EXPECT_EQ(store.available("memory", 0), 6);
  const VertexId core = [&] {
    for (const Share& share : store.find(JobId{1})->shares)
      if (const auto v = store.graph().find_uniq(share.uniq_id); share.amount > 0)
        if (store.graph().type_name(*v) == "core") return *v;
    return kNoVertex;
  }();
  ASSERT_TRUE(store.release_listed(JobId{1}, std::span(&core, 1)));
  store.check_invariants();
  EXPECT_EQ(store.available("memory", 0), 6);
  EXPECT_EQ(store.available("core", 0), 4);
}

TEST(Pools, HugePoolsAndCountsCostNoMemory) {
  for (const std::string& traverser : kTraversers) {
    ResourceStore store = store_of("node=1/core=1,memory=4000000000", "low", traverser);
    Jobspec spec;
    spec.resources = {asks("slot", 1, {asks("memory", 1)})};
    spec.resources[0].count.max = kMaxCount;
    EXPECT_TRUE(match(store, 1, spec));
  }
}

// Against counting: cores and units that are left on each node at each instant, kept by the test
// alone. slot[n]{core[c], memory[m]} fits exactly when so many slots can be counted.
struct NodeBooks {
  Amount cores = 0, units = 0;
};

RC_GTEST_PROP(Pools, AreNeverOverAllocatedAndFitExactlyWhenThereAreUnits, ()) {
  const auto nodes = *rc::gen::inRange(1, 4), cores = *rc::gen::inRange(1, 7);
  const auto pools = *rc::gen::inRange(1, 3), size = *rc::gen::inRange(2, 17);
  ResourceStore store =
      store_of("node=" + std::to_string(nodes) + "/core=" + std::to_string(cores) +
                   ",memory=" + std::to_string(pools) + ":" + std::to_string(size),
               *rc::gen::elementOf(kPolicies), *rc::gen::elementOf(kTraversers));
  const ResourceGraph& graph = store.graph();
  constexpr Time kBooksEnd = 60;
  using Books =
      std::map<std::uint32_t, std::vector<Amount>>;  // by vertex: units used at an instant
  Books used;
  const auto free_at = [&](VertexId v, Time begin, Time end) {
    Amount most = 0;
    for (Time t = begin; t < end && t < kBooksEnd; ++t)
      if (used.contains(v.value()))
        most = std::max(most, used[v.value()][static_cast<std::size_t>(t)]);
    return graph[v].size - most;
  };
  std::map<std::uint64_t, Allocation> live;
  const auto book = [&](const Allocation& allocation, int sign) {
    for (const Share& share : allocation.shares) {
      const VertexId v = *graph.find_uniq(share.uniq_id);
      auto& line =
          used.try_emplace(v.value(), static_cast<std::size_t>(kBooksEnd), 0).first->second;
      for (Time t = allocation.when.begin; t < std::min(allocation.when.end, kBooksEnd); ++t) {
        Amount& at = line[static_cast<std::size_t>(t)];
        at += sign * share.amount;
        RC_ASSERT(at >= 0 && at <= graph[v].size);
      }
    }
  };
  for (std::uint64_t job = 1; job <= 25; ++job) {
    if (!live.empty() && *rc::gen::inRange(0, 4) == 0) {
      RC_ASSERT(store.release(JobId{live.begin()->first}).has_value());
      book(live.begin()->second, -1);
      live.erase(live.begin());
      store.check_invariants();
      continue;
    }
    const Amount n = *rc::gen::inRange(1, 5), c = *rc::gen::inRange(1, 3);
    const Amount m = *rc::gen::inRange(1, size + 3);
    const Duration duration = *rc::gen::inRange(1, 8);
    Amount room = 0;
    for (const VertexId node : graph.by_type("node")) {
      NodeBooks left;
      for (const VertexId child : graph.children(node))
        (graph.type_name(child) == "core" ? left.cores : left.units) += free_at(child, 0, duration);
      room += std::min(left.cores / c, left.units / m);
    }
    const bool reserve = *rc::gen::arbitrary<bool>();
    const auto got =
        match(store, job, slots(n, c, m),
              reserve ? MatchOp::allocate_orelse_reserve : MatchOp::allocate, duration);
    RC_ASSERT((got && got->when.begin == 0) == (room >= n));
    if (!got) continue;
    RC_ASSERT(units_of(store, *got, "memory") == n * m);
    RC_ASSERT(units_of(store, *got, "core") == n * c);
    live[job] = *got;
    book(*got, 1);
  }
}

}  // namespace
}  // namespace holon::resource
