// holon retry: a job, or what failed of an array, once more.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "base/idset.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/paths.hpp"
#include "cli/show/job_json.hpp"
#include "cli/verbs.hpp"
#include "resource/jobspec/ordered_json.hpp"

namespace holon::cli {
namespace {

using nlohmann::ordered_json;

// Tasks that --max-fails cancelled, as too many others had failed, are retried with those that did.
constexpr const char* kFailedTasks = "FAILED,TIMEOUT,others-failed";

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

// The tasks of the array that are to run again, with their indices. Errors: not_found (there are
// none, or no such ones).
Result<msg::TasksReply> tasks_to_retry(Client& client, const RetryArgs& args, const JobRef& array) {
  auto tasks = client.tasks({array.id, array.indices, args.failed ? kFailedTasks : ""});
  if (tasks && tasks->ids.empty())
    return fail(Errc::not_found, "none of these tasks has failed", args.job);
  return tasks;
}

// The named job and its record. A task that is named by its number among the jobs becomes its array
// and its index. Errors: as of Client::info().
Result<std::pair<JobRef, msg::JobInfoReply>> job_named(Client& client, JobRef job) {
  auto info = client.info(job.id);
  if (info && info->job.array != 0 && info->job.tasks == 0) {
    job = {job.instance, info->job.array, std::to_string(info->job.index)};
    info = client.info(job.id);
  }
  if (!info) return tl::unexpected(info.error());
  return std::pair(std::move(job), std::move(*info));
}

// Errors: not_found (it has not failed).
Status has_failed(const RetryArgs& args, const msg::JobRecord& job) {
  if (job.result == "FAILED" || job.result == "TIMEOUT") return {};
  return fail(Errc::not_found,
              job.result.empty() ? "it is not over" : "it has not failed: " + job.result, args.job);
}

// The request to submit. Errors: not_found (nothing failed), invalid_argument.
Result<msg::SubmitRequest> request_for(Client& client, const RetryArgs& args, const JobRef& named) {
  const auto found = job_named(client, named);
  if (!found) return tl::unexpected(found.error());
  const auto& [asked, info] = *found;
  const auto& job = info.job;
  const bool is_array = job.tasks > 0 || !asked.indices.empty();
  if (args.failed && !is_array)
    if (auto failed = has_failed(args, job); !failed) return tl::unexpected(failed.error());
  auto spec = resource::parse_ordered(info.jobspec);
  if (!spec.is_object())
    return fail(Errc::not_found, "its jobspec is not known any more", args.job);
  spec["attributes"]["system"].erase("dependencies");  // they were met
  msg::SubmitRequest request;
  request.urgency = job.urgency;
  request.user = job.user;
  request.is_instance = job.is_instance;
  if (is_array) {
    const auto tasks = tasks_to_retry(client, args, asked);
    if (!tasks) return tl::unexpected(tasks.error());
    const auto ids = Idset::parse(tasks->ids);
    if (!ids) return tl::unexpected(ids.error());
    auto& array = spec["attributes"]["system"]["holon"]["array"];
    if (array.is_object()) array.erase("open");  // what is tried again is known
    keep_tasks(spec, asked.id, *tasks, *ids);
    request.count = ids->count();
  }
  request.jobspec = spec.dump();
  return request;
}

}  // namespace

int verb_retry(Invocation& call) {
  RetryArgs args;
  Parser parser("retry", "submit a job again, or tasks of an array");
  parser
      .required("ID", args.job, "the job or array: 7 or /3/7; 7.12 and 7.3-9 are tasks of an array")
      .group("Options")
      .flag("--failed", args.failed,
            "only the tasks of the array that failed, reached their time limit, or were cancelled "
            "by --max-fails; a job only where it failed or did that")
      .instance(call)
      .json(args.json)
      .note(
          "Prints the id of the new job. It has the jobspec of the old one, and tasks keep their "
          "indices and entries; what the old one depended on is not waited for again. The old one "
          "stays as it is.")
      .example("holon retry 7 --failed", "an array of the tasks of 7 that failed")
      .example("holon retry 7.3-9", "an array of these tasks of 7");
  if (const auto code = parser.parse(call)) return *code;
  const auto job = one_job(args.job);
  if (!job) return report(call, "retry", job.error());
  if (!job->instance.empty()) call.instance = job->instance;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "retry", client.error());
  const auto request = request_for(*client, args, *job);
  if (!request) return report(call, "retry", request.error());
  const auto reply = client->submit(*request);
  if (!reply) return report(call, "retry", reply.error());
  if (args.json)
    call.io.out << pretty(
        {{"id", reply->first_id}, {"count", reply->count}, {"tasks", reply->tasks}});
  else
    call.io.out << reply->first_id << "\n";
  return kOk;
}

}  // namespace holon::cli
