// Properties of the matcher on small random graphs: it finds R exactly when there is one, R is what
// was asked for, the quick search chooses what the whole-graph search chooses, and what is freed is
// free.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>

#include "asks.hpp"
#include "resource/graph/graph.hpp"
#include "resource/graph/spec.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/match/search.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

// cluster > rack > node > socket > core, gpu; how many of each is random, ids are numbered through
// or begin anew.
GraphSpec random_machine(bool global_ids) {
  GraphSpec spec;
  const auto root = spec.add("cluster", 0, GraphSpec::kNone);
  std::map<std::string, std::int64_t> next;
  const auto id = [&](const std::string& type, std::int64_t local) {
    return global_ids ? next[type]++ : local;
  };
  const auto racks = *rc::gen::inRange(1, 4);
  std::int32_t rank = 0;
  for (int r = 0; r < racks; ++r) {
    const auto rack = spec.add("rack", id("rack", r), root);
    const auto nodes = *rc::gen::inRange(1, 4);
    for (int n = 0; n < nodes; ++n, ++rank) {
      const auto node = spec.add("node", id("node", n), rack, rank);
      const auto sockets = *rc::gen::inRange(1, 3);
      for (int s = 0; s < sockets; ++s) {
        const auto socket = spec.add("socket", id("socket", s), node, rank);
        const auto cores = *rc::gen::inRange(1, 5);
        for (int c = 0; c < cores; ++c) spec.add("core", id("core", c), socket, rank);
        if (*rc::gen::arbitrary<bool>()) spec.add("gpu", id("gpu", 0), socket, rank);
      }
    }
  }
  return spec;
}

// slot[n]{core[c], gpu?}, also below nodes, sockets, and with whole nodes or sockets in the slot.
Jobspec random_jobspec() {
  std::vector<Request> contents = {asks("core", *rc::gen::inRange(1, 4))};
  if (*rc::gen::inRange(0, 4) == 0) contents.push_back(asks("gpu", 1));
  const int count = *rc::gen::inRange(1, 4);
  Request slot = asks("slot", count, contents);
  Jobspec jobspec;
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      jobspec.resources = {slot};
      break;
    case 1:
      jobspec.resources = {asks("socket", *rc::gen::inRange(1, 4), {slot})};
      break;
    case 2:
      jobspec.resources = {asks("node", *rc::gen::inRange(1, 4), {asks("socket", 1, {slot})})};
      break;
    case 3:
      jobspec.resources = {asks("node", *rc::gen::inRange(1, 4), {asks("socket", 1, {slot})})};
      jobspec.resources[0].exclusive = true;
      break;
    case 4:
      jobspec.resources = {asks("slot", count, {asks("socket", 1, contents)})};
      break;
    default:
      jobspec.resources = {asks("slot", count, {asks("node", 1, {asks("socket", 1, contents)})})};
  }
  if (*rc::gen::inRange(0, 5) == 0) jobspec.resources[0].count.max += *rc::gen::inRange(1, 3);
  return jobspec;
}

std::string random_policy() {
  return *rc::gen::element<std::string>("first", "high", "low", "hinode", "lonode", "locality",
                                        "variation", "firstnodex", "lonodex", "hinodex");
}

// Who holds which units at one instant, kept by the test alone.
class Ledger {
 public:
  explicit Ledger(const ResourceGraph& graph) : graph_(graph) {}

  void take(const Allocation& allocation) {
    for (const Share& share : allocation.shares) {
      const VertexId v = *graph_.find_uniq(share.uniq_id);
      if (share.amount == 0) continue;
      RC_ASSERT(share.amount <= graph_[v].size);
      for (const auto& [other, when] : held_[v.value()]) RC_ASSERT(!when.overlaps(allocation.when));
      held_[v.value()][allocation.job] = allocation.when;
    }
  }
  void release(JobId job) {
    for (auto& [v, jobs] : held_) jobs.erase(job);
  }

 private:
  const ResourceGraph& graph_;
  std::map<std::uint32_t, std::map<JobId, Interval>> held_;
};

// Vertices of R of one type that R holds.
std::int64_t held_of(const ResourceGraph& graph, const Allocation& allocation,
                     const std::string& type) {
  std::int64_t count = 0;
  for (const Share& share : allocation.shares)
    if (share.amount > 0 && graph.type_name(*graph.find_uniq(share.uniq_id)) == type) ++count;
  return count;
}

RC_GTEST_PROP(MatchProperty, NoUnitTwiceAndTheBooksAgree, ()) {
  StoreOptions options;
  options.match_policy = random_policy();
  options.prune_filters =
      *rc::gen::element<std::string>("ALL:core,ALL:node", "ALL:core", "rack:node,node:core");
  ResourceStore store =
      ResourceStore::load(random_machine(*rc::gen::arbitrary<bool>()), options).value();
  Ledger ledger(store.graph());
  std::vector<JobId> live;
  Time now = 0;
  for (std::uint64_t step = 1; step <= 25; ++step) {
    if (!live.empty() && *rc::gen::inRange(0, 3) == 0) {
      const auto at = *rc::gen::inRange<std::size_t>(0, live.size());
      RC_ASSERT(store.release(live[at]).has_value());
      ledger.release(live[at]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      store.check_invariants();
      continue;
    }
    const JobId job{step};
    const bool reserve = *rc::gen::arbitrary<bool>();
    const auto op = reserve ? MatchOp::allocate_orelse_reserve : MatchOp::allocate;
    const auto outcome = store.match(job, random_jobspec(), op, now, *rc::gen::inRange(1, 20));
    RC_ASSERT(outcome.has_value());
    if (const auto* allocation = std::get_if<Allocation>(&*outcome)) {
      ledger.take(*allocation);
      live.push_back(job);
    }
    store.check_invariants();
  }
  for (const JobId job : live) RC_ASSERT(store.release(job).has_value());
  store.check_invariants();
  RC_ASSERT(store.available("core", now) == store.total("core"));
}

// What is left for slot[n]{core[c]} can be counted: cores of each node, c at a time.
RC_GTEST_PROP(MatchProperty, FindsSlotsExactlyWhenThereAreEnough, ()) {
  StoreOptions options;
  options.match_policy =
      *rc::gen::element<std::string>("first", "high", "low", "lonode", "locality");
  ResourceStore store =
      ResourceStore::load(random_machine(*rc::gen::arbitrary<bool>()), options).value();
  const ResourceGraph& graph = store.graph();
  std::set<std::uint32_t> taken;
  for (std::uint64_t job = 1; job <= 12; ++job) {
    const std::int64_t slots = *rc::gen::inRange(1, 4), cores = *rc::gen::inRange(1, 4);
    std::int64_t room = 0;
    for (const VertexId node : graph.by_type("node")) {
      std::int64_t left = 0;
      for (const VertexId below : graph.subtree(node))
        if (graph.type_name(below) == "core" && !taken.contains(below.value())) ++left;
      room += left / cores;
    }
    Jobspec jobspec;
    jobspec.resources = {asks("slot", slots, {asks("core", cores)})};
    const auto outcome = store.match(JobId{job}, jobspec, MatchOp::allocate, 0, 10);
    RC_ASSERT(outcome.has_value());
    const auto* allocation = std::get_if<Allocation>(&*outcome);
    RC_ASSERT((allocation != nullptr) == (room >= slots));
    if (allocation == nullptr) continue;
    RC_ASSERT(held_of(graph, *allocation, "core") == slots * cores);
    for (const Share& share : allocation->shares)
      if (share.amount > 0) RC_ASSERT(taken.insert(graph.find_uniq(share.uniq_id)->value()).second);
  }
}

// Whole nodes are there exactly when so many nodes are idle.
RC_GTEST_PROP(MatchProperty, FindsWholeNodesExactlyWhenTheyAreIdle, ()) {
  StoreOptions options;
  options.match_policy = random_policy();
  ResourceStore store =
      ResourceStore::load(random_machine(*rc::gen::arbitrary<bool>()), options).value();
  const ResourceGraph& graph = store.graph();
  std::set<std::uint32_t> busy;
  for (std::uint64_t job = 1; job <= 10; ++job) {
    const bool whole = *rc::gen::arbitrary<bool>();
    const std::int64_t count = *rc::gen::inRange(1, 4);
    Jobspec jobspec;
    Request node = asks("node", count, {asks("socket", 1, {asks("slot", 1, {asks("core", 1)})})});
    if (whole) node.exclusive = true;
    jobspec.resources = {node};
    const auto idle = static_cast<std::int64_t>(graph.by_type("node").size() - busy.size());
    const auto outcome = store.match(JobId{job}, jobspec, MatchOp::allocate, 0, 10);
    RC_ASSERT(outcome.has_value());
    const auto* allocation = std::get_if<Allocation>(&*outcome);
    if (whole) RC_ASSERT((allocation != nullptr) == (idle >= count));
    if (allocation == nullptr) continue;
    for (const Share& share : allocation->shares)
      if (const VertexId v = *graph.find_uniq(share.uniq_id); graph.type_name(v) == "node")
        busy.insert(v.value());
  }
}

std::string paths_in(const ResourceGraph& graph,
                     const std::optional<std::vector<match::Chosen>>& selection) {
  std::string text;
  if (selection)
    for (const match::Chosen& chosen : *selection) text += graph.path(chosen.vertex) + " ";
  return text;
}

// The search that looks at candidates best first against the one that looks at everything.
RC_GTEST_PROP(MatchProperty, TheQuickSearchChoosesTheSame, ()) {
  const auto policy =
      match::Policy::parse(
          *rc::gen::element<std::string>("high", "low", "hinode", "lonode", "lonodex", "locality"))
          .value();
  const auto graph = ResourceGraph::build(random_machine(*rc::gen::arbitrary<bool>())).value();
  match::Occupancy occupancy(graph, match::Filters::parse("ALL:core,ALL:node", graph).value());
  match::VisitOrder order(graph);
  match::Search::Scratch scratch, scratch_too;
  match::Search search(graph, occupancy, policy, order, scratch);
  match::Search whole(graph, occupancy, policy, order, scratch_too);
  std::vector<std::pair<match::CompiledRequest, std::optional<match::Front>>> kinds;
  std::vector<std::string> specs;
  for (int i = 0; i < 3; ++i) {
    const Jobspec jobspec = random_jobspec();
    specs.push_back(write_jobspec(jobspec));
    kinds.emplace_back(match::compile(jobspec, graph, occupancy.filters(), policy, false).value(),
                       std::nullopt);
    if (*rc::gen::arbitrary<bool>()) {
      kinds.back().first.names_levels = false;
      match::ask_for_amounts(kinds.back().first, graph, occupancy, 0);
    }
    kinds.back().second = search.front_for(kinds.back().first);
  }
  std::vector<match::Hold> holds;
  for (int step = 0; step < 30; ++step) {
    if (!holds.empty() && *rc::gen::inRange(0, 3) == 0) {
      const auto at = *rc::gen::inRange<std::size_t>(0, holds.size());
      occupancy.give_back(holds[at]);
      for (auto& [request, front] : kinds)
        if (front)
          for (const auto& item : holds[at].items)
            if (item.units > 0) front->revive(graph, item.vertex, true);
      holds.erase(holds.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const auto kind = *rc::gen::inRange<std::size_t>(0, kinds.size());
    auto& [request, front] = kinds[kind];
    const Time begin = *rc::gen::inRange(0, 4) == 0 ? *rc::gen::inRange(1, 20) : 0;
    const match::SearchQuestion question{
        &request, {begin, begin + *rc::gen::inRange(1, 20)}, false, begin == 0};
    const auto quick = search.run(question, front ? &*front : nullptr);
    const auto slow = whole.run(question);
    RC_LOG() << "policy " << static_cast<int>(policy.order) << policy.node_centric << " asks "
             << specs[kind] << " at " << begin << "\nquick " << paths_in(graph, quick) << "\nslow  "
             << paths_in(graph, slow) << "\n";
    RC_ASSERT(quick.has_value() == slow.has_value());
    if (!quick) continue;
    RC_ASSERT(quick->size() == slow->size());
    for (std::size_t i = 0; i < quick->size(); ++i) {
      RC_ASSERT((*quick)[i].vertex == (*slow)[i].vertex);
      RC_ASSERT((*quick)[i].units == (*slow)[i].units);
    }
    holds.push_back(occupancy.take(graph, *quick, question.when));
  }
}

// Growing, shrinking, giving back in part and extending keep the books, and others keep what they
// hold.
RC_GTEST_PROP(MatchProperty, ChangesOfShapeKeepTheBooks, ()) {
  StoreOptions options;
  options.match_policy = random_policy();
  const GraphSpec whole = random_machine(true);
  ResourceStore store = ResourceStore::load(whole, options).value();
  std::uint64_t next = 1;
  for (int step = 0; step < 20; ++step) {
    const auto jobs = store.jobs();
    const auto some_job = [&] { return *rc::gen::elementOf(jobs); };
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
      case 1:
        RC_ASSERT(
            store.match(JobId{next++}, random_jobspec(), MatchOp::allocate_orelse_reserve, 0, 10)
                .has_value());
        break;
      case 2: {
        const auto nodes = store.graph().by_type("node");
        if (nodes.size() < 2) break;
        const VertexId node = nodes[*rc::gen::inRange<std::size_t>(0, nodes.size())];
        const auto touched = store.jobs_at(node);
        std::map<JobId, Allocation> others;
        for (const JobId job : jobs)
          if (std::find(touched.begin(), touched.end(), job) == touched.end())
            others[job] = *store.find(job);
        RC_ASSERT(store.shrink(store.graph().path(node)).has_value());
        for (const auto& [job, allocation] : others) {
          RC_ASSERT(store.find(job) != nullptr);
          RC_ASSERT(held_of(store.graph(), *store.find(job), "core") ==
                    held_of(store.graph(), allocation, "core"));
        }
        break;
      }
      case 3:
        RC_ASSERT(store.grow(whole).has_value());
        break;
      case 4: {
        if (jobs.empty()) break;
        const JobId job = some_job();
        std::vector<VertexId> part;
        for (const Share& share : store.find(job)->shares)
          if (*rc::gen::arbitrary<bool>()) part.push_back(*store.graph().find_uniq(share.uniq_id));
        const auto gone = store.release_part(job, part);
        RC_ASSERT(gone.has_value());
        RC_ASSERT(*gone == (store.find(job) == nullptr));
        break;
      }
      default:
        if (!jobs.empty()) RC_ASSERT(store.extend(some_job(), random_jobspec(), 0).has_value());
    }
    store.check_invariants();
  }
  for (const JobId job : store.jobs()) RC_ASSERT(store.release(job).has_value());
  store.check_invariants();
  RC_ASSERT(store.available("core", 0) == store.total("core"));
}

}  // namespace
}  // namespace holon::resource
