// instance_cgroup.hpp - the cgroup of an instance, which has one below it for each of its jobs.
//
// It is made beside the supervisor, in the cgroup that this was started in, and its place is noted
// in the state directory (`cgroup`): a later start finds there what an earlier one left running.
#pragma once
#include <string>
#include <utility>

#include "base/result.hpp"
#include "instance/process/state_claim.hpp"

namespace holon::instance {

class InstanceCgroup {
 public:
  // Errors: unsupported, system (no cgroup can be made here, with the reason).
  static Result<InstanceCgroup> make(const std::string& state_dir, const StateClaim& claim);
  // The cgroup of an earlier run; "": there was none, or it is another instance's.
  static std::string of_earlier_run(const std::string& state_dir, const StateClaim& claim);
  static void remove_earlier(const std::string& state_dir, const StateClaim& claim);

  InstanceCgroup(InstanceCgroup&& other) noexcept : dir_(std::exchange(other.dir_, {})) {}
  InstanceCgroup& operator=(InstanceCgroup&&) = delete;
  // Ends the processes in the cgroup, and removes it.
  ~InstanceCgroup();

  const std::string& dir() const { return dir_; }
  // The agent's directory, made if missing; where that fails the agent finds out, and reports it.
  std::string dir_of_agent(std::uint32_t rank) const;
  // Notes the place of the cgroup again if the note was removed. Errors: system.
  Status keep_note(const std::string& state_dir) const;

 private:
  explicit InstanceCgroup(std::string dir) : dir_(std::move(dir)) {}
  std::string dir_;
};

}  // namespace holon::instance
