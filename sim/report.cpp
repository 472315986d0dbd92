// The numbers go into the page as JSON, a script draws them on canvases. A picture drawn
// here would be tens of megabytes for a year of jobs; the data are two.
#include "sim/report.hpp"

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include <fmt/core.h>

#include "sim/report_page.hpp"
#include "sim/series.hpp"

namespace holon::sim {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kSlices = 800;

std::string escaped(const std::string& text) {
  std::string safe;
  for (char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

Json rounded(const std::vector<double>& values) {
  Json list = Json::array();
  for (double value : values)
    list.push_back(static_cast<double>(static_cast<std::int64_t>(value * 100 + 0.5)) / 100);
  return list;
}

// Seconds; whole numbers if a tick is a second.
Json in_seconds(const ReportInput& input, Time ticks) {
  const std::int64_t second = input.workload.ticks_per_second;
  if (second == 1) return ticks;
  return static_cast<double>(ticks) / static_cast<double>(second);
}

// Users by their numbers, in the order of their first jobs.
using Users = std::map<std::string, std::size_t>;

Users users_of(const Workload& workload) {
  Users users;
  for (const TraceJob& job : workload.jobs) users.emplace(job.user, users.size());
  return users;
}

// [job id, start, end, first processor, processors, how it was started, wait, user, how it ended];
// times in seconds from the first submission on. How: 0 in turn, 1 backfilled, 2 as reserved.
Json gantt(const ReportInput& input, const SimResult& result, const Users& users) {
  Json list = Json::array();
  for (const Rectangle& r : rectangles(input.workload, result, input.procs)) {
    const TraceJob& job = input.workload.jobs[r.job];
    const JobOutcome& outcome = result.jobs[r.job];
    const Time start = *outcome.start - result.first_submit;
    const int how = outcome.selection == qmanager::Selection::backfill   ? 1
                    : outcome.selection == qmanager::Selection::reserved ? 2
                                                                         : 0;
    const int ended = input.ends.empty() ? 0 : static_cast<int>(input.ends[r.job]);
    list.push_back({job.id, in_seconds(input, start), in_seconds(input, start + job.run), r.first,
                    r.count, how, in_seconds(input, *outcome.start - outcome.submitted),
                    users.at(job.user), ended});
  }
  return list;
}

Json sizes(const Metrics& metrics) {
  Json list = Json::array();
  for (const SizeClass& size : metrics.sizes)
    list.push_back({{"size", size.name}, {"jobs", size.jobs}, {"wait", size.wait.mean}});
  return list;
}

// "2 d 7 h", "52 min", "9 s": the two largest units.
std::string span_text(double seconds) {
  if (seconds > 0 && seconds < 1) return fmt::format("{:.0f} ms", seconds * 1000);
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  constexpr std::array<std::pair<std::int64_t, const char*>, 4> kUnits = {
      {{86'400, "d"}, {3'600, "h"}, {60, "min"}, {1, "s"}}};
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    const auto [length, name] = kUnits[i];
    if (whole < length) continue;
    std::string text = fmt::format("{} {}", whole / length, name);
    if (i + 1 == kUnits.size()) return text;
    const auto [next, its_name] = kUnits[i + 1];
    const std::int64_t rest = whole % length / next;
    return rest == 0 ? text : text + fmt::format(" {} {}", rest, its_name);
  }
  return "0";
}

// A time for people, and its seconds on hovering.
std::string time_cell(double seconds) {
  return fmt::format("<td title=\"{:.1f} s\">{}</td>", seconds, span_text(seconds));
}

std::string table(const ReportInput& input) {
  const auto tick = 1 / static_cast<double>(input.workload.ticks_per_second);
  std::string rows;
  for (const PolicyRun& run : input.runs) {
    const Metrics& m = run.metrics;
    rows += fmt::format("<tr><th>{}</th><td>{}</td>", escaped(run.name), m.jobs);
    for (const double wait : {m.wait.mean, m.wait.median, m.wait.p95, m.wait.max})
      rows += time_cell(wait);
    const Distribution& slowdown = m.bounded_slowdown;
    for (const double value : {slowdown.mean, slowdown.median, slowdown.p95, slowdown.max})
      rows += fmt::format("<td>{:.2f}</td>", value);
    rows += fmt::format("<td>{:.1f} %</td>{}<td>{:.1f} %</td><td>{:.1f} %</td></tr>\n",
                        100 * m.utilization, time_cell(static_cast<double>(m.makespan) * tick),
                        100 * m.backfilled_share, 100 * m.overtaking_share);
  }
  return rows;
}

std::string fact_list(const ReportInput& input) {
  std::string list = "<dl>";
  for (const auto& [name, value] : input.facts)
    list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value));
  return list + "</dl>\n";
}

}  // namespace

std::string html_report(const ReportInput& input) {
  const Users users = users_of(input.workload);
  Json data = {{"procs", input.procs}, {"users", Json::array()}, {"policies", Json::array()}};
  std::vector<std::string> names(users.size());
  for (const auto& [name, number] : users) names[number] = name;
  data["users"] = names;
  for (const PolicyRun& run : input.runs) {
    const Series curves = series(input.workload, run.result, kSlices);
    data["policies"].push_back({{"name", run.name},
                                {"length", in_seconds(input, curves.end - curves.begin)},
                                {"busy", rounded(curves.busy)},
                                {"queued", rounded(curves.queued)},
                                {"sizes", sizes(run.metrics)},
                                {"gantt", gantt(input, run.result, users)}});
  }
  // "</" would end the script element, wherever in a string it stands.
  std::string json = data.dump();
  for (std::size_t at = json.find("</"); at != std::string::npos; at = json.find("</", at))
    json.replace(at, 2, "<\\/");
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n";
  page += std::string(kPlotStyle) + "\n" + kReportStyle + "</style>\n";
  page += fmt::format("<title>{0}</title></head><body><main><h1>{0}</h1>\n", escaped(input.title));
  page += fact_list(input) + kReportTableHead + table(input) + kReportTableEnd;
  if (!input.note.empty()) page += fmt::format("<p class=\"note\">{}</p>\n", escaped(input.note));
  page += "</main><div id=\"tip\"></div>\n";
  page += fmt::format("<script>\n/*\nuPlot\n{}*/\n", kPlotLicence) + kPlotScript + "</script>\n";
  page += "<script>const DATA = " + json + ";\n" + kReportScript + "</script></body></html>\n";
  return page;
}

}  // namespace holon::sim
