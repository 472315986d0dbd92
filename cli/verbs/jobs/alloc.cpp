// holon alloc: a child instance with a person in it. The child is a job without an initial program;
// the command, or the shell, runs here with HOLON_URI set to the child, and its end ends the child.
#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <ostream>
#include <utility>

#include "base/text/printable.hpp"
#include "cli/added_files.hpp"
#include "cli/connect.hpp"
#include "cli/interrupter.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/script_options.hpp"
#include "cli/options/start_options.hpp"
#include "cli/options/submit_error.hpp"
#include "cli/outcome.hpp"
#include "cli/parser/parser.hpp"
#include "cli/program_here.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

struct AllocArgs {
  JobOptions job;
  instance::StartOptions instance;
  ElasticOption elastic;
  bool background = false;
  ScriptOptions script;
  std::vector<std::string> command;
};

Result<msg::JobRecord> record_of(Client& client, std::uint64_t id) {
  msg::JobsRequest request;
  request.all = true;
  request.ids = {id};
  auto reply = client.jobs(request);
  if (!reply) return tl::unexpected(reply.error());
  if (reply->jobs.empty()) return fail(Errc::not_found, fmt::format("job {} is gone", id));
  return std::move(reply->jobs.front());
}

// Shows the last words of the child, which are its job's output: a person who waits here would not
// look there.
void show_last_words(Invocation& call, Client& client, std::uint64_t id) {
  constexpr std::size_t kMost = 4'096;
  std::string said;
  (void)client.attach(id, [&said](const msg::OutputChunk& chunk) {
    said += chunk.data;
    return said.size() < kMost;
  });
  if (said.size() > kMost) said.resize(kMost);
  if (!said.empty() && !said.ends_with('\n')) said += '\n';
  call.io.err << said;
}

// Looks at the job whenever something happened to it, until its child answers or it is over.
Result<msg::JobRecord> wait_until_up(Invocation& call, Client& client, std::uint64_t id) {
  Result<msg::JobRecord> job = record_of(client, id);
  if (job && job->t_alloc == 0 && job->state != "INACTIVE")
    call.io.err << fmt::format("holon alloc: job {} waits{}{}\n", id,
                               job->reason.empty() ? "" : ": ", printable(job->reason));
  msg::WatchRequest request;
  request.ids = {id};
  const auto watched = client.watch(request, [&](const msg::JobEvent& event) {
    return event.name != "instance" && event.name != "clean";
  });
  if (!watched) return tl::unexpected(watched.error());
  job = record_of(client, id);
  if (job && job->child_uri.empty())
    return fail(Errc::unsatisfiable,
                failure_of(*job).empty() ? "it ended at once" : failure_of(*job),
                fmt::format("job {}", id));
  return job;
}

constexpr time_t kLastWords = 30;  // s for the instance to take back what it gave

// Ends this process soon: the signal comes again after a while, wherever this process is then.
void end_soon(int signal) {
  sigevent again{};
  again.sigev_notify = SIGEV_SIGNAL;
  again.sigev_signo = signal;
  timer_t timer{};
  const itimerspec when{{0, 0}, {kLastWords, 0}};
  if (timer_create(CLOCK_MONOTONIC, &again, &timer) == 0) timer_settime(timer, 0, &when, nullptr);
}

int code_of_ended(const msg::JobRecord& job) {
  return job.result == "TIMEOUT" ? kTimeLimit : kNotRun;
}

// The exit code of a program ended because its instance was. What was said of the job stands: the
// instance that knows it may be gone by now. A job that was still ending had no result to tell.
int code_of_outlived(Client& client, std::uint64_t id, const ProgramEnd& ran) {
  if (ran.timed_out) return kTimeLimit;
  msg::WaitRequest wait;
  wait.ids = {id};
  const auto over = client.wait(wait);
  return over && !over->jobs.empty() ? code_of_ended(over->jobs.front()) : kNotRun;
}

// Ends the child and at once the connection: a leaving broker waits for every connected client that
// may not have read all.
Status shut_down_child(const std::string& uri, const std::string& reason) {
  auto child = Client::connect({uri, {}, {}});
  return child ? child->shutdown({reason}) : Status(tl::unexpected(child.error()));
}

// Ends the child and waits for that. A signal ends the wait once the instance knows that the job is
// to end, or after two seconds without an answer. `held` has kept signals away since before the
// program's end.
Status give_back(Client& client, std::uint64_t id, const std::string& uri,
                 Client::SignalGuard held) {
  msg::CancelRequest over;
  over.ids = {id};
  over.reason = "the command of holon alloc has ended";
  transport::Subscription answer;
  Client::SignalGuard guard;
  guard = client.catch_signals([&](int signal) {
    answer = client.cancel_later(over, [&guard, &held, signal] {
      guard.reset();
      held.reset();
      raise(signal);
    });
  });
  if (!shut_down_child(uri, over.reason))
    (void)client.cancel(over);  // its instance does not answer: end the job itself
  msg::WaitRequest wait;
  wait.ids = {id};
  const auto gone = client.wait(wait);
  return gone ? Status() : tl::unexpected(gone.error());
}

// What a command finds that knows Slurm, and what salloc says.
void tell_slurm_names(Invocation& call, const msg::JobRecord& job) {
  for (const auto& [name, value] : {std::pair("SLURM_JOB_ID", std::to_string(job.id)),
                                    {"SLURM_JOBID", std::to_string(job.id)},
                                    {"SLURM_JOB_NODELIST", job.nodelist},
                                    {"SLURM_NODELIST", job.nodelist},
                                    {"SLURM_JOB_NUM_NODES", std::to_string(job.nnodes)},
                                    {"SLURM_NNODES", std::to_string(job.nnodes)},
                                    {"HOLON_JOB_PATH", job.path}})
    setenv(name, value.c_str(), 1);
  if (call.slurm != nullptr)
    call.io.err << fmt::format("salloc: Granted job allocation {}\n", job.id) << std::flush;
}

int use(Invocation& call, const AllocArgs& args, Client& client, std::uint64_t id) {
  int interrupted = 0;
  const auto job = [&] {
    const Interrupter interrupter(call, client, id, "holon alloc");
    auto up = wait_until_up(call, client, id);
    interrupted = interrupter.signal();
    return up;
  }();
  if (!job) report(call, "alloc", job.error());
  if (!job && interrupted == 0) show_last_words(call, client, id);
  if (!job || interrupted != 0)  // nobody would ever use it; the interrupter's word may not be out
    (void)client.cancel({{id}, false, "holon alloc gave it up"});
  if (interrupted != 0) return 128 + interrupted;
  if (!job) {
    const auto ended = record_of(client, id);
    return ended ? code_of_ended(*ended) : kNotRun;
  }
  if (args.background) {
    call.io.out << fmt::format("{}\n", id);
    return kOk;
  }
  if (args.script.translate) tell_slurm_names(call, *job);
  put_own_folder_in_path();
  // A signal that ends this process must first end the program and then the child instance, which
  // would run on otherwise.
  auto held = client.catch_signals([](int) {});  // also between the one and the other
  const auto ran = run_here(call, client, id, args.command, job->child_uri);
  if (ran && ran->asked_by != 0) end_soon(ran->asked_by);
  if (ran && ran->outlived) {
    held.reset();
    return code_of_outlived(client, id, *ran);
  }
  if (const auto given = give_back(client, id, job->child_uri, std::move(held)); !given)
    report(call, "alloc", given.error());
  return ran ? ran->code : report(call, "alloc", ran.error());
}

}  // namespace

int verb_alloc(Invocation& call) {
  AllocArgs args;
  Parser parser("alloc", "a child instance to work in");
  parser.command("COMMAND [ARGS...]", args.command,
                 "what to run in it, here; your shell without one", false);
  add_resource_options(parser, args.job, Unit::slot);
  add_file_option(parser, args.job, Unit::slot);
  add_instance_options(parser, args.instance);
  add_elastic_option(parser, args.elastic);
  parser.flag("--bg", args.background, "run nothing: print the job's id once the child is up")
      .instance(call)
      .note(
          "Waits until the resources are there. The command runs in this terminal with HOLON_URI "
          "set to the child; its end ends the child, and its exit code is alloc's. When the child "
          "ends first, by its time limit or because somebody cancelled it, the command gets SIGHUP "
          "and alloc exits with 124 or 125; so it does when the child ends before it is up.")
      .example("holon alloc -n 4 -t 1h", "a shell with four cores and a queue of its own")
      .example("holon alloc -n 4 --conf queue.policy=easy ./campaign.sh", "a script instead")
      .example("holon alloc --for ann --bg -N 2", "a child of ann's, by an operator")
      .example("holon alloc --bg -n 2", "a child for later: holon -i /ID submit ...");
  add_script_options(parser, call, "alloc", LookedFor::in_path, args.script);
  if (const auto code = parser.parse(call)) return *code;
  if (!args.script.file.empty()) args.command.front() = args.script.file;
  if (args.background && !args.command.empty())
    return report(call, "alloc",
                  {Errc::invalid_argument, "nothing is run with --bg", args.command.front()});

  if (!args.background && !args.job.for_user.empty())
    return report(call, "alloc",
                  {Errc::invalid_argument,
                   "a command here would be yours; --bg makes the child and leaves it to that user",
                   "--for " + args.job.for_user});
  args.job.own = !args.job.for_user.empty();
  args.instance.background = true;
  if (auto good = take_elastic(args.elastic, args.job, args.instance); !good)
    return report(call, "alloc", good.error());
  auto command = child_command(args.instance);
  if (!command) return report(call, "alloc", command.error());
  if (args.job.shape.name.empty())
    args.job.shape.name = args.command.empty()
                              ? "alloc"
                              : std::filesystem::path(args.command.front()).filename().string();
  auto made = make_request(args.job, std::move(*command));
  if (!made) return report(call, "alloc", parser.located(made.error()));
  tell_left_out(call, "alloc", *made);
  made->request.is_instance = true;
  auto client = connect_to_submit(call, args.job.for_user);
  const auto refused = [&call](const Error& error) {
    const int code = report(call, "alloc", error);
    return code == kFailed ? kNotRun : code;
  };
  if (!client) return refused(client.error());
  const auto reply = client->submit(made->request);
  if (!reply) return refused(parser.located(as_typed(reply.error(), args.job)));
  return use(call, args, *client, reply->first_id);
}

}  // namespace holon::cli
