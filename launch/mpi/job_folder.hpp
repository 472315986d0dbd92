// job_folder.hpp - where the processes of one MPI job keep their sockets and shared memory on this
// node: a folder that goes with the job, also where everybody was killed who knew of it.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

class JobFolder {
 public:
  // A new one below `base`, which no other user can enter. Folders there that this user's agents
  // have left are removed first: a lock tells that nobody holds them any more; what was changed in
  // the last `young` seconds may not be locked yet. Errors: system.
  static Result<JobFolder> create(const std::string& base = usual_base(), std::int64_t young = 60);
  // In memory where the node has that: shared memory lies there.
  static std::string usual_base();
  ~JobFolder();
  JobFolder(JobFolder&&) = default;
  JobFolder& operator=(JobFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  JobFolder(std::string path, transport::UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  transport::UniqueFd lock_;
};

}  // namespace holon::launch
