#include "base/text/job_words.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace holon {

std::string name_of_job(JobId job, const JobText& text) {
  return text ? text(job) : std::to_string(job.value());
}

std::string job_in_words(JobId job, const JobText& text) {
  return "job " + name_of_job(job, text);
}

std::string jobs_in_words(const std::vector<JobId>& jobs, std::size_t most, const JobText& text) {
  std::string words = jobs.size() == 1 ? "job " : "jobs ";
  const std::size_t named = std::min(most, jobs.size());
  for (std::size_t i = 0; i < named; ++i)
    words += (i == 0 ? "" : ", ") + name_of_job(jobs[i], text);
  return named == jobs.size() ? words : fmt::format("{} and {} more", words, jobs.size() - named);
}

}  // namespace holon
