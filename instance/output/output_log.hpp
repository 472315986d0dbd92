// output_log.hpp - the output of small tasks, in one log an instance instead of a file each.
//
// The log is in segments beside the files of outputs, `log-1`, `log-2`, ...: the output of a task
// is in one piece, standard output before standard error, and a row of the journal says where
// (OutputPlace). The bytes are written before that row is committed, so that a row always leads to
// its output; bytes without a row are nobody's. A full segment is compressed, a little in each turn
// (packed_segment.hpp): `log-1.gz`. A segment goes when no row leads to it any more.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "instance/journal/journal.hpp"
#include "instance/output/packed_segment.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

struct LoggedOutput {
  std::string output, error;
};

std::string output_segment(const std::string& folder, std::int64_t segment);
// The file of a compressed segment.
std::string packed_segment(const std::string& folder, std::int64_t segment);
// Errors: not_found (the segment is gone), system (the segment was cut, or is damaged).
Result<LoggedOutput> read_logged(const std::string& folder, const OutputPlace& place);

class OutputLog {
 public:
  static constexpr std::int64_t kSegment = 64 << 20;  // bytes after which another segment is begun

  // `folder`: that of the files of outputs.
  OutputLog(Journal& journal, std::string folder, std::int64_t segment = kSegment);

  // Adds the output of a job that ends in this turn; output that is there stays. Errors: system.
  Status add(JobId job, const LoggedOutput& written);
  // Adds the output of a job that will run again to the files that its next attempt continues: all
  // of it or nothing.
  Status add_to_files(JobId job, const LoggedOutput& written) const;
  // Has the job files of its own?
  bool has_files(JobId job) const;
  // The job's output could not be written in the turn of its end, and its agent is to do that. Kept
  // in the journal: the agent may not have heard it, and files that the job has then are those of
  // its next attempt.
  void leave_with_agent(JobId job) {
    if (with_agents_.insert(job).second) is_kept_ = false;
  }
  bool is_left_with_agent(JobId job) const { return with_agents_.contains(job); }
  // nullopt: the log has no output of the job. Errors: system.
  Result<std::optional<LoggedOutput>> read(JobId job) const;
  // Jobs first .. stop - 1 are forgotten with this commit.
  void forget(JobId first, JobId stop);
  // Call before the commit: journals which output was left with agents since the last one.
  void keep();
  // Call after a commit: removes segments without rows, now and then, where jobs were forgotten.
  void clean(Time now);
  // Compresses a little of full segments. True: there is more to do.
  bool turn();

 private:
  Status begin_segment();
  Status open_segment();
  std::int64_t last_segment() const;
  void look_for_full();

  Journal& journal_;
  std::string folder_;
  std::int64_t full_;
  transport::UniqueFd fd_;  // of the segment being written
  std::int64_t segment_ = 0;
  std::int64_t size_ = 0;  // of that segment
  Time cleaned_ = 0;
  std::set<std::int64_t> to_compress_;  // segments that are full
  std::optional<SegmentPacker> packer_;
  std::int64_t packing_ = 0;  // the segment being compressed
  std::set<JobId> with_agents_;
  bool is_kept_ = true;  // with_agents_ is in the journal as it is
};

}  // namespace holon::instance
