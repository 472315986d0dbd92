// holon batch: a child instance as a job; the script is its initial program.
#include <fmt/format.h>

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
#include "cli/workflow/array_options.hpp"
#include "cli/workflow/shared_output.hpp"

namespace holon::cli {
namespace {

struct BatchArgs {
  JobOptions job;
  instance::StartOptions instance;
  ElasticOption elastic;
  ScriptOptions script;
  ArrayOptions array;
  std::int64_t count = 1;  // tasks of the array
  bool wrap = false;
  bool json = false;
  std::vector<std::string> command;
};

// The words of the child's program; a script has its absolute name, so that the child finds it.
Result<std::vector<std::string>> initial_program(const BatchArgs& args) {
  if (args.wrap || args.script.text) return args.command;
  return script_by_name(args.command, "--wrap");
}

// The command without what stands behind ":::", and as many instances as there are indices.
Status make_array_of_instances(BatchArgs& args) {
  auto array = take_array(args.array, args.command, args.wrap);
  if (!array) return tl::unexpected(array.error());
  if (!*array) return {};
  args.count = (*array)->indices.count;
  args.job.array = std::move(*array);
  return {};
}

Result<JobRequest> request_of(BatchArgs& args) {
  add_script_of_input(args.script, args.job, args.command);
  if (auto good = make_array_of_instances(args); !good) return tl::unexpected(good.error());
  if (auto good = check_job_files(args.job, args.count); !good) return tl::unexpected(good.error());
  auto program = initial_program(args);
  if (!program) return tl::unexpected(program.error());
  if (args.job.shape.name.empty() && args.wrap)
    args.job.shape.name = "wrap";
  else if (args.job.shape.name.empty())
    args.job.shape.name = std::filesystem::path(program->front()).filename().string();
  args.instance.command = std::move(*program);
  if (auto good = take_tree(args.instance); !good) return tl::unexpected(good.error());
  if (auto good = take_elastic(args.elastic, args.job, args.instance); !good)
    return tl::unexpected(good.error());
  auto command = child_command(args.instance);
  if (!command) return tl::unexpected(command.error());
  auto made = make_request(args.job, std::move(*command));
  if (made) made->request.is_instance = true;
  if (made) made->request.count = static_cast<std::uint64_t>(args.count);
  return made;
}

void print_batch(Invocation& call, const msg::SubmitReply& reply) {
  nlohmann::ordered_json id = {{"id", reply.first_id}, {"count", reply.count}};
  if (reply.tasks > 0) id["tasks"] = reply.tasks;
  call.io.out << pretty(id);
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
  add_tree_options(parser, args.instance);
  add_elastic_option(parser, args.elastic);
  parser.group("Array");
  add_array_options(parser, args.array);
  parser
      .wrap(args.wrap,
            "SCRIPT is one line for the shell, --wrap 'a; b', or a command looked for in PATH",
            true)
      .instance(call)
      .json(args.json)
      .note(
          "The child gets the slots it asks for, a queue and a policy of its own; what the script "
          "submits runs inside. It ends when the script does, or at its time limit.")
      .note(
          "Of an array each task is an instance of its own, with these slots and the script, and "
          "is "
          "listed, cancelled and retried like any task of an array; 7.3 is also the name of the "
          "instance: holon jobs -i 7.3.")
      .example("holon batch -n 8 -t 1h --conf queue.policy=easy ./campaign.sh",
               "eight cores with a backfilling queue, for an hour")
      .example("holon batch -n 4 --array 0-9 ./campaign.sh",
               "ten instances, which find 0 to 9 in HOLON_ARRAY_INDEX")
      .example("holon batch --elastic 2-8 ./campaign.sh",
               "two cores, and up to eight while jobs wait in it")
      .example("holon batch -N 2 -x --wrap 'holon submit ./w; holon job wait --all'",
               "two whole nodes");
  args.script.takes_input = true;
  add_script_options(parser, call, "batch", LookedFor::here, args.script);
  if (const auto code = parser.parse(call)) return *code;
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
    print_batch(call, *reply);
  else
    call.io.out << fmt::format("{}\n", reply->first_id);
  return kOk;
}

}  // namespace holon::cli
