// GRUG: a recipe in GraphML, unrolled into a machine as Fluxion unrolls it.
//
// The recipe is walked depth first along its tree edges; each edge makes vertices (MULTIPLY) or
// joins vertices that are there (ASSOCIATE_*). The numbering of vertices, of ids and the order of
// edges follow from this walk, and golden outputs depend on them, so that the oddities are kept:
// the scales of the levels above are a stack that every finished recipe vertex pops, and an id
// within scope 0 takes no stride. Names and paths are made only for recipes that associate.
#include <fmt/format.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/graphml.hpp>
#include <deque>
#include <map>
#include <memory>
#include <sstream>

#include "resource/formats/readers.hpp"
#include "resource/formats/tree_layout.hpp"
#include "resource/formats/xml.hpp"

namespace holon::resource {
namespace {

// Attributes have the types that attr.type in GraphML must give: Boost does not convert numbers.
struct RecipeVertex {
  std::string type, basename, unit;
  std::string subsystem{kContainment};
  long size = 1;
  int root = 0;
};

struct RecipeEdge {
  std::string e_subsystem{kContainment};
  std::string gen_method = "MULTIPLY";
  std::string as_tgt_subsystem{kContainment};
  int id_scope = 0, id_start = 0, id_stride = 1, multi_scale = 1;
  int as_tgt_uplvl = 0, as_src_uplvl = 0;
};

using Recipe =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, RecipeVertex, RecipeEdge>;
using RecipeV = boost::graph_traits<Recipe>::vertex_descriptor;
using RecipeE = boost::graph_traits<Recipe>::edge_descriptor;

// The recipe is on the heap: Boost's copy of a graph sets off g++'s -Wmaybe-uninitialized.
Result<std::unique_ptr<Recipe>> read_recipe(std::string_view bytes) {
  auto graph = std::make_unique<Recipe>();
  Recipe& recipe = *graph;
  boost::dynamic_properties properties(boost::ignore_other_properties);
  properties.property("root", get(&RecipeVertex::root, recipe));
  properties.property("type", get(&RecipeVertex::type, recipe));
  properties.property("basename", get(&RecipeVertex::basename, recipe));
  properties.property("size", get(&RecipeVertex::size, recipe));
  properties.property("unit", get(&RecipeVertex::unit, recipe));
  properties.property("subsystem", get(&RecipeVertex::subsystem, recipe));
  properties.property("e_subsystem", get(&RecipeEdge::e_subsystem, recipe));
  properties.property("gen_method", get(&RecipeEdge::gen_method, recipe));
  properties.property("id_scope", get(&RecipeEdge::id_scope, recipe));
  properties.property("id_start", get(&RecipeEdge::id_start, recipe));
  properties.property("id_stride", get(&RecipeEdge::id_stride, recipe));
  properties.property("multi_scale", get(&RecipeEdge::multi_scale, recipe));
  properties.property("as_tgt_subsystem", get(&RecipeEdge::as_tgt_subsystem, recipe));
  properties.property("as_tgt_uplvl", get(&RecipeEdge::as_tgt_uplvl, recipe));
  properties.property("as_src_uplvl", get(&RecipeEdge::as_src_uplvl, recipe));
  if (bytes.size() > kMaxXmlBytes)
    return fail(Errc::invalid_argument,
                fmt::format("{} bytes; at most {} are accepted", bytes.size(), kMaxXmlBytes),
                "GraphML");
  if (xml_nested_too_deep(bytes)) {
    return fail(Errc::invalid_argument,
                fmt::format("elements nested more than {} deep", kMaxXmlDepth), "GraphML");
  }
  try {
    std::istringstream in{std::string(bytes)};
    boost::read_graphml(in, recipe, properties);
  } catch (const boost::bad_any_cast&) {
    return fail(Errc::invalid_argument,
                "a key has the wrong attr.type: size is long, names are string, the rest is int",
                "GraphML");
  } catch (const std::exception& error) {  // from Boost's parser, or for a bad number
    return fail(Errc::invalid_argument, fmt::format("not a GRUG recipe: {}", error.what()),
                "GraphML");
  }
  return graph;
}

bool associates(const Recipe& recipe) {
  for (auto [e, end] = edges(recipe); e != end; ++e) {
    if (recipe[*e].gen_method != "MULTIPLY") return true;
  }
  return false;
}

// The part of a path that two vertices must share: all but its last `levels` components, ended by a
// slash; "" where the path has no more than that.
std::string path_prefix(const std::string& path, std::int64_t levels) {
  const auto slashes = std::count(path.begin(), path.end(), '/');
  if (levels >= slashes) return {};
  std::size_t at = 0;
  for (auto seen = slashes - levels + 1; seen > 0 && at != path.npos; --seen) {
    at = path.find('/', at);
    if (at != path.npos) ++at;
  }
  auto prefix = path.substr(0, at);
  if (prefix.back() != '/') prefix += '/';
  return prefix;
}

// The machine unrolled so far. Its functions do nothing after the first error.
class Unrolling {
 public:
  Unrolling(const Recipe& recipe, const GraphOptions& options)
      : recipe_(recipe),
        with_paths_(associates(recipe)),
        links_(options.as_fluxion),
        made_(num_vertices(recipe)) {
    spec_.twins = options.as_fluxion;
    spec_.subsystems.assign(1, options.dominant);
    spec_.words.types.intern("node");
  }

  Status status;

  void tree_edge(RecipeE e) {
    if (!status) return;
    const auto from = source(e, recipe_);
    const auto to = target(e, recipe_);
    if (recipe_[from].root != 0 && made_[from].empty()) make_root(from);
    made_[to].clear();
    subsystem(recipe_[e].e_subsystem);
    if (spec_.subsystems.size() > kMaxSubsystems)
      return refuse(to, fmt::format("more than {} subsystems", kMaxSubsystems));
    const auto& method = recipe_[e].gen_method;
    if (method == "MULTIPLY") {
      multiply(e, from, to);
    } else if (method == "ASSOCIATE_IN" || method == "ASSOCIATE_BY_PATH_IN") {
      associate(e, from, to, method == "ASSOCIATE_BY_PATH_IN");
    } else {
      refuse(to, fmt::format("the generation method '{}' is unknown", method));
    }
  }

  void finish_vertex() {
    if (!scales_.empty()) scales_.pop_front();
  }

  Result<GraphSpec> result() && {
    if (!status) return tl::unexpected(status.error());
    add_paths();
    return to_tree_order(std::move(spec_), edges_);
  }

 private:
  struct Words {
    TypeId type;
    NameId basename, unit{GraphSpec::kNone};
  };

  void refuse(RecipeV at, std::string what, Errc code = Errc::invalid_argument) {
    const auto& v = recipe_[at];
    status =
        fail(code, std::move(what),
             fmt::format("recipe vertex {} ({})", at, v.basename.empty() ? v.type : v.basename));
  }

  std::uint32_t subsystem(const std::string& name) {
    const auto it = std::find(spec_.subsystems.begin(), spec_.subsystems.end(), name);
    const auto index = static_cast<std::uint32_t>(it - spec_.subsystems.begin());
    if (it == spec_.subsystems.end()) spec_.subsystems.push_back(name);
    return index;
  }

  const Words& words(RecipeV u) {
    auto [it, fresh] = words_.try_emplace(u);
    if (fresh) {
      it->second.type = spec_.words.types.intern(recipe_[u].type);
      it->second.basename = spec_.words.names.intern(recipe_[u].basename);
      if (!recipe_[u].unit.empty()) it->second.unit = spec_.words.names.intern(recipe_[u].unit);
    }
    return it->second;
  }

  void make_root(RecipeV u) {
    const auto [it, fresh] = roots_.try_emplace(recipe_[u].subsystem, 0);
    if (fresh) it->second = make(u, GraphSpec::kNone, 0);
    made_[u].push_back(it->second);
  }

  std::uint32_t make(RecipeV u, std::uint32_t above, std::int64_t id) {
    const auto& v = recipe_[u];
    const auto& w = words(u);
    GraphSpec::Row row;
    row.id = id;
    row.size = v.size;
    row.type = w.type;
    row.basename = w.basename;
    row.unit = w.unit;
    if (w.type.value() == 0) row.rank = next_rank_++;
    const auto index = static_cast<std::uint32_t>(spec_.rows.size());
    row.uniq_id = index;
    spec_.rows.push_back(row);
    if (with_paths_) {
      by_type_[w.type.value()].push_back(index);
      paths_.emplace_back();
      set_path(index, above, v.subsystem);
    }
    return index;
  }

  std::string name(std::uint32_t row) const {
    const auto& r = spec_.rows[row];
    const auto& base = spec_.words.names.text(r.basename);
    return r.id == -1 ? base : base + std::to_string(r.id);
  }

  void set_path(std::uint32_t row, std::uint32_t above, const std::string& in) {
    const auto prefix = above == GraphSpec::kNone ? std::string{} : path(above, in);
    paths_[row][in] = prefix + "/" + name(row);
  }

  std::string path(std::uint32_t row, const std::string& in) const {
    const auto it = paths_[row].find(in);
    return it == paths_[row].end() ? std::string{} : it->second;
  }

  // An id counts within the part of the tree that `scope` levels up hold; j is the place of the
  // parent among its like. None of the products can overflow: scales and places are below 2^24
  // where they are multiplied, and wrap is cut off.
  static std::int64_t wide(int n) { return n; }
  std::int64_t id_of(const RecipeEdge& e, std::int64_t i, std::int64_t j) const {
    if (e.id_scope < 0) return -1;
    if (e.id_scope == 0) return wide(e.id_start) + i;
    std::int64_t wrap = 1;
    for (std::int64_t h = 0; h < e.id_scope && h < static_cast<std::int64_t>(scales_.size()); ++h) {
      wrap = std::min<std::int64_t>(wrap * std::max<std::int64_t>(scales_[h], 1), INT32_MAX);
    }
    const auto group = std::min<std::int64_t>(j % wrap * e.multi_scale, INT32_MAX);
    return wide(e.id_start) + (group + i) * e.id_stride;
  }

  void multiply(RecipeE e, RecipeV from, RecipeV to) {
    const auto& edge = recipe_[e];
    const auto parents = made_[from].size();
    if (edge.id_start < 0 || edge.id_stride < 0)
      return refuse(to, "id_start or id_stride is negative");
    const auto scale = static_cast<std::size_t>(std::max(edge.multi_scale, 0));
    if (spec_.rows.size() + parents * scale > kMaxVertices) {
      return refuse(to, fmt::format("more than {} vertices", kMaxVertices), Errc::out_of_range);
    }
    const auto in = subsystem(edge.e_subsystem);
    for (std::size_t j = 0; j < parents; ++j) {
      for (std::int64_t i = 0; i < edge.multi_scale; ++i) {
        const auto above = made_[from][j];
        const auto id = id_of(edge, i, static_cast<std::int64_t>(j));
        const auto row = make(to, above, id);
        join(in, above, row);
        made_[to].push_back(row);
      }
    }
    scales_.push_front(edge.multi_scale);
  }

  void associate(RecipeE e, RecipeV from, RecipeV to, bool by_path) {
    const auto& edge = recipe_[e];
    const auto& candidates = by_type_[words(to).type.value()];
    if (made_[from].size() * candidates.size() > kMaxVertices) {
      return refuse(to, fmt::format("more than {} edges", kMaxVertices), Errc::out_of_range);
    }
    const auto in = subsystem(edge.e_subsystem);
    for (const auto above : made_[from]) {
      const auto want = path_prefix(path(above, edge.as_tgt_subsystem), edge.as_src_uplvl);
      for (const auto row : candidates) {
        if (by_path && path_prefix(path(row, edge.as_tgt_subsystem), edge.as_tgt_uplvl) != want) {
          continue;
        }
        set_path(row, above, edge.e_subsystem);
        if (in == 0 && !links_ && spec_.rows[row].parent != GraphSpec::kNone)
          return refuse(to, "a second place in subsystem " + spec_.subsystems[0]);
        join(in, above, row);
        made_[to].push_back(row);
      }
    }
  }

  void join(std::uint32_t in, std::uint32_t above, std::uint32_t row) {
    if (in == 0 && spec_.rows[row].parent == GraphSpec::kNone) {
      spec_.rows[row].parent = above;
      edges_.push_back({0, above, row});
    } else if (in != 0 || spec_.rows[row].parent != above) {
      spec_.edges.push_back({in, above, row});
    }
  }

  void add_paths() {
    for (std::uint32_t row = 0; row < paths_.size(); ++row) {
      for (const auto& [in, text] : paths_[row]) {
        spec_.paths.push_back({row, subsystem(in), text});
      }
    }
  }

  const Recipe& recipe_;
  const bool with_paths_;
  const bool links_;  // may a vertex stand below two others?
  GraphSpec spec_;
  std::vector<GraphSpec::Edge> edges_;            // of the dominant subsystem
  std::vector<std::vector<std::uint32_t>> made_;  // recipe vertex -> rows made or joined from it
  std::deque<std::int64_t> scales_;               // multi_scale of the levels above, nearest first
  std::map<std::string, std::uint32_t> roots_;    // by subsystem
  std::map<RecipeV, Words> words_;
  std::map<std::uint32_t, std::vector<std::uint32_t>>
      by_type_;                                            // rows, in the order they were made
  std::vector<std::map<std::string, std::string>> paths_;  // row -> subsystem -> path
  std::int32_t next_rank_ = 0;
};

// Boost copies visitors; what it sees is outside.
struct Visitor : boost::default_dfs_visitor {
  explicit Visitor(Unrolling& u) : unrolling(&u) {}
  void tree_edge(RecipeE e, const Recipe&) { unrolling->tree_edge(e); }
  void finish_vertex(RecipeV, const Recipe&) { unrolling->finish_vertex(); }
  Unrolling* unrolling;
};

}  // namespace

Result<GraphSpec> read_grug(std::string_view bytes, const GraphOptions& options) {
  const auto recipe = read_recipe(bytes);
  if (!recipe) return tl::unexpected(recipe.error());
  if (num_vertices(**recipe) == 0) {
    return fail(Errc::invalid_argument, "the recipe has no vertices", "GraphML");
  }
  Unrolling unrolling(**recipe, options);
  boost::depth_first_search(**recipe, boost::visitor(Visitor(unrolling)));
  return std::move(unrolling).result();
}

}  // namespace holon::resource
