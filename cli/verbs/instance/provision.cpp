// holon provision: batch jobs that bring nodes when the plan lacks them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "batch/allocation.hpp"
#include "cli/connect.hpp"
#include "cli/parser/parser.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"
#include "cli/verbs.hpp"
#include "instance/basics/clock.hpp"
#include "transport/codec/json.hpp"

namespace holon::cli {
namespace {

constexpr std::int64_t kMostOfAll = 100'000;

struct ProvisionArgs {
  msg::ProvisionRequest request;
  std::int64_t nodes_each = 1, most_queued = 2, most_nodes = 16;
  bool json = false;
};

std::function<Status(const std::string&)> length_reader(std::int64_t& target) {
  return [&target](const std::string& word) -> Status {
    const auto length = parse_limit(word);
    if (!length) return tl::unexpected(length.error());
    target = *length;
    return {};
  };
}

std::function<Status(const std::string&)> number_from_one(std::int64_t most, std::int64_t& target) {
  return [read = number_up_to(most, target), most, &target](const std::string& word) -> Status {
    if (auto good = read(word); !good || target >= 1) return good;
    return fail(Errc::invalid_argument,
                fmt::format("'{}' is not accepted; 1 to {} are", word, most));
  };
}

// Refuses words that are no option of ours and may be slips; the batch system's words stand behind
// "--".
Status check_passed_through(const Invocation& call, const std::vector<std::string>& options) {
  const auto dashes = std::find(call.args.begin(), call.args.end(), "--");
  const auto behind = dashes == call.args.end() ? 0 : std::distance(dashes, call.args.end()) - 1;
  if (static_cast<std::size_t>(behind) == options.size()) return {};
  return fail(Errc::invalid_argument,
              "not expected here; options of the batch system stand behind --", options.front());
}

Status check_sizes(const ProvisionArgs& args) {
  if (args.nodes_each <= args.most_nodes) return {};
  return fail(Errc::invalid_argument,
              fmt::format("a batch job would have more nodes than the {} that all may have "
                          "together; --max-nodes {} would do",
                          args.most_nodes, args.nodes_each),
              fmt::format("-N {}", args.nodes_each));
}

// Tells that jobs which need more nodes than there are do not wait if no provision may bring them.
void tell_of_nothing(Invocation& call, Client& client) {
  call.io.out << "nothing: no waiting job would start on its nodes now\n";
  const auto known = client.provisions();
  if (known && known->provisions.empty())
    call.io.out << "while there is no provision, a job that is too large for the nodes that are "
                   "here is refused when it is submitted; with one it waits for more\n";
}

void tell_dry_run(Invocation& call, const msg::ProvisionReply& reply, Client& client) {
  if (reply.batch_jobs == 0) return tell_of_nothing(call, client);
  std::vector<std::string> words;
  for (const auto& word : reply.command)
    words.push_back(word.find_first_of(" |;$") == std::string::npos ? word : "'" + word + "'");
  call.io.out << fmt::format("{} batch job{}, for job{} {}:\n  {}\nwith this script:\n{}",
                             reply.batch_jobs, reply.batch_jobs == 1 ? "" : "s",
                             reply.jobs.size() == 1 ? "" : "s", fmt::join(reply.jobs, ", "),
                             fmt::join(words, " "), reply.script);
}

int add_provision(Invocation& call, const std::string& name, const std::string& system) {
  ProvisionArgs args;
  auto& request = args.request;
  request.system = system;
  Parser parser("provision " + name,
                fmt::format("submit batch jobs to {} when waiting jobs would start on their nodes",
                            batch::title_of(*batch::system_of(system))));
  parser
      .command("OPTION", request.options,
               "options of the batch system, passed through: write -- in front of them", false)
      .group("What a batch job is")
      .option("-t,--time", length_reader(request.walltime), "TIME",
              "its walltime, 1h; no job is placed on its nodes that would last longer")
      .option("--shape", request.shape, "SHAPE",
              "what a node has, core=16,memory=64, until one has come and shows it; as here");
  if (system != "grid-engine")
    parser.option("-N,--nodes", number_from_one(kMostOfAll, args.nodes_each), "N", "of it; 1");
  parser.group("How many")
      .option("--max-queued", number_from_one(kMostOfAll, args.most_queued), "N",
              "batch jobs that wait in the batch system's queue at a time; 2")
      .option("--max-nodes", number_from_one(kMostOfAll, args.most_nodes), "N",
              "nodes of all its batch jobs together; 16")
      .option("--idle", length_reader(request.idle), "TIME",
              "a node is given back after so long without a job, and a batch job taken back that "
              "waits in the queue in vain; 5m")
      .option("--patience", length_reader(request.patience), "TIME",
              "jobs that have waited for less do not count; 10s")
      .group("Options")
      .flag("--dry-run", request.dry_run, "show what would be submitted now; nothing is")
      .instance(call)
      .json(args.json)
      .note(
          "It is asked of the plan: as many batch jobs are submitted as the scheduler would use "
          "the "
          "nodes of, for jobs that would start there now. After a failure nothing is submitted for "
          "30 s, then for twice as long, up to an hour. `holon provision list` shows what goes on, "
          "also after the broker or the whole instance was started again.")
      .note(
          "The instance runs outside of any batch job, as `holon start --joinable`; its state "
          "directory, the holon program and its address are to be there on the nodes.")
      .example(fmt::format("holon provision {} -t 2h --max-nodes 8 -- {}", name,
                           system == "slurm" ? "-p short" : "-q short"),
               "up to eight nodes, two hours each")
      .example(fmt::format("holon provision {} --dry-run", name), "what would it do now?");
  if (const auto code = parser.parse(call)) return *code;
  if (auto good = check_passed_through(call, request.options); !good)
    return report(call, "provision " + name, good.error());
  if (auto good = check_sizes(args); !good) return report(call, "provision " + name, good.error());
  request.nodes_each = static_cast<std::uint32_t>(args.nodes_each);
  request.most_queued = static_cast<std::uint32_t>(args.most_queued);
  request.most_nodes = static_cast<std::uint32_t>(args.most_nodes);
  auto client = connect_to_instance(call);
  if (!client) return report(call, "provision", client.error());
  const auto reply = client->provision(request);
  if (!reply) return report(call, "provision", reply.error());
  if (args.json)
    call.io.out << indented(transport::to_json(*reply)) << '\n';
  else if (request.dry_run)
    tell_dry_run(call, *reply, *client);
  else
    call.io.out << reply->number << '\n';
  return kOk;
}

Table table_of_provisions(const msg::ProvisionsReply& all, Time now) {
  using enum Table::Align;
  Table table({{"NUMBER", right},
               {"SYSTEM", left},
               {"STATE", left},
               {"TIME", right},
               {"NODES", right},
               {"QUEUED", right},
               {"OPTIONS", left},
               {"TROUBLE", left}});
  for (const auto& p : all.provisions) {
    std::uint32_t nodes = 0, queued = 0;
    for (const auto& job : all.batch_jobs) {
      if (job.provision != p.number) continue;
      nodes += job.state == "running" ? job.nodes : 0;
      queued += job.state != "running";
    }
    const bool waits = p.not_before > now;
    table.add({{std::to_string(p.number)},
               {p.how.system},
               {p.paused ? "paused"
                : waits  ? "waits until " + show_time(p.not_before, now)
                         : "open"},
               {show_duration(p.how.walltime)},
               {fmt::format("{} of {}", nodes, p.how.most_nodes)},
               {fmt::format("{} of {}", queued, p.how.most_queued)},
               {fmt::format("{}", fmt::join(p.how.options, " "))},
               {p.trouble}});
  }
  return table;
}

Table table_of_batch_jobs(const std::vector<msg::BatchJob>& jobs, Time now) {
  using enum Table::Align;
  Table table({{"BATCH-JOB", right},
               {"OF", right},
               {"NAME", left},
               {"STATE", left},
               {"NODES", right},
               {"ASKED", left},
               {"JOINED", left}});
  for (const auto& job : jobs)
    table.add({{job.id.empty() ? "?" : job.id},
               {std::to_string(job.provision)},
               {job.name},
               {job.state, job.state == "running" ? Colour::green : Colour::plain},
               {std::to_string(job.nodes)},
               {show_time(job.asked, now)},
               {job.here}});
  return table;
}

int verb_provision_list(Invocation& call) {
  bool json = false;
  Parser parser("provision list", "where nodes come from, and which batch jobs are on their way");
  parser.instance(call).json(json).example("holon provision list", "with what failed last");
  if (const auto code = parser.parse(call)) return *code;
  auto client = connect_to_instance(call);
  if (!client) return report(call, "provision list", client.error());
  const auto reply = client->provisions();
  if (!reply) return report(call, "provision list", reply.error());
  if (json) {
    call.io.out << indented(transport::to_json(*reply)) << '\n';
    return kOk;
  }
  const Time now = instance::wall_clock_ms();
  if (reply->provisions.empty() && reply->batch_jobs.empty()) call.io.out << "there is none\n";
  if (!reply->provisions.empty()) call.io.out << table_of_provisions(*reply, now).render(call.io);
  if (!reply->batch_jobs.empty())
    call.io.out << '\n' << table_of_batch_jobs(reply->batch_jobs, now).render(call.io);
  return kOk;
}

int change_one(Invocation& call, const std::string& action, const std::string& summary,
               const std::string& what) {
  std::string word;
  Parser parser("provision " + action, summary);
  parser.required("NUMBER", word, "as `holon provision list` shows it")
      .group("Options")
      .instance(call)
      .example("holon provision " + action + " 1", what);
  if (const auto code = parser.parse(call)) return *code;
  msg::ProvisionChange request;
  request.action = action;
  std::int64_t number = 0;
  if (auto read = number_up_to(INT64_MAX, number)(word); !read)
    return report(call, "provision " + action,
                  {Errc::invalid_argument, "no number; `holon provision list` shows them", word});
  request.number = static_cast<std::uint64_t>(number);
  auto client = connect_to_instance(call);
  if (!client) return report(call, "provision " + action, client.error());
  const auto changed = client->change_provision(request);
  return changed ? static_cast<int>(kOk) : report(call, "provision " + action, changed.error());
}

int verb_provision_slurm(Invocation& call) {
  return add_provision(call, "slurm", "slurm");
}
int verb_provision_sge(Invocation& call) {
  return add_provision(call, "sge", "grid-engine");
}
int verb_provision_pbs(Invocation& call) {
  return add_provision(call, "pbs", "pbs");
}
int verb_provision_pause(Invocation& call) {
  return change_one(call, "pause", "submit nothing more for a while",
                    "what was submitted stays, and its nodes come");
}
int verb_provision_resume(Invocation& call) {
  return change_one(call, "resume", "submit again, also before the time after a failure is over",
                    "it looks at the plan at once");
}
int verb_provision_remove(Invocation& call) {
  return change_one(call, "remove", "take queued batch jobs back, and give back the nodes",
                    "what runs on its nodes is waited for");
}

}  // namespace

int verb_provision(Invocation& call) {
  static constexpr auto kVerbs = std::to_array<Verb>({
      {"slurm", "submit batch jobs to Slurm when the plan lacks nodes", Group::instance,
       verb_provision_slurm},
      {"sge", "the same to Grid Engine", Group::instance, verb_provision_sge},
      {"pbs", "the same to PBS", Group::instance, verb_provision_pbs},
      {"list", "where nodes come from, and which batch jobs are on their way", Group::look,
       verb_provision_list},
      {"pause", "submit nothing more for a while", Group::instance, verb_provision_pause},
      {"resume", "submit again", Group::instance, verb_provision_resume},
      {"remove", "take queued batch jobs back, and give back the nodes", Group::instance,
       verb_provision_remove},
  });
  return run_group({"provision",
                    "get more nodes by batch jobs when the plan lacks them",
                    kVerbs,
                    {{"holon provision slurm -t 2h --max-nodes 8", "up to eight nodes of Slurm"},
                     {"holon provision list", "which batch jobs are on their way"}}},
                   call);
}

}  // namespace holon::cli
