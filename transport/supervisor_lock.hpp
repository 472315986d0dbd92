// supervisor_lock.hpp - a sign of life in the runtime directory: a file that the supervisor holds a
// lock on. By it a broker that is being started again is told from an instance that is gone.
#pragma once
#include <string>

#include "transport/unique_fd.hpp"

namespace holon::transport {

class SupervisorLock {
 public:
  // The name of the file.
  static constexpr const char* kFile = "supervisor";

  // Takes nothing yet.
  explicit SupervisorLock(const std::string& runtime_dir) : file_(runtime_dir + "/" + kFile) {}

  // Held for as long as this object lives, if nobody else has it. Makes the file. One that was held
  // before is let go when the new one is there.
  void take();
  // Somebody has removed or replaced the file: the lock is still held, but nobody finds it.
  bool is_lost() const;

 private:
  std::string file_;
  UniqueFd fd_;
};

// Does the instance of this runtime directory have a supervisor?
bool supervisor_lives(const std::string& runtime_dir);

}  // namespace holon::transport
