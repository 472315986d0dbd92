// The numbers go into the page as JSON, a page-long script draws them on canvases. A picture drawn
// here would be tens of megabytes for a year of jobs; the data are two.
#include "sim/report.hpp"

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

// [job id, start, end, first processor, processors, backfilled], relative to the first submission.
Json gantt(const ReportInput& input, const SimResult& result) {
  Json list = Json::array();
  for (const Rectangle& r : rectangles(input.workload, result, input.procs)) {
    const TraceJob& job = input.workload.jobs[r.job];
    const Time start = *result.jobs[r.job].start - result.first_submit;
    list.push_back({job.id, start, start + job.run, r.first, r.count,
                    result.jobs[r.job].selection == qmanager::Selection::backfill ? 1 : 0});
  }
  return list;
}

Json sizes(const Metrics& metrics) {
  Json list = Json::array();
  for (const SizeClass& size : metrics.sizes)
    list.push_back({{"size", size.name}, {"jobs", size.jobs}, {"wait", size.wait.mean}});
  return list;
}

std::string table(const std::vector<PolicyRun>& runs) {
  std::string rows;
  for (const PolicyRun& run : runs) {
    const Metrics& m = run.metrics;
    rows += fmt::format(
        "<tr><th>{}</th><td>{}</td><td>{:.1f}</td><td>{:.0f}</td><td>{:.0f}</td><td>{:.0f}</"
        "td><td>{:.3f}</td>"
        "<td>{:.2f}</td><td>{:.2f}</td><td>{:.2f}</td><td>{:.1f} %</td><td>{}</td><td>{:.1f} "
        "%</td></tr>\n",
        escaped(run.name), m.jobs, m.wait.mean, m.wait.median, m.wait.p95, m.wait.max,
        m.bounded_slowdown.mean, m.bounded_slowdown.median, m.bounded_slowdown.p95,
        m.bounded_slowdown.max, 100 * m.utilization, m.makespan, 100 * m.backfilled_share);
  }
  return rows;
}

}  // namespace

std::string html_report(const ReportInput& input) {
  Json data = {{"procs", input.procs}, {"policies", Json::array()}};
  for (const PolicyRun& run : input.runs) {
    const Series curves = series(input.workload, run.result, kSlices);
    data["policies"].push_back({{"name", run.name},
                                {"length", curves.end - curves.begin},
                                {"busy", rounded(curves.busy)},
                                {"queued", rounded(curves.queued)},
                                {"sizes", sizes(run.metrics)},
                                {"gantt", gantt(input, run.result)}});
  }
  // "</" would end the script element, wherever in a string it stands.
  std::string json = data.dump();
  for (std::size_t at = json.find("</"); at != std::string::npos; at = json.find("</", at))
    json.replace(at, 2, "<\\/");
  std::string page = kReportHead;
  page += fmt::format("<title>{0}</title></head><body><h1>{0}</h1>\n", escaped(input.title));
  page += fmt::format("<p>{} processors. Times in seconds; bounded slowdown with tau = {} s.</p>\n",
                      input.procs, kTau);
  page += kReportTableHead + table(input.runs) + kReportTableEnd;
  page += "<script>const DATA = " + json + ";\n" + kReportScript + "</script></body></html>\n";
  return page;
}

}  // namespace holon::sim
