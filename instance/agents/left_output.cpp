#include "instance/agents/left_output.hpp"

#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

#include "transport/codec/json.hpp"

namespace holon::instance {
namespace {

// The files of a job as the journal has them.
struct LeftFiles {
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
  std::string output, error;
  HOLON_FIELDS(job, attempt, output, error)
};
struct LeftOnNode {
  std::vector<LeftFiles> jobs;
  HOLON_FIELDS(jobs)
};

}  // namespace

LeftOutput::LeftOutput(Journal& journal, std::uint32_t rank) : journal_(journal), rank_(rank) {
  const auto kept = journal_.meta(key());
  if (!kept || !*kept || (*kept)->empty()) return;
  const auto left = transport::from_json<LeftOnNode>(**kept);
  if (!left) {
    spdlog::error("what the journal has of output left on nodes is damaged");
    return;
  }
  for (const LeftFiles& one : left->jobs)
    files_[JobId(one.job)] = {one.output, one.error, one.attempt};
}

std::string LeftOutput::key() const {
  return "output.left." + std::to_string(rank_);
}

// Only for other ranks: the agent beside the broker writes into the broker's own files.
void LeftOutput::note(const ActiveJob& job, const JobManager& jobs) {
  constexpr std::size_t kMost = 10'000;
  if (rank_ == 0 || !job.submission->output.empty() || !job.submission->error.empty()) return;
  const auto files = jobs.files_of(job);
  const std::size_t place = place_of(job.life, rank_);
  files_[job.id] = {file_of_part(files.output, place), file_of_part(files.error, place),
                    job.life.retries};
  if (files_.size() > kMost) files_.erase(files_.begin());
  is_kept_ = false;
}

void LeftOutput::forget(JobId first, JobId stop) {
  const auto end = files_.lower_bound(stop);
  for (auto at = files_.lower_bound(first); at != end; is_kept_ = false) at = files_.erase(at);
}

void LeftOutput::keep() {
  if (std::exchange(is_kept_, true)) return;
  if (files_.empty()) return journal_.set_meta(key(), "");
  LeftOnNode left;
  for (const auto& [job, files] : files_)
    left.jobs.push_back({job.value(), files.attempt, files.output, files.error});
  journal_.set_meta(key(), transport::to_json(left));
}

const LeftOutput::Files* LeftOutput::of(JobId job) const {
  const auto known = files_.find(job);
  return known == files_.end() ? nullptr : &known->second;
}

}  // namespace holon::instance
