// supervisor_lock.hpp - a sign of life in the runtime directory: a file that the supervisor holds a
// lock on. It tells a broker that is being started again from an instance that is gone.
#pragma once
#include <string>

#include "transport/unique_fd.hpp"

namespace holon::transport {

class SupervisorLock {
 public:
  // The name of the file.
  static constexpr const char* kFile = "supervisor";

  // Makes an object that holds no lock yet.
  explicit SupervisorLock(const std::string& runtime_dir) : file_(runtime_dir + "/" + kFile) {}

  // Makes the file and takes its lock, if nobody else has it, for as long as this object lives. An
  // earlier lock is let go when the new one is there.
  void take();
  // Was the file removed or replaced? The lock is still held then, but nobody finds it.
  bool is_lost() const;

 private:
  std::string file_;
  UniqueFd fd_;
};

// Does the instance of this runtime directory have a supervisor?
bool supervisor_lives(const std::string& runtime_dir);

}  // namespace holon::transport
