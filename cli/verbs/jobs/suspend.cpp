// holon suspend, holon resume: the tasks of running jobs are stopped, and go on.
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

int stop_or_go(Invocation& call, Parser& parser, const char* verb, bool suspend) {
  std::vector<std::string> words;
  parser.positional("ID", words, "the jobs (7, 3-9, /3/7)").group("Options").instance(call);
  if (const auto code = parser.parse(call)) return *code;
  if (words.empty())
    return report(call, verb, {Errc::invalid_argument, "name at least one job", "ID"});
  auto jobs = connect_to_jobs(call, words);
  if (!jobs) return report(call, verb, jobs.error());
  const auto done = jobs->client.suspend({jobs->ids, suspend});
  return done ? static_cast<int>(kOk) : report(call, verb, done.error());
}

}  // namespace

int verb_suspend(Invocation& call) {
  Parser parser("suspend", "stop the tasks of running jobs for a while");
  parser
      .note(
          "All tasks of the jobs get SIGSTOP, with the processes of their process groups, on all "
          "nodes. What the jobs hold stays theirs: cores, GPUs, memory and licenses are not given "
          "to others. The time limit counts on, since the resources are reserved for others from "
          "its end on; `holon update ID -t +1h` moves it. Suspended jobs stay so over restarts of "
          "the "
          "broker until `holon resume`; a cancel and the time limit end them all the same. If one "
          "of several jobs does not run, none is stopped. An instance cannot be suspended; the "
          "jobs in it can.")
      .example("holon suspend 7", "its tasks stop where they are")
      .example("holon suspend -i /3 4-6", "three jobs of a child instance");
  return stop_or_go(call, parser, "suspend", true);
}

int verb_resume(Invocation& call) {
  Parser parser("resume", "let suspended jobs go on");
  parser
      .note("Their tasks get SIGCONT, on all nodes. Of jobs that are not suspended it is no error.")
      .example("holon resume 7", "it goes on where it was stopped");
  return stop_or_go(call, parser, "resume", false);
}

}  // namespace holon::cli
