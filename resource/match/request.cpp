#include "resource/match/request.hpp"

#include <algorithm>

#include "resource/match/occupancy.hpp"

namespace holon::resource::match {
namespace {

// The largest product of counts from level to level; no machine has more.
constexpr Amount kMost = INT64_MAX / 4;

Amount times(Amount a, Amount b) {
  return b != 0 && a > kMost / b ? kMost : a * b;
}
Amount plus(Amount a, Amount b) {
  return std::min(kMost, a + b);
}

class Compiler {
 public:
  Compiler(const ResourceGraph& graph, const Filters& filters, bool flexible)
      : graph_(graph), filters_(filters), flexible_(flexible) {}

  std::vector<Need> needs(const std::vector<Request>& requests) {
    std::vector<Need> list;
    list.reserve(requests.size());
    for (const Request& request : requests) list.push_back(need(request));
    return list;
  }

  Demand total(const std::vector<Need>& needs) const {
    if (flexible_) return total_of_alternatives(needs);
    Demand sum(filters_.types().size(), 0);
    for (const Need& need : needs) {
      if (const auto counted = filters_.index_of(need.type))
        sum[*counted] = plus(sum[*counted], need.count.min);
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] = plus(sum[i], times(need.count.min, need.below[i]));
    }
    return sum;
  }

  std::vector<TypeId> exclusive;

 private:
  Need need(const Request& request) {
    Need made;
    made.type = type(request.type);
    made.type_name = request.type;
    made.count = request.count;
    made.most = largest_count(request.count, kMost);
    made.exclusive = request.exclusive;
    if (!made.is_slot() && made.type != kXorSlot) made.label = request.label;
    if (request.exclusive == true) exclusive.push_back(made.type);
    made.with = needs(request.with);
    made.below = total(made.with);
    made.each = made.below;
    if (const auto counted = filters_.index_of(made.type))
      made.each[*counted] = plus(made.each[*counted], 1);
    return made;
  }

  // The demand of slots side by side, of which only one is surely needed: a type that one of them
  // does without may not cut the search. A type not yet named is kept apart from one needed 0
  // times.
  Demand total_of_alternatives(const std::vector<Need>& needs) const {
    constexpr Amount kUnnamed = -1;
    Demand sum(filters_.types().size(), kUnnamed);
    for (const Need& need : needs) {
      if (const auto counted = filters_.index_of(need.type))
        sum[*counted] = plus(std::max<Amount>(sum[*counted], 0), need.count.min);
      const bool alternative = need.type == kSlot || need.type == kXorSlot;
      for (std::size_t i = 0; i < sum.size(); ++i) {
        const Amount inside = times(need.count.min, need.below[i]);
        if (!alternative)
          sum[i] = inside > 0 ? plus(std::max<Amount>(sum[i], 0), inside) : sum[i];
        else if (sum[i] == kUnnamed)
          sum[i] = inside > 0 ? inside : kUnnamed;
        else
          sum[i] = std::min(sum[i], inside);
      }
    }
    for (Amount& amount : sum) amount = std::max<Amount>(amount, 0);
    return sum;
  }

  TypeId type(const std::string& name) const {
    if (name == "slot") return kSlot;
    if (flexible_ && name == "xor_slot") return kXorSlot;
    return graph_.words().types.find(name).value_or(kUnknownType);
  }

  const ResourceGraph& graph_;
  const Filters& filters_;
  bool flexible_;
};

}  // namespace

Result<CompiledRequest> compile(const Jobspec& jobspec, const ResourceGraph& graph,
                                const Filters& filters, const Policy& policy, bool flexible) {
  auto nodes = NodeTest::compile(jobspec.constraints, graph);
  if (!nodes) return tl::unexpected(nodes.error());
  Compiler compiler(graph, filters, flexible);
  CompiledRequest request;
  request.nodes = std::move(*nodes);
  request.needs = compiler.needs(jobspec.resources);
  request.total = compiler.total(request.needs);
  request.flexible = flexible;
  if (flexible) {
    auto variants = expand_xor_slots(request.needs);
    if (!variants) return tl::unexpected(variants.error());
    request.variants = std::move(*variants);
  }
  request.exclusive = std::move(compiler.exclusive);
  if (const auto node = graph.words().types.find("node"); node && policy.node_exclusive)
    request.exclusive.push_back(*node);
  return request;
}

namespace {

// `node`: the type bit of nodes; none if there are none.
bool is_of_amounts(const Need& slot, const Occupancy& occupancy, Occupancy::Types node) {
  Occupancy::Types all = node;
  for (const Need& need : slot.with) all |= Occupancy::bit(need.type);
  return !slot.with.empty() &&
         std::all_of(slot.with.begin(), slot.with.end(), [&](const Need& need) {
           const Occupancy::Types own = Occupancy::bit(need.type);
           return need.with.empty() && own != 0 && own != node &&
                  (occupancy.types_below(need.type) & all) == 0;
         });
}

void mark_amounts(std::vector<Need>& needs, const Occupancy& occupancy, Occupancy::Types node) {
  for (Need& need : needs) {
    if (need.is_slot())
      need.of_amounts = is_of_amounts(need, occupancy, node);
    else
      mark_amounts(need.with, occupancy, node);
  }
}

// Takes the demand of `times` slots from `demand`.
void take_slot_from(Demand& demand, const Demand& slot, std::int64_t times) {
  for (std::size_t i = 0; i < demand.size(); ++i) demand[i] -= slot[i] * times;
}

}  // namespace

void ask_for_amounts(CompiledRequest& request, const ResourceGraph& graph,
                     const Occupancy& occupancy, std::int64_t spare) {
  const auto node_type = graph.words().types.find("node");
  mark_amounts(request.needs, occupancy, node_type ? Occupancy::bit(*node_type) : 0);
  if (spare == 0) return;
  Need& node = request.needs.front();
  Need& slot = node.with.front();
  node.spare = spare;
  slot.count.values = {slot.most - 1, slot.most};
  slot.count.min = slot.most - 1;
  take_slot_from(node.below, slot.below, 1);
  take_slot_from(node.each, slot.below, 1);
  take_slot_from(request.total, slot.below, spare);
}

}  // namespace holon::resource::match
