// cancel, list, info, stat: the jobs of the session.
#include <fmt/format.h>

#include "cli/query/commands.hpp"
#include "cli/query/json_object.hpp"
#include "cli/query/printing.hpp"
#include "resource/find/find_expression.hpp"

namespace holon::cli::query {
namespace {

std::string job_as_json(JobId id, const JobRecord& job) {
  return JsonObject{}
      .number("id", static_cast<std::int64_t>(id.value()))
      .text("state", name_of(job.state))
      .number("at", job.at)
      .text("file", job.file)
      .real("elapse", job.seconds)
      .str();
}

void print_job(JobId id, const JobRecord& job, Reply& reply) {
  reply.console += fmt::format("INFO: {}, {}, {}, {}, {:g}\n", id.value(), name_of(job.state),
                               job.at, job.file, job.seconds);
}

void print_counts(const Session& session, resource::TraversalCounts counts, Reply& reply) {
  if (session.options().json) {
    JsonObject object;
    object.text("command", "cancel").boolean("ok", true);
    object.number("preorder", static_cast<std::int64_t>(counts.preorder));
    object.number("postorder", static_cast<std::int64_t>(counts.postorder));
    reply.add_json(object.str());
    return;
  }
  reply.out += fmt::format(
      "{0}INFO: CANCEL PREORDER COUNT=\"{1}\"\nINFO: CANCEL POSTORDER COUNT=\"{2}\"\n"
      "{0}",
      kRule, counts.preorder, counts.postorder);
}

}  // namespace

void run_cancel(Session& session, const Words& words, Reply& reply) {
  if (words.size() < 2 || words.size() > 3)
    return complain(session, "cancel", "JOBID [stats] is expected", reply);
  const auto job = resource::parse_job_id(words[1]);
  if (!job) return complain(session, "cancel", job.error(), reply);
  if (!session.is_live(*job))
    return complain(session, "cancel", "there is no job " + words[1], reply);
  if (auto status = session.store().release(*job); !status)
    return complain(session, "cancel", status.error(), reply);
  session.jobs[*job].state = JobState::cancelled;
  if (words.size() == 3 && words[2] == "stats")
    print_counts(session, session.store().counts(), reply);
  else
    print_done(session, "cancel", reply);
}

void run_list(Session& session, const Words&, Reply& reply) {
  std::string list;
  for (const auto& [id, job] : session.jobs) {
    if (session.options().json)
      list += (list.empty() ? "" : ", ") + job_as_json(id, job);
    else
      print_job(id, job, reply);
  }
  if (session.options().json) {
    JsonObject object;
    reply.add_json(object.text("command", "list").raw("jobs", "[" + list + "]").str());
  }
}

void run_info(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 2) return complain(session, "info", "JOBID is expected", reply);
  const auto id = resource::parse_job_id(words[1]);
  if (!id) return complain(session, "info", id.error(), reply);
  const auto job = session.jobs.find(*id);
  if (job == session.jobs.end())
    return complain(session, "info", "there is no job " + words[1], reply);
  if (session.options().json)
    reply.add_json(
        JsonObject{}.text("command", "info").raw("job", job_as_json(*id, job->second)).str());
  else
    print_job(*id, job->second, reply);
}

void run_stat(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 1) return complain(session, "stat", "nothing is expected after it", reply);
  const MatchTimes& times = session.times;
  const double average = times.count == 0 ? 0 : times.sum / static_cast<double>(times.count);
  if (session.options().json) {
    JsonObject object;
    object.text("command", "stat").number("jobs", static_cast<std::int64_t>(session.jobs.size()));
    object.number("matches", static_cast<std::int64_t>(times.count)).real("min", times.least);
    reply.add_json(object.real("max", times.most).real("avg", average).str());
    return;
  }
  reply.console += fmt::format(
      "INFO: Num. of Jobs Matched: {}\nINFO: Min. Match Time: {:g}\n"
      "INFO: Max. Match Time: {:g}\nINFO: Avg. Match Time: {:g}\n",
      session.jobs.size(), times.least, times.most, average);
}

}  // namespace holon::cli::query
