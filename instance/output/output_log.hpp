// output_log.hpp - what small tasks wrote, in one log an instance instead of a file each.
//
// The log is in segments beside the files of outputs, `log-1`, `log-2`, ...: what a task wrote
// stands in one piece, standard output before standard error, and a row of the journal says where
// (OutputPlace). The bytes are written before that row is committed, so that a row always leads to
// what it names; bytes without a row are nobody's. A segment that is full is compressed, a little
// in each turn (packed_segment.hpp): `log-1.gz`. One goes when no row leads to it any more.
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
// The same, compressed.
std::string packed_segment(const std::string& folder, std::int64_t segment);
// Errors: not_found (the segment is gone), system (it is shorter than it was, or damaged).
Result<LoggedOutput> read_logged(const std::string& folder, const OutputPlace& place);

class OutputLog {
 public:
  static constexpr std::int64_t kSegment = 64 << 20;  // bytes at which another one is begun

  // `folder`: of the files of outputs.
  OutputLog(Journal& journal, std::string folder, std::int64_t segment = kSegment);

  // Of a job whose end is written in this turn; what is there already stays. Errors: system.
  Status add(JobId job, const LoggedOutput& written);
  // Of a job that will run again: into the files that its next attempt goes on with. All of it or
  // nothing.
  Status add_to_files(JobId job, const LoggedOutput& written) const;
  // Has it files of its own?
  bool has_files(JobId job) const;
  // What this job wrote could not be written down in the turn of its end, and its agent is to do
  // so. Kept in the journal: the agent may not have heard it, and files that the job has then are
  // those of its next attempt.
  void leave_with_agent(JobId job) {
    if (with_agents_.insert(job).second) is_kept_ = false;
  }
  bool is_left_with_agent(JobId job) const { return with_agents_.contains(job); }
  // nullopt: it has left nothing here. Errors: system.
  Result<std::optional<LoggedOutput>> read(JobId job) const;
  // Jobs first .. stop - 1 are forgotten with this commit.
  void forget(JobId first, JobId stop);
  // Before the commit: writes down what was left with agents since the last one.
  void keep();
  // Removes segments that no row leads to, now and then, where jobs were forgotten. After a commit.
  void clean(Time now);
  // Compresses a little of what is full. True: there is more to do.
  bool turn();

 private:
  Status begin_segment();
  Status open_segment();
  std::int64_t last_segment() const;
  void look_for_full();

  Journal& journal_;
  std::string folder_;
  std::int64_t full_;
  transport::UniqueFd fd_;  // of the segment that is written
  std::int64_t segment_ = 0;
  std::int64_t size_ = 0;  // its
  Time cleaned_ = 0;
  std::set<std::int64_t> to_compress_;  // segments that are full
  std::optional<SegmentPacker> packer_;
  std::int64_t packing_ = 0;  // the segment that it compresses
  std::set<JobId> with_agents_;
  bool is_kept_ = true;  // what that holds, in the journal
};

}  // namespace holon::instance
