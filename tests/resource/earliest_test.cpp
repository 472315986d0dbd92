// Reservations against brute force: of every start the first at which the request fits, counted
// tick by tick in the test's own books.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "asks.hpp"
#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

constexpr Time kLatest = 400;  // the books end here; nothing of a test comes near it

// Who is busy when, by vertex and tick.
class Books {
 public:
  explicit Books(const ResourceGraph& graph) : graph_(graph) {}

  void add(const Allocation& allocation, bool busy) {
    for (const Share& share : allocation.shares) {
      if (share.amount == 0) continue;
      const VertexId top = *graph_.find_uniq(share.uniq_id);
      for (const VertexId v : share.exclusive ? graph_.subtree(top) : std::span(&top, 1))
        for (Time t = allocation.when.begin; t < allocation.when.end; ++t)
          mark(v, t, allocation.job, busy);
    }
  }
  bool free(VertexId v, Time begin, Time end) const {
    const auto at = busy_.find(v.value());
    if (at == busy_.end()) return true;
    const auto first = at->second.lower_bound({begin, JobId{0}});
    return first == at->second.end() || first->first >= end;
  }
  bool idle(VertexId v, Time begin, Time end) const {
    const auto below = graph_.subtree(v);
    return std::all_of(below.begin(), below.end(),
                       [&](VertexId one) { return free(one, begin, end); });
  }

 private:
  void mark(VertexId v, Time t, JobId job, bool busy) {
    if (busy)
      busy_[v.value()].insert({t, job});
    else
      busy_[v.value()].erase({t, job});
  }
  const ResourceGraph& graph_;
  std::map<std::uint32_t, std::set<std::pair<Time, JobId>>> busy_;
};

// A request, and whether it fits over an interval.
struct Ask {
  enum class Kind { whole_nodes, nodes_in_slots, cores, cores_on_nodes } kind;
  std::int64_t count = 1;
  std::int64_t cores = 1;

  Jobspec spec() const {
    const Request slot = asks("slot", 1, {asks("core", cores)});
    const Request sockets = asks("socket", 1, {slot});
    Jobspec jobspec;
    if (kind == Kind::whole_nodes) jobspec.resources = {asks("node", count, {sockets})};
    if (kind == Kind::nodes_in_slots)
      jobspec.resources = {
          asks("slot", count, {asks("node", 1, {asks("socket", 1, {asks("core", cores)})})})};
    if (kind == Kind::cores) jobspec.resources = {asks("slot", count, {asks("core", cores)})};
    if (kind == Kind::cores_on_nodes) jobspec.resources = {asks("node", count, {sockets})};
    if (kind == Kind::whole_nodes) jobspec.resources[0].exclusive = true;
    return jobspec;
  }

  bool fits(const ResourceGraph& graph, const Books& books, Interval when) const {
    std::int64_t found = 0;
    for (const VertexId node : graph.by_type("node")) {
      if (!graph[node].schedulable()) continue;
      const bool alone = kind == Kind::whole_nodes || kind == Kind::nodes_in_slots;
      const std::int64_t slots = slots_on(graph, books, node, when);
      if (kind == Kind::cores)
        found += slots;
      else if (slots > 0 && (!alone || books.idle(node, when.begin, when.end)))
        ++found;
    }
    return found >= count;
  }

 private:
  std::int64_t slots_on(const ResourceGraph& graph, const Books& books, VertexId node,
                        Interval when) const {
    std::int64_t slots = 0, all_free = 0;
    for (const VertexId socket : graph.children(node)) {
      const auto all = graph.children(socket);
      const auto free = std::count_if(all.begin(), all.end(), [&](VertexId core) {
        return books.free(core, when.begin, when.end);
      });
      slots += free / cores;
      all_free += free;
    }
    return kind == Kind::cores ? all_free / cores : slots;
  }
};

std::string random_shape() {
  const auto number = [](int below) { return std::to_string(*rc::gen::inRange(1, below)); };
  return "rack=" + number(4) + "/node=" + number(4) + "/socket=" + number(3) + "/core=" + number(4);
}

RC_GTEST_PROP(Earliest, IsTheFirstStartThatFits, ()) {
  StoreOptions options;
  options.match_policy = *rc::gen::element<std::string>("first", "high", "low", "lonode");
  options.prune_filters =
      *rc::gen::element<std::string>("ALL:core,ALL:node", "ALL:core", "rack:node");
  ResourceStore store = ResourceStore::load(read_shape(random_shape()).value(), options).value();
  const ResourceGraph& graph = store.graph();
  Books books(graph);
  const auto nodes = graph.by_type("node");
  if (*rc::gen::inRange(0, 4) == 0) store.set_status(nodes.front(), false);
  std::vector<JobId> live;
  for (std::uint64_t job = 1; job <= 20; ++job) {
    if (!live.empty() && *rc::gen::inRange(0, 5) == 0) {
      const JobId gone = *rc::gen::elementOf(live);
      books.add(*store.find(gone), false);
      RC_ASSERT(store.release(gone).has_value());
      std::erase(live, gone);
    }
    const Ask ask{static_cast<Ask::Kind>(*rc::gen::inRange(0, 4)), *rc::gen::inRange(1, 5),
                  *rc::gen::inRange(1, 4)};
    const Duration duration = *rc::gen::inRange(1, 12);
    std::optional<Time> first;
    for (Time t = 0; t < kLatest && !first; ++t)
      if (ask.fits(graph, books, {t, t + duration})) first = t;
    const auto outcome =
        store.match(JobId{job}, ask.spec(), MatchOp::allocate_orelse_reserve, 0, duration);
    RC_ASSERT(outcome.has_value());
    const auto* got = std::get_if<Allocation>(&*outcome);
    RC_ASSERT((got != nullptr) == first.has_value());
    if (got == nullptr) continue;
    RC_ASSERT(got->when.begin == *first);
    books.add(*got, true);
    live.push_back(JobId{job});
    store.check_invariants();
  }
}

}  // namespace
}  // namespace holon::resource
