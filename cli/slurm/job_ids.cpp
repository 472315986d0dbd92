#include "cli/slurm/job_ids.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace holon::cli::slurm {
namespace {

Error misfit(const std::string& word) {
  return {Errc::invalid_argument, "Invalid job id specified: " + word, {}};
}

Result<JobRef> job_id(const std::string& word) {
  std::string name = word.substr(0, word.find('.'));  // a step is of its job
  const auto line = name.find('_');
  std::string indices = line == std::string::npos ? "" : name.substr(line + 1);
  name.resize(std::min(line, name.size()));
  JobRef job;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), job.id);
  if (name.empty() || read.ec != std::errc() || read.ptr != name.data() + name.size() ||
      (line != std::string::npos && indices.empty()))
    return tl::unexpected(misfit(word));
  if (indices == "*") indices.clear();
  if (indices.size() > 2 && indices.front() == '[' && indices.back() == ']')
    indices = indices.substr(1, indices.size() - 2);
  if (indices.empty()) return job;
  auto tasks = one_job(name + "." + indices);
  if (!tasks) return tl::unexpected(misfit(word));
  return std::move(*tasks);
}

}  // namespace

Result<std::vector<JobRef>> job_ids_in(const std::string& list) {
  std::vector<JobRef> jobs;
  std::string word;
  int depth = 0;
  for (const char c : list + ",") {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    const bool is_between = (c == ',' && depth == 0) || c == ' ';
    if (!is_between) {
      word += c;
      continue;
    }
    if (word.empty()) continue;
    auto job = job_id(word);
    if (!job) return tl::unexpected(job.error());
    jobs.push_back(std::move(*job));
    word.clear();
  }
  if (!word.empty()) return tl::unexpected(misfit(word));
  return jobs;
}

std::string job_id_of(const msg::JobRecord& job) {
  if (job.array != 0 && job.tasks == 0) return fmt::format("{}_{}", job.array, job.index);
  return std::to_string(job.id);
}

}  // namespace holon::cli::slurm
