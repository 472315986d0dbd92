// The records go into the page as JSON, compressed: columns of numbers, and texts by their numbers.
// The page's scripts work out from them what a server would have answered (web/page/src/frozen.js).
#include "cli/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/report/plain.hpp"
#include "msg/job_filter.hpp"
#include "qmanager/selection.hpp"
#include "resource/jobspec/base64.hpp"
#include "web/details.hpp"
#include "web/gzip.hpp"
#include "web/listing.hpp"
#include "web/page_files.hpp"

namespace holon::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A column of the rows of jobs: its name, and whether its numbers are those of texts.
struct JobColumn {
  const char* name;
  bool is_text;
};
constexpr std::array<JobColumn, 23> kJobColumns = {{
    {"id", false},    {"submit", false}, {"start", false},      {"end", false},
    {"cores", false}, {"state", true},   {"user", true},        {"name", true},
    {"label", true},  {"queue", true},   {"nodes", true},       {"exit", false},
    {"reason", true}, {"how", false},    {"limit", false},      {"command", true},
    {"entry", true},  {"output", true},  {"resources", true},   {"tasks", true},
    {"until", false}, {"cpu_ms", false}, {"max_rss_kb", false},
}};

std::int64_t how_started(const msg::JobRecord& job) {
  return static_cast<std::int64_t>(qmanager::selection_of(job.selection));
}

Time record_end(const msg::JobRecord& job) {
  return web::is_over(job) ? web::end_of_run(job, 0) : 0;
}

Json failures_json_of(const std::vector<const msg::JobRecord*>& jobs,
                      const std::map<std::string, std::string>& last_lines) {
  const auto last_line = [&](const msg::JobRecord& job) {
    const auto found = last_lines.find(job.path);
    return found == last_lines.end() ? std::string() : found->second;
  };
  Json groups = Json::array();
  for (const auto& group : web::failures_of(jobs, last_line)) {
    Json named = Json::array();
    for (const auto* job : group.newest)
      named.push_back({{"path", job->path}, {"id", msg::label_of(*job)}, {"name", job->name}});
    groups.push_back({{"result", group.result},
                      {"exit", group.exit_code},
                      {"line", group.line},
                      {"jobs", group.jobs},
                      {"named", named}});
  }
  return groups;
}

Json rows_json(const std::vector<web::Row>& rows) {
  Json all = Json::array();
  for (const auto& row : rows) all.push_back({row.name, row.lanes});
  return all;
}

// Where the jobs ran, on the nodes that their records name.
struct Placed {
  std::vector<web::Row> rows;
  std::vector<std::vector<ReportPlace>> places;
};
Placed placed_on_nodes(const ReportPart& part, const std::vector<const msg::JobRecord*>& jobs,
                       Time now) {
  const web::LayoutInput input{jobs, {}, part.hosts, web::RowsBy::nodes, web::ColourBy::result,
                               now};
  const web::Layout layout = web::lay_out(input);
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < jobs.size(); ++i) index.emplace(jobs[i]->path, i);
  Placed placed{layout.rows, std::vector<std::vector<ReportPlace>>(jobs.size())};
  for (const auto& piece : layout.pieces) {
    const auto job = index.find(layout.subjects[piece.subject].path);
    if (piece.kind == web::Kind::planned || job == index.end()) continue;
    placed.places[job->second].push_back({piece.row, piece.lane, piece.lanes});
  }
  return placed;
}

std::string places_json(const std::vector<std::vector<ReportPlace>>& places) {
  std::string all = "[";
  for (const auto& of_job : places) {
    all += all.size() > 1 ? ",[" : "[";
    for (const auto& at : of_job)
      all += fmt::format("{}{},{},{}", &at == of_job.data() ? "" : ",", at.row, at.lane, at.lanes);
    all += "]";
  }
  return all + "]";
}

// A run as its job, begin and end, then its places.
Json lost_json(const std::vector<ReportLost>& lost) {
  Json all = Json::array();
  for (const auto& run : lost) {
    Json row = {run.job, run.begin, run.end};
    for (const auto& at : run.places) row.insert(row.end(), {at.row, at.lane, at.lanes});
    all.push_back(std::move(row));
  }
  return all;
}

Json grants_json(const ReportGrants& grants) {
  Json pieces = Json::array();
  for (const auto& piece : grants.pieces)
    pieces.push_back({piece.at.row, piece.at.lane, piece.at.lanes, piece.begin, piece.end,
                      piece.colour, piece.label});
  return {{"rows", rows_json(grants.rows)}, {"colours", grants.colours}, {"pieces", pieces}};
}

Json hosts_json(const std::vector<web::Host>& hosts) {
  Json all = Json::array();
  for (const auto& host : hosts)
    all.push_back({{"name", host.name},
                   {"cores", host.cores},
                   {"gpus", host.gpus},
                   {"state", host.state},
                   {"reason", host.reason}});
  return all;
}

Json four(const sim::Distribution& of, double factor) {
  return {of.mean * factor, of.median * factor, of.p95 * factor, of.max * factor};
}

Json figures_json(const sim::PolicyRun& run, bool won) {
  const sim::Metrics& m = run.metrics;
  Json sizes = Json::array();
  for (const auto& size : m.sizes) sizes.push_back({size.name, size.jobs, size.wait.mean * 1'000});
  return {{"name", run.name},
          {"best", won},
          {"jobs", m.jobs},
          {"wait", four(m.wait, 1'000)},
          {"slowdown", four(m.bounded_slowdown, 1)},
          {"utilization", m.utilization},
          {"makespan", m.makespan * 1'000 / std::max<std::int64_t>(run.ticks_per_second, 1)},
          {"backfilled", m.backfilled_share},
          {"overtaking", m.overtaking_share},
          {"sizes", sizes}};
}

}  // namespace

std::size_t ReportPage::text(const std::string& words) {
  const auto [place, is_new] = numbers_.try_emplace(words, texts_.size());
  if (is_new) texts_.push_back(words);
  return place->second;
}

// In the order of kJobColumns; zeros at the end are left out.
std::string ReportPage::row_of(const msg::JobRecord& job, Time first) {
  const auto behind = [&job](Time time) { return time > 0 ? time - job.t_submit + 1 : 0; };
  const auto number = [this](const std::string& words) {
    return static_cast<std::int64_t>(text(words));
  };
  const std::string label = msg::label_of(job);
  const std::array<std::int64_t, kJobColumns.size()> values = {
      static_cast<std::int64_t>(job.id),
      job.t_submit - first,
      behind(web::start_of(job)),
      behind(record_end(job)),
      job.ncores,
      number(msg::state_word(job)),
      number(job.user),
      number(job.name),
      number(label == std::to_string(job.id) ? "" : label),
      number(job.queue),
      number(job.nodelist),
      std::max(job.exit_code, -1) + 1,  // 0: it has none
      number(job.reason),
      how_started(job),
      job.limit,
      number(job.command),
      number(job.entry),
      number(job.output),
      number(job.resources),
      number(job.tasks > 0 ? msg::tasks_text(job) : ""),
      behind(job.expiration),
      job.cpu_ms,
      job.max_rss_kb};
  std::size_t last = values.size();
  while (last > 0 && values[last - 1] == 0) --last;
  return fmt::format("[{}]", fmt::join(values.begin(), values.begin() + last, ","));
}

void ReportPage::add(const ReportPart& part, const sim::PolicyRun& figures) {
  std::vector<const msg::JobRecord*> jobs;
  Time first = head_.now, last = 0;
  std::uint64_t failed = 0;
  for (const auto& job : part.jobs) {
    jobs.push_back(&job);
    first = std::min(first, job.t_submit);
    last = std::max(last, web::is_over(job) ? record_end(job) : head_.now);
    failed += job.tasks > 0 ? job.tasks_failed : web::has_failed(job) ? 1 : 0;
  }
  std::string rows;
  for (const auto* job : jobs) rows += (rows.empty() ? "" : ",") + row_of(*job, first);
  const bool is_placed = !part.places.empty();
  const Placed placed =
      is_placed ? Placed{part.rows, part.places} : placed_on_nodes(part, jobs, head_.now);
  Json json = {{"path", part.node.path},
               {"first", first},
               {"last", std::max(last, first + 1)},
               {"instance",
                {{"path", part.node.path},
                 {"name", part.node.name},
                 {"health", "up"},
                 {"cores", part.node.cores},
                 {"free", part.node.cores},
                 {"failed", failed},
                 {"pending", 0}}},
               {"hosts", hosts_json(part.hosts)},
               {"rows", rows_json(placed.rows)},
               {"failures", failures_json_of(jobs, head_.last_lines)}};
  if (!part.lost.empty()) json["lost"] = lost_json(part.lost);
  if (part.grants) json["grants"] = grants_json(*part.grants);
  std::string text = dumped_json(json);
  text.pop_back();
  parts_ += (parts_.empty() ? "" : ",") + text + ",\"places\":" + places_json(placed.places) +
            ",\"jobs\":[" + rows + "]}";
  add_figures(figures);
}

void ReportPage::add_figures(const sim::PolicyRun& figures) {
  const bool won = std::find(head_.won.begin(), head_.won.end(), figures.name) != head_.won.end();
  figures_ += (figures_.empty() ? "" : ",") + dumped_json(figures_json(figures, won));
  plain_rows_ += plain_row(figures);
}

Result<std::string> ReportPage::html() const {
  const auto* const script = web::page_file(web::kReportScript);
  const auto* const style = web::page_file("page.css");
  if (script == nullptr || style == nullptr)
    return fail(Errc::unsupported,
                "this holon was built without the page, as npm or esbuild was missing");
  Json columns = Json::array(), facts = Json::array();
  for (const auto& column : kJobColumns) columns.push_back({column.name, column.is_text});
  for (const auto& [name, value] : head_.facts) facts.push_back({name, value});
  std::string json = dumped_json({{"title", head_.title},
                                  {"verdict", head_.verdict},
                                  {"facts", facts},
                                  {"note", head_.note},
                                  {"now", head_.now},
                                  {"elapsed", head_.elapsed},
                                  {"colour", head_.colour},
                                  {"best", head_.best},
                                  {"columns", columns},
                                  {"texts", texts_}});
  json.pop_back();
  json += ",\"figures\":[" + figures_ + "],\"parts\":[" + parts_ + "]}";
  // Only these two may run and colour; the records are text, whatever stands in them.
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; "
      "style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title><link rel=\"icon\" href=\"data:,\">\n",
      script->hash, style->hash, escaped_html(head_.title));
  page +=
      "<style>" + web::from_gzip(style->bytes) + "</style></head>\n<body><div id=\"app\"></div>\n";
  page += plain_report(head_.title, head_.verdict, head_.facts, plain_rows_);
  page += "<script type=\"application/octet-stream\" id=\"frozen\">" +
          resource::to_base64(web::to_gzip(json, 9)) + "</script>\n";
  return page + "<script>" + web::from_gzip(script->bytes) + "</script></body></html>\n";
}

}  // namespace holon::cli
