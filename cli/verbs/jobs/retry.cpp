// holon retry: a job, or what failed of an array, once more.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "base/idset.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/verbs.hpp"
#include "resource/jobspec/ordered_json.hpp"

namespace holon::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kFailedTasks = "FAILED,TIMEOUT";

struct RetryArgs {
  std::string job;
  bool failed = false;
  bool json = false;
};

// The entries of these tasks of an array.
ordered_json entries_of(const ordered_json& all, std::uint64_t array, const Idset& tasks) {
  auto entries = ordered_json::array();
  for (const std::uint64_t id : tasks.ids())
    if (id - array - 1 < all.size()) entries.push_back(all[id - array - 1]);
  return entries;
}

// Makes `spec` an array of only these tasks.
void keep_tasks(ordered_json& spec, std::uint64_t array, const msg::TasksReply& tasks,
                const Idset& ids) {
  auto& ours = spec["attributes"]["system"]["holon"]["array"];
  ours.erase("first");
  ours.erase("step");
  ours["indices"] = tasks.indices;
  if (ours.contains("entries")) ours["entries"] = entries_of(ours["entries"], array, ids);
}

// The request to submit. Errors: not_found (nothing failed), invalid_argument.
Result<msg::SubmitRequest> request_for(Client& client, const RetryArgs& args, std::uint64_t id) {
  const auto info = client.info(id);
  if (!info) return tl::unexpected(info.error());
  const auto& job = info->job;
  if (job.array != 0 && job.tasks == 0)
    return fail(
        Errc::invalid_argument,
        fmt::format("is a task; holon retry {} --failed retries those that failed", job.array),
        args.job);
  const bool has_failed = job.result == "FAILED" || job.result == "TIMEOUT";
  if (args.failed && job.tasks == 0 && !has_failed)
    return fail(Errc::not_found,
                job.result.empty() ? "it is not over" : "it has not failed: " + job.result,
                args.job);
  auto spec = resource::parse_ordered(info->jobspec);
  if (!spec.is_object())
    return fail(Errc::not_found, "its jobspec is not known any more", args.job);
  spec["attributes"]["system"].erase("dependencies");  // they were met
  msg::SubmitRequest request;
  request.urgency = job.urgency;
  request.user = job.user;
  request.is_instance = job.is_instance;
  if (job.tasks > 0) {
    auto& array = spec["attributes"]["system"]["holon"]["array"];
    if (array.is_object()) array.erase("open");  // what is tried again is known
    const auto tasks = client.tasks({id, "", args.failed ? kFailedTasks : ""});
    if (!tasks) return tl::unexpected(tasks.error());
    const auto ids = Idset::parse(tasks->ids);
    if (!ids) return tl::unexpected(ids.error());
    if (ids->empty())
      return fail(Errc::not_found, fmt::format("none of its {} tasks has failed", job.tasks),
                  args.job);
    keep_tasks(spec, id, *tasks, *ids);
    request.count = ids->count();
  }
  request.jobspec = spec.dump();
  return request;
}

}  // namespace

int verb_retry(Invocation& call) {
  RetryArgs args;
  Parser parser("retry", "submit a job again, or what failed of an array");
  parser.required("ID", args.job, "the job or array: 7 or /3/7")
      .group("Options")
      .flag("--failed", args.failed,
            "only the tasks of the array that failed or reached their time limit; a job only where "
            "it did")
      .instance(call)
      .json(args.json)
      .note(
          "Prints the id of the new job. It has the jobspec of the old one, and tasks keep their "
          "indices and entries; what the old one depended on is not waited for again. The old one "
          "stays as it is.")
      .example("holon retry 7 --failed", "an array of the tasks of 7 that failed");
  if (const auto code = parser.parse(call)) return *code;
  auto selected = connect_to_job(call, args.job);
  if (!selected) return report(call, "retry", selected.error());
  const auto request = request_for(selected->client, args, selected->id);
  if (!request) return report(call, "retry", request.error());
  const auto reply = selected->client.submit(*request);
  if (!reply) return report(call, "retry", reply.error());
  if (args.json)
    call.io.out << pretty(
        {{"id", reply->first_id}, {"count", reply->count}, {"tasks", reply->tasks}});
  else
    call.io.out << reply->first_id << "\n";
  return kOk;
}

}  // namespace holon::cli
