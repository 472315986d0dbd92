// holon job output: what a job wrote, from the beginning, and what it goes on to write.
#include <fmt/format.h>

#include <ostream>

#include "cli/broker.hpp"
#include "cli/parser.hpp"
#include "cli/paths.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/job_verbs.hpp"

namespace holon::cli {

int verb_job_output(Invocation& call) {
  std::string job;
  Parser parser("job output", "what a job wrote");
  parser.positional("ID", job, "the job: 7 or /3/7")
      .group("Options")
      .instance(call)
      .note(
          "Of a job that is not over, it goes on until the job ends; Ctrl-C leaves the job alone.")
      .example("holon job output 7", "both streams, each to its own");
  if (const auto code = parser.parse(call)) return *code;
  const auto selection = select_jobs({job});
  if (!selection) return report(call, "job output", selection.error());
  if (!selection->instance.empty()) call.instance = selection->instance;
  auto broker = Broker::connect(call);
  if (!broker) return report(call, "job output", broker.error());
  const auto ended = broker->attach(selection->ids.front(), [&](const msg::OutputChunk& chunk) {
    (chunk.error ? call.io.err : call.io.out) << chunk.data << std::flush;
    return true;
  });
  return ended ? kOk : report(call, "job output", ended.error());
}

}  // namespace holon::cli
