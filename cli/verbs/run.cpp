// holon run: a job in the foreground. Its output is ours, its exit code is ours, Ctrl-C cancels it.
#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "cli/broker.hpp"
#include "cli/interrupter.hpp"
#include "cli/job_json.hpp"
#include "cli/job_options.hpp"
#include "cli/outcome.hpp"
#include "cli/parser.hpp"
#include "cli/start_options.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

struct Args {
  JobOptions job;
  bool verbose = false;
  bool pty = false;
  std::vector<std::string> command;
};

Result<msg::JobRecord> follow(Invocation& call, Broker& broker, std::uint64_t id) {
  const auto streamed = broker.attach(id, [&](const msg::OutputChunk& chunk) {
    (chunk.error ? call.io.err : call.io.out) << chunk.data << std::flush;
    return true;
  });
  if (!streamed) return tl::unexpected(streamed.error());
  msg::WaitRequest request;
  request.ids = {id};
  auto ended = broker.wait(request);
  if (!ended) return tl::unexpected(ended.error());
  if (ended->jobs.empty()) return fail(Errc::protocol, "no record of the job came back");
  return std::move(ended->jobs.front());
}

// What would need more than the one terminal there is, or none.
Status check_pty(const JobOptions& job) {
  const auto misfit = [](const char* option) {
    return fail(Errc::invalid_argument, "a terminal is for one task, and keeps no output", option);
  };
  if (job.shape.tasks != 1 || !job.slots.empty()) return misfit("--pty with -n");
  if (job.output) return misfit("--pty with --output");
  if (job.error) return misfit("--pty with --error");
  if (job.label_io) return misfit("--pty with --label-io");
  return {};
}

// The task becomes `holon pty`, which runs the command at this terminal.
Result<std::unique_ptr<Terminal>> lend_terminal(Args& args) {
  if (auto good = check_pty(args.job); !good) return tl::unexpected(good.error());
  auto terminal = Terminal::create();
  if (!terminal) return terminal;
  const auto binary = own_binary();
  if (!binary) return tl::unexpected(binary.error());
  if (args.job.shape.name.empty())
    args.job.shape.name = std::filesystem::path(args.command.front()).filename().string();
  args.command.insert(args.command.begin(),
                      {*binary, "pty", "--socket", (*terminal)->socket(), "--"});
  return terminal;
}

int follow_to_the_end(Invocation& call, Broker& broker, std::uint64_t id, Terminal* terminal) {
  if (terminal != nullptr) {
    if (auto begun = terminal->begin(broker.reactor()); !begun) {
      (void)broker.cancel({{id}, false, "there is no terminal for it"});
      report(call, "run", begun.error());
      return kNotRun;
    }
  }
  const Interrupter interrupter(call, broker, id, "holon run");
  const auto job = follow(call, broker, id);
  if (terminal != nullptr) terminal->end();
  if (!job) {
    report(call, "run", {job.error().code, job.error().what, fmt::format("job {}", id)});
    return kNotRun;
  }
  const std::string why = failure_of(*job);
  if (!why.empty()) call.io.err << fmt::format("holon run: job {}: {}\n", id, why);
  return exit_code_of(*job, interrupter.signal());
}

}  // namespace

int verb_run(Invocation& call) {
  Args args;
  Parser parser("run", "run a job and wait for it, with its output here");
  parser.command("COMMAND [ARGS...]", args.command, "what each task runs", true);
  add_resource_options(parser, args.job, Unit::task);
  add_job_options(parser, args.job);
  parser.group("Other")
      .flag("-v,--verbose", args.verbose, "say the job's id")
      .flag("--pty", args.pty, "lend this terminal to the task: a shell, an editor, a debugger")
      .instance(call)
      .note(
          "The exit code is the job's; 124 when its time limit ended it, 125 when it was refused "
          "or lost, 128+N when signal N ended it. Ctrl-C cancels the job. Tasks read nothing: "
          "their standard input is empty, except with --pty, where every key is the task's; what "
          "it shows is not kept, and the instance must be on this machine.");
  parser.example("holon run -n 2 -c 4 ./solver mesh.h5", "two tasks of four cores each")
      .example("holon run -t 30s make test", "give up after half a minute")
      .example("holon run --pty -c 4 bash", "a shell on four cores of its own");
  if (const auto code = parser.parse(call)) return *code;

  std::unique_ptr<Terminal> terminal;
  if (args.pty) {
    auto lent = lend_terminal(args);
    if (!lent) return report(call, "run", lent.error());
    terminal = std::move(*lent);
  }
  const auto made = make_request(args.job, std::move(args.command));
  if (!made) return report(call, "run", made.error());
  tell_left_out(call, "run", *made);
  if (args.job.dry_run) {
    call.io.out << indented(made->request.jobspec);
    return kOk;
  }
  auto broker = Broker::connect(call);
  if (!broker) return report(call, "run", broker.error());
  const auto reply = broker->submit(made->request);
  if (!reply) {
    const int code = report(call, "run", reply.error());
    return code == kFailed ? kNotRun : code;
  }
  if (args.verbose) call.io.err << fmt::format("holon run: job {}\n", reply->first_id);
  return follow_to_the_end(call, *broker, reply->first_id, terminal.get());
}

}  // namespace holon::cli
