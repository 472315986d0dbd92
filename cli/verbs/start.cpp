// holon start: makes an instance and runs the initial program in it.
#include "cli/parser.hpp"
#include "cli/start_options.hpp"
#include "cli/units.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
int verb_start(Invocation& call) {
  instance::StartOptions options;
  bool no_journal = false;
  Parser parser("start", "make an instance; its end is the end of SCRIPT, or of a shell");
  parser.command("SCRIPT [ARGS...]", options.command,
                 "the initial program; a shell on a terminal without one", false);
  add_instance_options(parser, options);
  parser
      .flag("--bg", options.background,
            "no initial program: print the instance's address and return; `holon shutdown` ends it")
      .option("--resources", options.resources, "WHAT",
              "a shape such as node=4/core=8,memory=16,gpu=1, or a file: JGF, Rv1, hwloc XML; what "
              "hwloc finds here unless given")
      .option("--state-dir", options.state_dir, "DIR",
              "journal and output; an instance that was here before goes on, with its queued jobs")
      .option("--name", options.name, "NAME", "how listings call it; the host's name unless given")
      .option(
          "-t,--time-limit",
          [&options](const std::string& word) -> Status {
            const auto limit = parse_limit(word);
            if (!limit) return tl::unexpected(limit.error());
            options.limit_ms = *limit;
            return {};
          },
          "TIME", "end it after 30s, 5m, 2h; a bare number is minutes")
      .flag("--no-journal", no_journal, "keep nothing on disk; a crash of the broker loses all")
      .flag("-v,--verbose", options.verbose, "log more");
  parser.note("With a shape that is larger than this machine, tasks run here, unbound.")
      .example("holon start", "a shell in an instance of this machine")
      .example("holon start --conf queue.policy=easy ./campaign.sh", "run a script of submissions")
      .example("holon start --bg --resources node=4/core=8",
               "four pretended nodes, in the background");
  parser.hidden_flag("--grant", options.grant);
  if (const auto code = parser.parse(call)) return *code;
  if (options.background && !options.command.empty() && !options.grant)
    return report(
        call, "start",
        {Errc::invalid_argument, "an instance in the background has no initial program", "--bg"});
  options.journal = !no_journal;
  put_own_folder_in_path();
  return instance::start_main(std::move(options));
}

}  // namespace holon::cli
