// file_claims.hpp - which task of a file of tasks writes into which file.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/options/job_options.hpp"

namespace holon::cli {

// Each job begins its files anew: of two tasks that name the same one only the later's would be
// left.
class FileClaims {
 public:
  // The files of a job that are the same whichever task has its options: those without a word that
  // differs from job to job. Absolute names.
  static std::vector<std::string> files_of(const JobOptions& job);
  // Errors: invalid_argument (another task writes into one of them).
  Status claim(const std::vector<std::string>& files, const std::string& task);

 private:
  std::map<std::string, std::string> tasks_;  // by file
};

}  // namespace holon::cli
