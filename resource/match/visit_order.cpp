#include "resource/match/visit_order.hpp"

#include <algorithm>

namespace holon::resource::match {

void VisitOrder::rebuild(const ResourceGraph& graph) {
  begin_.assign(graph.slots() + 1, 0);
  ordered_.clear();
  weights_.resize(graph.slots(), kUntouched);
  ordered_.reserve(graph.vertex_count());
  for (std::uint32_t slot = 0; slot < graph.slots(); ++slot) {
    begin_[slot] = static_cast<std::uint32_t>(ordered_.size());
    const auto children = graph.children(VertexId{slot});
    ordered_.insert(ordered_.end(), children.rbegin(), children.rend());
    const auto first = ordered_.begin() + begin_[slot];
    const auto ahead = [&](VertexId a, VertexId b) {
      const Amount weight_a = weight(a), weight_b = weight(b);
      return weight_a != weight_b ? weight_a > weight_b : graph[a].uniq_id > graph[b].uniq_id;
    };
    if (!std::is_sorted(first, ordered_.end(), ahead)) std::sort(first, ordered_.end(), ahead);
  }
  begin_.back() = static_cast<std::uint32_t>(ordered_.size());
}

void VisitOrder::update(const ResourceGraph& graph, VertexId v, Amount free) {
  const VertexId parent = graph.parent(v);
  const Amount before = weight(v);
  if (parent == kNoVertex || before == free) return;
  const auto first = ordered_.begin() + begin_[parent.value()];
  const auto last = ordered_.begin() + begin_[parent.value() + 1];
  const auto key = [&](VertexId one) { return std::pair(weight(one), graph[one].uniq_id); };
  const auto ahead = [&](VertexId one, const std::pair<Amount, std::int64_t>& than) {
    return key(one) > than;
  };
  const std::pair<Amount, std::int64_t> target(free, graph[v].uniq_id);
  const auto here = std::lower_bound(first, last, std::pair(before, graph[v].uniq_id), ahead);
  if (free < before)
    std::rotate(here, here + 1, std::lower_bound(here + 1, last, target, ahead));
  else
    std::rotate(std::lower_bound(first, here, target, ahead), here, here + 1);
  weights_[v.value()] = free;
}

}  // namespace holon::resource::match
