// job_folder.hpp - a folder on this node that goes with a job, even if every process was killed
// that knew of it: memory shared by the job's processes (mpi/), the files that were added to it.
//
// Beside each folder KIND-HOST-XXXXXX is the file .KIND-HOST-XXXXXX.lock, from before the folder is
// made until after its removal, and the folder's holder has a lock on that file. A folder of this
// host whose file exists without a lock is nobody's; one without such a file is none of ours. HOST:
// other nodes may use the same file system, whose locks this one need not see. The folder is
// locked, too, if its file system can do that: programs that remove old files in /tmp then leave it
// alone (tmpfiles.d(5)), however long its job runs.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "launch/tasks/spawn.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

// The kinds. For files that were added to a job, in files_base():
inline constexpr const char* kFilesFolder = "holon-job-";
// For memory shared by the processes of a job's MPI, in memory_base():
inline constexpr const char* kMemoryFolder = "holon-mpi-";

// The error code of a folder's errno: denied if its user may not do that, else system.
inline Errc errc_of(int error) {
  return is_denial(error) ? Errc::denied : Errc::system;
}

class JobFolder {
 public:
  // Makes a folder below `base`, which no other user can enter. Errors: denied, system.
  static Result<JobFolder> create(const std::string& kind, const std::string& base);
  // Another user's folder: `lock` is its lock file, and `inside` the folder, as locked there. That
  // user also removes it.
  JobFolder(std::string path, transport::UniqueFd lock, transport::UniqueFd inside)
      : path_(std::move(path)), lock_(std::move(lock)), inside_(std::move(inside)) {}
  // Removes all folders of this kind and host that this user's processes have left, even if folders
  // in them were closed to their owner. O(entries of `base`, and of what is removed).
  static void remove_left(const std::string& kind, const std::string& base);
  // Is this the name of a folder of this kind and host?
  static bool is_name(const std::string& kind, std::string_view name);
  // The name of the folder of this kind and host with this lock file; "": it is another file.
  static std::string folder_of_lock(const std::string& kind, const std::string& name);
  // A directory in memory if the node has one: shared memory is there.
  static std::string memory_base();
  ~JobFolder();
  JobFolder(JobFolder&&) = default;
  JobFolder& operator=(JobFolder&&) = delete;

  const std::string& path() const { return path_; }
  std::string lock_path() const;
  int lock() const { return lock_.get(); }  // of the lock file
  // Descriptors that must stay open for its locks: the file, and the folder if that is locked.
  std::vector<int> locks() const;
  // Opens the folder. Errors: system (it does not exist, or something else does).
  Result<transport::UniqueFd> open() const;
  // Another process removes the folder; for that it stays locked as long as this object lives.
  void disown() { is_own_ = false; }
  // Removes only the lock file: the folder is gone.
  void remove_lock();

 private:
  std::string path_;
  transport::UniqueFd lock_;    // the lock file
  transport::UniqueFd inside_;  // the folder, locked; none: its file system has no such lock
  bool is_own_ = false;         // the folder goes with this object
};

}  // namespace holon::launch
