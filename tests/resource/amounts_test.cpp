// Slots of amounts: what -c, -g and -m describe is had of a whole node, whatever its sockets and
// NUMA nodes; near each other where it can be.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <string>

#include "asks.hpp"
#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/graph/spec.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

ResourceStore store_with_parts(const GraphSpec& spec, const std::string& policy = "first") {
  StoreOptions options;
  options.match_policy = policy;
  options.prune_filters = "ALL:core,ALL:node,ALL:gpu";
  return ResourceStore::load(spec, options).value();
}

Jobspec job_of_amounts(std::int64_t cores, std::int64_t tasks = 1, std::int64_t gpus = 0,
                       std::int64_t memory = 0, std::int64_t nodes = 0) {
  JobShape shape;
  shape.nodes = nodes;
  shape.tasks = tasks;
  shape.cores_per_task = cores;
  shape.gpus_per_task = gpus;
  shape.memory_per_task = memory;
  shape.command = {"true"};
  return jobspec_for(shape).value();
}

std::optional<Allocation> match_amounts(ResourceStore& store, std::uint64_t job,
                                        const Jobspec& spec) {
  auto outcome = store.match(JobId{job}, spec, MatchOp::allocate, 0, 10).value();
  store.check_invariants();
  const auto* allocation = std::get_if<Allocation>(&outcome);
  return allocation == nullptr ? std::nullopt : std::optional(*allocation);
}

// "node0/socket1/core2 node0/socket1/core3": what is held, of these types.
std::string drawn_amounts(const ResourceStore& store, const std::optional<Allocation>& allocation) {
  if (!allocation) return "nothing";
  std::string text;
  for (const Share& share : allocation->shares) {
    const VertexId v = *store.graph().find_uniq(share.uniq_id);
    if (share.amount == 0) continue;
    const std::string path = store.graph().path(v);
    text += (text.empty() ? "" : " ") + path.substr(path.find('/', 1) + 1);
    if (store.graph()[v].size > 1) text += ":" + std::to_string(share.amount);
  }
  return text;
}

std::string placed_amounts(std::string_view machine, const Jobspec& spec) {
  ResourceStore store = store_with_parts(read_shape(machine).value());
  return drawn_amounts(store, match_amounts(store, 1, spec));
}

TEST(Amounts, ASlotLargerThanASocketTakesCoresOfSeveral) {
  EXPECT_EQ(placed_amounts("node=1/socket=2/core=2", job_of_amounts(3)),
            "node0/socket0/core1 node0/socket1/core2 node0/socket1/core3");
  EXPECT_EQ(placed_amounts("node=1/socket=2/core=2", job_of_amounts(5)), "nothing");
  EXPECT_NE(placed_amounts("node=1/numanode=8/core=16", job_of_amounts(128)), "nothing");
  EXPECT_EQ(placed_amounts("node=2/socket=2/core=2", job_of_amounts(4, 1, 0, 0, 1)),
            "node1/socket0/core0 node1/socket0/core1 node1/socket1/core2 node1/socket1/core3");
}

TEST(Amounts, ASocketThatWasNamedStands) {
  Jobspec spec;
  spec.resources = {asks("node", 1, {asks("socket", 1, {asks("slot", 1, {asks("core", 3)})})})};
  EXPECT_EQ(placed_amounts("node=1/socket=2/core=2", spec), "nothing");
  spec.resources = {asks("slot", 1, {asks("socket", 1, {asks("core", 3)})})};
  EXPECT_EQ(placed_amounts("node=1/socket=2/core=2", spec), "nothing");
  // ... and what stands below it is no wall
  spec.resources = {asks("node", 1, {asks("socket", 1, {asks("slot", 1, {asks("core", 3)})})})};
  EXPECT_NE(placed_amounts("node=1/socket=2/numanode=2/core=2", spec), "nothing");
}

TEST(Amounts, OneCoreIsFreeOnEachOfTwoSockets) {
  ResourceStore store = store_with_parts(read_shape("node=1/socket=2/core=2").value());
  std::map<std::string, JobId> by_socket;
  for (std::uint64_t job = 1; job <= 4; ++job) {
    const std::string held = drawn_amounts(store, match_amounts(store, job, job_of_amounts(1)));
    by_socket[held.substr(0, held.rfind('/'))] = JobId{job};
  }
  ASSERT_EQ(by_socket.size(), 2U);
  EXPECT_FALSE(match_amounts(store, 5, job_of_amounts(1)));
  for (const auto& [socket, job] : by_socket) ASSERT_TRUE(store.release(job).has_value());
  EXPECT_TRUE(match_amounts(store, 5, job_of_amounts(2)));
}

TEST(Amounts, AGpuIsTakenNearTheCores) {
  // the first socket has no GPU
  const std::string machine = "node=1/[socket=1/core=4;socket=1/core=4,gpu=1]";
  EXPECT_EQ(placed_amounts(machine, job_of_amounts(1, 1, 1)),
            placed_amounts(machine, job_of_amounts(1, 1, 1, 0, 1)));
  EXPECT_EQ(placed_amounts(machine, job_of_amounts(2, 1, 1)),
            "node0/socket1/core6 node0/socket1/core7 node0/socket1/gpu0");
  EXPECT_EQ(placed_amounts("node=1/[gpu=2,socket=2/core=2]", job_of_amounts(3, 1, 2)),
            "node0/gpu0 node0/gpu1 node0/socket0/core1 node0/socket1/core2 node0/socket1/core3");
}

TEST(Amounts, MemoryOfOtherNumaNodesIsHadWhereTheNearestDoesNotSuffice) {
  const std::string machine = "node=1/[numanode=2/core=2,memory=8;numanode=1/memory=64]";
  EXPECT_EQ(placed_amounts(machine, job_of_amounts(1, 1, 0, 8)),
            "node0/numanode1/core3 node0/numanode1/memory1:8");
  EXPECT_NE(placed_amounts(machine, job_of_amounts(1, 1, 0, 80)), "nothing");
  EXPECT_EQ(placed_amounts(machine, job_of_amounts(1, 1, 0, 81)), "nothing");
  EXPECT_NE(placed_amounts(machine, job_of_amounts(4, 1, 0, 60)), "nothing");
}

TEST(Amounts, TasksThatDoNotDivideEvenlyTakeNoMoreThanTheirSlots) {
  ResourceStore store = store_with_parts(read_shape("node=4/core=24").value());
  const auto held = match_amounts(store, 1, job_of_amounts(5, 5, 0, 0, 2));
  ASSERT_TRUE(held);
  EXPECT_EQ(store.available("core", 0), 96 - 25);
  // 9 and 14 cores are left on the two: they hold the same once more, with one slot and two
  ASSERT_TRUE(match_amounts(store, 2, job_of_amounts(24, 2, 0, 0, 2)));
  EXPECT_FALSE(match_amounts(store, 3, job_of_amounts(5, 4, 0, 0, 2)));
  EXPECT_TRUE(match_amounts(store, 4, job_of_amounts(5, 3, 0, 0, 2)));
  EXPECT_EQ(store.available("core", 0), 8);
}

TEST(Amounts, ARefusalSaysWhatTheNodesHold) {
  const auto refused = [](std::string_view machine, const Jobspec& spec) {
    ResourceStore store = store_with_parts(read_shape(machine).value());
    const auto outcome = store.match(JobId{1}, spec, MatchOp::satisfiability, 0, 10).value();
    const auto* never = std::get_if<Never>(&outcome);
    return never == nullptr ? std::string() : never->reason;
  };
  EXPECT_EQ(refused("node=2/socket=2/core=2", job_of_amounts(5)),
            "no node has 5 cores; the largest has 4");
  EXPECT_EQ(refused("node=2/core=8", job_of_amounts(3, 5, 0, 0, 2)),
            "asks for 3 tasks of 3 cores on each node; the largest node can hold 2");
  EXPECT_EQ(refused("[node=1/core=8;node=1/core=2]", job_of_amounts(3, 3, 0, 0, 2)),
            "asks for 2 nodes with 1 task of 3 cores each; 1 node has that much");
}

// ---- random machines

// node > (socket | numanode | nothing) ..., with cores in the innermost ones or none, with threads
// or without, memory and GPUs anywhere.
class MachineOfParts {
 public:
  GraphSpec draw() {
    const auto cluster = spec_.add("cluster", 0, GraphSpec::kNone);
    has_memory_ = *rc::gen::arbitrary<bool>();
    has_threads_ = *rc::gen::inRange(0, 4) == 0;
    const auto nodes = *rc::gen::inRange(1, 4);
    for (rank_ = 0; rank_ < nodes; ++rank_) {
      const auto node = spec_.add("node", rank_, cluster, rank_);
      next_.clear();
      level(node, 0);
    }
    return std::move(spec_);
  }

 private:
  void level(std::uint32_t above, int depth) {
    if (*rc::gen::inRange(0, 3) == 0) add("gpu", above, *rc::gen::inRange(1, 3));
    if (has_memory_ && *rc::gen::inRange(0, 2) == 0)
      spec_.add("memory", next_["memory"]++, above, rank_, *rc::gen::inRange(1, 9));
    const int parts = depth < 3 ? *rc::gen::element(0, 0, 2, 2, 4) : 0;
    const auto type = *rc::gen::element<std::string>("socket", "numanode", "group");
    for (int i = 0; i < parts; ++i) {
      // the same type twice, one in the other, is not what machines have
      const std::string name = depth == 0 ? type : type + std::to_string(depth);
      level(spec_.add(name, next_[name]++, above, rank_), depth + 1);
    }
    if (parts > 0 && *rc::gen::inRange(0, 4) > 0) return;
    const int cores = *rc::gen::inRange(0, 5);
    for (int c = 0; c < cores; ++c) {
      const auto core = spec_.add("core", next_["core"]++, above, rank_);
      if (!has_threads_) continue;
      for (int t = 0; t < 2; ++t) spec_.add("pu", next_["pu"]++, core, rank_);
    }
  }
  void add(const std::string& type, std::uint32_t above, int count) {
    for (int i = 0; i < count; ++i) spec_.add(type, next_[type]++, above, rank_);
  }

  GraphSpec spec_;
  std::map<std::string, std::int64_t> next_;
  bool has_memory_ = false, has_threads_ = false;
  std::int32_t rank_ = 0;
};

using Amounts = std::map<std::string, Amount>;

// What is free, by node, counted by the test alone.
class LedgerOfNodes {
 public:
  explicit LedgerOfNodes(const ResourceGraph& graph) : graph_(graph) {
    for (const VertexId node : graph.by_type("node"))
      for (const VertexId v : graph.subtree(node)) {
        free_[node][graph.type_name(v)] += graph[v].size;
        left_[v] = graph[v].size;
      }
  }

  std::int64_t slots_on(VertexId node, const Amounts& slot) const {
    std::int64_t slots = INT64_MAX;
    for (const auto& [type, each] : slot) {
      const auto at = free_.at(node).find(type);
      slots = std::min(slots, at == free_.at(node).end() ? 0 : at->second / each);
    }
    return slots;
  }
  // Takes or gives back what is held; returns it by node.
  std::map<VertexId, Amounts> move(const Allocation& allocation, int sign) {
    std::map<VertexId, Amounts> moved;
    const auto node_type = *graph_.words().types.find("node");
    for (const Share& share : allocation.shares) {
      const VertexId v = *graph_.find_uniq(share.uniq_id);
      if (share.amount == 0) continue;
      left_[v] -= sign * share.amount;
      RC_ASSERT(left_[v] >= 0);
      const VertexId node = graph_.ancestor_of_type(v, node_type);
      free_[node][graph_.type_name(v)] -= sign * share.amount;
      moved[node][graph_.type_name(v)] += share.amount;
    }
    return moved;
  }
  // Is there a vertex below a node, with nothing but units in it, that has room for the slot?
  std::optional<VertexId> innermost_with_room(const Amounts& slot) const {
    for (const VertexId node : graph_.by_type("node"))
      for (const VertexId v : graph_.subtree(node)) {
        Amounts free;
        bool is_innermost = !graph_.children(v).empty();
        for (const VertexId child : graph_.children(v)) {
          const std::string type = graph_.type_name(child);
          is_innermost = is_innermost && (type == "core" || graph_.is_leaf(child));
          free[type] += left_.at(child);
        }
        const bool has = std::all_of(slot.begin(), slot.end(), [&](const auto& part) {
          return free[part.first] >= part.second;
        });
        if (is_innermost && has && graph_.type_name(v) != "core") return v;
      }
    return std::nullopt;
  }

 private:
  const ResourceGraph& graph_;
  std::map<VertexId, Amounts> free_;
  std::map<VertexId, Amount> left_;
};

Amounts random_amounts() {
  Amounts slot{{"core", *rc::gen::inRange(1, 9)}};
  if (*rc::gen::inRange(0, 3) == 0) slot["gpu"] = *rc::gen::inRange(1, 4);
  if (*rc::gen::inRange(0, 3) == 0) slot["memory"] = *rc::gen::inRange(1, 17);
  return slot;
}

// Does it fit, and on how many nodes at least: the sum over the nodes, or N nodes with the most.
bool amounts_fit(const LedgerOfNodes& ledger, const ResourceGraph& graph, const Amounts& slot,
                 std::int64_t tasks, std::int64_t nodes) {
  std::vector<std::int64_t> room;
  for (const VertexId node : graph.by_type("node")) room.push_back(ledger.slots_on(node, slot));
  if (nodes == 0) return std::accumulate(room.begin(), room.end(), std::int64_t{0}) >= tasks;
  const std::int64_t most = (tasks + nodes - 1) / nodes, short_by_one = most * nodes - tasks;
  const auto with = [&](std::int64_t slots) {
    return std::count_if(room.begin(), room.end(), [&](std::int64_t n) { return n >= slots; });
  };
  return with(most) >= nodes - short_by_one && with(most - (short_by_one > 0)) >= nodes;
}

RC_GTEST_PROP(Amounts, AJobIsPlacedExactlyWhenItsNodesHaveTheAmounts, ()) {
  const auto policy = *rc::gen::element<std::string>("first", "first", "high", "low", "lonode",
                                                     "hinode", "locality");
  ResourceStore store = store_with_parts(MachineOfParts().draw(), policy);
  const ResourceGraph& graph = store.graph();
  LedgerOfNodes ledger(graph);
  std::map<std::uint64_t, Allocation> held;
  for (std::uint64_t job = 1; job <= 25; ++job) {
    if (!held.empty() && *rc::gen::inRange(0, 3) == 0) {
      const auto at = std::next(held.begin(), *rc::gen::inRange<std::ptrdiff_t>(
                                                  0, static_cast<std::ptrdiff_t>(held.size())));
      ledger.move(at->second, -1);
      RC_ASSERT(store.release(JobId{at->first}).has_value());
      held.erase(at);
    }
    Amounts slot = random_amounts();
    const std::int64_t nodes = *rc::gen::inRange(0, 4);
    const std::int64_t tasks = std::max(nodes, *rc::gen::inRange<std::int64_t>(1, 7));
    const bool can = amounts_fit(ledger, graph, slot, tasks, nodes);
    const auto allocation = match_amounts(
        store, job, job_of_amounts(slot["core"], tasks, slot["gpu"], slot["memory"], nodes));
    std::erase_if(slot, [](const auto& part) { return part.second == 0; });
    RC_ASSERT(allocation.has_value() == can);
    if (!allocation) continue;
    held.emplace(job, *allocation);
    const auto by_node = ledger.move(*allocation, 1);
    std::int64_t all = 0;
    for (const auto& [node, amounts] : by_node) {
      const std::int64_t here = amounts.at("core") / slot["core"];
      all += here;
      for (const auto& [type, each] : slot) RC_ASSERT(amounts.at(type) == here * each);
      if (nodes > 0) RC_ASSERT(here == tasks / nodes || here == (tasks + nodes - 1) / nodes);
    }
    RC_ASSERT(all == tasks);
    if (nodes > 0) RC_ASSERT(static_cast<std::int64_t>(by_node.size()) == nodes);
  }
  for (const auto& [job, allocation] : held) RC_ASSERT(store.release(JobId{job}).has_value());
  store.check_invariants();
  RC_ASSERT(store.available("core", 0) == store.total("core"));
}

// One node: where one of its innermost parts has room for the slot, the slot is in one of them.
RC_GTEST_PROP(Amounts, ASlotThatFitsInOnePartIsInOnePart, ()) {
  ResourceStore store = store_with_parts(MachineOfParts().draw());
  const ResourceGraph& graph = store.graph();
  RC_PRE(graph.by_type("node").size() == 1U);
  LedgerOfNodes ledger(graph);
  for (std::uint64_t job = 1; job <= 12; ++job) {
    Amounts slot = random_amounts();
    const bool near = ledger.innermost_with_room(slot).has_value();
    const auto allocation =
        match_amounts(store, job, job_of_amounts(slot["core"], 1, slot["gpu"], slot["memory"]));
    if (!allocation) continue;
    ledger.move(*allocation, 1);
    std::set<VertexId> around;
    for (const Share& share : allocation->shares) {
      const VertexId v = *graph.find_uniq(share.uniq_id);
      if (share.amount > 0 && graph.type_name(v) != "pu") around.insert(graph.parent(v));
    }
    if (near) RC_ASSERT(around.size() == 1U);
  }
}

}  // namespace
}  // namespace holon::resource
