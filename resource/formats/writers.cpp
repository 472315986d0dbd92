// Fluxion's match formats out. All of them see the shares one after the other, children before
// their parent.
#include "resource/formats/writers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/hostlist.hpp"
#include "base/idset.hpp"
#include "resource/formats/jgf_writer.hpp"
#include "resource/formats/json.hpp"

namespace holon::resource {
namespace {

constexpr std::array<std::pair<std::string_view, WriteFormat>, 8> kFormats{{
    {"simple", WriteFormat::simple},
    {"pretty_simple", WriteFormat::pretty_simple},
    {"jgf", WriteFormat::jgf},
    {"jgf_shorthand", WriteFormat::jgf_shorthand},
    {"rlite", WriteFormat::rlite},
    {"rv1", WriteFormat::rv1},
    {"rv1_nosched", WriteFormat::rv1_nosched},
    {"rv1_shorthand", WriteFormat::rv1_shorthand},
}};

struct Emitted {
  VertexId vertex;
  VertexId above;           // as it was reached
  std::uint32_t depth = 0;  // on that way
  Amount amount = 1;        // as written: 1 if only passed through
  bool exclusive = false;
};

// A vertex reached by a link stands below another one than its parent, and so may those below it.
void follow_links(const ResourceGraph& graph, const Allocation& allocation,
                  std::vector<Emitted>& list) {
  std::unordered_map<std::int64_t, std::int64_t> via(allocation.links.begin(),
                                                     allocation.links.end());
  std::unordered_map<std::uint32_t, std::uint32_t> depth;  // by slot
  for (auto e = list.rbegin(); e != list.rend(); ++e) {    // vertices above come first
    const auto link = via.find(graph[e->vertex].uniq_id);
    if (link != via.end()) e->above = graph.find_uniq(link->second).value_or(e->above);
    const auto above = depth.find(e->above.value());
    if (above != depth.end()) e->depth = above->second + 1;
    depth[e->vertex.value()] = e->depth;
  }
}

Result<std::vector<Emitted>> emitted(const ResourceGraph& graph, const Allocation& allocation) {
  std::vector<Emitted> list;
  list.reserve(allocation.shares.size());
  for (const auto& share : allocation.shares) {
    const auto v = graph.find_uniq(share.uniq_id);
    if (!v) {
      return fail(Errc::not_found, "no vertex has this uniq_id",
                  fmt::format("uniq_id {}", share.uniq_id));
    }
    list.push_back({*v, graph.parent(*v), graph.depth(*v), share.amount > 0 ? share.amount : 1,
                    share.exclusive});
  }
  if (!allocation.links.empty()) follow_links(graph, allocation, list);
  return list;
}

// ---- simple, pretty_simple

std::string line(const ResourceGraph& graph, const Emitted& e, std::string_view exclusive,
                 std::string_view shared) {
  std::string text(6 + 3 * (e.depth + 1), '-');
  std::fill_n(text.begin(), 6, ' ');
  text += graph.name(e.vertex);
  text += '[';
  text += std::to_string(e.amount);
  text += ':';
  text += e.exclusive ? exclusive : shared;
  return text += "]\n";
}

std::string simple(const ResourceGraph& graph, const std::vector<Emitted>& list) {
  std::string text;
  for (const auto& e : list) text += line(graph, e, "x", "s");
  return text;
}

std::string pretty_simple(const ResourceGraph& graph, const std::vector<Emitted>& list) {
  std::string text;
  for (auto e = list.rbegin(); e != list.rend(); ++e)
    text += line(graph, *e, "exclusive", "shared");
  return text;
}

// ---- JGF

class JgfEmitter {
 public:
  JgfEmitter(const ResourceGraph& graph, const std::vector<Emitted>& list,
             const Allocation& allocation, const WriteNotes& notes)
      : graph_(graph), list_(list), notes_(notes), writer_(graph) {
    for (const auto& e : list) exclusive_.emplace(e.vertex.value(), e.exclusive);
    for (const auto& [uniq_id, label] : allocation.labels) labels_.emplace(uniq_id, label);
  }

  // The document; "" if no edge is left: Fluxion does not write a lone vertex.
  std::string write(bool shorthand) {
    bool whole = !(shorthand && notes_.shortened);
    for (const auto& e : list_) {
      const auto above = exclusive_.find(e.above.value());
      if (shorthand && !notes_.nothing_implied && above != exclusive_.end() && above->second) {
        whole = false;
        continue;
      }
      vertex(e);
      if (above != exclusive_.end()) writer_.edge(e.above, e.vertex, 0);
    }
    if (!writer_.has_edges()) return {};
    return std::move(writer_).str(whole ? "" : "fluxion:jgf_shorthand");
  }

 private:
  void vertex(const Emitted& e) {
    const auto uniq_id = graph_[e.vertex].uniq_id;
    JgfExtras extras;
    extras.size = e.amount;
    extras.exclusive = e.exclusive;
    if (const auto it = labels_.find(uniq_id); it != labels_.end()) extras.label = it->second;
    const auto agfilter = notes_.agfilter.find(uniq_id);
    if (agfilter != notes_.agfilter.end()) extras.agfilter = &agfilter->second;
    writer_.vertex(e.vertex, extras);
  }

  const ResourceGraph& graph_;
  const std::vector<Emitted>& list_;
  const WriteNotes& notes_;
  JgfWriter writer_;
  std::unordered_map<std::uint32_t, bool> exclusive_;
  std::unordered_map<std::int64_t, std::string_view> labels_;
};

// ---- R_lite

// Gathers cores and GPUs until the node above them comes by, as in Fluxion: those below no node go
// to the next one.
class RliteEmitter {
 public:
  explicit RliteEmitter(const ResourceGraph& graph) : graph_(graph) {}

  Status add(VertexId v) {
    const auto& type = graph_.type_name(v);
    if (type == "core") return gather(v, cores_);
    if (type == "gpu") return gather(v, gpus_);
    if (type == "node" || type == "storage_node") return close(v);
    return {};
  }

  bool empty() const { return entries_.empty(); }

  std::string rlite() const {
    std::string text;
    for (const auto& [children, ranks] : entries_) {
      text += text.empty() ? "[" : ", ";
      text += "{\"rank\": \"" + ranks.str() + "\", \"children\": " + children + '}';
    }
    return text + ']';
  }

  // The rest of Rv1's `execution` before its times.
  std::string nodelist_and_properties() {
    std::ranges::stable_sort(hosts_, {}, [](const auto& host) { return host.first; });
    Hostlist list;
    for (const auto& [rank, name] : hosts_) list.append(name);
    std::string text = "\"nodelist\": [";
    append_quoted(text, list.str());
    text += ']';
    const char* comma = ", \"properties\": {";
    for (const auto& [name, ranks] : properties_) {
      text += comma;
      append_quoted(text, name);
      text += ": \"" + ranks.str() + '"';
      comma = ", ";
    }
    if (!properties_.empty()) text += '}';
    return text;
  }

 private:
  Status gather(VertexId v, Idset& ids) {
    if (graph_[v].id < 0) {
      return fail(Errc::invalid_argument, "a core or GPU without number cannot stand in R_lite",
                  graph_.path(v));
    }
    ids.insert(static_cast<std::uint64_t>(graph_[v].id));
    return {};
  }

  Status close(VertexId node) {
    if (cores_.empty() && gpus_.empty()) return {};
    const auto rank = graph_[node].rank;
    if (rank < 0) {
      return fail(Errc::invalid_argument, "a node without rank cannot stand in R_lite",
                  graph_.path(node));
    }
    const auto id = static_cast<std::uint64_t>(rank);
    entries_[take_children()].insert(id);
    hosts_.emplace_back(rank, graph_.name(node));
    for (const auto& p : graph_.properties(node)) {
      const auto& value = graph_.words().names.text(p.value);
      const auto& key = graph_.words().names.text(p.key);
      properties_[value.empty() ? key : key + "=" + value].insert(id);
    }
    return {};
  }

  std::string take_children() {
    std::string text = "{";
    if (!cores_.empty()) text += "\"core\": \"" + cores_.str() + '"';
    if (!cores_.empty() && !gpus_.empty()) text += ", ";
    if (!gpus_.empty()) text += "\"gpu\": \"" + gpus_.str() + '"';
    cores_ = gpus_ = {};
    return text + '}';
  }

  const ResourceGraph& graph_;
  Idset cores_, gpus_;
  std::map<std::string, Idset> entries_;  // children -> ranks
  std::vector<std::pair<std::int32_t, std::string>> hosts_;
  std::map<std::string, Idset> properties_;
};

std::string rv1(RliteEmitter& rlite, Interval when, std::string_view scheduling,
                std::string_view queue) {
  auto text = fmt::format(
      "{{\"version\": 1, \"execution\": {{\"R_lite\": {}, {}, \"starttime\": {}, \"expiration\": "
      "{}}}",
      rlite.rlite(), rlite.nodelist_and_properties(), when.begin, when.end);
  if (!scheduling.empty()) text += fmt::format(", \"scheduling\": {}", scheduling);
  if (!queue.empty()) {
    text += ", \"attributes\": {\"system\": {\"scheduler\": {\"queue\": ";
    append_quoted(text, queue);
    text += "}}}";
  }
  return text + "}\n";
}

}  // namespace

std::optional<WriteFormat> find_write_format(std::string_view name) {
  const auto it = std::ranges::find(kFormats, name, [](const auto& f) { return f.first; });
  return it == kFormats.end() ? std::nullopt : std::optional{it->second};
}

Result<std::string> write_allocation(WriteFormat format, const ResourceGraph& graph,
                                     const Allocation& allocation, const WriteNotes& notes) {
  const auto list = emitted(graph, allocation);
  if (!list) return tl::unexpected(list.error());
  if (list->empty()) return std::string{};
  if (format == WriteFormat::simple) return simple(graph, *list);
  if (format == WriteFormat::pretty_simple) return pretty_simple(graph, *list);
  const auto jgf = [&](bool shorthand) {
    return JgfEmitter(graph, *list, allocation, notes).write(shorthand);
  };
  if (format == WriteFormat::jgf || format == WriteFormat::jgf_shorthand) {
    auto text = jgf(format == WriteFormat::jgf_shorthand);
    if (!text.empty()) text += '\n';
    return text;
  }

  RliteEmitter rlite(graph);
  for (const auto& e : *list) {
    if (auto ok = rlite.add(e.vertex); !ok) return tl::unexpected(ok.error());
  }
  if (rlite.empty()) return std::string{};
  if (format == WriteFormat::rlite) return rlite.rlite() + '\n';
  if (format == WriteFormat::rv1_nosched) return rv1(rlite, allocation.when, "", "");
  return rv1(rlite, allocation.when, jgf(format == WriteFormat::rv1_shorthand), notes.queue);
}

}  // namespace holon::resource
