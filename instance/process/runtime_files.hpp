// runtime_files.hpp - a supervisor's hold on its runtime directory, which is made again if somebody
// clears it up: many systems remove old files in /tmp.
#pragma once
#include <map>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/reactor.hpp"
#include "transport/supervisor_lock.hpp"

namespace holon::instance {

// Marks the runtime directory of an agent on another node than its broker's.
inline constexpr const char* kAgentFile = "agent";

class RuntimeFiles {
 public:
  // Remembers the present files, with their contents, and takes the supervisor's lock.
  // `for_everybody`: others may pass through the directory to the socket in it.
  explicit RuntimeFiles(std::string dir, bool for_everybody = false);

  bool whole() const;
  // Makes what is missing, the lock first: the directory is never found unheld. Errors: system.
  Status restore();
  // Makes the files younger than anything that is cleared up by age.
  void touch() const;

 private:
  std::string dir_;
  bool for_everybody_ = false;
  std::map<std::string, std::string> files_;  // by name
  transport::SupervisorLock lock_;
};

// Sets the mode that lets others pass through the directory.
void open_to_everybody(const std::string& runtime_dir);

// A runtime directory of this age has a supervisor that holds its lock, or is abandoned.
inline constexpr Duration kYoungRuntimeDir = 5'000;

// Removes the runtime directories in `base` that killed supervisors, and killed agents on other
// nodes than their broker's, have left: those of this user, with an instance's files or kAgentFile,
// whose lock nobody holds; and the output that such an agent has kept
// (launch/remote/output_note.hpp). Directories younger than kYoungRuntimeDir stay: their owners may
// be about to take the lock. O(entries of `base`).
void remove_abandoned_runtime_dirs(const std::string& base);

// Removes abandoned directories beside a supervisor's own while this object lives: soon after the
// beginning, and every hour.
class RuntimeDirSweep {
 public:
  RuntimeDirSweep(transport::Reactor& reactor, const std::string& own_dir);
  // Supervisors of a killed tree may have ended just now: looks again when their directories are
  // not young any more.
  void expect_more();

 private:
  void look() const { remove_abandoned_runtime_dirs(base_); }

  transport::Reactor& reactor_;
  std::string base_;
  transport::Subscription first_, hourly_, later_;
};

// For a supervisor that ends. `others_too`: also removes abandoned directories beside it, since no
// later process may do that; a child leaves it to its root.
void remove_runtime_dir(const std::string& own_dir, bool others_too);

}  // namespace holon::instance
