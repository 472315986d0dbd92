#include "resource/match/filters.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

namespace holon::resource::match {
namespace {

constexpr std::string_view kAll = "ALL";

// The order of types that Fluxion knows from the start; it keeps a filter's types in the order in
// which it first heard of them.
std::size_t standing(std::string_view type) {
  static constexpr std::array<std::string_view, 8> kKnown = {
      "cluster", "core", "socket", "gpu", "node", "rack", "ssd", "storage_node"};
  return static_cast<std::size_t>(std::find(kKnown.begin(), kKnown.end(), type) - kKnown.begin());
}

using Anchors = std::map<std::string, std::set<std::string>, std::less<>>;

void anchor(Anchors& anchors, const std::string& high, const std::string& low) {
  if (high == kAll) {
    for (auto& [type, counted] : anchors) counted.erase(low);
  } else if (const auto all = anchors.find(kAll);
             all != anchors.end() && all->second.contains(low)) {
    return;
  }
  anchors[high].insert(low);
}

std::string without_blanks(std::string_view text) {
  std::string kept(text);
  std::erase_if(kept, [](char c) { return c == ' ' || c == '\t'; });
  return kept;
}

Result<Anchors> parse_anchors(std::string_view spec) {
  Anchors anchors;
  while (true) {
    const auto comma = spec.find(',');
    const auto part = spec.substr(0, comma);
    const auto colon = part.find(':');
    const auto high = without_blanks(part.substr(0, colon));
    const auto low = colon == part.npos ? std::string() : without_blanks(part.substr(colon + 1));
    if (high.empty() || low.empty())
      return fail(Errc::invalid_argument,
                  "\"" + std::string(part.substr(0, 64)) +
                      "\" is no pruning filter; accepted: HL:LL[,HL:LL...] such as "
                      "ALL:core,rack:node",
                  "prune-filters");
    anchor(anchors, high, low);
    if (comma == spec.npos) return anchors;
    spec.remove_prefix(comma + 1);
  }
}

std::set<std::string> leaf_types(const ResourceGraph& graph) {
  std::vector<bool> seen(graph.words().types.size(), false);
  for (const VertexId v : graph.in_preorder())
    if (graph.is_leaf(v) && graph.parent(v) != kNoVertex) seen[graph[v].type.value()] = true;
  std::set<std::string> names;
  for (std::uint32_t t = 0; t < seen.size(); ++t)
    if (seen[t]) names.insert(graph.words().types.text(TypeId{t}));
  return names;
}

}  // namespace

Result<Filters> Filters::parse(std::string_view spec, const ResourceGraph& graph) {
  auto anchors = parse_anchors(spec);
  if (!anchors) return tl::unexpected(anchors.error());
  std::set<std::string> counted;
  for (const auto& [high, lows] : *anchors) counted.insert(lows.begin(), lows.end());
  for (const std::string& leaf : leaf_types(graph))
    if (counted.insert(leaf).second) anchor(*anchors, "cluster", leaf);

  const auto& types = graph.words().types;
  const auto by_standing = [&](const std::string& a, const std::string& b) {
    const auto order = [&](const std::string& type) {
      const auto id = types.find(type);
      return std::pair(standing(type), id ? id->value() : UINT32_MAX);
    };
    return order(a) < order(b);
  };
  std::vector<std::string> ordered;
  for (const std::string& type : counted)
    if (types.find(type)) ordered.push_back(type);
  std::sort(ordered.begin(), ordered.end(), by_standing);

  Filters filters;
  filters.index_.assign(types.size(), UINT32_MAX);
  for (const std::string& type : ordered) {
    const TypeId id = *types.find(type);
    filters.index_[id.value()] = static_cast<std::uint32_t>(filters.types_.size());
    filters.types_.push_back(id);
  }
  filters.counted_.resize(types.size());
  for (std::uint32_t t = 0; t < types.size(); ++t) {
    const std::string& name = types.text(TypeId{t});
    const auto add = [&](std::string_view high, bool skip_itself) {
      const auto at = anchors->find(high);
      if (at == anchors->end()) return;
      for (const std::string& low : ordered)
        if (at->second.contains(low) && !(skip_itself && low == name))
          filters.counted_[t].push_back(filters.index_[types.find(low)->value()]);
    };
    add(name, false);
    add(kAll, true);
  }
  return filters;
}

std::optional<std::uint32_t> Filters::index_of(TypeId type) const {
  if (type.value() >= index_.size() || index_[type.value()] == UINT32_MAX) return std::nullopt;
  return index_[type.value()];
}

const std::vector<std::uint32_t>& Filters::counted_at(TypeId type) const {
  static const std::vector<std::uint32_t> kNothing;
  return type.value() < counted_.size() ? counted_[type.value()] : kNothing;
}

}  // namespace holon::resource::match
