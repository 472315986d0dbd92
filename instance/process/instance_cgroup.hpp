// instance_cgroup.hpp - the cgroup below which each job of an instance gets one.
//
// It is made beside the supervisor, in whatever cgroup that was started in, and its place is noted
// in the state directory (`cgroup`): a later start finds there what an earlier one left running.
#pragma once
#include <string>
#include <utility>

#include "base/result.hpp"
#include "instance/process/state_claim.hpp"

namespace holon::instance {

class InstanceCgroup {
 public:
  // Errors: unsupported, system: none can be made here, and why.
  static Result<InstanceCgroup> make(const std::string& state_dir, const StateClaim& claim);
  // Where an earlier run had its own; "": nowhere, or it is another instance's.
  static std::string of_earlier_run(const std::string& state_dir, const StateClaim& claim);
  static void remove_earlier(const std::string& state_dir, const StateClaim& claim);

  InstanceCgroup(InstanceCgroup&& other) noexcept : dir_(std::exchange(other.dir_, {})) {}
  InstanceCgroup& operator=(InstanceCgroup&&) = delete;
  // Ends what is in it, and removes it.
  ~InstanceCgroup();

  const std::string& dir() const { return dir_; }
  // Made if it is not there; where that fails the agent finds out, and says so.
  std::string dir_of_agent(std::uint32_t rank) const;
  // Notes its place again where the note was removed. Errors: system.
  Status keep_note(const std::string& state_dir) const;

 private:
  explicit InstanceCgroup(std::string dir) : dir_(std::move(dir)) {}
  std::string dir_;
};

}  // namespace holon::instance
