// holon cancel: ends jobs, pending or running, child instances with all that is in them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/verbs.hpp"
#include "msg/job_filter.hpp"

namespace holon::cli {
namespace {

struct CancelArgs {
  std::vector<std::string> jobs;
  bool all = false;
  bool json = false;
  std::string reason;
};

// Tells of jobs that are over, by path, or by id where the record has gone.
void tell_over(Invocation& call, Client& client, std::vector<std::uint64_t> ids) {
  if (ids.empty()) return;
  constexpr std::size_t kNamed = 100;  // of more, only how many there are is said
  if (ids.size() > kNamed) {
    call.io.err << fmt::format("holon cancel: {} of the jobs are over\n", ids.size());
    return;
  }
  msg::JobsRequest request;
  request.all = true;
  request.ids = ids;
  if (const auto known = client.jobs(request))
    for (const auto& job : known->jobs) {
      std::erase(ids, job.id);
      call.io.err << fmt::format("holon cancel: job {} is over: {}\n", msg::shown_path(job),
                                 job.result);
    }
  for (const auto id : ids) call.io.err << fmt::format("holon cancel: job {} is over\n", id);
}

}  // namespace

int verb_cancel(Invocation& call) {
  CancelArgs args;
  Parser parser("cancel", "end jobs, pending or running");
  parser
      .positional("ID", args.jobs,
                  "jobs to end: 7, 3-9, /3/7; 7.12 and 7.3-9 are tasks of an array")
      .group("Options")
      .flag("-a,--all", args.all, "every job of the instance")
      .option("-m,--message", args.reason, "TEXT", "why; it is kept with the job")
      .instance(call)
      .json(args.json)
      .note(
          "A running job gets SIGTERM, and SIGKILL after the instance's grace time. A child "
          "instance ends with everything in it. A job that is over already is named and is no "
          "error; if one does not exist, none is cancelled.")
      .example("holon cancel 3 7-9", "four jobs")
      .example("holon cancel -i /3 --all", "everything in the child that is job 3");
  if (const auto code = parser.parse(call)) return *code;
  if (args.all == !args.jobs.empty())
    return report(call, "cancel",
                  {Errc::invalid_argument, "name jobs, or give --all, one of the two", "ID"});
  auto jobs = connect_to_jobs(call, args.jobs);
  if (!jobs) return report(call, "cancel", jobs.error());
  const auto reply = jobs->client.cancel({jobs->ids, args.all, args.reason});
  if (!reply) return report(call, "cancel", reply.error());
  if (args.json) {
    call.io.out << pretty(
        {{"cancelled", reply->cancelled}, {"already_inactive", reply->already_inactive}});
    return kOk;
  }
  tell_over(call, jobs->client, reply->already_inactive);
  if (args.all) call.io.out << fmt::format("{} cancelled\n", reply->cancelled.size());
  return kOk;
}

}  // namespace holon::cli
