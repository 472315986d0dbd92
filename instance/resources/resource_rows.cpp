#include "instance/resources/resource_rows.hpp"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>

namespace holon::instance {

using resource::Allocation;
using resource::GraphSpec;
using resource::Holding;
using resource::StoreOptions;
using resource::VertexId;

namespace {

constexpr const char* kRowTables[] = {"meta",  "vertices",    "properties", "paths",
                                      "edges", "allocations", "shares",     "labels"};

// Values of a vertex's column `up`; 1: it is up and not drained.
constexpr std::int64_t kDown = 0;
constexpr std::int64_t kDrained = 2;

std::int64_t status_of(const resource::Vertex& vertex) {
  if (!vertex.up) return kDown;
  return vertex.drained ? kDrained : 1;
}

std::int64_t row_number(JobId job) {
  return static_cast<std::int64_t>(job.value());
}

tl::unexpected<Error> damaged(std::string what, std::string where) {
  return fail(Errc::invalid_argument, std::move(what), std::move(where));
}

}  // namespace

// ---- writing

void RowWriter::clear() {
  for (const char* table : kRowTables) db_.exec(fmt::format("DELETE FROM {}", table));
}

void RowWriter::meta() {
  RowStatement put(db_, "INSERT OR REPLACE INTO meta VALUES(?,?)");
  const StoreOptions& options = store_.options();
  put("match_policy", options.match_policy);
  put("prune_filters", options.prune_filters);
  put("traverser", options.traverser);
  put("horizon_begin", std::to_string(options.horizon.begin));
  put("horizon_end", std::to_string(options.horizon.end));
  put("as_fluxion", std::to_string(static_cast<int>(options.as_fluxion)));
  const auto& subsystems = graph_.subsystems();
  put("subsystems", std::to_string(subsystems.size()));
  for (std::size_t i = 0; i < subsystems.size(); ++i)
    put(fmt::format("subsystem {}", i), subsystems[i]);
}

void RowWriter::vertex(VertexId v) {
  const resource::Vertex& vertex = graph_[v];
  const VertexId parent = graph_.parent(v);
  std::optional<std::int64_t> above;
  if (parent != resource::kNoVertex) above = graph_[parent].uniq_id;
  const auto text = [](std::string_view given) {
    return given.empty() ? std::nullopt : std::optional(given);
  };
  std::optional<std::string_view> name;
  if (vertex.name.value() != GraphSpec::kNone) name = graph_.words().names.text(vertex.name);
  vertices_(vertex.uniq_id, std::int64_t{v.value()}, above, graph_.type_name(v), graph_.basename(v),
            name, vertex.id, std::int64_t{vertex.rank}, vertex.size, text(graph_.unit(v)),
            status_of(vertex), text(graph_.extensions(v)));
  drop_properties_(vertex.uniq_id);
  for (const auto& property : graph_.properties(v))
    properties_(vertex.uniq_id, graph_.words().names.text(property.key),
                graph_.words().names.text(property.value));
  for (std::uint32_t s = 0; s < graph_.subsystems().size(); ++s)
    if (const std::string* path = graph_.given_path(v, s))
      paths_(vertex.uniq_id, std::int64_t{s}, *path);
}

void RowWriter::shape() {
  db_.exec("DELETE FROM edges");
  RowStatement put(db_, "INSERT INTO edges VALUES(?,?,?,?)");
  std::int64_t place = 0;
  for (const auto& edge : graph_.aux_edges())
    put(place++, std::int64_t{edge.subsystem}, graph_[edge.source].uniq_id,
        graph_[edge.target].uniq_id);
  std::vector<std::int64_t> gone;
  SQLite::Statement all(db_, "SELECT uniq_id FROM vertices");
  while (all.executeStep())
    if (!graph_.find_uniq(all.getColumn(0).getInt64())) gone.push_back(all.getColumn(0));
  RowStatement vertices(db_, "DELETE FROM vertices WHERE uniq_id=?");
  RowStatement paths(db_, "DELETE FROM paths WHERE uniq_id=?");
  for (const std::int64_t uniq_id : gone) {
    vertices(uniq_id);
    drop_properties_(uniq_id);
    paths(uniq_id);
  }
}

void RowWriter::drop(JobId job) {
  drop_allocation_(row_number(job));
  drop_shares_(row_number(job));
  drop_labels_(row_number(job));
}

void RowWriter::holding(const Holding& holding) {
  const Allocation& allocation = holding.allocation;
  const std::int64_t job = row_number(allocation.job);
  allocations_(job, allocation.when.begin, allocation.when.end, holding.held.begin,
               holding.held.end, std::int64_t{holding.reserved});
  std::int64_t place = 0;
  for (const auto& share : allocation.shares)
    shares_(job, place++, share.uniq_id, share.amount, std::int64_t{share.exclusive});
  place = 0;
  for (const auto& [uniq_id, label] : allocation.labels) labels_(job, place++, uniq_id, label);
}

// ---- reading

Result<StoreOptions> RowReader::options() {
  SQLite::Statement all(db_, "SELECT key, value FROM meta");
  while (all.executeStep()) meta_[all.getColumn(0).getString()] = all.getColumn(1).getString();
  StoreOptions options;
  options.match_policy = meta_["match_policy"];
  options.prune_filters = meta_["prune_filters"];
  options.traverser = meta_["traverser"];
  options.as_fluxion = meta_["as_fluxion"] == "1";
  const auto begin = whole("horizon_begin"), end = whole("horizon_end");
  if (!begin || !end) return damaged("the horizon is missing or no number", "table meta");
  options.horizon = {*begin, *end};
  return options;
}

Result<GraphSpec> RowReader::graph() {
  if (auto ok = subsystems(); !ok) return tl::unexpected(ok.error());
  if (auto ok = vertices(); !ok) return tl::unexpected(ok.error());
  if (auto ok = properties(); !ok) return tl::unexpected(ok.error());
  if (auto ok = paths(); !ok) return tl::unexpected(ok.error());
  if (auto ok = edges(); !ok) return tl::unexpected(ok.error());
  return std::move(spec_);
}

std::vector<Holding> RowReader::holdings() {
  std::vector<Holding> list;
  std::unordered_map<std::int64_t, std::size_t> of_job;
  SQLite::Statement jobs(db_, "SELECT * FROM allocations ORDER BY job");
  while (jobs.executeStep()) {
    const auto at = [&](int column) { return jobs.getColumn(column).getInt64(); };
    of_job[at(0)] = list.size();
    Holding holding;
    holding.allocation.job = JobId{static_cast<std::uint64_t>(at(0))};
    holding.allocation.when = {at(1), at(2)};
    holding.held = {at(3), at(4)};
    holding.reserved = at(5) != 0;
    list.push_back(std::move(holding));
  }
  SQLite::Statement shares(db_, "SELECT * FROM shares ORDER BY job, place");
  while (shares.executeStep())
    if (const auto job = of_job.find(shares.getColumn(0).getInt64()); job != of_job.end())
      list[job->second].allocation.shares.push_back({shares.getColumn(2).getInt64(),
                                                     shares.getColumn(3).getInt64(),
                                                     shares.getColumn(4).getInt64() != 0});
  SQLite::Statement labels(db_, "SELECT * FROM labels ORDER BY job, place");
  while (labels.executeStep())
    if (const auto job = of_job.find(labels.getColumn(0).getInt64()); job != of_job.end())
      list[job->second].allocation.labels.emplace_back(labels.getColumn(2).getInt64(),
                                                       labels.getColumn(3).getString());
  return list;
}

std::optional<std::int64_t> RowReader::whole(const std::string& key) {
  const std::string& text = meta_[key];
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc{} && end == text.data() + text.size() && !text.empty()
             ? std::optional(value)
             : std::nullopt;
}

Status RowReader::subsystems() {
  const auto count = whole("subsystems");
  if (!count || *count < 1 || *count > 255)
    return damaged("the number of subsystems is missing or not within 1 and 255", "table meta");
  spec_.subsystems.clear();
  for (std::int64_t i = 0; i < *count; ++i)
    spec_.subsystems.push_back(meta_[fmt::format("subsystem {}", i)]);
  return {};
}

Status RowReader::vertices() {
  SQLite::Statement all(db_,
                        "SELECT uniq_id, parent, type, basename, name, id, rank, size, unit, up, "
                        "extensions FROM vertices ORDER BY slot, uniq_id");
  while (all.executeStep()) {
    const auto row = vertex(all);
    if (!row) return tl::unexpected(row.error());
    const auto number = static_cast<std::uint32_t>(spec_.rows.size());
    if (!all.isColumnNull(10)) spec_.extensions.push_back({number, all.getColumn(10).getString()});
    row_of_[row->uniq_id] = number;
    spec_.rows.push_back(*row);
  }
  return {};
}

Result<GraphSpec::Row> RowReader::vertex(SQLite::Statement& from) {
  const auto whole_number = [&](int column) { return from.getColumn(column).getInt64(); };
  const auto name = [&](int column) {
    return spec_.words.names.intern(from.getColumn(column).getString());
  };
  GraphSpec::Row row;
  row.uniq_id = whole_number(0);
  const std::string where = fmt::format("table vertices, uniq_id {}", row.uniq_id);
  if (row.uniq_id < 0) return damaged("a uniq_id is not below 0", where);
  if (!from.isColumnNull(1)) {
    const auto parent = row_of_.find(whole_number(1));
    if (parent == row_of_.end())
      return damaged(fmt::format("its parent {} does not stand before it", whole_number(1)), where);
    row.parent = parent->second;
  }
  row.type = spec_.words.types.intern(from.getColumn(2).getString());
  row.basename = name(3);
  if (!from.isColumnNull(4)) row.name = name(4);
  row.id = whole_number(5);
  if (whole_number(6) < -1 || whole_number(6) > INT32_MAX)
    return damaged(fmt::format("a rank is not {}", whole_number(6)), where);
  row.rank = static_cast<std::int32_t>(whole_number(6));
  row.size = whole_number(7);
  if (!from.isColumnNull(8)) row.unit = name(8);
  row.up = whole_number(9) != kDown;
  row.drained = whole_number(9) == kDrained;
  if (!from.isColumnNull(10)) {
    const auto object = nlohmann::json::parse(from.getColumn(10).getString(), nullptr, false);
    if (!object.is_object()) return damaged("its extensions are no JSON object", where);
  }
  return row;
}

Result<std::uint32_t> RowReader::row(const SQLite::Column& uniq_id, const char* table) const {
  const auto at = row_of_.find(uniq_id.getInt64());
  if (at == row_of_.end())
    return damaged(fmt::format("there is no vertex {}", uniq_id.getInt64()),
                   fmt::format("table {}", table));
  return at->second;
}

Status RowReader::properties() {
  SQLite::Statement all(db_, "SELECT uniq_id, key, value FROM properties ORDER BY uniq_id, key");
  while (all.executeStep()) {
    const auto of = row(all.getColumn(0), "properties");
    if (!of) return tl::unexpected(of.error());
    spec_.properties.push_back({*of, all.getColumn(1).getString(), all.getColumn(2).getString()});
  }
  return {};
}

Result<std::uint32_t> RowReader::subsystem(const SQLite::Column& column, const char* table) const {
  const std::int64_t number = column.getInt64();
  if (number < 0 || number >= static_cast<std::int64_t>(spec_.subsystems.size()))
    return damaged(fmt::format("there is no subsystem {}", number), fmt::format("table {}", table));
  return static_cast<std::uint32_t>(number);
}

Status RowReader::paths() {
  SQLite::Statement all(db_, "SELECT uniq_id, subsystem, path FROM paths");
  while (all.executeStep()) {
    const auto of = row(all.getColumn(0), "paths");
    if (!of) return tl::unexpected(of.error());
    const auto in = subsystem(all.getColumn(1), "paths");
    if (!in) return tl::unexpected(in.error());
    spec_.paths.push_back({*of, *in, all.getColumn(2).getString()});
  }
  return {};
}

Status RowReader::edges() {
  SQLite::Statement all(db_, "SELECT subsystem, source, target FROM edges ORDER BY place");
  while (all.executeStep()) {
    const auto in = subsystem(all.getColumn(0), "edges");
    const auto source = row(all.getColumn(1), "edges"), target = row(all.getColumn(2), "edges");
    if (!in) return tl::unexpected(in.error());
    if (!source) return tl::unexpected(source.error());
    if (!target) return tl::unexpected(target.error());
    spec_.edges.push_back({*in, *source, *target});
  }
  return {};
}

}  // namespace holon::instance
