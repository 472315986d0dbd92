// job_folder.hpp - a folder on this node that goes with a job, also where everybody was killed who
// knew of it: what its processes share in memory (mpi/), the files that were added to it.
//
// Whoever holds a folder has a lock on it, from before it has the name of its kind until its
// removal: one with such a name and without a lock is nobody's.
#pragma once
#include <string>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

class JobFolder {
 public:
  // A new one below `base`, which no other user can enter. Its name begins with `kind`. Errors:
  // system.
  static Result<JobFolder> create(const std::string& kind, const std::string& base);
  // Another user's: `lock` is what held it there. Its removal is that user's, too.
  JobFolder(std::string path, transport::UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  // Removes all folders of this kind that this user's processes have left. O(entries of `base`) and
  // of what is removed.
  static void remove_left(const std::string& kind, const std::string& base);
  // In memory where the node has that: shared memory lies there.
  static std::string memory_base();
  ~JobFolder();
  JobFolder(JobFolder&&) = default;
  JobFolder& operator=(JobFolder&&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return lock_.get(); }  // of the folder

 private:
  std::string path_;
  transport::UniqueFd lock_;
  bool is_own_ = false;  // goes with this object
};

}  // namespace holon::launch
