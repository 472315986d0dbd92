#include "resource/formats/tree_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holon::resource {
namespace {

constexpr auto kNoRow = GraphSpec::kNone;

bool in_order(const GraphSpec& spec) {
  for (std::uint32_t i = 0; i < spec.rows.size(); ++i) {
    const auto parent = spec.rows[i].parent;
    if (parent != kNoRow && parent >= i) return false;
  }
  return !spec.rows.empty();
}

// The first row without parent that is the parent of something, or the first without parent.
std::uint32_t root_of(const GraphSpec& spec, const std::vector<GraphSpec::Edge>& tree) {
  for (const auto& edge : tree) {
    if (spec.rows[edge.source].parent == kNoRow) return edge.source;
  }
  for (std::uint32_t i = 0; i < spec.rows.size(); ++i) {
    if (spec.rows[i].parent == kNoRow) return i;
  }
  return kNoRow;
}

std::vector<std::uint32_t> preorder(const GraphSpec& spec, const std::vector<GraphSpec::Edge>& tree,
                                    std::uint32_t root) {
  std::vector<std::vector<std::uint32_t>> children(spec.rows.size());
  for (const auto& edge : tree) children[edge.source].push_back(edge.target);
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> stack{root};
  while (!stack.empty()) {
    const auto row = stack.back();
    stack.pop_back();
    order.push_back(row);
    stack.insert(stack.end(), children[row].rbegin(), children[row].rend());
  }
  for (std::uint32_t row = 0; row < spec.rows.size(); ++row) {
    if (row != root && spec.rows[row].parent == kNoRow) order.push_back(row);
  }
  return order;
}

}  // namespace

Result<GraphSpec> to_tree_order(GraphSpec spec, const std::vector<GraphSpec::Edge>& tree) {
  const auto root = root_of(spec, tree);
  if (root == kNoRow) {
    return fail(Errc::invalid_argument,
                fmt::format("there is no root vertex of subsystem {}", spec.subsystems[0]),
                "graph");
  }
  if (root == 0 && in_order(spec)) return spec;
  const auto order = preorder(spec, tree, root);
  if (order.size() != spec.rows.size()) {
    return fail(Errc::invalid_argument,
                fmt::format("the edges of subsystem {} form a cycle", spec.subsystems[0]), "graph");
  }
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<GraphSpec::Row> rows;
  rows.reserve(order.size());
  for (const auto row : order) {
    rows.push_back(spec.rows[row]);
    if (rows.back().parent != kNoRow) rows.back().parent = place[rows.back().parent];
  }
  spec.rows = std::move(rows);
  for (auto& p : spec.properties) p.row = place[p.row];
  for (auto& e : spec.extensions) e.row = place[e.row];
  for (auto& p : spec.paths) p.row = place[p.row];
  for (auto& e : spec.edges) e = {e.subsystem, place[e.source], place[e.target]};
  return spec;
}

}  // namespace holon::resource
