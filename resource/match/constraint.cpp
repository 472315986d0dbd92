#include "resource/match/constraint.hpp"

#include <algorithm>
#include <string>

namespace holon::resource::match {
namespace {

// The least parts of a hostlist that is looked up by name, as a search asks each node, unless the
// names would take too much memory.
constexpr std::size_t kManyParts = 32;
constexpr std::uint64_t kMostSpelled = std::uint64_t{1} << 20;

}  // namespace

Result<NodeTest> NodeTest::compile(const Constraint& constraint, const ResourceGraph& graph) {
  NodeTest test;
  if (constraint.op.empty()) return test;
  if (auto term = test.add(constraint, graph); !term) return tl::unexpected(term.error());
  return test;
}

Result<std::uint32_t> NodeTest::add(const Constraint& constraint, const ResourceGraph& graph) {
  const auto number = static_cast<std::uint32_t>(terms_.size());
  terms_.emplace_back();
  Term term;
  if (constraint.op == "properties") {
    term.kind = Kind::properties;
    for (std::string_view name : constraint.values) {
      Property property;
      property.wanted = !name.starts_with('^');
      if (!property.wanted) name.remove_prefix(1);
      if (const auto key = graph.words().names.find(name)) {
        property.key = *key;
        property.known = true;
      }
      term.properties.push_back(property);
    }
  } else if (constraint.op == "hostlist") {
    term.kind = Kind::hosts;
    for (const std::string& value : constraint.values) {
      auto hosts = Hostlist::parse(value);
      if (!hosts) return tl::unexpected(hosts.error());
      term.hosts.append(*hosts);
    }
    if (term.hosts.parts() > kManyParts && term.hosts.count() <= kMostSpelled)
      for (std::string& host : term.hosts.hosts()) term.spelled.insert(std::move(host));
  } else if (constraint.op == "ranks") {
    term.kind = Kind::ranks;
    for (const std::string& value : constraint.values) {
      const auto ranks = Idset::parse(value);
      if (!ranks) return tl::unexpected(ranks.error());
      for (const auto& range : ranks->ranges()) term.ranks.insert(range.first, range.last);
    }
  } else if (constraint.op == "and" || constraint.op == "or" || constraint.op == "not") {
    term.kind = constraint.op == "and" ? Kind::all : constraint.op == "or" ? Kind::any : Kind::none;
    for (const Constraint& operand : constraint.operands) {
      const auto child = add(operand, graph);
      if (!child) return child;
      term.operands.push_back(*child);
    }
  } else if (!constraint.op.empty()) {
    return fail(Errc::invalid_argument,
                "\"" + constraint.op +
                    "\" is no constraint; accepted: properties, hostlist, ranks, and, or, not");
  }
  terms_[number] = std::move(term);
  return number;
}

bool NodeTest::has(const ResourceGraph& graph, VertexId node, const Property& property) {
  if (!property.known) return false;
  const auto all = graph.properties(node);
  return std::any_of(all.begin(), all.end(),
                     [&](const PropertyRef& one) { return one.key == property.key; });
}

bool NodeTest::passes(const ResourceGraph& graph, VertexId node, std::uint32_t number) const {
  const Term& term = terms_[number];
  const auto operand = [&](std::uint32_t child) { return passes(graph, node, child); };
  switch (term.kind) {
    case Kind::always:
      return true;
    case Kind::properties:
      return std::all_of(term.properties.begin(), term.properties.end(),
                         [&](const Property& p) { return has(graph, node, p) == p.wanted; });
    case Kind::hosts:
      return term.spelled.empty() ? term.hosts.contains(graph.name(node))
                                  : term.spelled.contains(graph.name(node));
    case Kind::ranks:
      return graph[node].rank >= 0 &&
             term.ranks.contains(static_cast<std::uint64_t>(graph[node].rank));
    case Kind::all:
      return std::all_of(term.operands.begin(), term.operands.end(), operand);
    case Kind::any:  // RFC 31: an empty "or" matches everything
      return term.operands.empty() ||
             std::any_of(term.operands.begin(), term.operands.end(), operand);
    case Kind::none:
      return !std::all_of(term.operands.begin(), term.operands.end(), operand);
  }
  return false;
}

}  // namespace holon::resource::match
