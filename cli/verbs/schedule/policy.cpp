// holon policy: check, test: a policy in Lua before anybody trusts it; and the table of its verbs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>

#include "base/whole_file.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/table.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/schedule/policy_verbs.hpp"
#include "cli/verbs/schedule/simulated_config.hpp"
#include "config/policies.hpp"
#include "policy/program.hpp"
#include "policy/rehearsal.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "sim/trace_file.hpp"

namespace holon::cli {
namespace {

constexpr std::size_t kShownJobs = 5;

Result<policy::Description> described(const std::string& file) {
  auto read = read_policy(file);
  if (!read) return tl::unexpected(read.error());
  return std::move(read->description);
}

int verb_policy_check(Invocation& call) {
  std::string file;
  Parser parser("policy check", "read a policy and say what is in it, or what is wrong with it");
  parser.required("FILE", file, "a policy in Lua")
      .note(
          "Each of its functions is called once, about a job that is made up, and its answer is "
          "shown. Exit code 2: the text is wrong, or a function failed.")
      .example("holon policy check mine.lua", "is it right so far?");
  if (const auto code = parser.parse(call)) return *code;
  const auto read = read_policy(file);
  if (!read) return report(call, "policy check", read.error());
  const policy::Description& policy = read->description;
  const auto program = policy::compile(read->name, read->text);
  if (!program) return report(call, "policy check", program.error());
  call.io.out << fmt::format("{}: base {}\n", file, policy.base);
  tell_near_misses(call.io, file, policy);
  const auto asked = policy::rehearse(**program, policy);
  if (!asked.empty()) call.io.out << fmt::format("asked about a job of {}:\n", policy::kMadeUpJob);
  int code = kOk;
  for (const auto& function : asked) {
    if (function.trouble.empty()) {
      call.io.out << fmt::format("{}:{}: {}: {}\n", file, function.line, function.name,
                                 function.answer);
      continue;
    }
    code = report(call, "policy check", {Errc::invalid_argument, function.trouble, {}});
  }
  return code;
}

struct TestOptions {
  std::string file;
  std::string trace;
  std::optional<std::int64_t> procs;
  std::vector<std::string> conf;
};

// The policies to compare: this one, its base, and those that everybody knows.
std::vector<std::string> side_by_side(const std::string& file, const std::string& base) {
  std::vector<std::string> names = {file, base};
  for (const char* known : {"fcfs", "easy", "conservative"})
    if (base != known) names.emplace_back(known);
  return names;
}

struct Longer {
  std::int64_t job = 0;
  std::string user;
  Duration mine = 0;
  Duration base = 0;
};

std::vector<Longer> who_waits_longer(const sim::Workload& workload, const sim::PolicyRun& mine,
                                     const sim::PolicyRun& base) {
  std::vector<Longer> all;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const auto& a = mine.result.jobs[i];
    const auto& b = base.result.jobs[i];
    if (!a.start || !b.start || *a.start <= *b.start) continue;
    all.push_back({workload.jobs[i].id, workload.jobs[i].user, *a.start - a.submitted,
                   *b.start - b.submitted});
  }
  std::stable_sort(all.begin(), all.end(), [](const Longer& a, const Longer& b) {
    return a.mine - a.base > b.mine - b.base;
  });
  return all;
}

void tell_who_waits_longer(Io& io, const std::vector<Longer>& longer, const std::string& base,
                           std::int64_t ticks_per_second) {
  if (longer.empty()) {
    io.out << fmt::format("\nno job waits longer than under {}\n", base);
    return;
  }
  io.out << fmt::format("\n{} {} longer than under {}; most of all:\n", longer.size(),
                        longer.size() == 1 ? "job waits" : "jobs wait", base);
  for (std::size_t i = 0; i < std::min(kShownJobs, longer.size()); ++i)
    io.out << fmt::format("  job {}{}: {} s, and not {} s\n", longer[i].job,
                          longer[i].user.empty() ? "" : " of " + longer[i].user,
                          sim::seconds_text(longer[i].mine, ticks_per_second),
                          sim::seconds_text(longer[i].base, ticks_per_second));
}

void tell_refused(Io& io, const sim::Workload& workload, const sim::PolicyRun& mine) {
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const std::string& why = mine.result.jobs[i].refused;
    if (why.empty()) continue;
    io.out << fmt::format("{} of {} jobs refused; the first, job {}: {}\n", mine.metrics.refused,
                          workload.jobs.size(), workload.jobs[i].id, why);
    return;
  }
}

void tell_jobs_left_out(Io& io, const std::string& path, const sim::SwfTrace& trace) {
  if (trace.skipped == 0) return;
  io.err << fmt::format("{}: {} job{} left out, {} simulated\n", path, trace.skipped,
                        trace.skipped == 1 ? "" : "s", trace.workload.jobs.size());
  for (const sim::TraceIssue& issue : trace.issues)
    if (issue.skipped) {
      io.err << issue_text(path, issue) << "\n";
      return;
    }
}

void tell_cost(Io& io, const sim::PolicyRun& mine, const sim::PolicyRun& base) {
  std::int64_t calls = 0;
  for (const auto& queue : mine.result.queues) calls += queue.hooks ? queue.hooks->calls : 0;
  io.out << fmt::format("{} calls of its functions in {} passes; {:.2f} s, {} took {:.2f} s\n",
                        calls, mine.result.passes, mine.seconds, base.name, base.seconds);
}

Result<sim::StudyPlan> plan_test(const TestOptions& options, const policy::Description& policy,
                                 std::int64_t procs, std::int64_t ticks_per_second) {
  auto config = config::load_config(options.conf, simulated_defaults());
  if (!config) return tl::unexpected(config.error());
  sim::StudyPlan plan;
  plan.policies = side_by_side(options.file, policy.base);
  if (Status read = config::add_policies(*config, plan.policies); !read)
    return tl::unexpected(read.error());
  plan.options.config = in_ticks(config->scheduler, std::nullopt, ticks_per_second);
  plan.procs = procs;
  plan.machine = [procs]() -> Result<std::unique_ptr<qmanager::Machine>> {
    return std::make_unique<qmanager::FlatMachine>(procs);
  };
  return plan;
}

int verb_policy_test(Invocation& call) {
  TestOptions options;
  Parser parser("policy test", "replay a trace under a policy, and under built-in ones beside it");
  parser.required("FILE", options.file, "a policy in Lua")
      .group("Options")
      .option(
          "--trace", options.trace, "TRACE",
          "SWF, JSON Lines, or what holon history --json or sacct -P prints; - is standard input")
      .option("--procs", options.procs, "P",
              "processors of the machine (default: the trace's MaxProcs)")
      .option("--conf", options.conf, "FILE|KEY=VALUE", "configuration, as of an instance")
      .example("holon policy test mine.lua --trace kth.swf.gz", "what would it have done?");
  if (const auto code = parser.parse(call)) return *code;
  const auto failed = [&](const Error& error) { return report(call, "policy test", error); };
  if (options.trace.empty())
    return failed({Errc::invalid_argument, "name a trace to replay", "--trace"});
  if (options.trace == "-") options.trace = "/dev/stdin";
  if (options.procs && *options.procs < 1)
    return failed({Errc::invalid_argument,
                   fmt::format("{} is not accepted, at least 1 is", *options.procs), "--procs"});
  const auto policy = described(options.file);
  if (!policy) return failed(policy.error());
  const auto trace = sim::read_trace_file(options.trace, {.procs = options.procs.value_or(0)});
  // A trace that cannot be read is a slip on the command line, as for holon simulate.
  if (!trace) return failed({Errc::invalid_argument, trace.error().what, trace.error().where});
  if (trace->workload.jobs.empty())
    return failed({Errc::invalid_argument, sim::why_no_jobs(*trace), options.trace});
  const auto procs = processors_of(options.trace, trace->workload, options.procs);
  if (!procs) return failed(procs.error());
  const std::int64_t ticks = trace->workload.ticks_per_second;
  const auto plan = plan_test(options, *policy, *procs, ticks);
  if (!plan) return failed(plan.error());
  const auto runs = sim::run_study(trace->workload, *plan);
  if (!runs) return failed(runs.error());
  const sim::PolicyRun& mine = runs->at(0);
  const sim::PolicyRun& base = runs->at(1);
  tell_near_misses(call.io, options.file, *policy);
  tell_jobs_left_out(call.io, options.trace, *trace);
  call.io.out << sim::metrics_summary(*runs);
  tell_refused(call.io, trace->workload, mine);
  tell_cost(call.io, mine, base);
  tell_who_waits_longer(call.io, who_waits_longer(trace->workload, mine, base), base.name, ticks);
  tell_troubles(call.io, mine);
  return kOk;
}

constexpr auto kPolicyVerbs = std::to_array<Verb>({
    {"check", "read a policy and say what is in it, or what is wrong", Group::tools,
     verb_policy_check},
    {"test", "replay a trace under a policy, and under built-in ones", Group::tools,
     verb_policy_test},
    {"what-if", "say when waiting jobs would start under a policy", Group::look,
     verb_policy_what_if},
    {"load", "give a queue of a running instance a policy", Group::work, verb_policy_load},
    {"show", "say which policy a queue has, and how it does", Group::look, verb_policy_show},
    {"disable", "go back to the policy of the configuration", Group::work, verb_policy_disable},
});

}  // namespace

Result<PolicyFile> read_policy(const std::string& file) {
  auto text = read_regular_file(file, policy::kMostText);
  if (!text)
    return fail(Errc::invalid_argument,
                text.error().code == Errc::not_found ? "no such file" : text.error().what, file);
  std::string name = std::filesystem::path(file).filename();
  auto description = policy::describe(name, *text);
  if (!description) return tl::unexpected(description.error());
  return PolicyFile{std::move(name), std::move(*text), std::move(*description)};
}

void tell_near_misses(Io& io, const std::string& file, const policy::Description& description) {
  for (const auto& miss : description.near_misses)
    io.err << fmt::format("{}:{}: nobody asks {}; is {} meant?\n", file, miss.line, miss.name,
                          miss.meant);
}

int verb_policy(Invocation& call) {
  return run_group({"policy",
                    "try and use scheduling policies written in Lua",
                    kPolicyVerbs,
                    {{"holon policy check mine.lua", "is it right so far?"},
                     {"holon policy test mine.lua --trace kth.swf.gz",
                      "what would it have done with these jobs?"},
                     {"holon policy what-if mine.lua", "and with those that wait now?"},
                     {"holon policy load mine.lua", "it decides from now on"}}},
                   call);
}

}  // namespace holon::cli
