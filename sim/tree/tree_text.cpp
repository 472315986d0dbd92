// How a tree did: a table for people, JSON for programs, a page.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include <fmt/core.h>

#include "qmanager/scheduler.hpp"
#include "sim/report.hpp"
#include "sim/study.hpp"
#include "sim/tree/tree.hpp"

namespace holon::sim {

namespace {

using TreeJson = nlohmann::ordered_json;

double in_seconds(std::int64_t ticks, const Workload& workload) {
  return static_cast<double>(ticks) / static_cast<double>(workload.ticks_per_second);
}

PolicyRun row(const std::string& name, const Workload& workload, Metrics metrics) {
  PolicyRun run;
  run.name = name;
  run.depths = {{"default", qmanager::kMaxQueueDepth}};
  run.metrics = std::move(metrics);
  run.ticks_per_second = workload.ticks_per_second;
  return run;
}

// The whole tree, then the instances that got jobs.
std::vector<PolicyRun> rows_of(const Workload& workload, const TreePlan& plan,
                               const TreeResult& result) {
  std::vector<PolicyRun> rows{
      row("all", workload, measure(workload, result.whole, processors_of(plan)))};
  rows.front().result.passes = result.whole.passes;
  for (std::size_t i = 0; i < plan.instances.size(); ++i)
    if (std::find(result.dealt_to.begin(), result.dealt_to.end(), i) != result.dealt_to.end())
      rows.push_back(row(plan.instances[i].name, workload,
                         measure_instance(workload, result, i, plan.instances[i].owned)));
  return rows;
}

struct Fairness {
  double most_by_least = 1;  // mean bounded slowdowns of the instances
  double jain = 1;
};
Fairness fairness_of(const std::vector<PolicyRun>& rows) {
  double least = 0, most = 0, sum = 0, squares = 0;
  std::size_t n = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const double slowdown = rows[i].metrics.bounded_slowdown.mean;
    if (rows[i].metrics.jobs == 0) continue;
    least = n == 0 ? slowdown : std::min(least, slowdown);
    most = std::max(most, slowdown);
    sum += slowdown;
    squares += slowdown * slowdown;
    ++n;
  }
  if (n == 0 || least <= 0) return {};
  return {most / least, sum * sum / (static_cast<double>(n) * squares)};
}

struct Regret {
  double mean = 0, p95 = 0, most = 0;
  std::size_t beyond_notice = 0;
};
Regret regret_of(const Workload& workload, const TreePlan& plan, const TreeResult& result) {
  std::vector<Duration> all = result.regret;
  if (all.empty()) return {};
  std::sort(all.begin(), all.end());
  double sum = 0;
  Regret regret;
  for (const Duration each : all) {
    sum += in_seconds(each, workload);
    regret.beyond_notice += each > plan.costs.notice;
  }
  regret.mean = sum / static_cast<double>(all.size());
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(all.size())));
  regret.p95 = in_seconds(all[rank - 1], workload);
  regret.most = in_seconds(all.back(), workload);
  return regret;
}

// ---- the chart: a line an instance

constexpr double kWidth = 1000, kLine = 46, kLabel = 130;

// What the instance holds, as steps.
std::map<Time, std::int64_t> holdings_of(const TreePlan& plan, const TreeResult& result,
                                         std::size_t at) {
  std::map<Time, std::int64_t> changes;
  changes[result.whole.first_submit] += plan.instances[at].owned;
  for (const LoanRecord& move : result.moves) {
    const std::int64_t sign = (move.taker == at) - (move.lender == at);
    if (sign == 0) continue;
    changes[move.from] += sign * move.procs;
    if (move.to != kTimeMax) changes[move.to] -= sign * move.procs;
  }
  return changes;
}

std::string safe_text(const std::string& text) {
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

std::string chart_line(const TreePlan& plan, const TreeResult& result, std::size_t at, double top) {
  const auto span =
      static_cast<double>(std::max<Time>(result.whole.end - result.whole.first_submit, 1));
  const auto all = static_cast<double>(processors_of(plan));
  const auto x = [&](Time t) {
    return kLabel + static_cast<double>(t - result.whole.first_submit) / span * kWidth;
  };
  const auto y = [&](std::int64_t procs) {
    return top + (kLine - 6) * (1 - static_cast<double>(procs) / all);
  };
  std::string path = fmt::format("M{:.1f} {:.1f}", x(result.whole.first_submit), y(0));
  std::int64_t held = 0;
  double last_x = -1;
  for (const auto& [when, change] : holdings_of(plan, result, at)) {
    held += change;
    const double here = x(when);
    if (here - last_x < 0.2 && last_x >= 0) continue;  // finer than anybody sees
    path += fmt::format("H{:.1f}V{:.1f}", here, y(held));
    last_x = here;
  }
  path += fmt::format("H{:.1f}V{:.1f}Z", x(result.whole.end), y(0));
  const double owned = y(plan.instances[at].owned);
  return fmt::format(
      "<text x=\"0\" y=\"{:.1f}\">{}</text><path d=\"{}\" fill=\"#4a7\"/>"
      "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#a33\"/>\n",
      top + kLine / 2, safe_text(plan.instances[at].name), path, kLabel, owned, kLabel + kWidth);
}

std::string chart(const TreePlan& plan, const TreeResult& result) {
  constexpr std::size_t kMostLines = 64;
  const std::size_t lines = std::min(plan.instances.size(), kMostLines);
  std::string svg = fmt::format(
      "<section><h2>Grants</h2><p>What each instance holds over time; the line is what it owns.</p>"
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" width=\"100%\" font-size=\"14\" fill=\"currentColor\">\n",
      kLabel + kWidth, kLine * static_cast<double>(lines));
  for (std::size_t i = 0; i < lines; ++i)
    svg += chart_line(plan, result, i, kLine * static_cast<double>(i));
  return svg + "</svg></section>\n";
}

std::string unit_hours(std::int64_t ticks, const Workload& workload) {
  return fmt::format("{:.1f}", in_seconds(ticks, workload) / 3600);
}

}  // namespace

std::string tree_table(const Workload& workload, const TreePlan& plan, const TreeResult& result) {
  const auto rows = rows_of(workload, plan, result);
  std::string text = metrics_summary(rows);
  text.replace(0, 8, "INSTANCE");
  text.erase(text.rfind("waiting jobs that"));
  const Fairness fair = fairness_of(rows);
  const Regret regret = regret_of(workload, plan, result);
  text += fmt::format(
      "\nmoves {}, processors moved {}, processor-hours in flight {}\n"
      "jobs ended by a return {}\n"
      "bounded slowdown of instances: largest by smallest {:.2f}, Jain's index {:.3f}\n"
      "later than if nobody lent: mean {:.1f} s, p95 {:.0f} s, at most {:.0f} s; {} jobs by more "
      "than the notice\n",
      result.moves.size(), result.moved_units, unit_hours(result.in_flight, workload),
      result.ended_by_return, fair.most_by_least, fair.jain, regret.mean, regret.p95, regret.most,
      regret.beyond_notice);
  return text;
}

std::string tree_json(const Workload& workload, const TreePlan& plan, const TreeResult& result) {
  const auto rows = rows_of(workload, plan, result);
  TreeJson parts = TreeJson::parse(metrics_json(rows, false));
  TreeJson instances = TreeJson::array();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    TreeJson named = {{"instance", parts[i]["policy"]}};
    for (const auto& [key, value] : parts[i].items())
      if (key != "policy" && key != "passes" && key != "queue_depth") named[key] = value;
    instances.push_back(std::move(named));
  }
  parts[0].erase("policy");
  parts[0].erase("queue_depth");
  const Fairness fair = fairness_of(rows);
  const Regret regret = regret_of(workload, plan, result);
  const TreeJson all = {{"all", parts[0]},
                        {"instances", std::move(instances)},
                        {"moves", result.moves.size()},
                        {"processors_moved", result.moved_units},
                        {"in_flight", in_seconds(result.in_flight, workload)},
                        {"ended_by_return", result.ended_by_return},
                        {"slowdown_most_by_least", fair.most_by_least},
                        {"jain", fair.jain},
                        {"regret",
                         {{"mean", regret.mean},
                          {"p95", regret.p95},
                          {"max", regret.most},
                          {"beyond_notice", regret.beyond_notice}}}};
  return all.dump(2) + "\n";
}

std::string tree_report(const Workload& workload, const TreePlan& plan, const TreeResult& result,
                        const std::string& title) {
  PolicyRun whole = row("tree", workload, measure(workload, result.whole, processors_of(plan)));
  whole.result = result.whole;
  const std::vector<PolicyRun> runs{std::move(whole)};
  std::string page = html_report({title,
                                  {{"instances", std::to_string(plan.instances.size())},
                                   {"jobs", std::to_string(workload.jobs.size())},
                                   {"machine", fmt::format("{} processors", processors_of(plan))},
                                   {"moves", std::to_string(result.moves.size())}},
                                  workload,
                                  runs,
                                  processors_of(plan)});
  const std::size_t end = page.rfind("</main>");
  if (end != std::string::npos) page.insert(end, chart(plan, result));
  return page;
}

}  // namespace holon::sim
