// Constraints (RFC 31) and nested count ranges against brute force.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "asks.hpp"
#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/graph/spec.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"

namespace holon::resource {
namespace {

const std::vector<std::string> kProperties = {"amd", "big", "old"};
const std::vector<std::string> kAllPolicies = {"first", "high", "low", "lonode", "locality"};

ResourceStore store_of_shape(const GraphSpec& spec) {
  StoreOptions options;
  options.match_policy = *rc::gen::elementOf(kAllPolicies);
  return ResourceStore::load(spec, options).value();
}

// What the matcher cannot see: each node by its number, with the properties that it has.
struct Node {
  int number = 0;
  std::set<std::string> properties;
};

// A constraint and what it means.
bool passes(const Constraint& constraint, const Node& node) {
  const auto& values = constraint.values;
  const auto& operands = constraint.operands;
  const auto operand = [&](const Constraint& one) { return passes(one, node); };
  if (constraint.op == "properties")
    return std::all_of(values.begin(), values.end(), [&](const std::string& value) {
      return value[0] == '^' ? !node.properties.contains(value.substr(1))
                             : node.properties.contains(value);
    });
  const auto is_it = [&](const std::string& value) {
    return value == std::to_string(node.number) || value == "node" + std::to_string(node.number);
  };
  if (constraint.op == "ranks" || constraint.op == "hostlist")
    return std::any_of(values.begin(), values.end(), is_it);
  if (constraint.op == "or")
    return operands.empty() || std::any_of(operands.begin(), operands.end(), operand);
  const bool all = std::all_of(operands.begin(), operands.end(), operand);
  return constraint.op == "not" ? !all : all;
}

Constraint random_constraint(int depth) {
  Constraint made;
  const int kind = *rc::gen::inRange(0, depth > 0 ? 6 : 3);
  made.op = std::vector<std::string>{
      "properties", "ranks", "hostlist", "and", "or", "not"}[static_cast<std::size_t>(kind)];
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) {
    if (kind >= 3)
      made.operands.push_back(random_constraint(depth - 1));
    else if (kind == 0)
      made.values.push_back(*rc::gen::element<std::string>("", "^") +
                            *rc::gen::elementOf(kProperties));
    else
      made.values.push_back((kind == 2 ? "node" : "") + std::to_string(*rc::gen::inRange(0, 7)));
  }
  return made;
}

RC_GTEST_PROP(Constraints, ChooseAmongThoseThatPass, ()) {
  GraphSpec spec;
  const auto root = spec.add("cluster", 0, GraphSpec::kNone);
  std::vector<Node> nodes(static_cast<std::size_t>(*rc::gen::inRange(1, 7)));
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    nodes[n].number = static_cast<int>(n);
    const auto row = spec.add("node", nodes[n].number, root, nodes[n].number);
    spec.add("core", 0, row, nodes[n].number);
    for (const std::string& property : kProperties) {
      if (*rc::gen::arbitrary<bool>()) continue;
      nodes[n].properties.insert(property);
      spec.properties.push_back({row, property, ""});
    }
  }
  ResourceStore store = store_of_shape(spec);
  Jobspec jobspec;
  jobspec.constraints = random_constraint(3);
  const std::int64_t wanted = *rc::gen::inRange(1, 5);
  jobspec.resources = {asks("node", wanted, {asks("slot", 1, {asks("core", 1)})})};
  const auto passing = std::count_if(nodes.begin(), nodes.end(), [&](const Node& node) {
    return passes(jobspec.constraints, node);
  });
  for (const bool reserve : {false, true}) {
    const auto op = reserve ? MatchOp::allocate_orelse_reserve : MatchOp::allocate;
    const auto outcome = store.match(JobId{1U + reserve}, jobspec, op, 0, 10);
    RC_ASSERT(outcome.has_value());
    const auto* got = std::get_if<Allocation>(&*outcome);
    // the second one waits for the cores of the first, or finds as many again
    const bool again = reserve && passing >= 2 * wanted;
    RC_ASSERT((got != nullptr) == (passing >= wanted));
    if (got == nullptr) {
      if (reserve) RC_ASSERT(std::holds_alternative<Never>(*outcome));
      continue;
    }
    RC_ASSERT(got->when.begin == (reserve && !again ? 10 : 0));
    std::int64_t found = 0;
    for (const Share& share : got->shares) {
      const VertexId v = *store.graph().find_uniq(share.uniq_id);
      if (store.graph().type_name(v) != "node") continue;
      ++found;
      RC_ASSERT(passes(jobspec.constraints, nodes[static_cast<std::size_t>(store.graph()[v].id)]));
    }
    RC_ASSERT(found == wanted);
  }
}

// A range of counts and, spelled out, the counts it admits.
struct Range {
  Count count;
  std::vector<std::int64_t> admits;

  // The largest that is not above `available`; 0: none.
  std::int64_t best(std::int64_t available) const {
    std::int64_t best = 0;
    for (const std::int64_t one : admits)
      if (one <= available) best = std::max(best, one);
    return best;
  }
};

Range random_range() {
  Range made;
  made.count.min = *rc::gen::inRange(1, 4);
  made.count.max = made.count.min + *rc::gen::inRange(0, 5);
  made.count.op = *rc::gen::element('+', '*');
  made.count.operand = *rc::gen::inRange(made.count.op == '*' ? 2 : 1, 4);
  for (std::int64_t n = made.count.min; n <= made.count.max;
       n = made.count.op == '+' ? n + made.count.operand : n * made.count.operand)
    made.admits.push_back(n);
  return made;
}

// node[range]{slot[1]{core[range]}}: a node is there for it if it has the least number of cores; as
// many nodes are taken as the range admits, and of each as many cores.
RC_GTEST_PROP(CountRanges, TakeTheMostTheyAdmitAtEveryLevel, ()) {
  GraphSpec spec;
  const auto root = spec.add("cluster", 0, GraphSpec::kNone);
  const int nodes = *rc::gen::inRange(1, 6);
  std::vector<std::int64_t> cores;
  for (int n = 0; n < nodes; ++n) {
    const auto row = spec.add("node", n, root, n);
    cores.push_back(*rc::gen::inRange(1, 9));
    for (std::int64_t c = 0; c < cores.back(); ++c) spec.add("core", c, row, n);
  }
  ResourceStore store = store_of_shape(spec);
  const Range node_range = random_range(), core_range = random_range();
  Jobspec jobspec;
  jobspec.resources = {
      asks("node", node_range.count, {asks("slot", 1, {asks("core", core_range.count)})})};
  const auto fit = std::count_if(cores.begin(), cores.end(),
                                 [&](std::int64_t there) { return core_range.best(there) > 0; });
  const auto outcome = store.match(JobId{1}, jobspec, MatchOp::allocate, 0, 10);
  RC_ASSERT(outcome.has_value());
  const auto* got = std::get_if<Allocation>(&*outcome);
  RC_ASSERT((got != nullptr) == (node_range.best(fit) > 0));
  if (got == nullptr) return;
  std::map<std::int64_t, std::int64_t> held;  // by node
  for (const Share& share : got->shares) {
    const VertexId v = *store.graph().find_uniq(share.uniq_id);
    if (store.graph().type_name(v) == "core") ++held[store.graph()[store.graph().parent(v)].id];
  }
  RC_ASSERT(static_cast<std::int64_t>(held.size()) == node_range.best(fit));
  for (const auto& [node, count] : held)
    RC_ASSERT(count == core_range.best(cores[static_cast<std::size_t>(node)]));
}

}  // namespace
}  // namespace holon::resource
