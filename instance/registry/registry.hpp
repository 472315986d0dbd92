// registry.hpp - where this user's root instances have kept their state, so that they can be found
// when they are over.
//
// A file for each state directory, `holon/instances/MARK.json` below the user's state folder. MARK
// is that of the directory (process/state_claim.hpp): a later start on it, on whichever host,
// replaces the file, and a copy of the directory has another one. Files are replaced as wholes, so
// that two instances may begin at once. A home that cannot be written, or is full, keeps no
// instance from starting: that one is found only while it lives.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::instance {

struct StartOptions;

// Where this user keeps what is to last: $XDG_STATE_HOME, ~/.local/state, or, without a home, a
// folder in /tmp that is this user's. Errors: those of transport::make_runtime_dir().
Result<std::string> state_home();

// Where instances that were told no --state-dir have theirs.
std::string default_state_dirs(const std::string& state_home);

std::string own_host_name();

struct Registered {
  std::string state_dir;  // absolute
  std::string folder;     // where `holon start` was typed
  std::string name, host;
  Time started = 0;  // ms since the epoch
  Time ended = 0;    // in order; 0: it runs, or was killed

  bool operator==(const Registered&) const = default;
};

// The registry's file of an instance that runs here.
class Registration {
 public:
  Registration() = default;
  // Of the root instance that begins with these options; of children, and of instances of several
  // users, nothing is registered.
  static Registration of(const StartOptions& options, const std::string& mark);
  // Writes the file, or writes it again: after its state directory was removed and made anew
  // somebody may have taken it for one that has gone.
  void write() const;
  void end(Time now);

 private:
  std::string file_;  // "": none
  Registered entry_;
};

// All that are registered, and those in the usual place for state directories that are not: a full
// home, or a version before this one. The latest start first. Files of state directories that are
// not there any more are removed, those of this host: another one may have disks of its own.
// O(files).
std::vector<Registered> read_registry();
// Takes what is registered of this state directory away.
void forget(const Registered& entry);

enum class Stand {
  runs,
  over,
  unknown,  // its folder cannot be seen from this host, or another host has not said that it ended
};
Stand stand_of(const Registered& entry);

// Has an instance kept its state in this folder?
bool is_state_dir(const std::string& folder);

}  // namespace holon::instance
