// How a tree did: a table for people, JSON for programs.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include <fmt/core.h>

#include "qmanager/scheduler.hpp"
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

std::string unit_hours(std::int64_t ticks, const Workload& workload) {
  return fmt::format("{:.1f}", in_seconds(ticks, workload) / 3600);
}

}  // namespace

std::vector<PolicyRun> tree_runs(const Workload& workload, const TreePlan& plan,
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

std::string tree_table(const Workload& workload, const TreePlan& plan, const TreeResult& result) {
  const auto rows = tree_runs(workload, plan, result);
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
  const auto rows = tree_runs(workload, plan, result);
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

}  // namespace holon::sim
