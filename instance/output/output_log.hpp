// output_log.hpp - what small tasks wrote, in one log an instance instead of a file each.
//
// The log is in segments beside the files of outputs, `log-1`, `log-2`, ...: what a task wrote
// stands in one piece, standard output before standard error, and a row of the journal says where
// (OutputPlace). The bytes are written before that row is committed, so that a row always leads to
// what it names; bytes without a row are nobody's. A segment goes when no row leads to it any more.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "instance/journal/journal.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

struct LoggedOutput {
  std::string output, error;
};

std::string output_segment(const std::string& folder, std::int64_t segment);
// Errors: not_found (the segment is gone), system (it is shorter than it was).
Result<LoggedOutput> read_logged(const std::string& folder, const OutputPlace& place);

class OutputLog {
 public:
  // `folder`: of the files of outputs.
  OutputLog(Journal& journal, std::string folder) : journal_(journal), folder_(std::move(folder)) {}

  // Of a job whose end is written in this turn; what is there already stays. Errors: system.
  Status add(JobId job, const LoggedOutput& written);
  // Of a job that will run again: into the files that its next attempt goes on with. All of it or
  // nothing.
  Status add_to_files(JobId job, const LoggedOutput& written) const;
  // Has it files of its own?
  bool has_files(JobId job) const;
  // nullopt: it has left nothing here. Errors: system.
  Result<std::optional<LoggedOutput>> read(JobId job) const;
  // Removes segments that no row leads to, now and then, where jobs were forgotten. After a commit.
  void clean(Time now);

 private:
  Status begin_segment();
  std::int64_t last_segment() const;

  Journal& journal_;
  std::string folder_;
  transport::UniqueFd fd_;  // of the segment that is written
  std::int64_t segment_ = 0;
  std::int64_t size_ = 0;  // its
  Time cleaned_ = 0;
};

}  // namespace holon::instance
