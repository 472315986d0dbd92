#include "instance/manager/retention.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kJobsATurn = 200;
constexpr std::size_t kEntriesATurn = 200;
constexpr Duration kLookAgain = 60'000;  // where no batch of those in excess is wholly over

void remove_if_empty(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0)
    unlink(file.c_str());
}

}  // namespace

bool SlowRemoval::step(std::size_t entries) {
  std::error_code error;
  while (!folders_.empty() && entries > 0) {
    const fs::path folder = folders_.back();
    std::vector<fs::path> files;
    std::optional<fs::path> inner;
    for (fs::directory_iterator entry(folder, error), end;
         !error && entry != end && !inner && files.size() < entries; entry.increment(error)) {
      std::error_code none;
      if (!entry->is_directory(none) || entry->is_symlink(none))
        files.push_back(entry->path());
      else if (!stay_.contains(entry->path()))
        inner = entry->path();
    }
    bool removed = false;
    for (const auto& file : files) removed = fs::remove(file, error) || removed;
    entries -= std::min(entries, files.size() + 1);
    if (inner) {
      folders_.push_back(*inner);
    } else if (fs::remove(folder, error)) {
      folders_.pop_back();
    } else if (!removed) {
      stay_.insert(folder);
      folders_.pop_back();
    }
  }
  if (folders_.empty()) stay_.clear();
  return !folders_.empty();
}

Retention::Retention(Journal& journal, JobManager& jobs, AfterCommit& after_commit,
                     std::uint64_t keep, Duration age, std::string state_dir)
    : journal_(journal),
      jobs_(jobs),
      after_commit_(after_commit),
      keep_(keep),
      age_(age),
      output_dir_(state_dir + "/output"),
      children_dir_(state_dir + "/children") {}

bool Retention::turn(Time now) {
  if (!std::exchange(began_, true)) remove_lost_folders();
  const bool forgets = forget_some(now);
  if (forgets_below_) forgets_below_ = journal_.forget_below().value_or(false);
  return removal_.step(kEntriesATurn) || forgets || forgets_below_;
}

// Waits for a tenth more than are to be kept: forgetting one for each that ends would cost each.
bool Retention::forget_some(Time now) {
  const auto inactive = static_cast<std::uint64_t>(jobs_.counts().inactive);
  if ((keep_ == 0 && age_ == 0) || now < not_before_) return false;
  // Batches of a graph may share the jobspec of an earlier one, and its tasks wait for earlier
  // ones.
  if (!jobs_.all_entered() || !jobs_.all_taken()) return false;
  forgets_ = keep_ > 0 && (forgets_ ? inactive > keep_ : inactive > keep_ + keep_ / 10);
  if (!forgets_ && age_ == 0) return false;
  const auto gone = journal_.forget(forgets_ ? inactive - keep_ : 0, kJobsATurn,
                                    age_ > 0 ? jobs_.clock().wall(now) - age_ : 0);
  if (!gone) return false;  // the commit says why
  jobs_.forgotten(*gone);
  forgets_below_ = forgets_below_ || !gone->instances.empty();
  for (const auto& [first, stop] : gone->jobs) on_forgetting(first, stop);
  // If the commit fails the records stay, and so do the files.
  after_commit_.add([this, jobs = gone->with_files, instances = gone->instances] {
    for (const auto& [first, stop] : jobs) remove_outputs(first, stop);
    for (const JobId child : instances)
      removal_.add(children_dir_ + "/" + std::to_string(child.value()));
    if (!jobs.empty()) on_forgotten();
  });
  if (gone->jobs.empty() && !gone->more) not_before_ = now + kLookAgain;
  return gone->more || !gone->instances.empty();
}

void Retention::remove_outputs(JobId first, JobId stop) const {
  for (std::uint64_t id = first.value(); id < stop.value(); ++id)
    for (const char* end : {".out", ".err"})
      unlink((output_dir_ + "/" + std::to_string(id) + end).c_str());
}

// Removes folders of children that an earlier broker forgot and did not live to remove.
void Retention::remove_lost_folders() {
  if (keep_ == 0 && age_ == 0) return;
  std::error_code error;
  for (fs::directory_iterator entry(children_dir_, error), end; !error && entry != end;
       entry.increment(error)) {
    const JobId id(std::strtoull(entry->path().filename().c_str(), nullptr, 10));
    if (id.value() == 0 || jobs_.find(id) != nullptr) continue;
    const auto known = journal_.inactive(id);
    if (known && !*known) removal_.add(entry->path());
  }
}

void Retention::ended(const msg::JobRecord& record) {
  // A job that no agent was ever given has left no files: thousands of waiting ones may be
  // cancelled.
  if (record.t_alloc == 0 && record.retries == 0 && record.preemptions == 0) return;
  std::vector<std::string> own;
  for (const auto& file : {record.output, record.error})
    if (file.starts_with(output_dir_ + "/") && (own.empty() || own.back() != file))
      own.push_back(file);
  if (own.empty()) return;
  after_commit_.add([this, id = JobId(record.id), own = std::move(own)] {
    if (without_files_.erase(id) > 0) return;
    for (const auto& file : own) remove_if_empty(file);
  });
}

// A job whose end is reported twice, or that runs again, does not reach ended(): its number is
// removed after the commit.
void Retention::left_no_files(JobId job) {
  without_files_.insert(job);
  after_commit_.add([this, job] { without_files_.erase(job); });
}

}  // namespace holon::instance
