// job_words.hpp - how a sentence names jobs: "job 3", "jobs 3, 1.2 and 4 more".
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/strong.hpp"

namespace holon {

// Gives the name of a job that people type: "3", for a task of an array "1.2".
using JobText = std::function<std::string(JobId)>;

// The name of a job; with an empty `text`, here and below, its number.
std::string name_of_job(JobId job, const JobText& text);
// "job 3"
std::string job_in_words(JobId job, const JobText& text);
// "job 3", "jobs 3, 1.2", and of more than `most` "jobs 3, 1.2 and 4 more". REQUIRES: there are
// some, and `most` is at least 1.
std::string jobs_in_words(const std::vector<JobId>& jobs, std::size_t most, const JobText& text);

}  // namespace holon
