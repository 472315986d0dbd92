#include "launch/tracking/taken_units.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/hostlist.hpp"
#include "launch/tracking/cores.hpp"
#include "launch/tracking/lineage.hpp"
#include "launch/tracking/process.hpp"

namespace holon::launch {
namespace {

bool is_one_of(const Idset& units, const std::string& text) {
  const auto its = Idset::parse(text);
  return its && !common(units, *its).empty();
}

// What a child runs has its lineage; what its jobs run has a job behind that.
bool is_of_a_job(std::string_view lineage, const std::string& child) {
  while (!lineage.empty())
    if (next_lineage_entry(lineage).starts_with(child + "/")) return true;
  return false;
}

// The CPUs of cores that are taken, where these are more than numbers.
struct BoundTo {
  CpuMask taken, all;
};
Result<BoundTo> cpus_of(const Node& node, const TakenUnits& taken) {
  Idset cores, every;
  for (const auto& of_node : taken.nodes)
    for (const auto core : of_node.cores.ids()) cores.insert(core);
  if (node.cores() > 0) every.insert(0, node.cores() - 1);
  const auto its = node.cpus_of(cores), all = node.cpus_of(every);
  if (!its) return tl::unexpected(its.error());
  if (!all) return tl::unexpected(all.error());
  return BoundTo{*its, *all};
}

// One that may run everywhere is not bound: what it was given its variables say.
bool is_bound_to(pid_t process, const BoundTo& cpus) {
  const auto mask = CpuMask::of(process);
  return mask && !mask->covers(cpus.all) && have_common_cpus(*mask, cpus.taken);
}

// All processes, and for those without a lineage of their own the nearest that has one: a program
// may have thrown its environment away, but not its session and its ancestors. What it leaves
// behind becomes a child of its instance's agent.
class Snapshot {
 public:
  Snapshot() {
    for (const ProcessStat& process : all_processes())
      if (!process.of_kernel && !process.is_over()) all_.emplace(process.pid, process);
  }
  const std::map<pid_t, ProcessStat>& all() const { return all_; }
  // The process itself, its session's leader or an ancestor, and its lineage. nullopt: it is just
  // becoming another program, or ending. An empty lineage: none of them has any.
  struct Known {
    ProcessStat process;
    std::string lineage;
  };
  std::optional<Known> known(const ProcessStat& process) {
    const auto own = lineage_of(process);
    if (!own) return std::nullopt;
    return own->empty() ? kin_of(process) : Known{process, *own};
  }
  // Its session's leader or the nearest ancestor that has a lineage.
  Known kin_of(const ProcessStat& process) {
    if (const auto leader = all_.find(process.session); leader != all_.end())
      if (const auto its = lineage_of(leader->second); its && !its->empty())
        return Known{leader->second, *its};
    auto parent = all_.find(process.parent);
    for (int depth = 0; depth < kDeepest && parent != all_.end(); ++depth) {
      const auto its = lineage_of(parent->second);
      if (its && !its->empty()) return Known{parent->second, *its};
      parent = all_.find(parent->second.parent);
    }
    return Known{process, ""};
  }

 private:
  static constexpr int kDeepest = 1'000;  // numbers may have been given anew meanwhile

  const std::optional<std::string>& lineage_of(const ProcessStat& process) {
    const auto [known, is_new] = lineages_.try_emplace(process.pid);
    if (is_new) known->second = variable_of(process, kLineage);
    return known->second;
  }

  std::map<pid_t, ProcessStat> all_;
  std::map<pid_t, std::optional<std::string>> lineages_;
};

bool has_taken_unit(const TakenUnits& taken, const ProcessStat& process) {
  const auto value = [&](const char* name) {
    return variable_of(process, name).value_or(std::string());
  };
  return launch::has_taken_unit(taken, value("HOLON_NODELIST"), value("HOLON_NODE_INDEX"),
                                value("HOLON_CORES"), value("HOLON_GPUS"));
}

}  // namespace

Result<TakenUnits> taken_units(const msg::TakeRequest& request) {
  TakenUnits taken{request.job, {}, request.bind};
  for (const auto& of_node : request.nodes) {
    const auto cores = Idset::parse(of_node.cores), gpus = Idset::parse(of_node.gpus);
    if (!cores) return tl::unexpected(cores.error());
    if (!gpus) return tl::unexpected(gpus.error());
    taken.nodes.push_back({of_node.node, *cores, *gpus});
  }
  return taken;
}

bool has_taken_unit(const TakenUnits& taken, const std::string& nodelist,
                    const std::string& node_index, const std::string& cores,
                    const std::string& gpus) {
  const auto hosts = Hostlist::parse(nodelist);
  const auto names = hosts ? hosts->hosts() : std::vector<std::string>();
  const auto index = std::strtoul(node_index.c_str(), nullptr, 10);
  const std::string node = index < names.size() ? names[index] : "";
  return std::any_of(taken.nodes.begin(), taken.nodes.end(), [&](const auto& of_node) {
    return (node.empty() || node == of_node.node) &&
           (is_one_of(of_node.cores, cores) || is_one_of(of_node.gpus, gpus));
  });
}

Result<std::size_t> end_on_taken_units(const Node& node, const std::string& prefix,
                                       const TakenUnits& taken) {
  const auto cpus = taken.bind ? cpus_of(node, taken) : Result<BoundTo>(BoundTo());
  if (!cpus) return tl::unexpected(cpus.error());
  const std::string child = prefix + std::to_string(taken.job);
  std::size_t found = 0;
  std::vector<ProcessStat> to_kill;
  Snapshot snapshot;
  // Of one that cannot be judged, by its kin: what a job has is known, and what an agent of the
  // child is just starting is not.
  const auto may_be_there = [&](const Snapshot::Known& kin) {
    return job_within(kin.lineage, prefix) == taken.job &&
           (!is_of_a_job(kin.lineage, child) || has_taken_unit(taken, kin.process));
  };
  for (const auto& [pid, process] : snapshot.all()) {
    const auto known = snapshot.known(process);
    const bool is_bound = taken.bind && is_bound_to(pid, *cpus);
    if (!known) {
      found += is_bound || may_be_there(snapshot.kin_of(process)) ? 1 : 0;
      continue;
    }
    if (job_within(known->lineage, prefix) != taken.job) continue;
    const bool was_given =
        is_of_a_job(known->lineage, child) && has_taken_unit(taken, known->process);
    if (is_bound || was_given) to_kill.push_back(process);
  }
  for (const ProcessStat& process : to_kill) signal_process(process, SIGKILL);
  return found + to_kill.size();
}

}  // namespace holon::launch
