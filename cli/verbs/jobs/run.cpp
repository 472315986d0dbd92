// holon run: a job in the foreground. Its output is ours, its exit code is ours, Ctrl-C cancels it.
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <ostream>

#include "base/idset.hpp"
#include "cli/added_files.hpp"
#include "cli/connect.hpp"
#include "cli/input_pump.hpp"
#include "cli/interrupter.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/script_options.hpp"
#include "cli/options/start_options.hpp"
#include "cli/options/submit_error.hpp"
#include "cli/outcome.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/terminal.hpp"
#include "cli/show/wait_notice.hpp"
#include "cli/verbs.hpp"
#include "cli/workflow/entries.hpp"

namespace holon::cli {
namespace {

struct RunArgs {
  JobOptions job;
  bool verbose = false;
  bool progress = false;
  bool pty = false;
  bool json = false;
  bool wrap = false;
  ScriptOptions script;
  std::vector<std::string> command;
};

// Copies the tasks' output to where it belongs; once that takes no more, the job is cancelled. If
// the record is to be printed, it has standard output for itself.
class Copy {
 public:
  Copy(Invocation& call, Interrupter& interrupter) : call_(call), interrupter_(interrupter) {}

  void operator()(const msg::OutputChunk& chunk) {
    std::ostream& to = chunk.error || call_.json ? call_.io.err : call_.io.out;
    if (!to) return;
    errno = 0;
    if (to << chunk.data << std::flush) return;
    interrupter_.output_is_gone(errno == EPIPE ? "nobody reads its output any more"
                                               : std::string("its output cannot be written: ") +
                                                     std::strerror(errno));
  }

 private:
  Invocation& call_;
  Interrupter& interrupter_;
};

Result<msg::JobRecord> follow(Invocation& call, Client& client, std::uint64_t id,
                              Interrupter& interrupter) {
  Copy copy(call, interrupter);
  // The record, asked for beside the output so that it is here when that ends.
  std::optional<msg::JobRecord> over;
  const auto asked =
      client.ended_later(id, [&over](const msg::JobRecord& record) { over = record; });
  const auto streamed = client.attach(id, [&copy](const msg::OutputChunk& chunk) {
    copy(chunk);
    return true;
  });
  // An instance for several users shows nothing of a file that the user named once the job is over:
  // the file is the user's to read.
  if (!streamed && streamed.error().code != Errc::denied) return tl::unexpected(streamed.error());
  if (over) return std::move(*over);
  msg::WaitRequest request;
  request.ids = {id};
  auto ended = client.wait(request);
  if (!ended) return tl::unexpected(ended.error());
  if (ended->jobs.empty()) return fail(Errc::protocol, "no record of the job came back");
  return std::move(ended->jobs.front());
}

// Refuses options that would need more than the one terminal there is, or none.
Status check_pty(const RunArgs& args) {
  const JobOptions& job = args.job;
  const auto misfit = [](const char* option) {
    return fail(Errc::invalid_argument,
                "a terminal is for one task, is what it reads, and keeps no output", option);
  };
  if (job.shape.tasks != 1 || !job.slots.empty()) return misfit("--pty with -n");
  if (job.shape.nodes > 1 && !job.tasks_given) return misfit("--pty with -N");
  if (job.input) return misfit("--pty with --input");
  if (job.output) return misfit("--pty with --output");
  if (job.error) return misfit("--pty with --error");
  if (job.label_io) return misfit("--pty with --label-io");
  if (args.json) return misfit("--pty with --json");
  return {};
}

// Lends the terminal: the task becomes `holon pty`, which runs the command at it.
Result<std::unique_ptr<Terminal>> lend_terminal(RunArgs& args) {
  if (auto good = check_pty(args); !good) return tl::unexpected(good.error());
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

// Chooses the tasks that get our standard input: all unless --input says otherwise, as with srun
// and flux run. Errors: invalid_argument.
Status choose_input(const Io& io, JobOptions& job) {
  const bool asked_for = job.input.has_value();
  const std::string wanted = job.input.value_or("all");
  const auto ranks = Idset::parse(wanted);
  if (wanted != "all" && (!ranks || ranks->empty())) return {};  // "none", or a file
  job.input.reset();
  if (ranks && !ranks->empty() && job.slots.empty()) {
    const std::int64_t tasks =
        job.tasks_given ? job.shape.tasks : std::max<std::int64_t>(job.shape.nodes, 1);
    if (ranks->last() >= static_cast<std::uint64_t>(tasks))
      return fail(Errc::invalid_argument,
                  fmt::format("there {} {} task{}, counted from 0; ./{} is a file of that name",
                              tasks == 1 ? "is" : "are", tasks, tasks == 1 ? "" : "s", wanted),
                  "--input " + wanted);
  }
  if (!has_input(io)) return {};
  if (job.requeue == 0 || asked_for) {
    job.forwarded = wanted;
    return {};
  }
  // Terminal input may be left unread; input of a pipe or a file would be missed.
  if (isatty(io.input) != 0) return {};
  return fail(Errc::invalid_argument,
              "what stands at the standard input is sent once, and the job's next attempt would "
              "find nothing; --input FILE has each attempt open a file, and --input none (or < "
              "/dev/null) has none read anything",
              fmt::format("--requeue {}", job.requeue));
}

// A job may complete before it is cancelled; its output is lost all the same.
int code_of(const msg::JobRecord& job, const Interrupter& interrupter) {
  const int code = exit_code_of(job, interrupter.signal());
  if (code != kOk || interrupter.signal() != SIGPIPE) return code;
  return 128 + SIGPIPE;
}

int follow_to_the_end(Invocation& call, Client& client, std::uint64_t id, Terminal* terminal,
                      const RunArgs& args) {
  if (terminal != nullptr) {
    if (auto begun = terminal->begin(client.reactor()); !begun) {
      (void)client.cancel({{id}, false, "there is no terminal for it"});
      report(call, "run", begun.error());
      return kNotRun;
    }
  }
  Interrupter interrupter(call, client, id, "holon run");
  interrupter.pass_on_other_signals();
  const WaitNotice notice(call, client, id, "holon run",
                          args.progress ? WaitNotice::What::progress : WaitNotice::What::wait);
  std::optional<InputPump> input;
  if (!args.job.forwarded.empty()) input.emplace(call, client, id);
  const auto job = follow(call, client, id, interrupter);
  if (terminal != nullptr) terminal->end();
  if (!job) {
    report(call, "run", {job.error().code, job.error().what, fmt::format("job {}", id)});
    return kNotRun;
  }
  if (args.json) {
    call.io.out << json_text(*job);
    return code_of(*job, interrupter);
  }
  const std::string why = failure_of(*job);
  if (!why.empty() && interrupter.signal() != SIGPIPE)
    call.io.err << fmt::format("holon run: job {}: {}\n", id, printable(why));
  return code_of(*job, interrupter);
}

}  // namespace

int verb_run(Invocation& call) {
  RunArgs args;
  Parser parser("run", "run a job and wait for it, with its output here");
  parser.command("COMMAND [ARGS...]", args.command, "what each task runs", true);
  add_resource_options(parser, args.job, Unit::task);
  add_job_options(parser, args.job);
  add_file_option(parser, args.job, Unit::task);
  add_task_options(parser, args.job);
  parser.group("Job")
      .option("--input", args.job.input, "all|RANKS|FILE|none",
              "who gets this command's standard input: all tasks (unless given), or those of these "
              "ranks; or a file that the tasks open; or nothing")
      .wrap(args.wrap, "COMMAND is one line for the shell: --wrap 'a; b'");
  add_script_options(parser, call, "run", LookedFor::in_path, args.script);
  parser.group("Other")
      .flag("-v,--verbose", args.verbose, "say the job's id")
      .flag("--progress", args.progress,
            "say on standard error when the job starts, where, and every ten seconds how long it "
            "has run")
      .flag("--pty", args.pty, "lend this terminal to the task: a shell, an editor, a debugger")
      .instance(call)
      .json(args.json)
      .note(
          "With --json the job's record is printed when it is over, as holon jobs has it, and "
          "what its tasks write goes to standard error.")
      .note(
          "The exit code is the job's; 124 when its time limit ended it, 125 when it was refused "
          "or lost, 128+N when signal N ended it. Ctrl-C cancels the job. In a loop over lines, "
          "`while "
          "read x; do holon run ...; done < list`, the first task would read the list: --input "
          "none, "
          "or < /dev/null, leaves it to the loop. With --pty every key is the task's; what it "
          "shows "
          "is not kept, and the instance must be on this machine.");
  parser.example("holon run -n 2 -c 4 ./solver mesh.h5", "two tasks of four cores each")
      .example("holon run -t 30s make test", "give up after half a minute")
      .example("zcat trace.gz | holon run -c 2 ./filter > short", "a job in a pipeline")
      .example("holon run --pty -c 4 bash", "a shell on four cores of its own");
  if (const auto code = parser.parse(call)) return *code;
  if (auto good = refuse_words(args.command, "run"); !good)
    return report(call, "run", good.error());
  if (!args.script.file.empty()) args.command.front() = args.script.file;

  std::unique_ptr<Terminal> terminal;
  if (args.pty) {
    auto lent = lend_terminal(args);
    if (!lent) return report(call, "run", lent.error());
    terminal = std::move(*lent);
  } else if (auto good = choose_input(call.io, args.job); !good) {
    return report(call, "run", parser.located(good.error()));
  }
  const auto made = make_request(args.job, std::move(args.command));
  if (!made) return report(call, "run", parser.located(made.error()));
  tell_left_out(call, "run", *made);
  if (args.job.dry_run) {
    call.io.out << indented(made->request.jobspec);
    return kOk;
  }
  auto client = connect_to_submit(call, args.job.for_user);
  const auto refused = [&call](const Error& error) {
    const int code = report(call, "run", error);
    return code == kFailed ? kNotRun : code;
  };
  if (!client) return refused(client.error());
  const auto reply = client->submit(made->request);
  if (!reply) return refused(parser.located(as_typed(reply.error(), args.job)));
  if (args.verbose) call.io.err << fmt::format("holon run: job {}\n", reply->first_id);
  return follow_to_the_end(call, *client, reply->first_id, terminal.get(), args);
}

}  // namespace holon::cli
