#include "resource/match/policy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>

namespace holon::resource::match {
namespace {

constexpr std::array<std::pair<std::string_view, Policy>, 10> kNamed = {{
    {"first", {Order::high, true, false, true}},
    {"firstnodex", {Order::high, true, true, true}},
    {"high", {Order::high, false, false, false}},
    {"low", {Order::low, false, false, false}},
    {"hinode", {Order::high, true, false, false}},
    {"lonode", {Order::low, true, false, false}},
    {"hinodex", {Order::high, true, true, false}},
    {"lonodex", {Order::low, true, true, false}},
    {"locality", {Order::locality, false, false, false}},
    {"variation", {Order::variation, false, false, false}},
}};

tl::unexpected<Error> unknown_policy(std::string_view text) {
  return fail(Errc::invalid_argument,
              "unknown match policy \"" + std::string(text.substr(0, 64)) +
                  "\"; accepted: first, firstnodex, high, low, hinode, lonode, hinodex, lonodex, "
                  "locality, variation, or policy=high|low with node_centric, node_exclusive, "
                  "stop_on_1_matches =true|false",
              "match-policy");
}

bool set(Policy& policy, std::string_view key, std::string_view value) {
  if (key == "policy") {
    if (value != "high" && value != "low") return false;
    policy.order = value == "high" ? Order::high : Order::low;
    return true;
  }
  if (value != "true" && value != "false") return false;
  if (key == "node_centric") return policy.node_centric = value == "true", true;
  if (key == "node_exclusive") return policy.node_exclusive = value == "true", true;
  if (key == "stop_on_1_matches" || key == "set_stop_on_1_matches")
    return policy.stop_at_first = value == "true", true;
  return false;
}

constexpr std::int64_t kNodeWeight = 10'000;
constexpr std::int64_t kWorstClass = 9'999;

// Some sites number their hosts by date and serial number.
std::int64_t ranked_id(const Vertex& vertex) {
  return std::min(vertex.id, std::int64_t{1} << 32);
}

std::int64_t performance_class(const ResourceGraph& graph, VertexId v) {
  const auto text = graph.property(v, "perf_class");
  std::int64_t value = kWorstClass;
  if (!text) return value;
  const auto [at, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  const bool usable = error == std::errc() && value >= 0 && value <= kWorstClass;
  return usable ? value : kWorstClass;
}

}  // namespace

Result<Policy> Policy::parse(std::string_view text) {
  for (const auto& [name, policy] : kNamed)
    if (name == text) return policy;
  Policy policy;
  bool ordered = false;
  while (true) {
    const auto blank = text.find(' ');
    const auto option = text.substr(0, blank);
    const auto equals = option.find('=');
    if (equals == option.npos || !set(policy, option.substr(0, equals), option.substr(equals + 1)))
      return unknown_policy(option);
    ordered = ordered || option.substr(0, equals) == "policy";
    if (blank == text.npos) break;
    text.remove_prefix(blank + 1);
  }
  if (!ordered) return unknown_policy(text);
  return policy;
}

std::int64_t Policy::node_bonus(const Vertex& node) const {
  if (!node_centric) return 0;
  // the part below kNodeWeight only tells nodes of equal id apart
  return (ranked_id(node) + 2) * kNodeWeight + std::abs(node.uniq_id % kNodeWeight - 1);
}

std::int64_t Policy::score(const ResourceGraph& graph, VertexId v) const {
  if (order == Order::variation) return 1 + performance_class(graph, v);
  return 1 + ranked_id(graph[v]) + 1;
}

}  // namespace holon::resource::match
