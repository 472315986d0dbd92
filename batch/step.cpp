#include "batch/step.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace holon::batch {
namespace {

using Words = std::vector<std::string>;

// Variables that srun takes options from, some of which sbatch has set for the script's own steps:
// -n8 -c2 of the batch job would make eight processes of two CPUs. The three sorts of memory
// exclude each other.
const Words& read_by_srun() {
  static const Words kNames = {"SLURM_NTASKS",
                               "SLURM_NPROCS",
                               "SLURM_NTASKS_PER_NODE",
                               "SLURM_NTASKS_PER_CORE",
                               "SLURM_NTASKS_PER_SOCKET",
                               "SLURM_NTASKS_PER_GPU",
                               "SLURM_CPUS_PER_TASK",
                               "SRUN_CPUS_PER_TASK",
                               "SLURM_CPUS_PER_GPU",
                               "SLURM_CPU_BIND",
                               "SLURM_CPU_BIND_LIST",
                               "SLURM_CPU_BIND_TYPE",
                               "SLURM_CPU_BIND_VERBOSE",
                               "SLURM_MEM_BIND",
                               "SLURM_MEM_PER_CPU",
                               "SLURM_MEM_PER_GPU",
                               "SLURM_MEM_PER_NODE",
                               "SLURM_DISTRIBUTION",
                               "SLURM_EXACT",
                               "SLURM_EXCLUSIVE",
                               "SLURM_WHOLE",
                               "SLURM_HINT",
                               "SLURM_THREADS_PER_CORE",
                               "SLURM_CORE_SPEC",
                               "SLURM_MULTI_PROG",
                               "SLURM_HOSTFILE",
                               "SLURM_RELATIVE",
                               "SLURM_TIMELIMIT",
                               "SLURM_WAIT",
                               "SLURM_KILL_BAD_EXIT",
                               "SLURM_NO_KILL",
                               "SLURM_EXPORT_ENV",
                               "SLURM_LABELIO",
                               "SLURM_STDINMODE",
                               "SLURM_STDOUTMODE",
                               "SLURM_STDERRMODE",
                               "SLURM_MPI_TYPE",
                               "SLURM_OVERCOMMIT",
                               "SLURM_WORKING_DIR",
                               "SLURM_BCAST",
                               "SLURM_GPUS_PER_TASK",
                               "SLURM_GPU_BIND",
                               "SLURM_CONSTRAINT",
                               "SLURM_USE_MIN_NODES"};
  return kNames;
}

// --overlap: beside whatever other steps the script has, as this one lives as long as the instance.
// --mem=0: all of the job's memory on the node. --cpu-bind=none: all of its CPUs, for holon binds.
// --wait=0, --kill-on-bad-exit=0, --no-kill: one process that ends, or a node that is lost, ends no
// other.
Words srun_on(const Allocation& allocation, const Words& how, const Words& program) {
  const std::string n = std::to_string(allocation.nodes.size());
  Words words = {"srun", "--overlap"};
  words.insert(words.end(), how.begin(), how.end());
  for (const std::string& word :
       {"-N" + n, "-n" + n, std::string("--ntasks-per-node=1"), std::string("--cpu-bind=none"),
        std::string("--mem=0"), std::string("--export=ALL"), std::string("--kill-on-bad-exit=0"),
        std::string("--no-kill"), std::string("--wait=0"), std::string("--job-name=holon"),
        std::string("--")})
    words.push_back(word);
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

Step by_srun(const Allocation& allocation, const Words& program) {
  return {
      {srun_on(allocation, {"--mpi=none", "--input=all"}, program)}, read_by_srun(), true, true};
}

Step one_by_one(const Allocation& allocation, const Words& launcher, const Words& program) {
  Step step;
  for (const Node& node : allocation.nodes) {
    Words words = launcher;
    words.push_back(node.name);
    words.insert(words.end(), program.begin(), program.end());
    step.commands.push_back(std::move(words));
  }
  return step;
}

// pbsdsh of Torque has an option for one process a node. Other pbsdsh start one a virtual node, and
// a node may have several; pbs_tmrsh takes a node's name.
Step by_pbs(const Allocation& allocation, const Words& program, bool torque) {
  if (!torque) return one_by_one(allocation, {"pbs_tmrsh"}, program);
  Words words = {"pbsdsh", "-u"};
  words.insert(words.end(), program.begin(), program.end());
  return {{std::move(words)}, {}, false, false};
}

Step by_blaunch(const Allocation& allocation, const Words& program) {
  std::string hosts;
  for (const Node& node : allocation.nodes) hosts += (hosts.empty() ? "" : " ") + node.name;
  Words words = {"blaunch", "-z", hosts};
  words.insert(words.end(), program.begin(), program.end());
  return {{std::move(words)}, {}, true, false};
}

Step by_flux_exec(const Words& program) {
  Words words = {"flux", "exec", "-r", "all"};
  words.insert(words.end(), program.begin(), program.end());
  return {{std::move(words)}, {}, false, true};
}

}  // namespace

Result<Step> step_on_nodes(const Allocation& allocation, const Words& program) {
  const bool asks_flux = allocation.system == System::flux;
  if (allocation.system == System::none || allocation.system == System::holon)
    return fail(Errc::unsupported,
                fmt::format("{} has no launcher for other nodes", title_of(allocation.system)));
  if (allocation.nodes.empty() && !asks_flux)
    return fail(Errc::not_found,
                fmt::format("{} does not say which nodes there are", title_of(allocation.system)));
  switch (allocation.system) {
    case System::slurm:
      return by_srun(allocation, program);
    case System::pbs:
      return by_pbs(allocation, program, allocation.torque);
    case System::lsf:
      return by_blaunch(allocation, program);
    case System::oar: {
      Step step = one_by_one(allocation, {"oarsh"}, {});
      for (auto& words : step.commands)
        for (const auto& word : program) words.push_back(quoted(word));
      step.passes_input = true;
      return step;
    }
    case System::grid_engine: {
      Step step = one_by_one(allocation, {"qrsh", "-inherit", "-V"}, program);
      step.passes_environment = true;
      step.passes_input = true;
      return step;
    }
    default:
      return by_flux_exec(program);
  }
}

// --quit-on-interrupt: srun would take the first Ctrl-C as a question for its status.
Result<Step> step_of_tasks(const Allocation& allocation, const Words& program, bool terminal) {
  if (allocation.system != System::slurm || allocation.nodes.empty())
    return fail(Errc::unsupported,
                fmt::format("nothing starts tasks on the nodes of {} from a host that is none of "
                            "them",
                            title_of(allocation.system)));
  const Words how = {"--mpi=pmi2", terminal ? "--pty" : "--input=0", "--quit-on-interrupt"};
  return Step{{srun_on(allocation, how, program)}, read_by_srun(), true, false};
}

Result<Step> step_by_ssh(const Words& hosts, const Words& program) {
  Step step;
  step.passes_input = true;
  std::set<std::string> seen;
  if (hosts.empty()) return fail(Errc::invalid_argument, "a list of hosts is expected", "--hosts");
  for (const auto& host : hosts) {
    if (host.empty() || host[0] == '-')
      return fail(Errc::invalid_argument, fmt::format("'{}' is no name of a host", host),
                  "--hosts");
    if (!seen.insert(host).second)
      return fail(Errc::invalid_argument, fmt::format("'{}' stands in it twice", host), "--hosts");
    Words words = {"ssh", "-T", "-o", "BatchMode=yes", host, "--"};
    for (const auto& word : program) words.push_back(quoted(word));
    step.commands.push_back(std::move(words));
  }
  return step;
}

std::string quoted(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./=:,@%+").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace holon::batch
