// JSON Graph Format in, see docs/formats.md.
//
// Three steps: vertices as they stand in the document, then edges (which give each vertex its
// parent and its place among its siblings), then the tree is laid out in pre-order. Nothing
// recurses; what no edge reaches is found by counting.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "resource/formats/jgf.hpp"
#include "resource/formats/readers.hpp"

namespace holon::resource {
namespace {

constexpr std::uint32_t kNone = GraphSpec::kNone;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return number;
}

std::string_view trailing_digits(std::string_view text) {
  const auto last = text.find_last_not_of("0123456789");
  return last == text.npos ? text : text.substr(last + 1);
}

// Reads a member that may be absent or null.
template <class Read, class T>
Status optional_member(const JsonAt& object, std::string_view key, T& value, Read read) {
  if (!object.has(key) || object.value()[std::string(key)].is_null()) return {};
  auto member = object.member(key);
  auto got = read(*member);
  if (!got) return tl::unexpected(got.error());
  value = *std::move(got);
  return {};
}

Result<std::map<std::string, std::string>> read_properties(const JsonAt& at) {
  if (auto ok = at.expect_object(); !ok) return tl::unexpected(ok.error());
  std::map<std::string, std::string> properties;
  for (const auto& [key, value] : at.value().items()) {
    const auto text = at.member(key)->string();
    if (!text) return tl::unexpected(text.error());
    properties[key] = *text;
  }
  return properties;
}

std::string read_extensions(const JsonAt& metadata) {
  Json kept = Json::object();
  for (const auto& [key, value] : metadata.value().items()) {
    if (key.starts_with("x-")) kept[key] = value;
  }
  return kept.empty() ? std::string{} : kept.dump();
}

Result<std::map<std::string, std::string>> read_paths(const JsonAt& metadata) {
  const auto at = metadata.member("paths");
  if (!at) return tl::unexpected(at.error());
  auto paths = read_properties(*at);
  if (!paths) return paths;
  for (const auto& [subsystem, path] : *paths) {
    if (path.size() < 2 || path[0] != '/') {
      return at->member(subsystem)->error(fmt::format("'{}' is no path", path));
    }
  }
  return paths;
}

// Fills in members that are absent: see the table of defaults in docs/formats.md.
void apply_defaults(JgfVertex& v, bool has_id, bool has_name) {
  if (v.uniq_id < 0) v.uniq_id = whole_number(v.key).value_or(GraphSpec::kNewUniqId);
  if (v.uniq_id < 0) v.uniq_id = GraphSpec::kNewUniqId;
  if (v.basename.empty()) v.basename = v.type;
  if (!has_id) {
    const auto suffix = v.type == "node" ? trailing_digits(v.name) : std::string_view{};
    v.id = whole_number(suffix).value_or(v.uniq_id);
  }
  if (!has_name) v.name = v.basename + (v.id < 0 ? "" : std::to_string(v.id));
}

Status read_numbers(const JsonAt& metadata, JgfVertex& v, bool& has_id) {
  const auto whole = [](std::int64_t min, std::int64_t max) {
    return [=](const JsonAt& at) { return at.integer(min, max); };
  };
  std::int64_t id = -2, rank = -1, status = 0;
  for (const auto& ok : {optional_member(metadata, "id", id, whole(-1, INT64_MAX)),
                         optional_member(metadata, "uniq_id", v.uniq_id, whole(-1, INT64_MAX - 1)),
                         optional_member(metadata, "rank", rank, whole(-1, INT32_MAX)),
                         optional_member(metadata, "size", v.size, whole(0, INT64_MAX)),
                         optional_member(metadata, "status", status, whole(0, 2))}) {
    if (!ok) return ok;
  }
  has_id = id != -2;
  v.id = id;
  v.rank = static_cast<std::int32_t>(rank);
  v.up = status != 1;
  v.drained = status == 2;
  return {};
}

Status read_texts(const JsonAt& metadata, JgfVertex& v, bool& has_name) {
  const auto text = [](const JsonAt& at) { return at.string(); };
  for (const auto& ok : {optional_member(metadata, "basename", v.basename, text),
                         optional_member(metadata, "name", v.name, text),
                         optional_member(metadata, "unit", v.unit, text),
                         optional_member(metadata, "exclusive", v.exclusive,
                                         [](const JsonAt& at) { return at.boolean(); }),
                         optional_member(metadata, "properties", v.properties, read_properties)}) {
    if (!ok) return ok;
  }
  has_name = !v.name.empty();
  return {};
}

// Reads "id" as a string or, as some writers have it, a number.
Result<std::string> read_key(const JsonAt& object, std::string_view key) {
  const auto at = object.member(key);
  if (!at) return tl::unexpected(at.error());
  if (at->value().is_number_integer()) return at->value().dump();
  return at->string();
}

Result<JgfVertex> read_vertex(const JsonAt& at) {
  JgfVertex v;
  auto key = read_key(at, "id");
  if (!key) return tl::unexpected(key.error());
  v.key = *std::move(key);
  const auto metadata = at.member("metadata");
  if (!metadata) return tl::unexpected(metadata.error());
  const auto type_at = metadata->member("type");
  if (!type_at) return tl::unexpected(type_at.error());
  auto type = type_at->string();
  if (!type) return tl::unexpected(type.error());
  v.type = *std::move(type);
  bool has_id = false, has_name = false;
  if (auto ok = read_numbers(*metadata, v, has_id); !ok) return tl::unexpected(ok.error());
  if (auto ok = read_texts(*metadata, v, has_name); !ok) return tl::unexpected(ok.error());
  auto paths = read_paths(*metadata);
  if (!paths) return tl::unexpected(paths.error());
  v.paths = *std::move(paths);
  std::map<std::string, std::string> ephemeral;
  if (auto ok = optional_member(*metadata, "ephemeral", ephemeral, read_properties); !ok) {
    return tl::unexpected(ok.error());
  }
  v.label = ephemeral["label"];
  v.extensions = read_extensions(*metadata);
  v.pointer = metadata->pointer();
  apply_defaults(v, has_id, has_name);
  return v;
}

// The lean form says metadata.subsystem; the older one has a map from subsystem to relation.
Result<std::string> read_subsystem(const JsonAt& edge) {
  if (!edge.has("metadata") || !edge.value()["metadata"].is_object()) {
    return std::string(kContainment);
  }
  const auto metadata = *edge.member("metadata");
  if (metadata.has("subsystem")) return metadata.member("subsystem")->string();
  if (metadata.has("name") && metadata.value()["name"].is_object() &&
      metadata.value()["name"].size() == 1) {
    return metadata.value()["name"].begin().key();
  }
  return std::string(kContainment);
}

Result<JgfEdge> read_edge(const JsonAt& at,
                          const std::unordered_map<std::string, std::uint32_t>& by_key) {
  JgfEdge edge;
  for (const auto* end : {"source", "target"}) {
    const auto key = read_key(at, end);
    if (!key) return tl::unexpected(key.error());
    const auto it = by_key.find(*key);
    if (it == by_key.end()) {
      return at.member(end)->error(fmt::format("no vertex has the id '{}'", *key));
    }
    (std::string_view(end) == "source" ? edge.source : edge.target) = it->second;
  }
  auto subsystem = read_subsystem(at);
  if (!subsystem) return tl::unexpected(subsystem.error());
  edge.subsystem = *std::move(subsystem);
  edge.pointer = at.pointer();
  return edge;
}

Result<std::vector<JgfVertex>> read_vertices(const JsonAt& graph) {
  const auto nodes = graph.member("nodes");
  if (!nodes) return tl::unexpected(nodes.error());
  if (auto ok = nodes->expect_array(); !ok) return tl::unexpected(ok.error());
  if (nodes->value().size() > kMaxVertices) {
    return fail(Errc::out_of_range, fmt::format("more than {} vertices", kMaxVertices),
                nodes->pointer());
  }
  std::vector<JgfVertex> vertices;
  vertices.reserve(nodes->value().size());
  for (std::size_t i = 0; i < nodes->value().size(); ++i) {
    auto vertex = read_vertex(nodes->element(i));
    if (!vertex) return tl::unexpected(vertex.error());
    vertices.push_back(*std::move(vertex));
  }
  return vertices;
}

}  // namespace

Result<JgfDocument> parse_jgf(std::string_view bytes) {
  const auto json = parse_json(bytes);
  if (!json) return tl::unexpected(json.error());
  JsonAt top(*json, "");
  if (top.has("scheduling") && !top.has("graph")) top = *top.member("scheduling");
  return read_jgf_document(top);
}

Result<JgfDocument> read_jgf_document(const JsonAt& top) {
  const auto graph = top.member("graph");
  if (!graph) return tl::unexpected(graph.error());
  auto vertices = read_vertices(*graph);
  if (!vertices) return tl::unexpected(vertices.error());
  JgfDocument document;
  document.vertices = *std::move(vertices);
  std::unordered_map<std::string, std::uint32_t> by_key;
  for (std::uint32_t i = 0; i < document.vertices.size(); ++i) {
    const auto& v = document.vertices[i];
    if (!by_key.emplace(v.key, i).second) {
      return fail(Errc::invalid_argument, fmt::format("the id '{}' is given twice", v.key),
                  v.pointer);
    }
  }
  const auto edges = graph->member("edges");
  if (!edges) return tl::unexpected(edges.error());
  if (auto ok = edges->expect_array(); !ok) return tl::unexpected(ok.error());
  for (std::size_t i = 0; i < edges->value().size(); ++i) {
    auto edge = read_edge(edges->element(i), by_key);
    if (!edge) return tl::unexpected(edge.error());
    document.edges.push_back(*std::move(edge));
  }
  if (top.has("free_ranks")) {
    const auto at = *top.member("free_ranks");
    const auto text = at.string();
    if (!text) return tl::unexpected(text.error());
    auto ranks = Idset::parse(*text);
    if (!ranks) return at.error(to_string(ranks.error()));
    document.free_ranks = *std::move(ranks);
  }
  return document;
}

namespace {

// Lays the dominant tree of a document out in pre-order.
class Layout {
 public:
  Layout(const JgfDocument& document, const GraphOptions& options)
      : document_(document), options_(options), dominant_(options.dominant) {
    spec_.subsystems.assign(1, dominant_);
  }

  Result<GraphSpec> make() {
    for (auto step : {&Layout::check_subsystems, &Layout::find_root, &Layout::link, &Layout::number,
                      &Layout::check_reached}) {
      if (auto ok = (this->*step)(); !ok) return tl::unexpected(ok.error());
    }
    add_rows();
    add_aux_edges();
    return std::move(spec_);
  }

 private:
  const JgfVertex& vertex(std::uint32_t i) const { return document_.vertices[i]; }

  // Checks the number of subsystems before they are looked for one by one.
  Status check_subsystems() {
    std::set<std::string_view> names{dominant_};
    const auto too_many = [](const std::string& pointer) {
      return fail(Errc::invalid_argument, fmt::format("more than {} subsystems", kMaxSubsystems),
                  pointer);
    };
    for (const auto& v : document_.vertices) {
      for (const auto& [name, path] : v.paths) names.insert(name);
      if (names.size() > kMaxSubsystems) return too_many(v.pointer + "/paths");
    }
    for (const auto& edge : document_.edges) {
      names.insert(edge.subsystem);
      if (names.size() > kMaxSubsystems) return too_many(edge.pointer);
    }
    return {};
  }

  // Finds the one vertex whose path in the dominant subsystem has a single '/'.
  Status find_root() {
    for (std::uint32_t i = 0; i < document_.vertices.size(); ++i) {
      const auto it = vertex(i).paths.find(dominant_);
      if (it == vertex(i).paths.end() || std::ranges::count(it->second, '/') != 1) continue;
      if (root_ != kNone) {
        return fail(Errc::invalid_argument,
                    fmt::format("a second root of subsystem {}; the first is {}", dominant_,
                                vertex(root_).name),
                    vertex(i).pointer + "/paths");
      }
      root_ = i;
    }
    if (root_ != kNone) return {};
    return fail(
        Errc::invalid_argument,
        fmt::format("no vertex is the root of subsystem {}: its path has one '/'", dominant_),
        "/graph/nodes");
  }

  Status link() {
    parent_.assign(document_.vertices.size(), kNone);
    children_.resize(document_.vertices.size());
    for (const auto& edge : document_.edges) {
      if (edge.subsystem != dominant_) continue;
      if (parent_[edge.target] == edge.source) continue;  // said twice
      if (parent_[edge.target] != kNone) {
        return fail(Errc::invalid_argument,
                    fmt::format("vertex {} has two parents in subsystem {}: {} and {}",
                                vertex(edge.target).key, dominant_,
                                vertex(parent_[edge.target]).key, vertex(edge.source).key),
                    edge.pointer);
      }
      if (edge.target == root_ || edge.target == edge.source) {
        return fail(Errc::invalid_argument, "the edges form a cycle", edge.pointer);
      }
      parent_[edge.target] = edge.source;
      children_[edge.source].push_back(edge.target);
    }
    return {};
  }

  // Numbers in pre-order, with a stack of its own: a document may be a chain of any length.
  Status number() {
    row_of_.assign(document_.vertices.size(), kNone);
    std::vector<std::uint32_t> stack{root_};
    while (!stack.empty()) {
      const auto i = stack.back();
      stack.pop_back();
      row_of_[i] = static_cast<std::uint32_t>(order_.size());
      order_.push_back(i);
      stack.insert(stack.end(), children_[i].rbegin(), children_[i].rend());
    }
    return {};
  }

  // Checks that each vertex of the dominant subsystem was reached; others come after the tree.
  Status check_reached() {
    std::vector<bool> elsewhere(document_.vertices.size());
    for (const auto& edge : document_.edges) {
      elsewhere[edge.source] = elsewhere[edge.target] = true;
    }
    for (std::uint32_t i = 0; i < document_.vertices.size(); ++i) {
      if (row_of_[i] != kNone) continue;
      const auto& v = vertex(i);
      if (v.paths.contains(dominant_)) {
        return fail(
            Errc::invalid_argument,
            fmt::format("no edges lead from the root to vertex {} ({}): a missing edge or a "
                        "cycle",
                        v.key, v.paths.at(dominant_)),
            v.pointer);
      }
      if (!elsewhere[i]) continue;
      row_of_[i] = static_cast<std::uint32_t>(order_.size());
      order_.push_back(i);
    }
    return {};
  }

  void add_rows() {
    spec_.rows.reserve(order_.size());
    for (const auto i : order_) add_row(i);
  }

  void add_row(std::uint32_t i) {
    const auto& v = vertex(i);
    const auto above = parent_[i] == kNone ? kNone : row_of_[parent_[i]];
    const auto row = spec_.add(v.type, v.id, above, v.rank, v.size);
    auto& out = spec_.rows[row];
    auto& names = spec_.words.names;
    out.uniq_id = v.uniq_id;
    out.up = v.up;
    out.drained = v.drained;
    out.basename = names.intern(v.basename);
    const auto composed = v.id < 0 ? v.basename : v.basename + std::to_string(v.id);
    if (v.name != composed) out.name = names.intern(v.name);
    if (!v.unit.empty() && !options_.as_fluxion) out.unit = names.intern(v.unit);
    for (const auto& [key, value] : v.properties) spec_.properties.push_back({row, key, value});
    if (!v.extensions.empty()) spec_.extensions.push_back({row, v.extensions});
    add_paths(i, row);
  }

  // Adds the dominant path unless it is the parent's and the name; build() compares the others.
  void add_paths(std::uint32_t i, std::uint32_t row) {
    const auto& v = vertex(i);
    for (const auto& [name, text] : v.paths) {
      if (name != dominant_) spec_.paths.push_back({row, subsystem(name), text});
    }
    const auto path = v.paths.find(dominant_);
    if (path == v.paths.end()) return;
    std::string above_path;
    if (parent_[i] != kNone) {
      const auto& paths = vertex(parent_[i]).paths;
      if (auto it = paths.find(dominant_); it != paths.end()) above_path = it->second;
    }
    if (path->second != above_path + "/" + v.name) spec_.paths.push_back({row, 0, path->second});
  }

  std::uint32_t subsystem(const std::string& name) {
    auto it = std::ranges::find(spec_.subsystems, name);
    if (it == spec_.subsystems.end()) it = spec_.subsystems.insert(it, name);
    return static_cast<std::uint32_t>(it - spec_.subsystems.begin());
  }

  void add_aux_edges() {
    for (const auto& edge : document_.edges) {
      if (edge.subsystem == dominant_) continue;
      spec_.edges.push_back(
          {subsystem(edge.subsystem), row_of_[edge.source], row_of_[edge.target]});
    }
  }

  const JgfDocument& document_;
  const GraphOptions& options_;
  const std::string dominant_;
  std::uint32_t root_ = kNone;
  std::vector<std::uint32_t> parent_, row_of_, order_;
  std::vector<std::vector<std::uint32_t>> children_;
  GraphSpec spec_;
};

}  // namespace

Result<GraphSpec> jgf_to_spec(const JgfDocument& document, const GraphOptions& options) {
  return Layout(document, options).make();
}

Result<GraphSpec> read_jgf(std::string_view bytes, const GraphOptions& options) {
  const auto document = parse_jgf(bytes);
  if (!document) return tl::unexpected(document.error());
  return jgf_to_spec(*document, options);
}

}  // namespace holon::resource
