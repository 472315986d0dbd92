// scontrol: looks at jobs, nodes and partitions, and changes jobs.
#include <fmt/core.h>

#include <strings.h>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/hostlist.hpp"
#include "cli/options/job_options.hpp"
#include "cli/show/units.hpp"
#include "cli/slurm/fields.hpp"
#include "cli/slurm/job_ids.hpp"
#include "cli/slurm/listing.hpp"
#include "cli/slurm/nodes.hpp"
#include "instance/basics/clock.hpp"

namespace holon::cli::slurm {
namespace {

using client::Client;

constexpr Option kOptionsOfScontrol[] = {
    {'a', "all"},      {'d', "details"}, {'F', "future"},
    {'h', "help"},     {0, "json"},      {'M', "clusters", Option::Takes::value},
    {'o', "oneliner"}, {'Q', "quiet"},   {'v', "verbose"},
    {'V', "version"},  {0, "usage"}};

constexpr const char* kHelpOfScontrol =
    "Usage: scontrol [-o] COMMAND\n"
    "  show job [ID], show node [NAME], show partition [NAME], show hostnames [LIST],\n"
    "  show hostlist HOST,..., show config, hold ID, release ID, suspend ID, resume ID,\n"
    "  update JobId=ID TimeLimit=T|JobName=N|Partition=Q|NumNodes=N, ping\n";

constexpr std::uint32_t kHeld = 0, kReleased = 16;

bool is_same(std::string_view word, std::string_view other) {
  return word.size() == other.size() && strncasecmp(word.data(), other.data(), word.size()) == 0;
}

// Is the word the beginning of `whole`, of which so many letters are enough?
bool begins(const std::string& word, std::string_view whole, std::size_t enough) {
  return word.size() >= enough && word.size() <= whole.size() &&
         strncasecmp(word.data(), whole.data(), word.size()) == 0;
}

// Pairs of names and values in lines: "JobId=7 JobName=a" and, indented, what follows.
class Record {
 public:
  explicit Record(bool in_one_line) : in_one_line_(in_one_line) {}
  Record& line() {
    text_ += text_.empty() ? "" : in_one_line_ ? " " : "\n   ";
    begins_ = true;
    return *this;
  }
  Record& pair(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}{}={}", begins_ ? "" : " ", name, value);
    begins_ = false;
    return *this;
  }
  std::string text() const { return text_ + (in_one_line_ ? "\n" : "\n\n"); }

 private:
  bool in_one_line_, begins_ = true;
  std::string text_;
};

// What is kept of a job beside its record.
struct Details {
  std::string folder = "(null)", command = "(null)", input = "/dev/null", dependencies = "(null)";
  std::int64_t tasks = 1, cores = 1;  // cores of a task
};

// The script, or the program; a script that was kept has no name of its own any more.
std::string command_of(const msg::JobRecord& job) {
  constexpr std::string_view kBefore = " -- ";  // of a child's script
  const auto at = job.is_instance ? job.command.find(kBefore) : std::string::npos;
  const std::string text =
      at == std::string::npos ? job.command : job.command.substr(at + kBefore.size());
  return text.empty() || text.starts_with("{{") ? "(null)" : text;
}

std::string dependencies_in(const nlohmann::json& system) {
  const auto list = system.find("dependencies");
  std::string all;
  if (list == system.end() || !list->is_array()) return all;
  for (const auto& one : *list)
    all += fmt::format("{}{}:{}(unfulfilled)", all.empty() ? "" : ",", one.value("scheme", ""),
                       one.value("value", ""));
  return all;
}

// The tasks that a script was told of: an instance has one program, and more tasks.
std::int64_t tasks_told(const nlohmann::json& system, std::int64_t otherwise) {
  const auto variables = system.find("environment");
  if (variables == system.end() || !variables->is_object()) return otherwise;
  return std::max(otherwise, static_cast<std::int64_t>(std::strtoll(
                                 variables->value("SLURM_NTASKS", "").c_str(), nullptr, 10)));
}

Details details_of(Client& client, const msg::JobRecord& job) {
  Details details;
  details.command = command_of(job);
  details.tasks = std::max<std::int64_t>(1, job.ntasks);
  const auto info = client.info(job.id);
  const auto spec = nlohmann::json::parse(info ? info->jobspec : "", nullptr, false);
  const nlohmann::json::json_pointer system("/attributes/system");
  if (spec.is_object() && spec.contains(system)) {
    const auto& its = spec[system];
    details.folder = its.value("cwd", details.folder);
    details.tasks = tasks_told(its, details.tasks);
    if (auto all = dependencies_in(its); !all.empty() && job.state == "DEPEND")
      details.dependencies = std::move(all);
  }
  details.cores = std::max<std::int64_t>(1, job.ncores / details.tasks);
  return details;
}

// The text of a field, as squeue has it.
std::string text_of(std::string_view field, const View& view) {
  return field_of_sacct(field)->text(view);
}

std::string with_number(const std::string& name, const std::string& number) {
  return fmt::format("{}({})", name, number);
}

// The name of a file with Slurm's letters for what differs from task to task.
std::string file_text(std::string name) {
  for (const auto& [ours, theirs] :
       {std::pair<std::string_view, const char*>("{{array.id}}", "%A"), {"{{array.index}}", "%a"}})
    for (auto at = name.find(ours); at != std::string::npos; at = name.find(ours))
      name.replace(at, ours.size(), theirs);
  return name;
}

std::string job_text(const Row& row, const Details& details, bool in_one_line) {
  const auto& job = row.job;
  const View view{job, instance::wall_clock_ms(), row.waiting};
  const View accounted{job, view.now, row.waiting, {}, true};
  const auto unknown = [](std::int64_t ms) { return time_of(ms, "Unknown"); };
  Record record(in_one_line);
  record.line().pair("JobId", std::to_string(job.id));
  if (job.array != 0)
    record.pair("ArrayJobId", std::to_string(job.array))
        .pair("ArrayTaskId", row.waiting.empty() ? std::to_string(job.index) : row.waiting);
  record.pair("JobName", job.name);
  record.line()
      .pair("UserId", with_number(job.user, text_of("UID", view)))
      .pair("GroupId", with_number(job.group, text_of("GID", view)))
      .pair("MCS_label", "N/A");
  record.line()
      .pair("Priority", std::to_string(job.urgency))
      .pair("Nice", "0")
      .pair("Account", text_of("Account", view))
      .pair("QOS", text_of("QOS", view));
  record.line()
      .pair("JobState", state_of(job).name)
      .pair("Reason", reason_of(job))
      .pair("Dependency", details.dependencies);
  record.line()
      .pair("Requeue", "0")
      .pair("Restarts", std::to_string(job.retries))
      .pair("BatchFlag", "1")
      .pair("Reboot", "0")
      .pair("ExitCode", exit_code_of(job));
  record.line()
      .pair("RunTime", text_of("Elapsed", accounted))
      .pair("TimeLimit", text_of("Timelimit", accounted))
      .pair("TimeMin", "N/A");
  record.line()
      .pair("SubmitTime", unknown(job.t_submit))
      .pair("EligibleTime", unknown(job.t_submit));
  record.line()
      .pair("StartTime", unknown(job.t_start != 0 ? job.t_start : job.t_estimate))
      .pair("EndTime", unknown(job.t_finish != 0     ? job.t_finish
                               : job.t_inactive != 0 ? job.t_inactive
                                                     : job.expiration))
      .pair("Deadline", "N/A");
  record.line().pair("SuspendTime", time_of(job.t_suspended, "None")).pair("SecsPreSuspend", "0");
  record.line().pair("Partition", job.queue);
  record.line().pair("ReqNodeList", "(null)").pair("ExcNodeList", "(null)");
  record.line().pair("NodeList", job.nodelist);
  if (!job.nodelist.empty()) record.line().pair("BatchHost", field_of_letter('B')->text(view));
  record.line()
      .pair("NumNodes", text_of("NNodes", view))
      .pair("NumCPUs", text_of("NCPUS", view))
      .pair("NumTasks", std::to_string(details.tasks))
      .pair("CPUs/Task", std::to_string(details.cores))
      .pair("ReqB:S:C:T", "0:0:*:*");
  record.line().pair("TRES", tres_of(job));
  record.line().pair("Features", "(null)").pair("DelayBoot", "00:00:00");
  record.line().pair("Command", details.command);
  record.line().pair("WorkDir", details.folder);
  record.line().pair("StdErr", file_text(job.error.empty() ? job.output : job.error));
  record.line().pair("StdIn", details.input);
  record.line().pair("StdOut", file_text(job.output));
  return record.text();
}

int show_jobs(Call& call, Client& client, const std::string& word, bool in_one_line) {
  Question question;
  if (!word.empty()) {
    auto jobs = job_ids_in(word);
    if (!jobs) return refuse(call, jobs.error());
    question.jobs = std::move(*jobs);
  }
  const auto rows = rows_of(client, question);
  if (!rows) {
    call.io.err << "slurm_load_jobs error: " << rows.error().what << "\n";
    return kFailed;
  }
  if (rows->empty()) call.io.out << "No jobs in the system\n";
  for (const Row& row : *rows)
    call.io.out << job_text(row, details_of(client, row.job), in_one_line);
  return kOk;
}

std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string node_text(const Node& node, const Cluster& cluster, bool in_one_line) {
  std::string queues;
  for (const Partition& partition : cluster.partitions)
    queues += (queues.empty() ? "" : ",") + partition.name;
  std::string state = in_capitals(node.state);
  if (node.state == "drained") state = "IDLE+DRAIN";
  if (node.state == "draining") state = "MIXED+DRAIN";
  Record record(in_one_line);
  record.line()
      .pair("NodeName", node.host)
      .pair("Arch", "x86_64")
      .pair("CoresPerSocket", std::to_string(node.cores));
  record.line()
      .pair("CPUAlloc", std::to_string(node.cores_held))
      .pair("CPUTot", std::to_string(node.cores))
      .pair("CPULoad", "N/A");
  record.line().pair("Gres", node.gpus == 0 ? "(null)" : fmt::format("gpu:{}", node.gpus));
  record.line().pair("NodeAddr", node.host).pair("NodeHostName", node.host);
  record.line().pair("RealMemory", std::to_string(node.memory_mib)).pair("Sockets", "1");
  record.line().pair("State", state).pair("ThreadsPerCore", "1").pair("Weight", "1");
  record.line().pair("Partitions", queues);
  if (!node.reason.empty()) record.line().pair("Reason", node.reason);
  return record.text();
}

int show_nodes(Call& call, const Cluster& cluster, const std::string& word, bool in_one_line) {
  const auto named = Hostlist::parse(word);
  if (!word.empty() && !named) return refuse(call, named.error());
  bool is_any = false;
  for (const Node& node : cluster.nodes) {
    if (!word.empty() && !named->contains(node.host)) continue;
    is_any = true;
    call.io.out << node_text(node, cluster, in_one_line);
  }
  if (is_any) return kOk;
  call.io.out << fmt::format("Node {} not found\n", word);
  return kFailed;
}

int show_partitions(Call& call, const Cluster& cluster, const std::string& word, bool in_one_line) {
  Hostlist hosts;
  std::int64_t cores = 0;
  for (const Node& node : cluster.nodes) {
    hosts.append(node.host);
    cores += node.cores;
  }
  bool is_any = false;
  for (const Partition& partition : cluster.partitions) {
    if (!word.empty() && partition.name != word) continue;
    is_any = true;
    Record record(in_one_line);
    record.line().pair("PartitionName", partition.name);
    record.line().pair("Default", partition.is_usual ? "YES" : "NO").pair("QoS", "N/A");
    record.line().pair("MaxNodes", "UNLIMITED").pair("MaxTime", "UNLIMITED");
    record.line().pair("Nodes", hosts.str());
    record.line()
        .pair("State", partition.is_up ? "UP" : "DOWN")
        .pair("TotalCPUs", std::to_string(cores))
        .pair("TotalNodes", std::to_string(cluster.nodes.size()));
    call.io.out << record.text();
  }
  if (is_any) return kOk;
  call.io.out << fmt::format("Partition {} not found\n", word);
  return kFailed;
}

// Needs no instance: scripts use it on SLURM_JOB_NODELIST.
int show_hosts(Call& call, const std::vector<std::string>& words, bool as_list) {
  const char* const around = std::getenv("SLURM_JOB_NODELIST");
  std::string text = words.size() > 2 ? words[2] : around == nullptr ? "" : around;
  for (std::size_t i = 3; i < words.size(); ++i) text += "," + words[i];
  if (text.empty()) return refuse(call, "host list is empty");
  const auto hosts = Hostlist::parse(text);
  if (!hosts) return refuse(call, "Invalid hostlist: " + text);
  if (as_list)
    call.io.out << hosts->str() << "\n";
  else
    for (const std::string& host : hosts->hosts()) call.io.out << host << "\n";
  return kOk;
}

int show(Call& call, const std::vector<std::string>& words, bool in_one_line) {
  const std::string what = words.size() > 1 ? words[1] : "";
  if (begins(what, "hostnames", 5)) return show_hosts(call, words, false);
  if (begins(what, "hostlist", 5) || begins(what, "hostlistsorted", 9))
    return show_hosts(call, words, true);
  const std::string word = words.size() > 2 ? words[2] : "";
  auto client = connect(call);
  if (!client) return refuse(call, client.error());
  if (begins(what, "jobs", 1)) return show_jobs(call, *client, word, in_one_line);
  if (begins(what, "config", 1)) {
    call.io.out << "ClusterName             = holon\nSLURM_VERSION           = "
                << kVersion.substr(kVersion.find(' ') + 1) << "\n";
    return kOk;
  }
  const bool is_node = begins(what, "nodes", 1);
  if (!is_node && !begins(what, "partitions", 1))
    return refuse(call, fmt::format("invalid entity:{} for keyword:show", what));
  const auto cluster = cluster_of(*client);
  if (!cluster) return refuse(call, cluster.error());
  return is_node ? show_nodes(call, *cluster, word, in_one_line)
                 : show_partitions(call, *cluster, word, in_one_line);
}

// The jobs that words behind a command name, and the instance.
struct NamedJobs {
  Client client;
  std::vector<std::uint64_t> ids;
};
Result<NamedJobs> named_in(Call& call, const std::vector<std::string>& words) {
  std::vector<JobRef> jobs;
  for (std::size_t i = 1; i < words.size(); ++i) {
    auto some = job_ids_in(words[i]);
    if (!some) return tl::unexpected(some.error());
    jobs.insert(jobs.end(), some->begin(), some->end());
  }
  if (jobs.empty())
    return fail(Errc::invalid_argument, "too few arguments for keyword:" + words[0]);
  auto client = connect(call);
  if (!client) return tl::unexpected(client.error());
  auto ids = numbers_of(*client, jobs);
  if (!ids) return fail(Errc::not_found, "Invalid job id specified");
  return NamedJobs{std::move(*client), std::move(*ids)};
}

int each(Call& call, const std::vector<std::string>& words,
         const std::function<Status(NamedJobs& jobs)>& change) {
  auto jobs = named_in(call, words);
  if (!jobs) return refuse(call, jobs.error());
  const auto done = change(*jobs);
  return done ? static_cast<int>(kOk) : refuse(call, done.error());
}

struct Change {
  std::string job;
  msg::UpdateRequest request;
};

// "TimeLimit=30" and its like. Errors: unsupported (what holon has no equal of).
Status add(Change& change, const std::string& name, const std::string& value) {
  if (is_same(name, "JobId")) {
    change.job = value;
  } else if (is_same(name, "TimeLimit")) {
    const auto limit = parse_limit(is_same(value, "UNLIMITED") ? "inf" : value);
    if (!limit) return tl::unexpected(limit.error());
    change.request.limit = *limit;
  } else if (is_same(name, "JobName") || is_same(name, "Name")) {
    change.request.name = value;
  } else if (is_same(name, "Partition")) {
    change.request.queue = value;
  } else {
    return fail(Errc::unsupported,
                fmt::format("Update of this parameter is not supported: {}={}", name, value));
  }
  return {};
}

int update(Call& call, const std::vector<std::string>& words) {
  Change change;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals == std::string::npos)
      return refuse(call, "Invalid update specification: " + words[i]);
    if (auto good = add(change, words[i].substr(0, equals), words[i].substr(equals + 1)); !good)
      return refuse(call, good.error());
  }
  return each(call, {"update", change.job}, [&change](NamedJobs& jobs) {
    change.request.ids = jobs.ids;
    return jobs.client.update(change.request);
  });
}

}  // namespace

int scontrol(Call& call) {
  const auto options = Options::read(call.words, kOptionsOfScontrol);
  if (!options) return refuse(call, options.error());
  if (options->has("version")) {
    call.io.out << kVersion << "\n";
    return kOk;
  }
  const auto& words = options->rest();
  const std::string verb = words.empty() ? "" : words.front();
  if (options->has("help") || options->has("usage") || verb.empty() || verb == "help") {
    call.io.out << kHelpOfScontrol;
    return kOk;
  }
  const bool in_one_line = options->has("oneliner");
  if (begins(verb, "show", 1)) return show(call, words, in_one_line);
  if (verb == "hold" || verb == "uhold" || verb == "release")
    return each(call, words, [&verb](NamedJobs& jobs) {
      return jobs.client.set_urgency({jobs.ids, verb == "release" ? kReleased : kHeld});
    });
  if (verb == "suspend" || verb == "resume")
    return each(call, words, [&verb](NamedJobs& jobs) {
      return jobs.client.suspend({jobs.ids, verb == "suspend"});
    });
  if (verb == "update") return update(call, words);
  if (verb == "version") {
    call.io.out << kVersion << "\n";
    return kOk;
  }
  if (verb == "ping") {
    auto client = connect(call);
    call.io.out << fmt::format("Slurmctld(primary) at holon is {}\n", client ? "UP" : "DOWN");
    return client ? kOk : kFailed;
  }
  return refuse(call, fmt::format("invalid keyword: {}; holon has no equal of it", verb));
}

}  // namespace holon::cli::slurm
