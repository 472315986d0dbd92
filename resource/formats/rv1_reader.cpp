// Rv1 (RFC 20) in: the text as a document, a document as a graph (Fluxion's rv1exec).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hostlist.hpp"
#include "resource/formats/json.hpp"
#include "resource/formats/readers.hpp"
#include "resource/formats/rv1_document.hpp"

namespace holon::resource {
namespace {

constexpr std::uint64_t kMaxRank = INT32_MAX;

// An idset of at most `limit` ids below `above`.
Result<Idset> read_ids(const JsonAt& at, std::uint64_t above, std::uint64_t limit) {
  const auto text = at.string();
  if (!text) return tl::unexpected(text.error());
  auto ids = Idset::parse(*text);
  if (!ids) return at.error(to_string(ids.error()));
  if (!ids->empty() && ids->last() >= above) return at.error(fmt::format("an id above {}", above));
  if (ids->count() > limit) return at.error(fmt::format("more than {} ids", limit));
  return ids;
}

class Rv1Reader {
 public:
  Result<Rv1Document> read(const JsonAt& top) {
    const auto version = top.member("version");
    if (!version) return tl::unexpected(version.error());
    const auto number = version->integer(1, 1);
    if (!number) return tl::unexpected(number.error());
    const auto execution = top.member("execution");
    if (!execution) return tl::unexpected(execution.error());
    for (const auto step :
         {&Rv1Reader::read_r_lite, &Rv1Reader::read_nodelist, &Rv1Reader::read_properties,
          &Rv1Reader::read_memory, &Rv1Reader::read_numbers}) {
      if (auto ok = (this->*step)(*execution); !ok) return tl::unexpected(ok.error());
    }
    if (top.has("scheduling")) document_.scheduling = top.member("scheduling")->value().dump();
    if (top.has("attributes")) document_.attributes = top.member("attributes")->value().dump();
    return std::move(document_);
  }

 private:
  Status read_r_lite(const JsonAt& execution) {
    const auto entries = execution.member("R_lite");
    if (!entries) return tl::unexpected(entries.error());
    if (auto ok = entries->expect_array(); !ok) return ok;
    for (std::size_t i = 0; i < entries->value().size(); ++i) {
      if (auto ok = read_entry(entries->element(i)); !ok) return ok;
    }
    return {};
  }

  Status read_entry(const JsonAt& entry) {
    const auto rank_at = entry.member("rank");
    if (!rank_at) return tl::unexpected(rank_at.error());
    const auto ranks = read_ids(*rank_at, kMaxRank, kMaxVertices);
    if (!ranks) return tl::unexpected(ranks.error());
    const auto children_at = entry.member("children");
    if (!children_at) return tl::unexpected(children_at.error());
    auto children = read_children(*children_at);
    if (!children) return tl::unexpected(children.error());
    std::uint64_t each = 1;
    for (const auto& [type, ids] : *children) each += ids.count();
    vertices_ += each * ranks->count();
    if (each > kMaxVertices || vertices_ > kMaxVertices) {
      return fail(Errc::out_of_range, fmt::format("more than {} vertices", kMaxVertices),
                  entry.pointer());
    }
    for (const auto rank : ranks->ids()) {
      if (ranks_.contains(rank)) return rank_at->error(fmt::format("rank {} is given twice", rank));
      ranks_.insert(rank);
      Rv1Document::Host host;
      host.rank = static_cast<std::int32_t>(rank);
      host.children = *children;
      document_.hosts.push_back(std::move(host));
    }
    return {};
  }

  Result<std::vector<std::pair<std::string, Idset>>> read_children(const JsonAt& at) {
    if (auto ok = at.expect_object(); !ok) return tl::unexpected(ok.error());
    std::vector<std::pair<std::string, Idset>> children;
    for (const auto& [type, value] : at.value().items()) {
      auto ids = read_ids(*at.member(type), Idset::kMax, kMaxVertices);
      if (!ids) return tl::unexpected(ids.error());
      children.emplace_back(type, *std::move(ids));
    }
    return children;
  }

  // The n-th host has the n-th rank in ascending order, whatever the order of R_lite.
  Status read_nodelist(const JsonAt& execution) {
    const auto at = execution.member("nodelist");
    if (!at) return tl::unexpected(at.error());
    if (auto ok = at->expect_array(); !ok) return ok;
    Hostlist hosts;
    for (std::size_t i = 0; i < at->value().size(); ++i) {
      const auto element = at->element(i);
      const auto text = element.string();
      if (!text) return tl::unexpected(text.error());
      const auto some = Hostlist::parse(*text);
      if (!some) return element.error(to_string(some.error()));
      hosts.append(*some);
    }
    if (hosts.count() != document_.hosts.size()) {
      return at->error(fmt::format("{} hosts for {} ranks", hosts.count(), document_.hosts.size()));
    }
    const auto names = hosts.hosts();
    std::vector<Rv1Document::Host*> by_rank;
    for (auto& host : document_.hosts) by_rank.push_back(&host);
    std::ranges::sort(by_rank, {}, [](const auto* host) { return host->rank; });
    for (std::size_t i = 0; i < names.size(); ++i) by_rank[i]->name = names[i];
    return {};
  }

  Status read_properties(const JsonAt& execution) {
    if (!execution.has("properties")) return {};
    const auto at = *execution.member("properties");
    if (auto ok = at.expect_object(); !ok) return ok;
    for (const auto& [name, value] : at.value().items()) {
      const auto ranks = read_ids(*at.member(name), kMaxRank, kMaxVertices);
      if (!ranks) return tl::unexpected(ranks.error());
      document_.properties[name] = *ranks;
    }
    return {};
  }

  Status read_memory(const JsonAt& execution) {
    if (!execution.has("x-memory")) return {};
    const auto at = *execution.member("x-memory");
    if (auto ok = at.expect_object(); !ok) return ok;
    for (const auto& [text, value] : at.value().items()) {
      const auto member = *at.member(text);
      const auto ranks = Idset::parse(text);
      if (!ranks) return member.error(to_string(ranks.error()));
      const auto amount = member.integer(1, INT64_MAX);
      if (!amount) return tl::unexpected(amount.error());
      for (auto& host : document_.hosts) {
        if (ranks->contains(static_cast<std::uint64_t>(host.rank))) host.memory = *amount;
      }
    }
    return {};
  }

  Status read_numbers(const JsonAt& execution) {
    for (const auto& [key, value] : {std::pair{"starttime", &document_.starttime},
                                     std::pair{"expiration", &document_.expiration}}) {
      if (!execution.has(key)) continue;
      const auto number = execution.member(key)->number();
      if (!number) return tl::unexpected(number.error());
      if (*number < 0) return execution.member(key)->error("a time cannot be negative");
      *value = *number;
    }
    if (!execution.has("nslots")) return {};
    const auto slots = execution.member("nslots")->integer(1, INT64_MAX);
    if (!slots) return tl::unexpected(slots.error());
    document_.nslots = *slots;
    return {};
  }

  Rv1Document document_;
  Idset ranks_;
  std::uint64_t vertices_ = 0;
};

// Splits "fluke007" into basename "fluke" and id 7; without digits, or with more than an id can
// have, the id is -1. False: the latter.
bool set_host_name(GraphSpec& spec, std::uint32_t row, const std::string& host) {
  const auto last = host.find_last_not_of("0123456789");
  const auto base = host.substr(0, last == host.npos ? 0 : last + 1);
  const auto digits = std::string_view(host).substr(base.size());
  std::int64_t id = -1;
  const auto code = std::from_chars(digits.data(), digits.data() + digits.size(), id).ec;
  auto& out = spec.rows[row];
  out.id = code == std::errc{} ? id : -1;
  out.basename = spec.words.names.intern(base.empty() ? host : base);
  const auto composed = out.id < 0 ? base : base + std::to_string(out.id);
  if (composed != host || base.empty()) out.name = spec.words.names.intern(host);
  return code != std::errc::result_out_of_range;
}

}  // namespace

Result<Rv1Document> parse_rv1_document(std::string_view bytes) {
  const auto json = parse_json(bytes);
  if (!json) return tl::unexpected(json.error());
  return Rv1Reader().read(JsonAt(*json, ""));
}

Result<GraphSpec> read_rv1(std::string_view bytes, Rv1Use use, const GraphOptions& options) {
  const auto document = parse_rv1_document(bytes);
  if (!document) return tl::unexpected(document.error());
  if (use == Rv1Use::scheduling_first &&
      document->scheduling.find("\"graph\"") != std::string::npos) {
    return read_jgf(bytes, options);
  }
  GraphSpec spec;
  const auto root = spec.add("cluster", 0, GraphSpec::kNone);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> nodes;  // rank, row
  for (const auto& host : document->hosts) {
    const auto node = spec.add("node", -1, root, host.rank);
    nodes.emplace_back(static_cast<std::uint64_t>(host.rank), node);
    if (!set_host_name(spec, node, host.name) && options.as_fluxion)
      return fail(Errc::out_of_range, "a host's number above " + std::to_string(INT64_MAX),
                  host.name);
    for (const auto& [type, ids] : host.children) {
      for (const auto id : ids.ids()) {
        spec.add(type, static_cast<std::int64_t>(id), node, host.rank);
      }
    }
    if (host.memory > 0) {
      const auto row = spec.add("memory", 0, node, host.rank, host.memory);
      spec.rows[row].unit = spec.words.names.intern("GiB");
    }
  }
  for (const auto& [name, ranks] : document->properties) {
    const auto equals = name.find('=');
    const auto key = options.as_fluxion ? name : name.substr(0, equals);
    const auto value =
        options.as_fluxion || equals == name.npos ? std::string{} : name.substr(equals + 1);
    // Goes by host: a property may claim many more ranks than there are.
    for (const auto& [rank, node] : nodes) {
      if (ranks.contains(rank)) spec.properties.push_back({node, key, value});
    }
  }
  return spec;
}

Result<Idset> rv1_ranks(std::string_view bytes) {
  const auto json = parse_json(bytes);
  if (!json) return tl::unexpected(json.error());
  const JsonAt top(*json, "");
  const auto execution = top.member("execution");
  if (!execution) return tl::unexpected(execution.error());
  const auto entries = execution->member("R_lite");
  if (!entries) return tl::unexpected(entries.error());
  if (auto ok = entries->expect_array(); !ok) return tl::unexpected(ok.error());
  Idset all;
  for (std::size_t i = 0; i < entries->value().size(); ++i) {
    const auto at = entries->element(i).member("rank");
    if (!at) return tl::unexpected(at.error());
    const auto ranks = read_ids(*at, kMaxRank, kMaxVertices);
    if (!ranks) return tl::unexpected(ranks.error());
    for (const auto& range : ranks->ranges()) all.insert(range.first, range.last);
  }
  return all;
}

}  // namespace holon::resource
