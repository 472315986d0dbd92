#include "resource/match/earliest.hpp"

#include <algorithm>

namespace holon::resource::match {

class StartBound::Builder {
 public:
  Builder(const ResourceGraph& graph, const Occupancy& occupancy, const CompiledRequest& request)
      : graph_(graph), occupancy_(occupancy), request_(request) {}

  // `times`: the number needed of the vertex around `needs`; `alone`: no other job may be in that
  // vertex. Needs inside something that has a quota add little.
  void add(const std::vector<Need>& needs, std::int64_t times, bool alone) {
    for (const Need& need : needs) {
      const std::int64_t count = std::min(times, kMost) * std::min(need.count.min, kMost);
      const bool whole = alone || need.exclusive == true || is_whole(need.type);
      if (count <= 0) continue;
      if (!need.is_slot() && !need.with.empty() && occupancy_.is_unit(need.type))
        quotas_.push_back({candidates(need), static_cast<std::size_t>(count), whole, need.below});
      else if (!need.is_slot() || !add_slots(need, count))
        add(need.with, count, whole || need.is_slot());
    }
  }
  std::vector<Quota> quotas() && { return std::move(quotas_); }

 private:
  static constexpr std::int64_t kMost = INT32_MAX;  // of a product's factors

  bool is_whole(TypeId type) const {
    const auto& types = request_.exclusive;
    return std::find(types.begin(), types.end(), type) != types.end();
  }

  std::vector<VertexId> candidates(const Need& need) const {
    std::vector<VertexId> list;
    const bool tested = need.type_name == "node" || need.type_name == "storage_node";
    for (const VertexId v : graph_.by_type(need.type))
      if (!tested || request_.nodes.passes(graph_, v)) list.push_back(v);
    return list;
  }

  // A slot is filled inside one node, which may have room for several; vertices below a node cannot
  // tell, for a node that is held whole leaves no trace there.
  bool add_slots(const Need& slot, std::int64_t count) {
    Quota quota;
    std::int64_t most = 0;
    for (const VertexId v : graph_.by_type("node")) {
      const std::int64_t slots = request_.nodes.passes(graph_, v) ? slots_in(v, slot) : 0;
      if (slots == 0) continue;
      quota.vertices.push_back(v);
      most = std::max(most, slots);
    }
    if (most == 0) return false;
    quota.wanted = static_cast<std::size_t>((count + most - 1) / most);
    quota.below = slot.below;
    quotas_.push_back(std::move(quota));
    return true;
  }

  // Slots that v's counters would leave room for if no job were there; 0: they cannot tell.
  std::int64_t slots_in(VertexId v, const Need& slot) const {
    std::int64_t slots = INT64_MAX;
    for (const std::uint32_t counted : occupancy_.filters().counted_at(graph_[v].type))
      if (slot.below[counted] > 0)
        slots = std::min(slots, occupancy_.total_below(v, counted) / slot.below[counted]);
    return slots == INT64_MAX ? 0 : slots;
  }

  const ResourceGraph& graph_;
  const Occupancy& occupancy_;
  const CompiledRequest& request_;
  std::vector<Quota> quotas_;
};

StartBound::StartBound(const ResourceGraph& graph, const Occupancy& occupancy,
                       const CompiledRequest& request) {
  if (request.flexible) return;  // which of its slots are filled is open
  Builder builder(graph, occupancy, request);
  builder.add(request.needs, 1, false);
  quotas_ = std::move(builder).quotas();
}

StartSearch::StartSearch(const StartBound& bound, const ResourceGraph& graph,
                         const Occupancy& occupancy, Duration duration)
    : bound_(bound), graph_(graph), occupancy_(occupancy), duration_(duration) {
  for (const StartBound::Quota& quota : bound.quotas_)
    starts_.emplace_back(quota.vertices.size(), INT64_MIN);
}

std::optional<Time> StartSearch::next(Time from) {
  std::size_t agreed = 0;  // quotas in a row that accept `from`
  for (std::size_t i = 0; agreed < starts_.size(); i = (i + 1) % starts_.size()) {
    const auto time = next(i, from);
    if (!time) return std::nullopt;
    agreed = *time == from ? agreed + 1 : 1;
    from = *time;
  }
  return from;
}

Time StartSearch::start_of(const StartBound::Quota& quota, VertexId v, Time from) const {
  if (!graph_[v].schedulable()) return kTimeMax;
  const auto start = quota.alone
                         ? occupancy_.earliest_idle(v, from, duration_)
                         : occupancy_.earliest_offer(graph_, v, quota.below, from, duration_);
  if (!start || saturating_add(*start, duration_) > graph_.end_of(v)) return kTimeMax;
  return *start;
}

std::optional<Time> StartSearch::next(std::size_t number, Time from) {
  const StartBound::Quota& quota = bound_.quotas_[number];
  std::vector<Time>& starts = starts_[number];
  while (true) {
    later_.clear();
    std::size_t ready = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (starts[i] < from) starts[i] = start_of(quota, quota.vertices[i], from);
      if (starts[i] != from)
        later_.push_back(starts[i]);
      else if (++ready >= quota.wanted)
        return from;
    }
    if (ready + later_.size() < quota.wanted) return std::nullopt;
    const auto nth = later_.begin() + static_cast<std::ptrdiff_t>(quota.wanted - ready - 1);
    std::nth_element(later_.begin(), nth, later_.end());
    if (*nth == kTimeMax) return std::nullopt;
    from = *nth;
  }
}

}  // namespace holon::resource::match
