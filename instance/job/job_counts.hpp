// job_counts.hpp - how many jobs there are of each kind, kept as they change, so that nobody has to
// count a hundred thousand of them. Each task of an array counts; the array itself does not.
//
// Counts by user and queue: active jobs are always in them; jobs that are over only once somebody
// has asked for that, when they are counted once, a portion at a time, in the order of their ids.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/strong.hpp"
#include "instance/job/job.hpp"

namespace holon::instance {

// The one word that listings say of a job (msg::state_word).
enum class JobKind : std::uint8_t {
  // Active.
  created,
  depend,
  priority,
  sched,
  run,
  cleanup,
  suspended,
  // Over.
  completed,
  failed,
  canceled,
  timeout,
  rejected,
};
inline constexpr std::size_t kJobKinds = 12;

// "SCHED", "SUSPENDED", "COMPLETED", ...
const char* word_of(JobKind kind);
JobKind kind_of(const Lifecycle& life);
// The kind of a job that is over, from "COMPLETED", ... Unknown words count as failures.
JobKind kind_of_result(std::string_view result);
inline bool is_over(JobKind kind) {
  return kind >= JobKind::completed;
}

class JobCounts {
 public:
  using Row = std::array<std::int64_t, kJobKinds>;
  // Whose the jobs are; views, for the duration of a call.
  struct Owner {
    std::string_view user, queue;
  };

  // Adds `n` jobs of this kind, the first of them `id`; n < 0 takes them away.
  void add(JobId id, Owner owner, JobKind kind, std::int64_t n);
  // Adds jobs that are over and whose owner is not known.
  void add_ended(JobKind kind, std::int64_t n) { at(total_, kind) += n; }

  const Row& total() const { return total_; }
  // The counts of a user and queue; "": of any. REQUIRES for jobs that are over: ended() is known.
  Row of(Owner owner) const;

  // ---- whose the jobs that are over were ----

  enum class Ended { unknown, counting, known };
  Ended ended() const { return ended_; }
  JobId counted_to() const { return counted_to_; }
  void begin_counting();
  // REQUIRES of both: counting. Ids up to `last` have been counted now; nullopt: all ids.
  void count_ended(Owner owner, JobKind kind, std::int64_t n);
  void counted_up_to(std::optional<JobId> last);
  // Discards what was counted so far.
  void stop_counting();

 private:
  struct Before {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return std::pair<std::string_view, std::string_view>(a.user, a.queue) <
             std::pair<std::string_view, std::string_view>(b.user, b.queue);
    }
  };
  struct Kept {
    std::string user, queue;
  };
  static std::int64_t& at(Row& row, JobKind kind) { return row[static_cast<std::size_t>(kind)]; }
  Row& row_of(Owner owner);

  Row total_{};
  std::map<Kept, Row, Before> by_owner_;
  Ended ended_ = Ended::unknown;
  JobId counted_to_{0};  // while counting
};

}  // namespace holon::instance
