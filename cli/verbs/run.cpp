// holon run: a job in the foreground. Its output is ours, its exit code is ours, Ctrl-C cancels it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/broker.hpp"
#include "cli/interrupter.hpp"
#include "cli/job_json.hpp"
#include "cli/job_options.hpp"
#include "cli/outcome.hpp"
#include "cli/parser.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

struct Args {
  JobOptions job;
  bool verbose = false;
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

int follow_to_the_end(Invocation& call, Broker& broker, std::uint64_t id) {
  const Interrupter interrupter(call, broker, id, "holon run");
  const auto job = follow(call, broker, id);
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
      .instance(call)
      .note(
          "The exit code is the job's; 124 when its time limit ended it, 125 when it was refused "
          "or lost, 128+N when signal N ended it. Ctrl-C cancels the job. Tasks read nothing: "
          "their standard input is empty.");
  parser.example("holon run -n 2 -c 4 ./solver mesh.h5", "two tasks of four cores each")
      .example("holon run -t 30s make test", "give up after half a minute");
  if (const auto code = parser.parse(call)) return *code;

  const auto request = make_request(args.job, std::move(args.command));
  if (!request) return report(call, "run", request.error());
  if (args.job.dry_run) {
    call.io.out << pretty(nlohmann::ordered_json::parse(request->jobspec));
    return kOk;
  }
  auto broker = Broker::connect(call);
  if (!broker) return report(call, "run", broker.error());
  const auto reply = broker->submit(*request);
  if (!reply) {
    const int code = report(call, "run", reply.error());
    return code == kFailed ? kNotRun : code;
  }
  if (args.verbose) call.io.err << fmt::format("holon run: job {}\n", reply->first_id);
  return follow_to_the_end(call, *broker, reply->first_id);
}

}  // namespace holon::cli
