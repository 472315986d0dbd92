// left_output.hpp - where output goes that may still be on the node of an agent which is gone, once
// its successor hands it over ("agent.keep" with `late`). Kept in the journal, for a broker may die
// before it has all of it.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "instance/manager/manager.hpp"

namespace holon::instance {

class LeftOutput {
 public:
  struct Files {
    std::string output, error;
    std::uint32_t attempt = 0;
  };
  // Output under agents of this rank. `journal` must outlive it.
  LeftOutput(Journal& journal, std::uint32_t rank);
  // Notes the part of this rank, which ends for the broker now.
  void note(const ActiveJob& job, const JobManager& jobs);
  // Jobs first .. stop - 1 are forgotten with this commit.
  void forget(JobId first, JobId stop);
  // Call before the commit: journals what was noted and forgotten since the last one.
  void keep();
  // nullptr: no such job was lost, it has files of its own, it is forgotten, or that is too long
  // ago.
  const Files* of(JobId job) const;

 private:
  std::string key() const;

  Journal& journal_;
  std::uint32_t rank_;
  std::map<JobId, Files> files_;
  bool is_kept_ = true;
};

}  // namespace holon::instance
