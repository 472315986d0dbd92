// Machines of every kind that hwloc's own collection has, small ones, through the real reader: as
// many slots fit as there are cores, memory and GPUs for, counted from hwloc's objects alone.
#include <gtest/gtest.h>
#include <hwloc.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/store.hpp"
#include "tests/support/topologies.hpp"

namespace holon::resource {
namespace {

using test::Card;
using test::described;
using test::with_cards;
using test::xml_of_synthetic;

struct FreeMachine {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Machine = std::unique_ptr<hwloc_topology, FreeMachine>;

Machine machine_of(const std::string& xml) {
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_set_xmlbuffer(topology, xml.c_str(), static_cast<int>(xml.size()) + 1) != 0 ||
      hwloc_topology_load(topology) != 0)
    ADD_FAILURE() << "hwloc does not take it: " << xml;
  return Machine(topology);
}

// ---- what hwloc says is there

struct There {
  std::int64_t cores = 0, packages = 0, memory = 0, gpus = 0;
};

There counted(const std::string& xml, std::size_t gpus) {
  const Machine machine = machine_of(xml);
  There there;
  const int cores = hwloc_get_nbobjs_by_type(machine.get(), HWLOC_OBJ_CORE);
  there.cores = cores > 0 ? cores : hwloc_get_nbobjs_by_type(machine.get(), HWLOC_OBJ_PU);
  there.packages = std::max(1, hwloc_get_nbobjs_by_type(machine.get(), HWLOC_OBJ_PACKAGE));
  for (hwloc_obj_t numa = nullptr;
       (numa = hwloc_get_next_obj_by_type(machine.get(), HWLOC_OBJ_NUMANODE, numa)) != nullptr;)
    there.memory += static_cast<std::int64_t>(numa->attr->numanode.local_memory >> 30);
  there.gpus = static_cast<std::int64_t>(gpus);
  return there;
}

// ---- slots until it is full

struct Slot {
  std::int64_t cores = 1, gpus = 0, memory = 0;
};

Jobspec job_of(const Slot& slot, std::int64_t tasks = 1) {
  JobShape shape;
  shape.tasks = tasks;
  shape.cores_per_task = slot.cores;
  shape.gpus_per_task = slot.gpus;
  shape.memory_per_task = slot.memory;
  shape.command = {"true"};
  return jobspec_for(shape).value();
}

std::int64_t fitting(const There& there, const Slot& slot) {
  std::int64_t slots = there.cores / slot.cores;
  if (slot.gpus > 0) slots = std::min(slots, there.gpus / slot.gpus);
  if (slot.memory > 0) slots = std::min(slots, there.memory / slot.memory);
  return slots;
}

ResourceStore store_of_machine(const std::string& xml) {
  const HostTopology host{xml, 0, ""};
  StoreOptions options;
  options.prune_filters = "ALL:core,ALL:node,ALL:gpu,ALL:memory";
  const auto spec = read_hwloc(std::span(&host, 1));
  return ResourceStore::load(spec.value(), options).value();
}

// What an allocation has of one type, and below how many sockets its cores are.
std::int64_t held_of(const ResourceStore& store, const Allocation& allocation, const char* type) {
  std::int64_t amount = 0;
  for (const Share& share : allocation.shares) {
    const VertexId v = *store.graph().find_uniq(share.uniq_id);
    if (store.graph().type_name(v) == type) amount += share.amount;
  }
  return amount;
}

std::size_t sockets_of(const ResourceStore& store, const Allocation& allocation) {
  std::set<std::string> sockets;
  for (const Share& share : allocation.shares) {
    const VertexId v = *store.graph().find_uniq(share.uniq_id);
    const std::string path = store.graph().path(v);
    const auto at = path.find("/socket");
    if (share.amount > 0 && at != std::string::npos)
      sockets.insert(path.substr(at, path.find('/', at + 1) - at));
  }
  return sockets.size();
}

// Fills the machine with slots of this kind; what is listed as free follows, and after the last
// nothing more fits. Says how many sockets the slots had at most.
std::size_t fill(ResourceStore& store, const There& there, const Slot& slot) {
  const auto expected = fitting(there, slot);
  std::size_t widest = 0;
  for (std::int64_t i = 1; i <= expected + 1; ++i) {
    const JobId job{static_cast<std::uint64_t>(i)};
    const auto outcome = store.match(job, job_of(slot), MatchOp::allocate, 0, 10).value();
    const auto* held = std::get_if<Allocation>(&outcome);
    EXPECT_EQ(held != nullptr, i <= expected) << "slot " << i << " of " << expected;
    if (held == nullptr) break;
    EXPECT_EQ(held_of(store, *held, "core"), slot.cores);
    EXPECT_EQ(held_of(store, *held, "gpu"), slot.gpus);
    EXPECT_EQ(held_of(store, *held, "memory"), slot.memory);
    EXPECT_EQ(store.available("core", 0), there.cores - i * slot.cores);
    widest = std::max(widest, sockets_of(store, *held));
  }
  store.check_invariants();
  for (std::int64_t i = 1; i <= expected; ++i)
    EXPECT_TRUE(store.release(JobId{static_cast<std::uint64_t>(i)}).has_value());
  EXPECT_EQ(store.available("core", 0), there.cores);
  return widest;
}

void check_kind(const std::string& xml, std::size_t gpus) {
  const There there = counted(xml, gpus);
  ResourceStore store = store_of_machine(xml);
  ASSERT_EQ(store.available("core", 0), there.cores);
  ASSERT_EQ(store.available("gpu", 0), there.gpus);
  ASSERT_EQ(store.available("memory", 0), there.memory);
  fill(store, there, {there.cores, there.gpus, there.memory});
  fill(store, there, {1, 0, 0});
  const std::int64_t socket = there.cores / there.packages;
  const Slot half{std::max<std::int64_t>(socket / 2, 1), 0, 0};
  EXPECT_LE(fill(store, there, half), 1U) << "half a socket lies in one";
  fill(store, there, {half.cores, there.gpus > 0 ? 1 : 0, std::min<std::int64_t>(there.memory, 3)});
  // more than a socket has
  fill(store, there, {std::min(there.cores, socket + 1), 0, 0});
  // as tasks of one job, too
  const auto all = store.match(JobId{1}, job_of({1, 0, 0}, there.cores), MatchOp::allocate, 0, 10);
  EXPECT_TRUE(std::holds_alternative<Allocation>(all.value()));
  const auto more =
      store.match(JobId{2}, job_of({there.cores + 1, 0, 0}), MatchOp::satisfiability, 0, 10);
  EXPECT_TRUE(std::holds_alternative<Never>(more.value()));
}

TEST(Topologies, OfEachKindAsManySlotsFitAsThereIsRoomFor) {
  std::size_t seen = 0;
  for (const auto& kind : test::kinds()) {
    SCOPED_TRACE(kind);
    const std::string xml = xml_of_synthetic(kind);
    ASSERT_FALSE(xml.empty());
    check_kind(xml, 0);
    ++seen;
    if (HasFailure()) return;
  }
  EXPECT_GE(seen, 200U);
}

// GPUs of one maker, of two, and of one whose library is not there for them all.
TEST(Topologies, GpusOfOneMakerAndOfTwoAreAllGivenOut) {
  const std::vector<std::pair<std::string, std::vector<Card>>> sets = {
      {"NVIDIA's", {test::kNvidia, test::kNvidia}},
      {"AMD's", {test::kAmd, test::kAmd, test::kAmd}},
      {"Intel's", {test::kIntel}},
      {"two makers'", {test::kNvidia, test::kAmd, test::kNvidia}},
      {"three makers'", {test::kIntel, test::kAmd, test::kNvidia, test::kNvidia}}};
  std::size_t seen = 0;
  for (const int packages : {1, 2, 4})
    for (const char* const memory : test::kMemories)
      for (const auto& [name, cards] : sets) {
        const std::string kind = described(memory, packages, "core:2 pu:2");
        SCOPED_TRACE(kind + " with " + name);
        check_kind(with_cards(xml_of_synthetic(kind), cards), cards.size());
        ++seen;
        if (HasFailure()) return;
      }
  EXPECT_GE(seen, 68U);
}

// Any mixture of slots, given and taken back.
RC_GTEST_PROP(Topologies, WhatIsFreeDecidesWhetherASlotFits, ()) {
  const auto memory = *rc::gen::elementOf(
      std::vector<std::string>(std::begin(test::kMemories), std::end(test::kMemories)));
  const auto inside = *rc::gen::elementOf(
      std::vector<std::string>(std::begin(test::kInsides), std::end(test::kInsides)));
  const auto packages = *rc::gen::inRange(1, 9);
  const std::vector<Card> drawn = {test::kNvidia, test::kAmd, test::kIntel};
  std::vector<Card> cards;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i)
    cards.push_back(drawn[static_cast<std::size_t>(*rc::gen::inRange(0, 3))]);
  const std::string xml =
      with_cards(xml_of_synthetic(described(memory.c_str(), packages, inside.c_str())), cards);
  There free = counted(xml, cards.size());
  const There all = free;
  ResourceStore store = store_of_machine(xml);
  std::map<std::uint64_t, Slot> held;
  for (std::uint64_t job = 1; job <= 20; ++job) {
    const Slot slot{*rc::gen::inRange<std::int64_t>(1, all.cores + 2),
                    all.gpus > 0 ? *rc::gen::inRange<std::int64_t>(0, all.gpus + 1) : 0,
                    *rc::gen::inRange<std::int64_t>(0, all.memory / 2 + 2)};
    const auto outcome = store.match(JobId{job}, job_of(slot), MatchOp::allocate, 0, 10).value();
    const bool fits =
        slot.cores <= free.cores && slot.gpus <= free.gpus && slot.memory <= free.memory;
    RC_ASSERT(std::holds_alternative<Allocation>(outcome) == fits);
    if (fits) {
      held[job] = slot;
      free.cores -= slot.cores;
      free.gpus -= slot.gpus;
      free.memory -= slot.memory;
    }
    if (!held.empty() && *rc::gen::inRange(0, 3) == 0) {
      const auto [id, gone] = *held.begin();
      RC_ASSERT(store.release(JobId{id}).has_value());
      held.erase(id);
      free.cores += gone.cores;
      free.gpus += gone.gpus;
      free.memory += gone.memory;
    }
    RC_ASSERT(store.available("core", 0) == free.cores);
    store.check_invariants();
  }
}

}  // namespace
}  // namespace holon::resource
