#include "resource/match/request.hpp"

#include <algorithm>

namespace holon::resource::match {
namespace {

// Counts multiply from level to level; beyond this there is no machine.
constexpr Amount kMost = INT64_MAX / 4;

Amount times(Amount a, Amount b) {
  return b != 0 && a > kMost / b ? kMost : a * b;
}
Amount plus(Amount a, Amount b) {
  return std::min(kMost, a + b);
}

class Compiler {
 public:
  Compiler(const ResourceGraph& graph, const Filters& filters) : graph_(graph), filters_(filters) {}

  std::vector<Need> needs(const std::vector<Request>& requests) {
    std::vector<Need> list;
    list.reserve(requests.size());
    for (const Request& request : requests) list.push_back(need(request));
    return list;
  }

  Demand total(const std::vector<Need>& needs) const {
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
    if (!made.is_slot()) made.label = request.label;
    if (request.exclusive == true) exclusive.push_back(made.type);
    made.with = needs(request.with);
    made.below = total(made.with);
    return made;
  }

  TypeId type(const std::string& name) const {
    if (name == "slot") return kSlot;
    return graph_.words().types.find(name).value_or(kUnknownType);
  }

  const ResourceGraph& graph_;
  const Filters& filters_;
};

}  // namespace

Result<CompiledRequest> compile(const Jobspec& jobspec, const ResourceGraph& graph,
                                const Filters& filters, const Policy& policy) {
  auto nodes = NodeTest::compile(jobspec.constraints, graph);
  if (!nodes) return tl::unexpected(nodes.error());
  Compiler compiler(graph, filters);
  CompiledRequest request;
  request.nodes = std::move(*nodes);
  request.needs = compiler.needs(jobspec.resources);
  request.total = compiler.total(request.needs);
  request.exclusive = std::move(compiler.exclusive);
  if (const auto node = graph.words().types.find("node"); node && policy.node_exclusive)
    request.exclusive.push_back(*node);
  return request;
}

}  // namespace holon::resource::match
