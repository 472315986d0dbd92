// match, multi-match: a jobspec from a file is matched and, unless the operation is a dry one,
// held.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/query/commands.hpp"
#include "cli/query/printing.hpp"
#include "cli/query/stopwatch.hpp"
#include "cli/query/writing.hpp"

namespace holon::cli::query {
namespace {

using resource::MatchOp;
using MatchOutcome = MatchReport::Outcome;

constexpr std::array<std::pair<std::string_view, MatchOp>, 6> kOperations{{
    {"allocate", MatchOp::allocate},
    {"allocate_with_satisfiability", MatchOp::allocate_with_satisfiability},
    {"allocate_orelse_reserve", MatchOp::allocate_orelse_reserve},
    {"satisfiability", MatchOp::satisfiability},
    {"without_allocating", MatchOp::without_allocating},
    {"without_allocating_future", MatchOp::without_allocating_future},
}};

bool is_dry(MatchOp op) {
  return op == MatchOp::satisfiability || op == MatchOp::without_allocating ||
         op == MatchOp::without_allocating_future;
}

std::optional<MatchOp> operation(const std::string& name) {
  for (const auto& [text, op] : kOperations)
    if (text == name) return op;
  return std::nullopt;
}

// The duration, rounded up to seconds: a job that asks for time gets at least that. 0: to the end.
Result<Duration> duration_of(const Session& session, const resource::Jobspec& jobspec) {
  const Interval horizon = session.store().options().horizon;
  const double seconds = std::ceil(jobspec.duration_seconds);
  if (!(seconds >= 0) || seconds > static_cast<double>(horizon.length()))
    return fail(Errc::invalid_argument,
                fmt::format("a duration of {} s; 0 to {} are possible", jobspec.duration_seconds,
                            horizon.length()),
                "attributes.system.duration");
  return static_cast<Duration>(seconds);
}

void fill(Session& session, const resource::Jobspec& jobspec, resource::MatchOutcome outcome,
          MatchOp op, MatchReport& report) {
  if (const auto* not_now = std::get_if<resource::NotNow>(&outcome)) {
    report.outcome = MatchOutcome::not_now;
    report.problem = not_now->reason;
  } else if (const auto* never = std::get_if<resource::Never>(&outcome)) {
    report.outcome = MatchOutcome::never;
    report.problem = never->reason;
  } else {
    const auto& allocation = std::get<resource::Allocation>(outcome);
    report.outcome = is_dry(op) ? MatchOutcome::matched : MatchOutcome::held;
    report.at = allocation.when.begin;
    if (op == MatchOp::satisfiability) return;
    auto text = write_allocation(session, allocation, jobspec.queue);
    if (text)
      report.r = std::move(*text);
    else
      report.problem = to_string(text.error());
  }
}

// resource-query's parser knows a type from the graph, from a pruning filter, or from birth.
bool knows_type(const Session& session, const std::string& type) {
  static constexpr std::array<std::string_view, 10> kAlways{
      "slot",   "xor_slot", "cluster", "rack", "node",
      "socket", "core",     "gpu",     "ssd",  "storage_node"};
  if (session.store().graph().words().types.find(type)) return true;
  if (std::ranges::find(kAlways, type) != kAlways.end()) return true;
  const std::string& filters = session.options().prune_filters;
  for (std::size_t at = 0; at < filters.size();) {
    const auto end = std::min(filters.find_first_of(":, ", at), filters.size());
    if (std::string_view(filters).substr(at, end - at) == type) return true;
    at = end + 1;
  }
  return false;
}

// The first unknown type; nullptr: there is none.
const std::string* unknown_type(const Session& session,
                                const std::vector<resource::Request>& requests) {
  for (const auto& request : requests) {
    if (!knows_type(session, request.type)) return &request.type;
    if (const auto* below = unknown_type(session, request.with)) return below;
  }
  return nullptr;
}

void match(Session& session, MatchOp op, const Result<const resource::Jobspec*>& jobspec,
           MatchReport& report) {
  const Stopwatch watch;
  if (!jobspec) {
    report.problem = to_string(jobspec.error());
    return;
  }
  if (const auto* type = unknown_type(session, (*jobspec)->resources)) {
    report.problem = fmt::format("no type '{}' is known here", *type);
    return;
  }
  const auto duration = duration_of(session, **jobspec);
  if (!duration) {
    report.problem = to_string(duration.error());
    return;
  }
  auto outcome = session.store().match(report.job, **jobspec, op, 0, *duration);
  report.counts = session.store().counts();
  if (outcome)
    fill(session, **jobspec, std::move(*outcome), op, report);
  else
    report.problem = to_string(outcome.error());
  report.seconds = watch.seconds();
}

void remember(Session& session, MatchOp op, const MatchReport& report) {
  if (report.outcome == MatchOutcome::held) {
    const JobState state = report.at == 0 ? JobState::allocated : JobState::reserved;
    session.jobs[report.job] = {state, report.at, report.file, report.seconds};
  }
  if (report.outcome != MatchOutcome::broken) session.times.add(report.seconds);
  // An id is used up by a request that was understood, met or not.
  if (!is_dry(op) && report.outcome != MatchOutcome::broken)
    session.next_job = JobId{report.job.value() + 1};
}

// False: the request failed. A file that is not there is no request.
bool match_file(Session& session, std::string_view command, MatchOp op, const Words& words,
                const std::string& file, Reply& reply) {
  const auto jobspec = session.jobspec(file);
  if (!jobspec && jobspec.error().code == Errc::not_found) {
    complain(session, command, jobspec.error(), reply);
    return true;
  }
  MatchReport report;
  report.command = command;
  report.operation = words[1];
  report.file = file;
  report.job = session.next_job;
  match(session, op, jobspec, report);
  remember(session, op, report);
  if (op == MatchOp::satisfiability)
    print_satisfiability(session, report, reply);
  else
    print_match(session, report, reply);
  return report.outcome == MatchOutcome::held || report.outcome == MatchOutcome::matched;
}

}  // namespace

void run_match(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 3) return complain(session, "match", "OPERATION JOBSPEC is expected", reply);
  const auto op = operation(words[1]);
  if (!op) return complain(session, "match", "there is no operation " + words[1], reply);
  match_file(session, "match", *op, words, words[2], reply);
}

void run_multi_match(Session& session, const Words& words, Reply& reply) {
  if (words.size() < 4)
    return complain(session, "multi-match", "OPERATION JOBSPEC JOBSPEC... is expected", reply);
  const auto op = operation(words[1]);
  if (!op) return complain(session, "multi-match", "there is no operation " + words[1], reply);
  for (std::size_t i = 2; i < words.size(); ++i)
    if (!match_file(session, "multi-match", *op, words, words[i], reply)) break;
}

}  // namespace holon::cli::query
