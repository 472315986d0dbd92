// left_output.hpp - jobs that ran under an agent which is gone, and whose output may still be on
// its node: where it goes when the agent that follows hands it over ("agent.keep" with `late`).
// Known to this broker only.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "instance/job/manager.hpp"

namespace holon::instance {

class LeftOutput {
 public:
  struct Files {
    std::string output, error;
    std::uint32_t attempt = 0;
  };
  // Of the part of this rank, which ends for the broker now.
  void note(const ActiveJob& job, std::uint32_t rank, const JobManager& jobs);
  // nullptr: no such job was lost, or it has files of its own, or that is too long ago.
  const Files* of(JobId job) const;

 private:
  std::map<JobId, Files> files_;
};

}  // namespace holon::instance
