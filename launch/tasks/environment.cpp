#include "launch/tasks/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/idset.hpp"
#include "launch/hardware/gpus.hpp"
#include "launch/tasks/known_machine.hpp"
#include "launch/tasks/spawn.hpp"
#include "launch/tracking/lineage.hpp"
#include "transport/secret.hpp"

extern char** environ;

namespace holon::launch {
namespace {

constexpr const char* kSecretsVariable = "HOLON_SECRETS_FD";

// The changes for one task's environment: each start makes some thirty of these, so that they are
// sorted once, at the end. Keys belong to the caller, and must outlive this object.
class Changes {
 public:
  struct Change {
    std::string_view key;
    std::optional<std::string> value;  // nullopt: the variable is removed
  };

  Changes() { all_.reserve(kUsual); }
  // The last change of a key counts.
  void set(std::string_view key, std::optional<std::string> value) {
    all_.push_back({key, std::move(value)});
  }
  void take_out(std::string_view key) { set(key, std::nullopt); }

  // Sorted by key, each once.
  std::vector<Change> in_order() && {
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Change& a, const Change& b) { return a.key < b.key; });
    const auto is_same = [](const Change& a, const Change& b) { return a.key == b.key; };
    // Done from the end, so that of equal keys the last stays.
    const auto first = std::unique(all_.rbegin(), all_.rend(), is_same).base();
    all_.erase(all_.begin(), first);
    return std::move(all_);
  }

 private:
  static constexpr std::size_t kUsual = 48;
  std::vector<Change> all_;
};

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// "0,1,2" of three; "-1" of none.
std::string numbers_of(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + std::to_string(i);
  return count == 0 ? "-1" : text;
}

// The task's devices, for each maker that the node has GPUs of.
VisibleGpus devices_of(const std::string& gpus, const NodeFrame& frame) {
  const Maker usual = frame.amd ? Maker::amd : Maker::nvidia;
  VisibleGpus devices;
  for (const auto& name : frame.gpus) devices[gpu_of_name(name, usual).maker];
  if (devices.empty()) devices[usual];
  if (gpus.empty()) return devices;
  const auto ids = Idset::parse(gpus);
  if (!ids) {  // names instead of numbers: as they are
    devices[usual].push_back(gpus);
    return devices;
  }
  for (const std::uint64_t id : ids->ids()) {
    const auto gpu =
        gpu_of_name(id < frame.gpus.size() ? frame.gpus[id] : std::to_string(id), usual);
    devices[gpu.maker].push_back(gpu.device);
  }
  return devices;
}

// NVIDIA's library reads CUDA_VISIBLE_DEVICES, AMD's reads ROCR_VISIBLE_DEVICES and then numbers
// what is left anew for HIP_VISIBLE_DEVICES, or without that for CUDA_VISIBLE_DEVICES: where AMD is
// alone, only the first may be set. Intel's reads ZE_AFFINITY_MASK.
void add_gpus(Changes& changes, const std::string& gpus, bool hides, const NodeFrame& frame) {
  if (gpus.empty() && !frame.has_gpus && !hides) return;
  const auto devices = devices_of(gpus, frame);
  const auto shown = [&](Maker maker) {
    const auto own = devices.find(maker);
    if (own == devices.end()) return std::optional<std::string>();
    return std::optional(own->second.empty() ? "-1" : join(own->second));
  };
  const auto nvidia = shown(Maker::nvidia), amd = shown(Maker::amd), intel = shown(Maker::intel);
  changes.set("CUDA_VISIBLE_DEVICES", nvidia);
  changes.set("ROCR_VISIBLE_DEVICES", amd);
  if (amd && nvidia)
    changes.set("HIP_VISIBLE_DEVICES", numbers_of(devices.at(Maker::amd).size()));
  else
    changes.set("HIP_VISIBLE_DEVICES", nvidia);
  if (intel) changes.set("ZE_AFFINITY_MASK", intel);
}

// The user's own OMP_NUM_THREADS stays; one that an outer holon job set for its own cores does not.
void add_threads(Changes& changes, const Environment& base, const std::string& cores) {
  const auto ids = Idset::parse(cores);
  if (!ids || ids->empty()) return;
  const auto set = base.find("OMP_NUM_THREADS");
  const auto ours = base.find("HOLON_OMP_NUM_THREADS");
  if (set != base.end() && (ours == base.end() || ours->second != set->second)) return;
  for (const char* const name : {"OMP_NUM_THREADS", "HOLON_OMP_NUM_THREADS"})
    changes.set(name, std::to_string(ids->count()));
}

// A task's place on its node.
struct Seat {
  std::size_t node = 0, rank = 0, tasks = 0;
};

Seat seat_of(const msg::Start& start, std::size_t index) {
  Seat seat{start.node_index, index, start.tasks.size()};
  for (const std::uint32_t there : start.node_tasks) {
    if (seat.rank < there) return {seat.node, seat.rank, there};
    seat.rank -= there;
    ++seat.node;
  }
  return {start.node_index, index, start.tasks.size()};
}

// Removes variables of another launcher's task: an MPI program that finds them looks for that
// launcher. Variables that people set themselves, PMIX_MCA_ and PMI_DEBUG, stay.
void take_out_places(Changes& changes, const Environment& base) {
  const auto first = base.lower_bound("PMI");
  if (first == base.end() || !first->first.starts_with("PMI")) return;
  for (const char* const name :
       {"PMI_FD", "PMI_ID", "PMI_JOBID", "PMI_PORT", "PMI_RANK", "PMI_SIZE", "PMI_SPAWNED",
        "PMIX_HOSTNAME", "PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_TMPDIR", "PMIX_SERVER_URI",
        "PMIX_SERVER_URI2", "PMIX_SERVER_URI21", "PMIX_SERVER_URI3", "PMIX_SERVER_URI4",
        "PMIX_SERVER_URI41", "PMIX_SYSTEM_TMPDIR"})
    changes.take_out(name);
}

// As Slurm writes how many tasks each node has: "4(x2),1".
std::string tasks_per_node(const msg::Start& start) {
  if (start.node_tasks.empty()) return std::to_string(start.tasks.size());
  std::string text;
  for (std::size_t at = 0, end = 0; at < start.node_tasks.size(); at = end) {
    while (end < start.node_tasks.size() && start.node_tasks[end] == start.node_tasks[at]) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(start.node_tasks[at]);
    if (end - at > 1) text += "(x" + std::to_string(end - at) + ")";
  }
  return text;
}

// Steps count from 0, the jobs of the instance from 1.
void add_names_of_step(Changes& changes, const msg::Start& start, const std::string& gpus,
                       const std::string& job) {
  const std::string step = std::to_string(start.job - 1);
  changes.set("SLURM_JOB_ID", job);
  changes.set("SLURM_JOBID", job);
  changes.set("SLURM_STEP_ID", step);
  changes.set("SLURM_STEPID", step);
  changes.set("SLURM_STEP_NUM_TASKS", std::to_string(start.ntasks));
  changes.set("SLURM_STEP_NUM_NODES", std::to_string(start.nnodes));
  changes.set("SLURM_STEP_NODELIST", start.nodelist);
  for (const char* const name : {"SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE"})
    changes.set(name, tasks_per_node(start));
  changes.set("SLURM_STEP_GPUS", gpus.empty() ? std::nullopt : std::optional(gpus));
}

void add_names_of_job(Changes& changes, const msg::Start& start, const std::string& gpus) {
  const std::string job = std::to_string(start.job);
  changes.set("SLURM_JOB_ID", job);
  changes.set("SLURM_JOBID", job);
  changes.set("SLURM_JOB_NUM_NODES", std::to_string(start.nnodes));
  changes.set("SLURM_NODELIST", start.nodelist);
  changes.set("SLURM_JOB_NODELIST", start.nodelist);
  if (!gpus.empty()) changes.set("SLURM_JOB_GPUS", gpus);
}

// What scripts for Slurm read (sbatch(1), srun(1)) and what differs from task to task; the rest
// came with the job.
void add_slurm_names(Changes& changes, const Environment& base, const msg::Start& start,
                     const msg::Task& task, const Seat& seat, const std::string& gpus) {
  const auto ids = Idset::parse(start.cores);
  const auto around = base.find(kStepOf);
  if (around != base.end())
    add_names_of_step(changes, start, gpus, around->second);
  else
    add_names_of_job(changes, start, gpus);
  changes.set("SLURM_PROCID", std::to_string(task.rank));
  changes.set("SLURM_LOCALID", std::to_string(seat.rank));
  changes.set("SLURM_NODEID", std::to_string(seat.node));
  changes.set("SLURM_NNODES", std::to_string(start.nnodes));
  if (ids && !ids->empty()) changes.set("SLURM_CPUS_ON_NODE", std::to_string(ids->count()));
}

Changes changes_for(const Environment& base, const msg::Start& start, std::size_t index,
                    const NodeFrame& frame, const Environment& wire_up) {
  const msg::Task& task = start.tasks[index];
  const std::string& cores = task.cores.empty() ? start.cores : task.cores;
  const std::string& gpus = task.gpus.empty() ? start.gpus : task.gpus;
  const Seat seat = seat_of(start, index);
  Changes changes;
  take_out_places(changes, base);
  for (const auto& [key, value] : wire_up) changes.set(key, value);
  add_threads(changes, base, cores);
  add_gpus(changes, gpus, start.hides_gpus, frame);
  changes.take_out("HOLON_JOB_TMPDIR");  // that of a job around is nothing for this one
  changes.set("HOLON_INSTANCE_TMPDIR",
              frame.instance_files.empty() ? std::nullopt : std::optional(frame.instance_files));
  for (const auto& [key, value] : start.env) changes.set(key, value);
  changes.set("HOLON_JOB_ID", std::to_string(start.job));
  changes.set("HOLON_JOB_PATH", start.path);
  changes.set(kLineage, lineage_of_job(frame.lineage, start.job));
  changes.set("HOLON_TASK_RANK", std::to_string(task.rank));
  changes.set("HOLON_LOCAL_RANK", std::to_string(seat.rank));
  changes.set("HOLON_NTASKS", std::to_string(start.ntasks));
  changes.set("HOLON_LOCAL_NTASKS", std::to_string(seat.tasks));
  changes.set("HOLON_NNODES", std::to_string(start.nnodes));
  changes.set("HOLON_NODE_INDEX", std::to_string(seat.node));
  changes.set("HOLON_NODELIST", start.nodelist);
  changes.set("HOLON_CORES", cores);
  changes.set("HOLON_GPUS", gpus);
  changes.set("HOLON_CPUSET", frame.cpuset);
  if (start.slurm_names) add_slurm_names(changes, base, start, task, seat, gpus);
  if (!frame.gpus.empty()) changes.set("HOLON_GPU_DEVICES", join(frame.gpus));
  const bool is_instance = !start.secrets.empty();
  if (is_instance) changes.set(kSecretsVariable, std::to_string(kSecretsDescriptor));
  changes.set(kKnownMachine,
              is_instance && !frame.machine.empty() ? std::optional(frame.machine) : std::nullopt);
  return changes;
}

// Adds "KEY=VALUE" to the map; ignores malformed entries (without '=').
void add_entry(Environment& all, std::string_view text) {
  const auto equals = text.find('=');
  if (equals != std::string_view::npos && equals > 0)
    all.emplace(text.substr(0, equals), text.substr(equals + 1));
}

std::string line_of(std::string_view key, std::string_view value) {
  std::string line;
  line.reserve(key.size() + 1 + value.size());
  return line.append(key).append(1, '=').append(value);
}

}  // namespace

Environment base_environment(const msg::Program& program, const Environment& inherited) {
  if (!program.inherit_env) return program.env;
  Environment base = inherited;
  for (const auto& [key, value] : program.env) base[key] = value;
  return base;
}

Environment current_environment() {
  Environment all;
  for (char** entry = environ; entry && *entry; ++entry) add_entry(all, *entry);
  return all;
}

std::string secrets_text(const Environment& secrets) {
  std::string text;
  for (const auto& [key, value] : secrets) text += key + "=" + value + '\0';
  return text;
}

Result<Environment> take_secrets() {
  const char* const number = std::getenv(kSecretsVariable);
  if (number == nullptr) return fail(Errc::not_found, "not set", kSecretsVariable);
  const auto text = transport::take_secret(std::atoi(number));
  unsetenv(kSecretsVariable);
  if (!text) return tl::unexpected(text.error());
  Environment secrets;
  for (std::string_view rest = *text; !rest.empty();) {
    const auto entry = rest.substr(0, rest.find('\0'));
    add_entry(secrets, entry);
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
  }
  return secrets;
}

std::vector<std::string> task_environment(const Environment& base, const msg::Start& start,
                                          std::size_t index, const NodeFrame& frame,
                                          const Environment& wire_up) {
  const auto changes = changes_for(base, start, index, frame, wire_up).in_order();
  std::vector<std::string> result;
  result.reserve(base.size() + changes.size());
  auto old = base.begin();
  for (const auto& [key, value] : changes) {
    for (; old != base.end() && old->first < key; ++old)
      result.push_back(line_of(old->first, old->second));
    if (old != base.end() && old->first == key) ++old;
    if (value) result.push_back(line_of(key, *value));
  }
  for (; old != base.end(); ++old) result.push_back(line_of(old->first, old->second));
  return result;
}

}  // namespace holon::launch
