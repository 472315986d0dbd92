#include "launch/tracking/tracking.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "launch/tracking/cgroup.hpp"
#include "launch/tracking/lineage.hpp"
#include "launch/tracking/process.hpp"

namespace holon::launch {
namespace {

// Looks after which a process that never shows a command does not count as just beginning.
constexpr int kDoubts = 100;

// A cgroup that somebody has removed was empty.
bool is_populated(const JobCgroup& cgroup) {
  std::array<char, 128> text{};
  const ssize_t n = pread(cgroup.events.get(), text.data(), text.size() - 1, 0);
  return n > 0 && std::string_view(text.data()).find("populated 1") != std::string_view::npos;
}

}  // namespace

JobProcesses::~JobProcesses() {
  std::erase_if(all_.tasks_, [this](const auto& task) { return task.second.job == job_; });
  std::erase_if(all_.outputs_, [this](const auto& output) { return output.second == job_; });
  if (const auto found = all_.jobs_.find(job_); found != all_.jobs_.end() && --found->second == 0)
    all_.jobs_.erase(found);
  if (cgroup_ && (is_found_empty_ || !is_populated(*cgroup_))) all_.give_back(std::move(cgroup_));
}

void JobProcesses::cannot_start_there(int error) {
  outside_ = true;
  // These errors are about the machine's processes, not about cgroups.
  if (error != EAGAIN && error != ENOMEM) all_.no_cgroups(std::strerror(error));
}

void JobProcesses::started(pid_t task, const CpuMask* cpus) {
  is_found_empty_ = false;
  all_.tasks_[task] = {job_, true, cpus == nullptr ? CpuMask() : *cpus};
}

void JobProcesses::ended(pid_t task) {
  const auto found = all_.tasks_.find(task);
  if (found != all_.tasks_.end()) found->second.is_running = false;
}

void JobProcesses::writes(const std::string& file) {
  if (outside_) all_.outputs_.emplace(file, job_);
}

bool JobProcesses::bound_memory(std::int64_t bytes) {
  if (outside_ || !all_.bounds_memory_) return false;
  cgroup_->is_bounded = true;
  return launch::bound_memory(cgroup_->dir, bytes);
}

bool JobProcesses::ran_out_of_memory() const {
  return cgroup_ && cgroup_->is_bounded && launch::ran_out_of_memory(cgroup_->dir);
}

std::int64_t JobProcesses::memory_peak() const {
  return cgroup_ && cgroup_->is_bounded ? launch::memory_peak(cgroup_->dir).value_or(0) : 0;
}

std::vector<pid_t> JobProcesses::processes(const std::vector<pid_t>& tasks) const {
  if (!outside_) return processes_below(cgroup_->dir);
  std::vector<pid_t> all = tasks;
  for (const pid_t stranger : all_.strangers_of(job_)) all.push_back(stranger);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const pid_t child : children_of(all[i])) all.push_back(child);
  return all;
}

bool JobProcesses::clear() {
  bool is_clear = true;
  is_found_empty_ = cgroup_ && !is_populated(*cgroup_);
  if (cgroup_ && !is_found_empty_) {
    kill_cgroup(cgroup_->dir);
    cgroup_->was_killed = true;
    outside_ = true;  // an epilog could not run in it
    is_clear = false;
  }
  return (!outside_ || all_.clear_strangers_of(job_)) && is_clear;
}

ProcessTracking::ProcessTracking(const std::string& lineage, std::string cgroup)
    : prefix_(jobs_prefix(lineage)), dir_(std::move(cgroup)) {
  if (dir_.empty()) return;
  remove_cgroups_below(dir_);  // those of an earlier agent
  bounds_memory_ = offer_memory_bounds(dir_);
}

std::unique_ptr<JobProcesses> ProcessTracking::track(std::uint64_t job) {
  ++jobs_[job];
  return std::unique_ptr<JobProcesses>(new JobProcesses(*this, job, take_cgroup()));
}

void ProcessTracking::reaped(pid_t stranger) {
  known_.erase(stranger);
  doubts_.erase(stranger);
}

void ProcessTracking::no_cgroups(std::string why) {
  if (trouble_.empty()) trouble_ = dir_ + ": " + std::move(why);
}

std::unique_ptr<JobCgroup> ProcessTracking::take_cgroup() {
  if (dir_.empty() || !trouble_.empty()) return nullptr;
  if (!free_.empty()) {
    auto taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }
  auto made = std::make_unique<JobCgroup>();
  made->dir = dir_ + "/job-" + std::to_string(++made_);
  if (mkdir(made->dir.c_str(), 0755) == 0) {
    made->handle.reset(open(made->dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    made->events.reset(open((made->dir + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
    if (made->handle && made->events) return made;
  }
  no_cgroups(std::string("cannot make a cgroup: ") + std::strerror(errno));
  return nullptr;
}

// A child instance that was killed leaves its jobs' cgroups below its own. A cgroup whose
// cgroup.kill was written is of no use any more: Linux 6.14 and later compare how often that
// happened to the cgroup of the process's parent and to its own (CLONE_INTO_CGROUP), and kill the
// process if that differs.
void ProcessTracking::give_back(std::unique_ptr<JobCgroup> cgroup) {
  constexpr nlink_t kNoneBelow = 2;
  struct stat info {};
  if (fstat(cgroup->handle.get(), &info) != 0) return;
  if (cgroup->was_killed || cgroup->is_bounded || info.st_nlink != kNoneBelow) {
    remove_cgroup(cgroup->dir);
    return;
  }
  free_.push_back(std::move(cgroup));
}

std::vector<pid_t> ProcessTracking::strangers() const {
  std::vector<pid_t> found = own_children();
  std::erase_if(found, [this](pid_t pid) {
    const auto task = tasks_.find(pid);
    return spared_.contains(pid) || (task != tasks_.end() && task->second.is_running);
  });
  return found;
}

ProcessTracking::Owner ProcessTracking::owner_of(pid_t stranger) {
  if (const auto found = known_.find(stranger); found != known_.end()) return {true, found->second};
  const auto process = stat_of(stranger);
  // A process that has just ended may have left children to us after the list was read.
  if (!process || process->is_over()) return {false, std::nullopt};
  const auto lineage = variable_of(*process, kLineage);
  if (!lineage && ++doubts_[stranger] < kDoubts) return {false, std::nullopt};
  auto job = job_within(lineage.value_or(""), prefix_);
  if (!job)
    if (const auto leader = tasks_.find(process->session); leader != tasks_.end())
      job = leader->second.job;
  if (!job) job = owner_by_cpus(stranger);
  if (!job) job = owner_by_output(stranger);
  if (job) known_[stranger] = *job;
  return {true, job};
}

// A bound job has CPUs that no other job has.
std::optional<std::uint64_t> ProcessTracking::owner_by_cpus(pid_t stranger) const {
  const auto cpus = CpuMask::of(stranger);
  if (!cpus) return std::nullopt;
  std::optional<std::uint64_t> owner;
  for (const auto& [pid, task] : tasks_) {
    if (task.cpus.empty() || !task.cpus.covers(*cpus)) continue;
    if (owner && *owner != task.job) return std::nullopt;
    owner = task.job;
  }
  return owner;
}

std::optional<std::uint64_t> ProcessTracking::owner_by_output(pid_t stranger) const {
  for (const char* descriptor : {"1", "2"}) {
    std::error_code none;
    const auto file = std::filesystem::read_symlink(
        "/proc/" + std::to_string(stranger) + "/fd/" + descriptor, none);
    if (outputs_.count(file.string()) == 1) return outputs_.find(file.string())->second;
  }
  return std::nullopt;
}

bool ProcessTracking::clear_strangers_of(std::uint64_t job) {
  bool is_clear = true;
  for (const pid_t stranger : strangers()) {
    const Owner owner = owner_of(stranger);
    if (owner.is_settled && owner.job.value_or(jobs_.size() == 1 ? job : 0) != job) continue;
    if (owner.is_settled) kill(stranger, SIGKILL);
    is_clear = false;
  }
  return is_clear;
}

std::vector<pid_t> ProcessTracking::strangers_of(std::uint64_t job) {
  std::vector<pid_t> all = strangers();
  std::erase_if(all, [&](pid_t stranger) { return owner_of(stranger).job != job; });
  return all;
}

bool ProcessTracking::clear_strays() {
  bool is_clear = true;
  for (const pid_t stranger : strangers()) {
    const Owner owner = owner_of(stranger);
    const bool is_somebodys = owner.job ? jobs_.contains(*owner.job) : !jobs_.empty();
    if (owner.is_settled && is_somebodys) continue;
    if (owner.is_settled) kill(stranger, SIGKILL);
    is_clear = false;
  }
  return is_clear;
}

}  // namespace holon::launch
