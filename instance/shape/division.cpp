// With C cores in K parts, C % K parts are large, of C / K + 1 cores, and the others small. A node
// of c cores holds p parts with no small one among them up to p = c / (C / K + 1); each more needs
// so many small ones: p * (C / K + 1) - c in all. There are K - C % K of these, and what the next
// part of a node costs of them never gets less: taking the cheapest next part again and again
// places as many parts on one node as is possible. What is left of the nodes goes to the others.
#include "instance/shape/division.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

using resource::Amount;

Amount cores_in(const std::vector<NodeAmounts>& nodes) {
  return std::accumulate(nodes.begin(), nodes.end(), Amount{0},
                         [](Amount sum, const NodeAmounts& node) { return sum + node.cores; });
}

std::string describe(const std::vector<NodeAmounts>& nodes) {
  const Amount cores = cores_in(nodes);
  return fmt::format("{} core{} of {} node{}", cores, cores == 1 ? "" : "s", nodes.size(),
                     nodes.size() == 1 ? "" : "s");
}

std::vector<Slice> whole_nodes(const std::vector<NodeAmounts>& nodes, std::uint32_t parts) {
  std::vector<Slice> made(parts);
  std::size_t next = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    made[i].whole = true;
    const std::size_t count = nodes.size() / parts + (i < nodes.size() % parts ? 1 : 0);
    for (std::size_t n = 0; n < count; ++n, ++next)
      made[i].shares.push_back({next, nodes[next].cores, nodes[next].gpus, nodes[next].memory});
  }
  return made;
}

// How many parts of one node, large and small, each node has.
struct OnNode {
  Amount larges = 0, smalls = 0;
};

std::vector<OnNode> parts_on_nodes(const std::vector<NodeAmounts>& nodes, Amount small,
                                   Amount larges, Amount smalls) {
  const Amount large = small + 1;
  std::vector<OnNode> on(nodes.size());
  Amount placed = 0;
  using Next = std::pair<Amount, std::size_t>;  // what it costs of the small ones, and where
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  std::vector<Amount> count;
  const auto offer = [&](std::size_t n) {
    if ((count[n] + 1) * small > nodes[n].cores) return;
    const Amount before = std::max<Amount>(0, count[n] * large - nodes[n].cores);
    next.emplace((count[n] + 1) * large - nodes[n].cores - before, n);
  };
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    count.push_back(nodes[n].cores / large);
    placed += count[n];
    offer(n);
  }
  for (Amount left = smalls; placed < larges + smalls && !next.empty(); ++placed) {
    const auto [cost, n] = next.top();
    if (cost > left) break;
    next.pop();
    left -= cost;
    ++count[n];
    offer(n);
  }
  Amount too_many = -larges;  // large ones
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    on[n].smalls = std::max<Amount>(0, count[n] * large - nodes[n].cores);
    on[n].larges = count[n] - on[n].smalls;
    too_many += on[n].larges;
  }
  for (std::size_t n = nodes.size(); n-- > 0 && too_many > 0;) {
    const Amount some = std::min(too_many, on[n].larges);
    on[n].larges -= some;
    on[n].smalls += some;
    too_many -= some;
  }
  return on;
}

std::vector<Slice> parts_of_cores(const std::vector<NodeAmounts>& nodes, std::uint32_t parts) {
  const Amount cores = cores_in(nodes), small = cores / parts;
  Amount larges = cores % parts, smalls = parts - larges;
  const auto on = parts_on_nodes(nodes, small, larges, smalls);
  std::vector<Slice> made;
  std::vector<Amount> left;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (Amount i = 0; i < on[n].larges; ++i) made.push_back({{{n, small + 1, 0, 0}}, false});
    for (Amount i = 0; i < on[n].smalls; ++i) made.push_back({{{n, small, 0, 0}}, false});
    left.push_back(nodes[n].cores - on[n].larges * (small + 1) - on[n].smalls * small);
    larges -= on[n].larges;
    smalls -= on[n].smalls;
  }
  std::size_t n = 0;
  for (Amount i = 0; i < larges + smalls; ++i) {
    Slice slice;
    for (Amount wanted = small + (i < larges ? 1 : 0); wanted > 0;) {
      while (left[n] == 0) ++n;
      const Amount some = std::min(wanted, left[n]);
      slice.shares.push_back({n, some, 0, 0});
      left[n] -= some;
      wanted -= some;
    }
    made.push_back(std::move(slice));
  }
  return made;
}

// Deals `total` units of a node to these shares in proportion to their cores: what is whole first,
// the rest one by one to those that are owed the largest part of a unit.
void deal(Amount total, const std::vector<Share*>& shares, Amount Share::*target) {
  Amount cores = 0, dealt = 0;
  for (const Share* share : shares) cores += share->cores;
  if (cores == 0) return;
  for (Share* share : shares)
    dealt += share->*target = total / cores * share->cores + total % cores * share->cores / cores;
  std::vector<Share*> owed = shares;
  std::stable_sort(owed.begin(), owed.end(), [&](const Share* a, const Share* b) {
    return total % cores * a->cores % cores > total % cores * b->cores % cores;
  });
  for (std::size_t i = 0; dealt < total; ++i, ++dealt) ++(owed[i]->*target);
}

// The shares on each node of the slices that `takes` lets through.
template <class Takes>
std::vector<std::vector<Share*>> shares_on(std::size_t nodes, std::vector<Slice>& slices,
                                           const Takes& takes) {
  std::vector<std::vector<Share*>> on(nodes);
  for (Slice& slice : slices)
    for (Share& share : slice.shares)
      if (takes(slice)) on[share.node].push_back(&share);
  return on;
}

void deal_memory(const std::vector<NodeAmounts>& nodes, std::vector<Slice>& slices) {
  const auto on =
      shares_on(nodes.size(), slices, [](const Slice& slice) { return slice.shares.size() == 1; });
  for (std::size_t n = 0; n < nodes.size(); ++n) deal(nodes[n].memory, on[n], &Share::memory);
}

// A slice that would have unequal slots gets none, and the others have its GPUs, which may change
// what their slots would be.
void deal_gpus(const std::vector<NodeAmounts>& nodes, std::vector<Slice>& slices) {
  std::set<const Slice*> without;
  for (bool is_dealt = false; !is_dealt;) {
    for (Slice& slice : slices)
      for (Share& share : slice.shares) share.gpus = 0;
    const auto on = shares_on(nodes.size(), slices,
                              [&](const Slice& slice) { return !without.contains(&slice); });
    for (std::size_t n = 0; n < nodes.size(); ++n) deal(nodes[n].gpus, on[n], &Share::gpus);
    is_dealt = true;
    for (const Slice& slice : slices)
      if (slots_of(slice).count == 0) is_dealt = !without.insert(&slice).second;
  }
}

// `at`: the instance that divides these nodes, in words.
Status check_below(const std::vector<NodeAmounts>& nodes, const TreeShape& shape,
                   const TreeShape& all, const std::string& at) {
  if (shape.empty()) return {};
  const auto parts = divide(nodes, shape.front());
  if (!parts)
    return fail(Errc::out_of_range,
                fmt::format("{} leaves are too many: {} would have {}, to be divided among {}",
                            leaves_of(all), at, describe(nodes), shape.front()),
                "--tree " + to_text(all));
  const bool is_root = shape.size() == all.size();
  for (std::size_t i = 0; i < parts->size() && shape.size() > 1; ++i) {
    const std::string child = fmt::format("{}{}", is_root ? "child " : at + ".", i + 1);
    if (auto fits = check_below(nodes_of_slice(nodes, (*parts)[i]), below(shape), all, child);
        !fits)
      return fits;
  }
  return {};
}

}  // namespace

std::vector<NodeAmounts> nodes_in(const resource::ResourceGraph& graph) {
  std::vector<NodeAmounts> nodes;
  for (const auto v : graph.in_preorder()) {
    if (graph.type_name(v) != "node") continue;
    NodeAmounts node;
    node.host = graph.name(v);
    for (const auto below : graph.subtree(v)) {
      const std::string& type = graph.type_name(below);
      if (type == "core") node.cores += graph[below].size;
      if (type == "gpu") node.gpus += graph[below].size;
      if (type == "memory") node.memory += graph[below].size;
    }
    if (node.cores > 0) nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<std::vector<Slice>> divide(const std::vector<NodeAmounts>& nodes, std::uint32_t parts) {
  if (nodes.size() >= parts) return whole_nodes(nodes, parts);
  if (cores_in(nodes) < parts)
    return fail(Errc::out_of_range,
                fmt::format("{} cannot be divided among {}", describe(nodes), parts));
  auto made = parts_of_cores(nodes, parts);
  deal_memory(nodes, made);
  deal_gpus(nodes, made);
  return made;
}

Slots slots_of(const Slice& slice) {
  const Share& first = slice.shares.front();
  const Amount unit = std::gcd(first.cores, first.gpus);
  Slots slots{0, first.cores / unit, first.gpus / unit};
  for (const Share& share : slice.shares) {
    if (share.cores * first.gpus != first.cores * share.gpus) return {};
    slots.count += share.cores / slots.cores;
  }
  return slots;
}

std::vector<NodeAmounts> nodes_of_slice(const std::vector<NodeAmounts>& nodes, const Slice& part) {
  std::vector<NodeAmounts> its;
  for (const Share& share : part.shares)
    its.push_back({nodes[share.node].host, share.cores, share.gpus, share.memory});
  return its;
}

Status check_division(const std::vector<NodeAmounts>& nodes, const TreeShape& shape) {
  return check_below(nodes, shape, shape, "the instance");
}

}  // namespace holon::instance
