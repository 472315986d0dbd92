#include "cli/report/plain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/show/units.hpp"

namespace holon::cli {
namespace {

constexpr const char* kTableHead =
    "<table><thead><tr><th>policy</th><th>jobs</th><th>mean wait</th><th>median</th><th>95 %</th>"
    "<th>longest</th><th>mean slowdown</th><th>median</th><th>95 %</th><th>largest</th>"
    "<th>utilization</th><th>makespan</th><th>backfilled</th><th>overtaking</th></tr></thead>\n"
    "<tbody>\n";

std::string seconds_cell(double seconds) {
  return fmt::format("<td title=\"{:.1f} s\">{}</td>", seconds,
                     show_duration(static_cast<Duration>(seconds * 1'000 + 0.5)));
}

}  // namespace

std::string escaped_html(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '&')
      safe += "&amp;";
    else
      safe += c;
  }
  return safe;
}

std::string plain_row(const sim::PolicyRun& run) {
  const sim::Metrics& m = run.metrics;
  std::string row = fmt::format("<tr><th>{}</th><td>{}</td>", escaped_html(run.name), m.jobs);
  for (const double wait : {m.wait.mean, m.wait.median, m.wait.p95, m.wait.max})
    row += seconds_cell(wait);
  const sim::Distribution& slowdown = m.bounded_slowdown;
  for (const double value : {slowdown.mean, slowdown.median, slowdown.p95, slowdown.max})
    row += fmt::format("<td>{:.2f}</td>", value);
  const auto ticks = static_cast<double>(std::max<std::int64_t>(run.ticks_per_second, 1));
  return row + fmt::format("<td>{:.1f} %</td>{}<td>{:.1f} %</td><td>{:.1f} %</td></tr>\n",
                           100 * m.utilization,
                           seconds_cell(static_cast<double>(m.makespan) / ticks),
                           100 * m.backfilled_share, 100 * m.overtaking_share);
}

std::string plain_report(const std::string& title, const std::string& verdict,
                         const std::vector<std::pair<std::string, std::string>>& facts,
                         const std::string& rows) {
  std::string text = fmt::format("<noscript><h1>{}</h1>\n", escaped_html(title));
  if (!verdict.empty()) text += fmt::format("<p>{}</p>\n", escaped_html(verdict));
  text += "<dl>";
  for (const auto& [name, value] : facts)
    text +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escaped_html(name), escaped_html(value));
  return text + "</dl>\n" + kTableHead + rows + "</tbody></table></noscript>\n";
}

}  // namespace holon::cli
