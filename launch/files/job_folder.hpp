// job_folder.hpp - a folder on this node that goes with a job, also where everybody was killed who
// knew of it: what its processes share in memory (mpi/), the files that were added to it.
//
// Beside each folder KIND-HOST-XXXXXX is the file .KIND-HOST-XXXXXX.lock, from before the folder is
// made until after its removal, and whoever holds the folder has a lock on that file. A folder of
// this host whose file is there and has no lock is nobody's; one without such a file is none of
// ours. HOST: other nodes may use the same file system, whose locks this one need not see. The
// folder has a lock, too, where its file system gives one: with it, whoever removes what is old in
// /tmp leaves it alone (tmpfiles.d(5)), however long its job runs.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "launch/tasks/spawn.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

// The kinds. With the files that were added to a job, in files_base():
inline constexpr const char* kFilesFolder = "holon-job-";
// With what processes of its MPI share, in memory_base():
inline constexpr const char* kMemoryFolder = "holon-mpi-";

// The code of an error of a folder: denied where its user may not do that, else system.
inline Errc errc_of(int error) {
  return is_denial(error) ? Errc::denied : Errc::system;
}

class JobFolder {
 public:
  // A new one below `base`, which no other user can enter. Errors: denied, system.
  static Result<JobFolder> create(const std::string& kind, const std::string& base);
  // Another user's: `lock` is its file there, and `inside` the folder, as they were locked there.
  // Its removal is that user's, too.
  JobFolder(std::string path, transport::UniqueFd lock, transport::UniqueFd inside)
      : path_(std::move(path)), lock_(std::move(lock)), inside_(std::move(inside)) {}
  // Removes all folders of this kind and host that this user's processes have left, also those with
  // folders in them that were closed to their owner. O(entries of `base`) and of what is removed.
  static void remove_left(const std::string& kind, const std::string& base);
  // Is it the name of a folder of this kind and host?
  static bool is_name(const std::string& kind, std::string_view name);
  // The name of the folder whose file this is, of this kind and host; "": it is another file.
  static std::string folder_of_lock(const std::string& kind, const std::string& name);
  // In memory where the node has that: shared memory lies there.
  static std::string memory_base();
  ~JobFolder();
  JobFolder(JobFolder&&) = default;
  JobFolder& operator=(JobFolder&&) = delete;

  const std::string& path() const { return path_; }
  std::string lock_path() const;
  int lock() const { return lock_.get(); }  // the file
  // What has to stay open for all its locks: the file, and the folder where that has one.
  std::vector<int> locks() const;
  // Of the folder, for what is in it. Errors: system (it is not there, or something else is).
  Result<transport::UniqueFd> open() const;
  // It is removed by somebody else, for whom it stays locked as long as this object lives.
  void disown() { is_own_ = false; }
  // Its file alone: the folder is gone.
  void remove_lock();

 private:
  std::string path_;
  transport::UniqueFd lock_;    // its file
  transport::UniqueFd inside_;  // the folder, locked; none: there is no such lock
  bool is_own_ = false;         // goes with this object
};

}  // namespace holon::launch
