// holon start: an instance on this machine.
#include <cmath>

#include "base/duration.hpp"
#include "cli/parser.hpp"
#include "cli/start_options.hpp"
#include "cli/verbs.hpp"
#include "instance/options.hpp"

namespace holon::cli {

int verb_start(Invocation& call) {
  instance::StartOptions options;
  bool no_journal = false;
  Parser parser("start", "make an instance here and run a script or a shell in it");
  parser.command(
      "SCRIPT [ARGS...]", options.command,
      "the initial program: its end ends the instance, its exit code is start's; without "
      "one, a shell",
      false);
  parser.flag("--bg", options.background, "return once it is up, and print its uri")
      .option("--resources", options.resources, "SHAPE|FILE",
              "what it has: node=4/core=8,memory=16, or a JGF, Rv1 or hwloc XML file; else this "
              "machine")
      .option("--state", options.state_dir, "DIR",
              "journal and output; one that was used before goes on with its queued jobs")
      .option("--name", options.name, "NAME", "for listings")
      .option(
          "-t,--time-limit",
          [&](const std::string& text) -> Status {
            const auto limit = parse_minutes(text);
            if (!limit) return tl::unexpected(limit.error());
            options.limit_ms = std::llround(*limit * 1000);
            return {};
          },
          "TIME", "end in order after so long")
      .flag("--no-journal", no_journal, "keep nothing on disk")
      .hidden_flag("--grant", options.grant)
      .flag("-v,--verbose", options.verbose, "log what the broker does");
  add_instance_options(parser, options);
  parser.example("holon start", "a shell in an instance of this machine")
      .example("holon start --bg --conf queue.policy=easy",
               "one that stays; holon shutdown ends it")
      .example("holon start --resources node=4/core=8 ./campaign.sh",
               "a script on a declared shape");
  if (const auto code = parser.parse(call)) return *code;
  options.journal = !no_journal;
  return instance::start_main(std::move(options));
}

}  // namespace holon::cli
