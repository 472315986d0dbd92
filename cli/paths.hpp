// paths.hpp - addresses in the tree as people type them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::cli {

// A job as typed: "/3/7" is job 7 of the instance "/3"; "7" is job 7 of the instance "" (the one
// talked to); "7.3-9" are the tasks of array 7 with these indices.
struct JobRef {
  std::string instance;
  std::uint64_t id = 0;
  std::string indices = {};  // an idset; "": the job itself
  bool operator==(const JobRef&) const = default;
};
// Reads one word of a command line: "7", "3-9", "/3/7", "7.12", "7.3-9", "/3/7.1,4". Errors:
// invalid_argument.
Result<std::vector<JobRef>> parse_jobs(const std::string& word);

// The one job, or the tasks of one array, that a word names. Errors: invalid_argument, also where
// it names several.
Result<JobRef> one_job(const std::string& word);

// The name of a job in its instance: of "/3/7.12" "7.12".
std::string label_in(const std::string& path);

// The jobs that all words of a command line name. Errors: invalid_argument, also where they are of
// more than one instance.
struct JobSelection {
  std::string instance;  // "": the one talked to
  std::vector<std::uint64_t> ids;
  std::vector<JobRef> tasks;  // of arrays, whose numbers their instance knows
};
Result<JobSelection> select_jobs(const std::vector<std::string>& words);

}  // namespace holon::cli
