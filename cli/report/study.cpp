#include "cli/report/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/report/page.hpp"
#include "cli/show/units.hpp"
#include "qmanager/selection.hpp"
#include "sim/rectangles.hpp"

namespace holon::cli {
namespace {

constexpr double kLevel = 0.01;  // policies whose slowdowns differ by less are level
enum : std::uint8_t { kOwned, kBorrowed, kLent };

// A trace may begin at 0, which means "not yet" in a record, and a window may begin before it: the
// page's clock is years ahead, and shows what has passed since the first submission.
constexpr Time kOrigin = Time{10} * 365 * 86'400'000;

Duration in_ms(const sim::Workload& workload, Duration ticks) {
  return ticks * sim::kMsPerSecond / workload.ticks_per_second;
}
Time at_ms(const sim::Workload& workload, Time ticks) {
  return kOrigin + in_ms(workload, ticks);
}

// Fills in how a job ended that did not run to its end.
void set_refused(msg::JobRecord& record, const sim::Workload& workload,
                 const sim::JobOutcome& outcome) {
  record.state = "INACTIVE";
  record.result = outcome.lost.empty() ? "REJECTED" : "CANCELED";
  record.reason = outcome.refused;
  record.t_inactive =
      outcome.lost.empty() ? record.t_submit : at_ms(workload, outcome.lost.back().end);
}

void set_run(msg::JobRecord& record, const sim::Workload& workload, const sim::TraceJob& job,
             const sim::JobOutcome& outcome) {
  record.state = "INACTIVE";
  record.result = "COMPLETED";
  record.exit_code = 0;
  record.t_start = at_ms(workload, *outcome.start);
  record.t_finish = record.t_inactive = at_ms(workload, *outcome.start + job.run);
  record.selection = qmanager::word_of(outcome.selection);
}

// The jobs as records, in the order of the workload; those that neither started nor were refused
// wait still.
std::vector<msg::JobRecord> as_records(const sim::Workload& workload, const sim::SimResult& result,
                                       const std::string& path) {
  std::vector<msg::JobRecord> records;
  const std::string below = path == "/" ? "/" : path + "/";
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const auto& outcome = result.jobs[i];
    const auto& job = workload.jobs[i];
    msg::JobRecord record;
    record.id = static_cast<std::uint64_t>(std::max<std::int64_t>(job.id, 0));
    record.path = below + std::to_string(record.id);
    record.user = job.user;
    record.queue = job.queue;
    record.state = "SCHED";
    record.ncores = job.procs;
    record.t_submit = at_ms(workload, outcome.submitted);
    record.limit = in_ms(workload, job.limit);
    if (outcome.start)
      set_run(record, workload, job, outcome);
    else if (!outcome.refused.empty())
      set_refused(record, workload, outcome);
    records.push_back(std::move(record));
  }
  return records;
}

std::int32_t lane_of(std::int64_t procs) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(procs, INT32_MAX));
}

// Adds the runs that were lost, and where all ran.
void place_runs(ReportPart& part, const sim::Workload& workload, const sim::SimResult& result) {
  part.rows = {{"processors", lane_of(part.node.cores)}};
  part.places.resize(part.jobs.size());
  for (const auto& r : sim::rectangles(workload, result, part.node.cores)) {
    const ReportPlace place{0, lane_of(r.first), lane_of(r.count)};
    if (!r.lost) {
      part.places[r.job].push_back(place);
      continue;
    }
    const Time begin = at_ms(workload, r.run.begin), end = at_ms(workload, r.run.end);
    if (part.lost.empty() || part.lost.back().job != r.job || part.lost.back().begin != begin)
      part.lost.push_back({r.job, begin, end, {}});
    part.lost.back().places.push_back(place);
  }
}

ReportPart part_of_run(const sim::Workload& workload, const sim::SimResult& result,
                       std::int64_t procs, const std::string& path, const std::string& name) {
  ReportPart part;
  part.node.path = path;
  part.node.name = name;
  part.node.cores = procs;
  part.jobs = as_records(workload, result, path);
  place_runs(part, workload, result);
  return part;
}

double slowdown_of(const sim::PolicyRun& run) {
  return run.metrics.bounded_slowdown.mean;
}

// Places of the runs, the best first.
std::vector<std::size_t> ranking(const std::vector<sim::PolicyRun>& runs) {
  std::vector<std::size_t> order(runs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return slowdown_of(runs[a]) < slowdown_of(runs[b]);
  });
  return order;
}

// The places of the runs that won, of those in the order of ranking(): none of one alone, nor where
// all are level; two where these are level.
std::vector<std::size_t> winners_of(const std::vector<sim::PolicyRun>& runs,
                                    const std::vector<std::size_t>& order) {
  if (runs.size() < 2) return {};
  const double best = slowdown_of(runs[order[0]]);
  const auto is_level = [&](std::size_t run) {
    return slowdown_of(runs[run]) - best <= kLevel * best;
  };
  if (is_level(order.back())) return {};
  return is_level(order[1]) ? std::vector{order[0], order[1]} : std::vector{order[0]};
}

std::string mean_wait(const sim::PolicyRun& run) {
  return show_duration(static_cast<Duration>(run.metrics.wait.mean * 1'000));
}

ReportHead head_of_study(const StudyReport& report, const sim::Workload& workload, Time end) {
  ReportHead head;
  head.title = report.title;
  head.facts = report.facts;
  head.now = at_ms(workload, end);
  head.elapsed = true;
  head.colour = "wait";
  head.note = "Jobs are drawn on the lowest processors that were free, not on those that they had.";
  return head;
}

// What an instance held over time, as steps: of its own, of others', and what it had lent.
struct Held {
  std::int64_t lent = 0, borrowed = 0;
};
std::map<Time, Held> holdings_of(const sim::TreeResult& result, std::size_t at) {
  std::map<Time, Held> changes;
  changes[result.whole.first_submit];
  for (const auto& move : result.moves) {
    const Time to = std::min(move.to, result.whole.end);
    if (move.lender == at) changes[move.from].lent += move.procs, changes[to].lent -= move.procs;
    if (move.taker == at)
      changes[move.from].borrowed += move.procs, changes[to].borrowed -= move.procs;
  }
  changes[result.whole.end];
  return changes;
}

void add_grants(ReportGrants& grants, const sim::Workload& workload, const sim::TreePlan& plan,
                const sim::TreeResult& result, std::size_t at) {
  const auto& instance = plan.instances[at];
  const auto row = static_cast<std::int32_t>(grants.rows.size());
  const auto changes = holdings_of(result, at);
  Held held;
  std::int64_t most = std::max<std::int64_t>(instance.owned, 1);
  for (auto step = changes.begin(); std::next(step) != changes.end(); ++step) {
    held.lent += step->second.lent;
    held.borrowed += step->second.borrowed;
    const Time begin = at_ms(workload, step->first);
    const Time end = at_ms(workload, std::next(step)->first);
    most = std::max(most, instance.owned + held.borrowed);
    const auto add = [&](std::int64_t from, std::int64_t procs, std::uint8_t colour,
                         const char* what) {
      if (procs > 0 && end > begin)
        grants.pieces.push_back({{row, lane_of(from), lane_of(procs)},
                                 begin,
                                 end,
                                 colour,
                                 fmt::format("{}: {} {}", instance.name, procs, what)});
    };
    add(0, instance.owned - held.lent, kOwned, "of its own");
    add(instance.owned - held.lent, held.lent, kLent, "lent");
    add(instance.owned, held.borrowed, kBorrowed, "borrowed");
  }
  grants.rows.push_back({instance.name, lane_of(most)});
}

}  // namespace

std::string verdict_on(const std::vector<sim::PolicyRun>& runs) {
  if (runs.size() < 2) return "";
  const auto order = ranking(runs);
  const sim::PolicyRun& best = runs[order[0]];
  const sim::PolicyRun& next = runs[order[1]];
  const sim::PolicyRun& worst = runs[order.back()];
  const auto winners = winners_of(runs, order);
  if (winners.empty())
    return "The policies are level: their mean bounded slowdowns differ by less than 1 %.";
  return fmt::format(
      "{} won: a mean bounded slowdown of {:.1f} and a mean wait of {}, against {:.1f} and {} "
      "under "
      "{}{}.",
      winners.size() > 1 ? best.name + " and " + next.name : best.name, slowdown_of(best),
      mean_wait(best), slowdown_of(worst), mean_wait(worst), worst.name,
      winners.size() > 1 || runs.size() == 2
          ? ""
          : fmt::format(" ({:.1f} and {} under {})", slowdown_of(next), mean_wait(next),
                        next.name));
}

Result<std::string> study_page(const StudyReport& report, const sim::Workload& workload,
                               const std::vector<sim::PolicyRun>& runs, std::int64_t procs) {
  Time end = 0;
  for (const auto& run : runs) end = std::max(end, run.result.end);
  ReportHead head = head_of_study(report, workload, end);
  head.verdict = verdict_on(runs);
  const auto order = ranking(runs);
  for (const std::size_t winner : winners_of(runs, order)) head.won.push_back(runs[winner].name);
  const bool alone = runs.size() == 1;
  head.best = alone ? "/" : "/1";
  ReportPage page(std::move(head));
  int number = 0;
  for (const std::size_t i : order)
    page.add(part_of_run(workload, runs[i].result, procs,
                         alone ? "/" : fmt::format("/{}", ++number), runs[i].name),
             runs[i]);
  return page.html();
}

Result<std::string> tree_page(const StudyReport& report, const sim::Workload& workload,
                              const sim::TreePlan& plan, const sim::TreeResult& result) {
  ReportPage page(head_of_study(report, workload, result.whole.end));
  const std::int64_t procs = sim::processors_of(plan);
  ReportPart part = part_of_run(workload, result.whole, procs, "/", "tree");
  part.grants.emplace();
  part.grants->colours = {"owned", "borrowed", "lent"};
  for (std::size_t i = 0; i < plan.instances.size(); ++i)
    add_grants(*part.grants, workload, plan, result, i);
  const auto rows = sim::tree_runs(workload, plan, result);
  page.add(part, rows.front());
  for (std::size_t i = 1; i < rows.size(); ++i) page.add_figures(rows[i]);
  return page.html();
}

}  // namespace holon::cli
