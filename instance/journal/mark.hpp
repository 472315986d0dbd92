// mark.hpp - how far an instance's journal had come, kept outside of it: the file
// `instance.mark` of its state directory.
//
// SQLite cuts its log at the first frame that does not check, without a word, and an emptied file
// is a new database to it. The mark is written after each commit, before answers are sent: a
// journal that is behind it has lost what it had acknowledged. It is not synced: the kernel keeps
// it whatever happens to processes, and after a crash of the system `boot` tells that both may be
// old.
//
// Behind that line the file has which numbers open arrays have kept to grow into: next_id counts
// these, and no job has them.
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
  std::uint64_t commits = 0;  // so many transactions
  Time when = 0;              // the last of them
  std::uint64_t next_id = 1;  // after the highest number ever given to a job
  std::string boot = "-";     // boot_id() when it was written; "-": not known

  bool operator==(const JournalProgress&) const = default;
};

// Those of an array: its tasks have its own number + 1 .. first-1, and nobody first .. stop-1.
struct KeptNumbers {
  std::uint64_t array = 0, first = 0, stop = 0;

  bool operator==(const KeptNumbers&) const = default;
};

// What the mark of a state directory says, for who has not locked it; nullopt: none, or one that
// does not check.
std::optional<JournalProgress> read_mark(const std::string& state_dir);

class JournalMark {
 public:
  // Opens or creates, and locks: one broker at a time has a state directory. On a disk that is
  // read-only what is there is read. Errors: busy (another broker has it), system.
  static Result<JournalMark> open(const std::string& state_dir);

  // As it was found; nullopt: none, or one that does not check.
  const std::optional<JournalProgress>& found() const { return found_; }
  // Of arrays that are, or were, open, ascending; none where found() is nullopt. One whose journal
  // was written by an earlier version of this program may be missing.
  std::vector<KeptNumbers> kept() const;
  // Says so of one more array, or of one as it is now. Before the write() of the same commit.
  void keep(const KeptNumbers& numbers);
  // Forgets all but the newest so many arrays. O(arrays).
  void forget_kept_but(std::size_t most);
  // One small write into the page cache. A failure stays unsaid: the commit was kept, and the next
  // one fails as well.
  void write(const JournalProgress& progress) const;

 private:
  transport::UniqueFd fd_;
  std::optional<JournalProgress> found_;
  std::vector<KeptNumbers> kept_;  // as they come in the file, one by one; array 0: damaged
  std::map<std::uint64_t, std::size_t> places_;  // in kept_, by array
};

}  // namespace holon::instance
