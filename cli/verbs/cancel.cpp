// holon cancel: ends jobs, pending or running, child instances with all that is in them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/broker.hpp"
#include "cli/job_json.hpp"
#include "cli/parser.hpp"
#include "cli/paths.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

struct Args {
  std::vector<std::string> jobs;
  bool all = false;
  bool json = false;
  std::string reason;
};

}  // namespace

int verb_cancel(Invocation& call) {
  Args args;
  Parser parser("cancel", "end jobs, pending or running");
  parser.positional("ID", args.jobs, "jobs to end: 7, 3-9, /3/7")
      .group("Options")
      .flag("-a,--all", args.all, "every job of the instance")
      .option("-m,--message", args.reason, "TEXT", "why; it is kept with the job")
      .instance(call)
      .json(args.json)
      .note(
          "A running job gets SIGTERM, and SIGKILL after the instance's grace time. A child "
          "instance ends with everything in it.")
      .example("holon cancel 3 7-9", "four jobs")
      .example("holon cancel -i /3 --all", "everything in the child that is job 3");
  if (const auto code = parser.parse(call)) return *code;
  if (args.all == !args.jobs.empty())
    return report(call, "cancel",
                  {Errc::invalid_argument, "name jobs, or give --all, one of the two", "ID"});
  const auto selection = select_jobs(args.jobs);
  if (!selection) return report(call, "cancel", selection.error());
  if (!selection->instance.empty()) call.instance = selection->instance;

  auto broker = Broker::connect(call);
  if (!broker) return report(call, "cancel", broker.error());
  msg::CancelRequest request;
  request.ids = selection->ids;
  request.all = args.all;
  request.reason = args.reason;
  const auto reply = broker->cancel(request);
  if (!reply) return report(call, "cancel", reply.error());
  if (args.json) {
    call.io.out << pretty(
        {{"cancelled", reply->cancelled}, {"already_inactive", reply->already_inactive}});
    return kOk;
  }
  for (const auto id : reply->already_inactive)
    call.io.err << fmt::format("holon cancel: job {} is over already\n", id);
  if (args.all) call.io.out << fmt::format("{} cancelled\n", reply->cancelled.size());
  return kOk;
}

}  // namespace holon::cli
