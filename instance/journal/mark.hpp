// mark.hpp - how far an instance's journal had come, kept outside of the journal: the file
// `instance.mark` of its state directory.
//
// SQLite silently cuts its log at the first frame that does not check, and takes an emptied file
// for a new database. The mark is written after each commit, before answers are sent: a journal
// that is behind it has lost what it had acknowledged. The mark is not synced: the kernel keeps it
// whatever happens to processes, and after a crash of the system `boot` tells that both may be old.
//
// Behind that line are the numbers that open arrays have kept to grow into: next_id counts these,
// and no job has them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/unique_fd.hpp"

namespace holon::instance {

struct JournalProgress {
  std::string id = "-";       // the instance's
  std::uint64_t commits = 0;  // transactions so far
  Time when = 0;              // time of the last one
  std::uint64_t next_id = 1;  // after the highest number ever given to a job
  std::string boot = "-";     // boot_id() when it was written; "-": not known

  bool operator==(const JournalProgress&) const = default;
};

// Numbers of an array: its tasks have array+1 .. first-1, and nobody has first .. stop-1.
struct KeptNumbers {
  std::uint64_t array = 0, first = 0, stop = 0;

  bool operator==(const KeptNumbers&) const = default;
};

// Reads the mark of a state directory without locking it; nullopt: there is none, or it does not
// check.
std::optional<JournalProgress> read_mark(const std::string& state_dir);

class JournalMark {
 public:
  // Opens or creates the mark, and locks it: one broker at a time has a state directory. On a
  // read-only disk the mark is only read. Errors: busy (another broker has it), system.
  static Result<JournalMark> open(const std::string& state_dir);

  // The mark as it was found; nullopt: there was none, or it does not check.
  const std::optional<JournalProgress>& found() const { return found_; }
  // Numbers of arrays that are, or were, open, ascending; none where found() is nullopt. Arrays
  // from a journal of an earlier version of this program may be missing.
  std::vector<KeptNumbers> kept() const;
  // Keeps the numbers of one more array, or new ones. Before the write() of the same commit.
  void keep(const KeptNumbers& numbers);
  // Forgets all but the `most` newest arrays. A kill in the middle loses none of these. O(arrays).
  void forget_kept_but(std::size_t most);
  // One small write into the page cache. A failure is not reported: the commit was kept, and the
  // next one fails as well.
  void write(const JournalProgress& progress) const;

 private:
  // Writes the line at this place. False: the disk did not take it.
  bool put(std::size_t place, const KeptNumbers& numbers) const;

  transport::UniqueFd fd_;
  std::optional<JournalProgress> found_;
  std::vector<KeptNumbers> kept_;                // in the order of the file; array 0: damaged
  std::map<std::uint64_t, std::size_t> places_;  // in kept_, by array
};

}  // namespace holon::instance
