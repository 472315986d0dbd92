// file_claims.hpp - which task of a file of tasks writes into which file.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/options/job_options.hpp"

namespace holon::cli {

// Each job begins its files anew: if two tasks name the same file, only the later one's is left.
class FileClaims {
 public:
  // The files of a job that are the same for every task with its options: names without a word that
  // differs from job to job. Absolute names.
  static std::vector<std::string> files_of(const JobOptions& job);
  // Claims the files for a task. Errors: invalid_argument (another task writes into one of them).
  Status claim(const std::vector<std::string>& files, const std::string& task);

 private:
  std::map<std::string, std::string> tasks_;  // by file
};

}  // namespace holon::cli
