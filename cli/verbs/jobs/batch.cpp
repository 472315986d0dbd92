// holon batch: a child instance as a job; the script is its initial program.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/added_files.hpp"
#include "cli/connect.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/script_options.hpp"
#include "cli/options/start_options.hpp"
#include "cli/options/submit_error.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/verbs.hpp"
#include "cli/workflow/entries.hpp"

namespace holon::cli {
namespace {

struct BatchArgs {
  JobOptions job;
  instance::StartOptions instance;
  ScriptOptions script;
  bool wrap = false;
  bool json = false;
  std::vector<std::string> command;
};

// The words of the child's program; a script has its absolute name, so that the child finds it.
Result<std::vector<std::string>> initial_program(const BatchArgs& args) {
  if (args.wrap || args.script.text) return args.command;
  namespace fs = std::filesystem;
  std::vector<std::string> program = args.command;
  std::error_code error;
  const fs::path script = fs::absolute(program.front(), error);
  if (!error && fs::is_directory(script, error))
    return fail(Errc::invalid_argument,
                "a folder; accepted is a script, and --wrap takes a command instead",
                program.front());
  if (error || !fs::is_regular_file(script, error))
    return fail(Errc::invalid_argument, "there is no such script; --wrap takes a command instead",
                program.front());
  if (access(script.c_str(), X_OK) != 0)
    return fail(Errc::invalid_argument,
                "the script may not be executed; `chmod +x` helps, or --wrap sh", program.front());
  program.front() = script.string();
  return program;
}

Result<JobRequest> request_of(BatchArgs& args) {
  add_script_of_input(args.script, args.job, args.command);
  auto program = initial_program(args);
  if (!program) return tl::unexpected(program.error());
  if (args.job.shape.name.empty() && args.wrap)
    args.job.shape.name = "wrap";
  else if (args.job.shape.name.empty())
    args.job.shape.name = std::filesystem::path(program->front()).filename().string();
  args.instance.command = std::move(*program);
  auto command = child_command(args.instance);
  if (!command) return tl::unexpected(command.error());
  auto made = make_request(args.job, std::move(*command));
  if (made) made->request.is_instance = true;
  return made;
}

}  // namespace

int verb_batch(Invocation& call) {
  BatchArgs args;
  Parser parser("batch", "queue a child instance that runs a script");
  parser
      .command("SCRIPT [ARGS...]", args.command,
               "the child's initial program; - is standard input, as is a script in a pipe", true)
      .or_standard_input();
  add_resource_options(parser, args.job, Unit::slot);
  add_job_options(parser, args.job);
  add_file_option(parser, args.job, Unit::slot);
  add_instance_options(parser, args.instance);
  parser
      .wrap(args.wrap,
            "SCRIPT is one line for the shell, --wrap 'a; b', or a command looked for in PATH",
            true)
      .instance(call)
      .json(args.json)
      .note(
          "The child gets the slots it asks for, a queue and a policy of its own; what the script "
          "submits runs inside. It ends when the script does, or at its time limit.")
      .example("holon batch -n 8 -t 1h --conf queue.policy=easy ./campaign.sh",
               "eight cores with a backfilling queue, for an hour")
      .example("holon batch -N 2 -x --wrap 'holon submit ./w; holon job wait --all'",
               "two whole nodes");
  args.script.takes_input = true;
  add_script_options(parser, call, "batch", LookedFor::here, args.script);
  if (const auto code = parser.parse(call)) return *code;
  if (auto good = refuse_words(args.command, "batch"); !good)
    return report(call, "batch", good.error());
  const auto made = request_of(args);
  if (!made) return report(call, "batch", parser.located(made.error()));
  tell_left_out(call, "batch", *made);
  if (args.job.dry_run) {
    call.io.out << indented(made->request.jobspec);
    return kOk;
  }
  auto client = connect_to_submit(call, args.job.for_user);
  if (!client) return report(call, "batch", client.error());
  const auto reply = client->submit(made->request);
  if (!reply) return report(call, "batch", parser.located(as_typed(reply.error(), args.job)));
  if (args.json)
    call.io.out << pretty({{"id", reply->first_id}, {"count", reply->count}});
  else
    call.io.out << fmt::format("{}\n", reply->first_id);
  return kOk;
}

}  // namespace holon::cli
