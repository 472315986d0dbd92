// holon grant: asks for more than an instance has, gives it back, takes it back.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/connect.hpp"
#include "cli/options/constraints.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/submit_error.hpp"
#include "cli/parser/parser.hpp"
#include "cli/paths.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs/schedule/grant_verbs.hpp"
#include "instance/basics/clock.hpp"
#include "msg/grant.hpp"

namespace holon::cli {
namespace {

std::string amount_in_words(std::int64_t cores, std::int64_t gpus) {
  std::string words;
  if (cores > 0) words += fmt::format("{} core{}", cores, cores == 1 ? "" : "s");
  if (gpus > 0)
    words += fmt::format("{}{} GPU{}", words.empty() ? "" : ", ", gpus, gpus == 1 ? "" : "s");
  return words.empty() ? "nothing" : words;
}

std::string until_in_words(std::int64_t until, Time now) {
  return until == 0 ? "to the end" : fmt::format("until {}", show_time(until, now));
}

void print_answer(Invocation& call, const msg::GrantAnswer& answer) {
  const Time now = instance::wall_clock_ms();
  if (answer.is_here)
    call.io.out << fmt::format("{} {}\n", amount_in_words(answer.cores, answer.gpus),
                               until_in_words(answer.until, now));
  else if (answer.at == 0)
    call.io.out << "later: it is not known when\n";
  else
    call.io.out << fmt::format("later: planned for {}\n", show_time(answer.at, now));
}

int verb_grant_ask(Invocation& call) {
  JobOptions options;
  bool json = false;
  Parser parser("grant ask", "ask the instance above for more cores, GPUs and nodes");
  auto& shape = options.shape;
  parser.group("What");
  add_slots_option(parser, options, Unit::slot);
  parser
      .option("-N,--nodes", nodes_reader(shape), "N",
              "whole nodes that the instance does not have, with all that is on them")
      .option("-c,--cores-per-slot", number_up_to(resource::kMaxCount, shape.cores_per_task), "N",
              "cores per slot, 1 unless given")
      .option("-g,--gpus-per-slot", number_up_to(resource::kMaxCount, shape.gpus_per_task), "N",
              "GPUs per slot")
      .option(
          "-t,--time-limit|--time",
          [&options](const std::string& word) -> Status {
            const auto length = parse_limit(word);
            if (!length) return tl::unexpected(length.error());
            options.limit = *length;
            return {};
          },
          "TIME", "it goes back after that: 30s, 5m, 2h; to the end of this instance unless given")
      .flag("--now", options.immediate, "now or not at all");
  add_constraint_options(parser, shape.constraints);
  parser.group("Options")
      .instance(call)
      .json(json)
      .note(
          "What comes is on the nodes that the instance has, unless whole nodes are asked for: on "
          "each of these an agent of this instance is started, and jobs are placed there once it "
          "is there. In the instance above it is held by a "
          "job named grant, which waits in the queue there like any other: holon jobs and holon "
          "explain show it, holon cancel takes it back. This command waits until it is here or "
          "planned. Nothing is placed on it that would last longer than it is here; once it is "
          "over, or given back with holon grant release, it takes no new work, and leaves when "
          "nothing runs there any more: no job is ended for that.")
      .example("holon grant ask -n 2 -t 10m", "two cores for ten minutes")
      .example("holon grant ask -N 2 -t 1h", "two whole nodes for an hour")
      .example("holon -i /3 grant ask -n 4 --now", "four more for /3, if they are free");
  if (const auto code = parser.parse(call)) return *code;
  if (shape.nodes > 0 && options.tasks_given && shape.tasks < shape.nodes)
    return report(call, "grant ask",
                  {Errc::invalid_argument,
                   fmt::format("{} whole nodes have {} slots at least", shape.nodes, shape.nodes),
                   fmt::format("-n {}", shape.tasks)});
  options.environment = {"-*"};  // nothing is run
  options.shape.name = "grant";
  options.shape.exclusive = shape.nodes > 0;
  const auto made = make_request(options, {"grant"});
  if (!made) return report(call, "grant ask", made.error());
  auto client = connect_to_instance(call);
  if (!client) return report(call, "grant ask", client.error());
  const auto answer = client->ask_grant({made->request.jobspec});
  if (!answer) return report(call, "grant ask", as_typed(answer.error(), options));
  if (json)
    call.io.out << pretty({{"is_here", answer->is_here},
                           {"at", answer->at},
                           {"cores", answer->cores},
                           {"gpus", answer->gpus},
                           {"until", answer->until},
                           {"epoch", answer->epoch}});
  else
    print_answer(call, *answer);
  return kOk;
}

int verb_grant_release(Invocation& call) {
  std::string units;
  Parser parser("grant release", "give back what is beyond the instance's own");
  parser
      .positional("UNITS", units,
                  "those that came with any of these units, as holon grant shows them; all unless "
                  "given")
      .group("Options")
      .instance(call)
      .note("They take no new work from now on, and go back when nothing runs there any more.")
      .example("holon grant release", "all of it");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "grant release", client.error());
  const auto done = client->release_grant({units});
  return done ? static_cast<int>(kOk) : report(call, "grant release", done.error());
}

struct RecallArgs {
  std::string child, reason, mode = "drain";
  std::int64_t grant = 0;
  Duration notice = 0;
};

int verb_grant_recall(Invocation& call) {
  RecallArgs args;
  Parser parser("grant recall", "take back what a child has beyond its own, or what was lent");
  parser
      .positional("CHILD", args.child,
                  "the job that the child is: 3, /3; unless given: what this instance has lent of "
                  "its own to the one above")
      .option("--id", number_up_to(INT64_MAX, args.grant), "ID",
              "only what this grant holds, or this job named lend; all of them unless given")
      .option(
          "--by",
          [&args](const std::string& word) -> Status {
            const auto length = parse_limit(word.starts_with('+') ? word.substr(1) : word);
            if (!length) return tl::unexpected(length.error());
            args.notice = *length;
            return {};
          },
          "+TIME", "when, from now: +10m; at once unless given")
      .option("--mode", args.mode, "MODE",
              "drain: what runs there ends by itself; kill: it is ended when the time has come")
      .option("--reason", args.reason, "TEXT", "for the child's users")
      .group("Options")
      .instance(call)
      .note(
          "The child, or the instance above, places nothing there from now on. A job that is ended "
          "has failed with the "
          "loss of its node: with --requeue it runs again.")
      .example("holon grant recall /3", "it comes back as what runs there ends")
      .example("holon grant recall /3 --by +10m --mode kill", "in ten minutes at the latest")
      .example("holon grant recall", "what this instance has lent comes back before its time");
  if (const auto code = parser.parse(call)) return *code;
  if (args.mode != "drain" && args.mode != "kill")
    return report(
        call, "grant recall",
        {Errc::invalid_argument,
         fmt::format("'{}' is no mode; accepted are drain and kill", args.mode), "--mode"});
  msg::GrantRecall recall;
  recall.grant = static_cast<std::uint64_t>(args.grant);
  recall.notice = args.notice;
  recall.kill = args.mode == "kill";
  recall.reason = args.reason.empty() ? "holon grant recall" : args.reason;
  const auto send = [&](Client& client) {
    const auto done = client.recall_grant(recall);
    return done ? static_cast<int>(kOk) : report(call, "grant recall", done.error());
  };
  if (args.child.empty()) {
    auto client = connect_to_instance(call);
    return client ? send(*client) : report(call, "grant recall", client.error());
  }
  auto selected = connect_to_job(call, args.child);
  if (!selected) return report(call, "grant recall", selected.error());
  recall.child = selected->id;
  return send(selected->client);
}

}  // namespace

int verb_grant(Invocation& call) {
  static constexpr auto kVerbs = std::to_array<Verb>({
      {"show", "what an instance has from the one above, and has given on", Group::look,
       verb_grant_show},
      {"ask", "ask the instance above for more cores, GPUs and nodes", Group::work, verb_grant_ask},
      {"release", "give back what is beyond the instance's own", Group::work, verb_grant_release},
      {"lend", "lend idle cores and GPUs of its own to the instance above", Group::work,
       verb_grant_lend},
      {"recall", "take back what a child has beyond its own, or what was lent", Group::work,
       verb_grant_recall},
      {"wait", "wait until what an instance has changes", Group::work, verb_grant_wait},
      {"explain", "what more would let a waiting job start, and when it could come", Group::look,
       verb_grant_explain},
      {"history", "how an instance's grants have moved", Group::look, verb_grant_history},
  });
  const bool has_verb = !call.args.empty() && !call.args.front().starts_with('-');
  const bool asks_for_help =
      !call.args.empty() && (call.args.front() == "--help" || call.args.front() == "-h");
  if (!call.as_man_page && call.pages == nullptr && !has_verb && !asks_for_help)
    call.args.insert(call.args.begin(), "show");
  return run_group(
      {"grant",
       "show, ask, release, lend, recall, ...: what an instance has from the one above",
       kVerbs,
       {{"holon grant", "what this instance has"},
        {"holon grant ask -n 2 -t 10m", "two more cores, for ten minutes"},
        {"holon grant release", "they go back before"}}},
      call);
}

}  // namespace holon::cli
