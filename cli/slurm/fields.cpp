#include "cli/slurm/fields.hpp"

#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <strings.h>

#include <algorithm>

#include "cli/slurm/job_ids.hpp"
#include "cli/slurm/words.hpp"

namespace holon::cli::slurm {
namespace {

std::string or_null(const View& view, const std::string& text) {
  return text.empty() && !view.is_accounting ? "(null)" : text;
}

std::string when(const View& view, std::int64_t ms) {
  return time_of(ms, view.is_accounting ? "Unknown" : "N/A");
}

std::string duration(const View& view, Duration ms) {
  return view.is_accounting ? long_duration(ms) : short_duration(ms);
}

std::string job_id(const View& view) {
  if (!view.waiting.empty()) return fmt::format("{}_[{}]", view.job.id, view.waiting);
  return job_id_of(view.job) + (view.step.empty() ? "" : "." + view.step);
}
std::string raw_id(const View& view) {
  return std::to_string(view.job.id) + (view.step.empty() ? "" : "." + view.step);
}
std::string array_id(const View& view) {
  const std::uint64_t id = view.job.array != 0 ? view.job.array : view.job.id;
  return std::to_string(id);
}
std::string task_id(const View& view) {
  if (!view.waiting.empty()) return view.waiting;
  const bool is_task = view.job.array != 0 && view.job.tasks == 0;
  return is_task ? std::to_string(view.job.index) : "N/A";
}
std::string name(const View& view) {
  return view.step.empty() ? view.job.name : view.step;
}
std::string partition(const View& view) {
  return view.step.empty() ? view.job.queue : "";
}
std::string account(const View& view) {
  return or_null(view, view.job.account);
}
std::string qos(const View& view) {
  return view.job.qos.empty() ? kUsualQos : view.job.qos;
}
std::string user(const View& view) {
  return view.step.empty() ? view.job.user : "";
}
std::string uid(const View& view) {
  const passwd* const entry = getpwnam(view.job.user.c_str());
  return entry == nullptr ? "" : std::to_string(entry->pw_uid);
}
std::string group(const View& view) {
  return view.job.group;
}
std::string gid(const View& view) {
  const struct group* const entry = getgrnam(view.job.group.c_str());
  return entry == nullptr ? "" : std::to_string(entry->gr_gid);
}
std::string state(const View& view) {
  return std::string(state_of(view.job).name);
}
std::string letters(const View& view) {
  return std::string(state_of(view.job).letters);
}
std::string reason(const View& view) {
  return std::string(reason_of(view.job));
}
std::string exit_code(const View& view) {
  return exit_code_of(view.job);
}
std::string used(const View& view) {
  return duration(view, elapsed(view.job, view.now));
}
std::string used_seconds(const View& view) {
  return std::to_string(elapsed(view.job, view.now) / 1000);
}
std::string limit(const View& view) {
  if (!view.step.empty()) return "";
  return view.job.limit == 0 ? "UNLIMITED" : duration(view, view.job.limit);
}
std::string limit_minutes(const View& view) {
  if (!view.step.empty()) return "";
  return view.job.limit == 0 ? "UNLIMITED" : std::to_string((view.job.limit + 59'999) / 60'000);
}
std::string time_left(const View& view) {
  if (view.job.limit == 0) return "UNLIMITED";
  return duration(view, view.job.limit - elapsed(view.job, view.now));
}
std::string submit(const View& view) {
  return when(view, view.job.t_submit);
}
std::string begin(const View& view) {
  const auto& job = view.job;
  const std::int64_t started = job.t_start != 0 ? job.t_start : job.t_alloc;
  return when(view, started != 0 ? started : view.is_accounting ? 0 : job.t_estimate);
}
std::string end(const View& view) {
  const auto& job = view.job;
  const std::int64_t over = job.t_finish != 0 ? job.t_finish : job.t_inactive;
  return when(view, over != 0 ? over : view.is_accounting ? 0 : job.expiration);
}
std::string nodes(const View& view) {
  return std::to_string(std::max<std::int64_t>(1, view.job.nnodes));
}
std::string cpus(const View& view) {
  return std::to_string(std::max<std::int64_t>(1, view.job.ncores));
}
std::string cpus_held(const View& view) {
  return view.job.t_alloc == 0 ? "0" : cpus(view);
}
std::string nodes_held(const View& view) {
  return view.job.t_alloc == 0 ? "0" : nodes(view);
}
std::string tasks(const View& view) {
  if (view.is_accounting && view.step.empty()) return "";  // of a step alone
  return view.is_accounting ? "1" : std::to_string(view.job.ntasks);
}
std::string node_list(const View& view) {
  return view.job.nodelist.empty() && view.is_accounting ? "None assigned" : view.job.nodelist;
}
std::string node_list_or_reason(const View& view) {
  const auto& job = view.job;
  if (!job.nodelist.empty() && job.state != "INACTIVE") return job.nodelist;
  const std::string_view why = reason_of(job);
  if (job.state == "INACTIVE" && why == "None") return job.nodelist;
  return fmt::format("({})", why);
}
std::string urgency(const View& view) {
  return std::to_string(view.job.urgency);
}
std::string command(const View& view) {
  return view.job.command;
}
std::string output(const View& view) {
  return view.job.output;
}
std::string max_rss(const View& view) {
  if (view.step.empty() || view.job.max_rss_kb == 0) return "";
  return fmt::format("{}K", view.job.max_rss_kb);
}
std::string cpu_time_used(const View& view) {
  const auto ms = view.job.cpu_ms;
  return fmt::format("{:02}:{:02}.{:03}", ms / 60'000, ms / 1000 % 60, ms % 1000);
}
std::string cpu_time(const View& view) {
  return long_duration(elapsed(view.job, view.now) * std::max<std::int64_t>(1, view.job.ncores));
}
std::string cpu_seconds(const View& view) {
  return std::to_string(elapsed(view.job, view.now) / 1000 *
                        std::max<std::int64_t>(1, view.job.ncores));
}
std::string tres(const View& view) {
  return tres_of(view.job);
}
std::string tres_held(const View& view) {
  return view.job.t_alloc == 0 ? "" : tres_of(view.job);
}
std::string gpus_of_node(const View& view) {
  const auto& job = view.job;
  if (job.ngpus == 0) return "N/A";
  return fmt::format("gres:gpu:{}", job.ngpus / std::max<std::int64_t>(1, job.nnodes));
}
std::string cluster(const View&) {
  return "holon";
}
std::string first_host(const View& view) {
  const auto cut = view.job.nodelist.find_first_of(",[");
  return view.job.nodelist.empty() ? "n/a" : view.job.nodelist.substr(0, cut);
}
std::string no_comment(const View& view) {
  return or_null(view, "");
}
std::string no_name(const View&) {
  return "";
}
std::string zero(const View&) {
  return "0";
}
std::string not_known(const View&) {
  return "N/A";
}
std::string restarts(const View& view) {
  return std::to_string(view.job.retries);
}

constexpr Field kFields[] = {
    {"Account", 'a', "Account", "ACCOUNT", account},
    {"AllocCPUS", 0, "", "", cpus_held},
    {"AllocNodes", 0, "", "", nodes_held},
    {"AllocTRES", 0, "tres-alloc", "TRES_ALLOC", tres_held},
    {"", 'F', "ArrayJobID", "ARRAY_JOB_ID", array_id},
    {"", 'K', "ArrayTaskID", "ARRAY_TASK_ID", task_id},
    {"Cluster", 0, "Cluster", "CLUSTER", cluster},
    {"Comment", 'k', "Comment", "COMMENT", no_comment},
    {"CPUTime", 0, "", "", cpu_time},
    {"CPUTimeRAW", 0, "", "", cpu_seconds},
    {"DerivedExitCode", 0, "", "", exit_code},
    {"Elapsed", 'M', "TimeUsed", "TIME", used},
    {"ElapsedRaw", 0, "", "", used_seconds},
    {"Eligible", 0, "EligibleTime", "ELIGIBLE_TIME", submit},
    {"End", 'e', "EndTime", "END_TIME", end},
    {"ExitCode", 0, "exit_code", "EXIT_CODE", exit_code},
    {"GID", 'G', "GroupID", "GROUP", gid},
    {"Group", 'g', "GroupName", "GROUP", group},
    {"JobID", 'i', "JobArrayID", "JOBID", job_id},
    {"JobIDRaw", 'A', "JobID", "JOBID", raw_id},
    {"JobName", 'j', "Name", "NAME", name},
    {"MaxRSS", 0, "", "", max_rss},
    {"NCPUS", 'C', "NumCPUs", "CPUS", cpus},
    {"NNodes", 'D', "NumNodes", "NODES", nodes},
    {"NodeList", 'N', "NodeList", "NODELIST", node_list},
    {"NTasks", 0, "NumTasks", "TASKS", tasks},
    {"Partition", 'P', "Partition", "PARTITION", partition},
    {"Priority", 'Q', "PriorityLong", "PRIORITY", urgency},
    {"QOS", 'q', "QOS", "QOS", qos},
    {"Reason", 'r', "Reason", "REASON", reason},
    {"ReqCPUS", 0, "", "", cpus},
    {"ReqNodes", 0, "", "", nodes},
    {"ReqTRES", 0, "", "", tres},
    {"Restarts", 0, "RestartCnt", "RESTART_COUNT", restarts},
    {"Start", 'S', "StartTime", "START_TIME", begin},
    {"State", 'T', "State", "STATE", state},
    {"Submit", 'V', "SubmitTime", "SUBMIT_TIME", submit},
    {"SubmitLine", 0, "", "", command},
    {"Timelimit", 'l', "TimeLimit", "TIME_LIMIT", limit},
    {"TimelimitRaw", 0, "", "", limit_minutes},
    {"TotalCPU", 0, "", "", cpu_time_used},
    {"UID", 'U', "UserID", "USER", uid},
    {"User", 'u', "UserName", "USER", user},
    {"WCKey", 'w', "WCKey", "WCKEY", no_comment},
    {"WorkDir", 'Z', "WorkDir", "WORK_DIR", not_known},
    {"", 't', "StateCompact", "ST", letters},
    {"", 'L', "TimeLeft", "TIME_LEFT", time_left},
    {"", 'R', "ReasonList", "NODELIST(REASON)", node_list_or_reason},
    {"", 'p', "Priority", "PRIORITY", urgency},
    {"", 'o', "Command", "COMMAND", command},
    {"", 0, "STDOUT", "STDOUT", output},
    {"", 'b', "tres-per-node", "TRES_PER_NODE", gpus_of_node},
    {"", 'B', "BatchHost", "EXEC_HOST", first_host},
    {"", 'E', "Dependency", "DEPENDENCY", no_comment},
    {"", 'c', "MinCPUs", "MIN_CPUS", not_known},
    {"", 'd', "MinTmpDisk", "MIN_TMP_DISK", zero},
    {"", 'f', "Feature", "FEATURES", no_comment},
    {"", 'h', "OverSubscribe", "OVER_SUBSCRIBE", not_known},
    {"", 'm', "MinMemory", "MIN_MEMORY", not_known},
    {"", 'n', "ReqNodes", "REQ_NODES", no_name},
    {"", 'v', "Reservation", "RESERVATION", no_comment},
    {"", 'Y', "SchedNodes", "SCHEDNODES", no_comment},
    {"", 'W', "Licenses", "LICENSES", no_comment},
    {"", 'x', "ExcNodes", "EXC_NODES", no_name},
    {"", 'y', "Nice", "NICE", zero},
    {"", 'z', "S:C:T", "S:C:T", not_known},
};

template <class Named>
const Field* field_where(Named named, std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& field) {
        const std::string_view its = named(field);
        return !its.empty() && its.size() == name.size() &&
               strncasecmp(its.data(), name.data(), name.size()) == 0;
      });
  return found == std::end(kFields) ? nullptr : found;
}

}  // namespace

const Field* field_of_sacct(std::string_view name) {
  return field_where([](const Field& field) { return field.accounting; }, name);
}

const Field* field_of_squeue(std::string_view name) {
  return field_where([](const Field& field) { return field.name; }, name);
}

const Field* field_of_letter(char letter) {
  const auto* const found =
      std::find_if(std::begin(kFields), std::end(kFields),
                   [letter](const Field& field) { return field.letter == letter; });
  return letter == 0 || found == std::end(kFields) ? nullptr : found;
}

std::string names_of_sacct() {
  std::string names;
  for (const Field& field : kFields)
    if (!field.accounting.empty())
      names += (names.empty() ? "" : " ") + std::string(field.accounting);
  return names;
}

std::string tres_of(const msg::JobRecord& job) {
  std::string text = fmt::format("cpu={},node={}", std::max<std::int64_t>(1, job.ncores),
                                 std::max<std::int64_t>(1, job.nnodes));
  text += fmt::format(",billing={}", std::max<std::int64_t>(1, job.ncores));
  if (job.ngpus > 0) text += fmt::format(",gres/gpu={}", job.ngpus);
  return text;
}

}  // namespace holon::cli::slurm
