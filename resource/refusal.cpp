// A request as a command line makes it, slots or nodes of slots, is compared with the nodes one by
// one: first what no node has, then how many nodes, or slots, there are. What is left, constraints
// and jobspecs of other forms, is told by what the search ran out of.
#include "resource/refusal.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/hostlist.hpp"
#include "resource/match/constraint.hpp"

namespace holon::resource {
namespace {

constexpr std::uint64_t kNamedHosts = 16;  // named as not here

using TypeAmounts = std::map<std::string, std::int64_t>;  // by type

std::int64_t least(const Count& count) {
  return count.values.empty() ? count.min : count.values.front();
}

const Request* slot_of(const std::vector<Request>& requests) {
  return requests.size() == 1 && requests.front().type == "slot" ? &requests.front() : nullptr;
}

bool is_simple(const Request& slot) {
  return !slot.with.empty() &&
         std::all_of(slot.with.begin(), slot.with.end(), [](const Request& part) {
           return part.with.empty() && part.type != "node" && part.type != "slot";
         });
}

// The request by -N, -n, -c, -g and -m.
struct Asked {
  std::int64_t nodes = 0;  // 0: slots anywhere
  std::int64_t slots = 1;  // of each node, or in all
  std::int64_t spare = 0;  // the number of nodes with one slot less
  TypeAmounts slot;        // the parts of one slot
};

std::optional<Asked> read(const Jobspec& spec) {
  Asked asked;
  const std::vector<Request>* within = &spec.resources;
  if (within->size() == 1 && within->front().type == "node") {
    asked.nodes = least(within->front().count);
    within = &within->front().with;
  }
  const Request* slot = slot_of(*within);
  if (slot == nullptr || !is_simple(*slot) || !spec.constraints.op.empty()) return std::nullopt;
  asked.slots = least(slot->count);
  asked.spare = spare_slots(spec);
  for (const Request& part : slot->with) asked.slot[part.type] += least(part.count);
  return asked;
}

// Do all resources of a slot stand below nodes, as far as there are any?
bool is_on_nodes(const ResourceGraph& graph, const Asked& asked) {
  const auto node = graph.words().types.find("node");
  return node && std::all_of(asked.slot.begin(), asked.slot.end(), [&](const auto& part) {
           const auto all = graph.by_type(part.first);
           return std::all_of(all.begin(), all.end(), [&](VertexId v) {
             return graph.ancestor_of_type(v, *node) != kNoVertex;
           });
         });
}

TypeAmounts amounts_of(const ResourceGraph& graph, VertexId node) {
  TypeAmounts amounts;
  for (const VertexId v : graph.subtree(node)) amounts[graph.type_name(v)] += graph[v].size;
  return amounts;
}

std::int64_t slots_in(const TypeAmounts& there, const Asked& asked) {
  std::int64_t most = INT64_MAX;
  for (const auto& [type, each] : asked.slot) {
    const auto found = there.find(type);
    const std::int64_t amount = found == there.end() ? 0 : found->second;
    if (each > 0) most = std::min(most, amount / each);
  }
  return most == INT64_MAX ? 0 : most;
}

std::string slot_text(const Asked& asked) {
  std::string text;
  for (const auto& [type, each] : asked.slot)
    text += (text.empty() ? "" : ", ") + amount_text(each, type);
  return text;
}

// The type of which no node has as much as one slot needs, in words; empty: there is none.
std::string missing_everywhere(const std::vector<TypeAmounts>& nodes, const Asked& asked) {
  for (const auto& [type, each] : asked.slot) {
    std::int64_t largest = 0;
    for (const TypeAmounts& node : nodes)
      if (const auto found = node.find(type); found != node.end())
        largest = std::max(largest, found->second);
    if (largest >= each) continue;
    const std::string none = "no node has " + amount_text(each, type);
    return largest == 0 ? none : none + "; the largest has " + std::to_string(largest);
  }
  return {};
}

// The nodes that are short, in words; empty: enough nodes have room.
std::string nodes_short(const std::vector<TypeAmounts>& nodes, const Asked& asked) {
  const auto all = static_cast<std::int64_t>(nodes.size());
  if (asked.nodes > all)
    return "asks for " + amount_text(asked.nodes, "node") + "; this instance has " +
           std::to_string(all);
  const auto with_room = [&](std::int64_t slots) {
    return std::count_if(nodes.begin(), nodes.end(),
                         [&](const TypeAmounts& node) { return slots_in(node, asked) >= slots; });
  };
  // Each node has at least one task less than the fullest, where tasks do not divide evenly.
  const std::int64_t least = asked.slots - (asked.spare > 0 ? 1 : 0);
  const bool least_fits = asked.spare > 0 && with_room(least) >= asked.nodes;
  const std::int64_t slots = least_fits ? asked.slots : least;
  const std::int64_t wanted = least_fits ? asked.nodes - asked.spare : asked.nodes;
  const std::int64_t good = with_room(slots);
  const std::string tasks = amount_text(slots, "task") + " of " + slot_text(asked);
  if (good == 0) {
    std::int64_t most = 0;
    for (const TypeAmounts& node : nodes) most = std::max(most, slots_in(node, asked));
    return "asks for " + tasks + " on each node; the largest node can hold " + std::to_string(most);
  }
  if (good >= wanted) return {};
  return "asks for " + amount_text(wanted, "node") + " with " + tasks + " each; " +
         std::to_string(good) + (good == 1 ? " node has" : " nodes have") + " that much";
}

// The slots that are short, in words; empty: there are enough.
std::string slots_short(const std::vector<TypeAmounts>& nodes, const Asked& asked) {
  std::int64_t can = 0, cores = 0;
  for (const TypeAmounts& node : nodes) {
    can += slots_in(node, asked);
    const auto found = node.find("core");
    cores += found == node.end() ? 0 : found->second;
  }
  if (can >= asked.slots) return {};
  return "asks for " + amount_text(asked.slots, "task") + " of " + slot_text(asked) +
         "; this instance can hold " + std::to_string(can) + " at most (" +
         amount_text(cores, "core") + ")";
}

// A property that no node has, or hosts none of which is here, where nothing else can help; empty:
// none.
std::string unknown_to_all(const ResourceGraph& graph, const Constraint& constraint) {
  const auto nodes = graph.by_type("node");
  if (constraint.op == "and") {
    for (const Constraint& operand : constraint.operands)
      if (auto text = unknown_to_all(graph, operand); !text.empty()) return text;
    return {};
  }
  const auto passes_none = [&](const Constraint& part) {
    const auto test = match::NodeTest::compile(part, graph);
    return test && std::none_of(nodes.begin(), nodes.end(),
                                [&](VertexId node) { return test->passes(graph, node); });
  };
  if (constraint.op == "hostlist" && passes_none(constraint)) {
    std::string hosts;
    for (const auto& value : constraint.values) hosts += (hosts.empty() ? "" : ",") + value;
    return "no node of this instance is called " + hosts;
  }
  if (constraint.op != "properties") return {};
  for (const auto& value : constraint.values)
    if (!value.starts_with('^') && passes_none({"properties", {value}, {}}))
      return "no node of this instance has the property " + value;
  return {};
}

}  // namespace

std::string amount_text(std::int64_t amount, const std::string& type) {
  if (type == "memory") return std::to_string(amount) + " GiB of memory";
  const std::string name = type == "gpu" ? "GPU" : type;
  return std::to_string(amount) + " " + name + (amount == 1 ? "" : "s");
}

std::string unknown_hosts(const ResourceGraph& graph, const Constraint& constraint) {
  if (constraint.op.empty()) return {};
  std::set<std::string, std::less<>> here;
  for (const VertexId node : graph.by_type("node")) here.emplace(graph.name(node));
  Hostlist unknown;
  const auto note = [&](const auto& self, const Constraint& part) -> void {
    for (const Constraint& operand : part.operands) self(self, operand);
    for (const std::string& value : part.values) {
      // An unreadable list is refused elsewhere; no more than kNamedHosts unknown hosts are named.
      const auto hosts = part.op == "hostlist" ? Hostlist::parse(value) : Hostlist();
      for (std::uint64_t i = 0; hosts && i < hosts->count() && unknown.count() < kNamedHosts; ++i)
        if (const std::string host = hosts->at(i); !here.contains(host)) unknown.append(host);
    }
  };
  note(note, constraint);
  return unknown.empty() ? std::string() : "no node of this instance is called " + unknown.str();
}

std::string refusal(const ResourceGraph& graph, const Jobspec& spec,
                    const match::Shortage& shortage) {
  std::vector<TypeAmounts> nodes;
  for (const VertexId node : graph.by_type("node")) nodes.push_back(amounts_of(graph, node));
  if (const auto asked = read(spec); asked && is_on_nodes(graph, *asked)) {
    std::string text = missing_everywhere(nodes, *asked);
    if (text.empty())
      text = asked->nodes > 0 ? nodes_short(nodes, *asked) : slots_short(nodes, *asked);
    if (!text.empty()) return text;
  }
  if (auto text = unknown_to_all(graph, spec.constraints); !text.empty()) return text;
  if (shortage.type.empty()) return "asks for what this instance does not have";
  const bool bound = !spec.constraints.op.empty();
  return "asks for " + amount_text(shortage.wanted, shortage.type) + "; this instance has " +
         std::to_string(shortage.found) +
         (bound ? (shortage.type == "node" ? " " : " on nodes ") + constraint_text(spec.constraints)
                : " that would do");
}

}  // namespace holon::resource
