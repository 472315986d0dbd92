// How sentences name jobs.
#include <gtest/gtest.h>

#include "base/text/job_words.hpp"

namespace holon {
namespace {

std::string as_of_array_1(JobId job) {
  return "1." + std::to_string(job.value());
}

TEST(JobWords, NameAJobAsPeopleTypeIt) {
  EXPECT_EQ(job_in_words(JobId(3), {}), "job 3");
  EXPECT_EQ(job_in_words(JobId(3), as_of_array_1), "job 1.3");
  EXPECT_EQ(name_of_job(JobId(3), as_of_array_1), "1.3");
}

TEST(JobWords, NameTheFirstOfMany) {
  const std::vector<JobId> four = {JobId(2), JobId(3), JobId(4), JobId(5)};
  EXPECT_EQ(jobs_in_words({JobId(7)}, 3, {}), "job 7");
  EXPECT_EQ(jobs_in_words(four, 4, {}), "jobs 2, 3, 4, 5");
  EXPECT_EQ(jobs_in_words(four, 3, as_of_array_1), "jobs 1.2, 1.3, 1.4 and 1 more");
  EXPECT_EQ(jobs_in_words(four, 1, {}), "jobs 2 and 3 more");
}

}  // namespace
}  // namespace holon
