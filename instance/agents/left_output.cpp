#include "instance/agents/left_output.hpp"

namespace holon::instance {

// The agent beside the broker writes into the broker's own files.
void LeftOutput::note(const ActiveJob& job, std::uint32_t rank, const JobManager& jobs) {
  constexpr std::size_t kMost = 10'000;
  if (rank == 0 || !job.submission->output.empty() || !job.submission->error.empty()) return;
  const auto files = jobs.files_of(job);
  const std::size_t place = place_of(job.life, rank);
  files_[job.id] = {file_of_part(files.output, place), file_of_part(files.error, place),
                    job.life.retries};
  if (files_.size() > kMost) files_.erase(files_.begin());
}

const LeftOutput::Files* LeftOutput::of(JobId job) const {
  const auto known = files_.find(job);
  return known == files_.end() ? nullptr : &known->second;
}

}  // namespace holon::instance
