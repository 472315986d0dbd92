#include "cli/verbs/schedule/simulate_options.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/parser/parser.hpp"
#include "qmanager/policy/hooks.hpp"
#include "qmanager/policy/policy.hpp"

namespace holon::cli {
namespace {

// The parts of `text`; none if it is empty.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

// Checks that a result's file can be written before the result is computed.
Status check_file(const std::string& name, const char* option) {
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored))
    return fail(Errc::invalid_argument, "a folder; accepted is the name of a file",
                fmt::format("{} {}", option, name));
  const auto folder = std::filesystem::path(name).parent_path();
  const std::string place = folder.empty() ? "." : folder.string();
  const bool there = access(name.c_str(), F_OK) == 0;
  if (name.empty() || access(there ? name.c_str() : place.c_str(), W_OK) == 0) return {};
  return fail(Errc::system, fmt::format("it cannot be written: {}", std::strerror(errno)),
              fmt::format("{} {}", option, name));
}

Status check_files(const SimulateOptions& options) {
  for (const auto& [option, name] : {std::pair("--starts", &options.starts),
                                     {"--schedule", &options.schedule},
                                     {"--report", &options.report}})
    if (Status good = check_file(*name, option); !good) return good;
  return {};
}

Status check_policies(const SimulateOptions& options) {
  const bool several = !options.compare.empty();
  const char* const option = several ? "--compare" : "--policy";
  if (several && !options.policy.empty())
    return fail(Errc::invalid_argument, "it names the policies; --policy is one more", option);
  const auto names = options.policies();
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (name->empty())
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' has an empty element; accepted are policies with one comma "
                              "between them: fcfs,easy",
                              several ? options.compare : options.policy),
                  option);
    if (std::find(names.begin(), name, *name) != name)
      return fail(Errc::invalid_argument, fmt::format("{} is named twice", *name), option);
  }
  if (names.size() > 1 && !(options.starts.empty() && options.schedule.empty()))
    return fail(Errc::invalid_argument, "--starts and --schedule take one policy", option);
  for (const auto& name : names)
    if (const auto policy = qmanager::parse_policy(name);
        !policy && !qmanager::is_policy_file(name))
      return fail(policy.error().code, policy.error().what, option);
  return {};
}

// A tree says which machine there is, and plays one policy with one pass per instant.
Status check_tree(const SimulateOptions& options) {
  if (options.tree.empty()) return {};
  for (const auto& [option, given] : {std::pair("--procs", options.procs.has_value()),
                                      {"--resources", !options.resources.empty()},
                                      {"--compare", !options.compare.empty()},
                                      {"--order event", options.order == "event"},
                                      {"--schedule", !options.schedule.empty()},
                                      {"--think-times", options.think_times},
                                      {"--charge-scheduler", options.charge_scheduler},
                                      {"--timings", options.timings}})
    if (given) return fail(Errc::invalid_argument, "--tree is not simulated with it", option);
  return {};
}

Status check(const SimulateOptions& options) {
  const auto wrong = [](const char* option, std::string what) {
    return fail(Errc::invalid_argument, std::move(what), option);
  };
  if (options.order != "batch" && options.order != "event")
    return wrong("--order", "\"" + options.order + "\" is neither batch nor event");
  if (options.procs && !options.resources.empty())
    return wrong("--procs", "a machine is described by --procs or by --resources");
  if (options.procs && *options.procs < 1)
    return wrong("--procs", fmt::format("{} is not accepted, at least 1 is", *options.procs));
  if (const auto depth = options.queue_depth.value_or(1); depth < 1 || depth > kDeepestQueue)
    return wrong("--queue-depth", fmt::format("{} is not from 1 to {}", depth, kDeepestQueue));
  if (!options.title.empty() && options.report.empty())
    return wrong("--title", "it is that of a --report, and none is asked for");
  if (options.timings && !options.json)
    return wrong("--timings", "they are part of --json, and that is not asked for");
  if (Status good = check_policies(options); !good) return good;
  if (Status good = check_tree(options); !good) return good;
  return check_files(options);
}

void describe(Parser& parser, SimulateOptions& options) {
  parser.required("TRACE", options.trace,
                  "SWF, JSON Lines, or what holon history --json or sacct -P prints, plain or "
                  "gzipped; - is standard input");
  parser.option("--procs", options.procs, "P",
                "processors of the machine (default: the trace's MaxProcs)");
  parser.option("--resources", options.resources, "SHAPE|FILE",
                "a resource graph instead: node=4/core=8, or a file with JGF or Rv1");
  parser.option("--tree", options.tree, "TREE.toml",
                "a tree of instances instead, that lend each other processors");
  parser.option(
      "--policy", options.policy, "POLICY",
      "fcfs, easy, hybrid[:N], conservative[:N], conservative-rebuild[:N], or a policy in "
      "Lua, FILE.lua, for all queues (default: of the configuration)");
  parser.option("--compare", options.compare, "POLICY,...", "several policies, side by side");
  parser.option("--conf", options.conf, "FILE|KEY=VALUE", "configuration, as of an instance");
  parser.option("--order", options.order, "batch|event",
                "one pass per instant (default), or one per event");
  parser.option("--queue-depth", options.queue_depth, "N",
                "how many waiting jobs the scheduler tries (default: all)");
  parser.group("Results");
  parser.json(options.json);
  parser.flag("--timings", options.timings, "with --json: how long each simulation took");
  parser.option("--starts", options.starts, "FILE", "start times: job,submit,procs,req,run,start");
  parser.option("--schedule", options.schedule, "FILE",
                "every pass, in Grid Engine's monitoring format");
  parser.option("--report", options.report, "FILE", "a self-contained HTML page");
  parser.option("--title", options.title, "TEXT", "of the report");
  parser.group("Trace");
  parser.flag("--strict", options.strict, "stop at the first line that is not right");
  parser.flag("--keep-overruns", options.keep_overruns,
              "jobs that ran longer than their limit do so (default: cut there)");
  parser.flag("--think-times", options.think_times,
              "a job is submitted when its preceding job has ended and its think time has passed "
              "(SWF fields 17 and 18)");
  parser.flag("--charge-scheduler", options.charge_scheduler,
              "add the time that decisions really take to virtual time");
  parser.note(
      "What a trace is, its content says. holon history says how large its machine was, and so "
      "does "
      "an SWF with MaxProcs; for sacct give --procs. Times may have fractions of a second; a run "
      "time of 0 is less than half of one.");
  parser.example("holon history --since -30d --json --tasks | holon simulate - --compare fcfs,easy",
                 "one's own last month under two policies");
  parser.example("holon simulate sacct.txt --procs 4096 --policy easy",
                 "a cluster's log, as sacct -P has written it");
  parser.example("holon simulate kth.swf.gz --policy easy --starts easy.csv",
                 "start times under EASY");
  parser.example("holon simulate kth.swf.gz --compare fcfs,easy,conservative --report kth.html",
                 "policies side by side");
  parser.example("holon simulate kth.swf.gz --policy easy --tree halves.toml --starts halves.csv",
                 "a tree of instances");
}

}  // namespace

std::vector<std::string> SimulateOptions::policies() const {
  return split(compare.empty() ? policy : compare);
}

std::optional<int> parse_options(Invocation& call, SimulateOptions& options) {
  Parser parser("simulate", "replay a trace of jobs under a policy, in virtual time");
  describe(parser, options);
  if (const auto code = parser.parse(call)) return code;
  if (options.trace == "-") options.trace = "/dev/stdin";
  if (const Status good = check(options); !good) return report(call, "simulate", good.error());
  return std::nullopt;
}

}  // namespace holon::cli
