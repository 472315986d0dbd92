// registry.hpp - where this user's root instances have kept their state, to find ended instances.
//
// There is a file for each state directory, `holon/instances/MARK.json` below the user's state
// folder. MARK is that of the directory (process/state_claim.hpp): a later start on it, on any
// host, replaces the file, and a copy of the directory has another mark. Files are replaced as
// wholes, so that two instances may begin at once. A home that is full or cannot be written keeps
// no instance from starting: such an instance is found only while it lives.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::instance {

struct StartOptions;

// This user's folder for lasting files: $XDG_STATE_HOME, ~/.local/state, or, without a home, a
// folder in /tmp that is this user's. Errors: those of transport::make_runtime_dir().
Result<std::string> state_home();

// The folder of state directories of instances without --state-dir.
std::string default_state_dirs(const std::string& state_home);

std::string own_host_name();

struct Registered {
  std::string state_dir;  // absolute
  std::string folder;     // the working directory of `holon start`
  std::string name, host;
  Time started = 0;  // ms since the epoch
  Time ended = 0;    // when it ended in order; 0: it runs, or was killed

  bool operator==(const Registered&) const = default;
};

// The registry's file of an instance that runs here.
class Registration {
 public:
  Registration() = default;
  // The registration of the root instance that begins with these options; children, and instances
  // of several users, are not registered.
  static Registration of(const StartOptions& options, const std::string& mark);
  // Writes the file, also again: after its state directory was removed and made anew somebody may
  // have taken the instance for one that is gone.
  void write() const;
  void end(Time now);

 private:
  std::string file_;  // "": not registered
  Registered entry_;
};

// All registered instances, and those in the usual folder of state directories that are not
// registered (a full home, or a version before this one), the latest start first. Removes files
// whose state directories do not exist any more, but only those of this host: others may have disks
// of their own. O(files).
std::vector<Registered> read_registry();
// Removes the registration of this state directory.
void forget(const Registered& entry);

enum class Stand {
  runs,
  over,
  unknown,  // its folder cannot be seen from here, or another host has not said that it ended
};
Stand stand_of(const Registered& entry);

// Is this folder the state directory of an instance?
bool is_state_dir(const std::string& folder);

}  // namespace holon::instance
