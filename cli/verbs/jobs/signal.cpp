// holon signal: a signal to all tasks of running jobs.
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"
#include "launch/signal_name.hpp"

namespace holon::cli {

int verb_signal(Invocation& call) {
  std::vector<std::string> words;
  Parser parser("signal", "send a signal to the tasks of running jobs");
  parser
      .positional("SIG ID", words,
                  "the signal (USR1, SIGUSR1, RTMIN+1 or its number), then the jobs (7, 3-9, /3/7)")
      .group("Options")
      .instance(call)
      .note(
          "Every task of the jobs gets it, with the processes of its process group, on all nodes. "
          "It is sent at once, and once. If one of several jobs does not run, none gets it. To end "
          "jobs use holon cancel: SIGKILL follows where SIGTERM is not enough.")
      .example("holon signal USR1 7", "many programs write a checkpoint then")
      .example("holon signal STOP 3-9", "seven jobs stop; CONT lets them go on");
  if (const auto code = parser.parse(call)) return *code;
  if (words.size() < 2)
    return report(call, "signal",
                  {Errc::invalid_argument, "name the signal, then at least one job", "SIG ID..."});
  const auto signal = launch::parse_signal(words.front());
  if (!signal) return report(call, "signal", signal.error());
  words.erase(words.begin());
  auto jobs = connect_to_jobs(call, words);
  if (!jobs) return report(call, "signal", jobs.error());
  const auto sent = jobs->client.signal({jobs->ids, *signal});
  return sent ? static_cast<int>(kOk) : report(call, "signal", sent.error());
}

}  // namespace holon::cli
