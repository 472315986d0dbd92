#include "instance/job/job_counts.hpp"

#include <algorithm>
#include <utility>

namespace holon::instance {
namespace {

constexpr std::array<const char*, kJobKinds> kKindWords = {
    "NEW",       "DEPEND",    "PRIORITY", "SCHED",    "RUN",     "CLEANUP",
    "SUSPENDED", "COMPLETED", "FAILED",   "CANCELED", "TIMEOUT", "REJECTED"};

}  // namespace

const char* word_of(JobKind kind) {
  return kKindWords[static_cast<std::size_t>(kind)];
}

JobKind kind_of(const Lifecycle& life) {
  if (life.state == JobState::inactive) return kind_of_result(result_of(life));
  if (life.suspended != 0) return JobKind::suspended;
  return static_cast<JobKind>(life.state);  // in the same order
}

JobKind kind_of_result(std::string_view result) {
  const auto first = kKindWords.begin() + static_cast<std::ptrdiff_t>(JobKind::completed);
  const auto found = std::find(first, kKindWords.end(), result);
  return found == kKindWords.end() ? JobKind::failed
                                   : static_cast<JobKind>(found - kKindWords.begin());
}

JobCounts::Row& JobCounts::row_of(Owner owner) {
  const auto found = by_owner_.find(owner);
  if (found != by_owner_.end()) return found->second;
  return by_owner_[{std::string(owner.user), std::string(owner.queue)}];
}

void JobCounts::add(JobId id, Owner owner, JobKind kind, std::int64_t n) {
  at(total_, kind) += n;
  // A job that the counting has not reached yet is counted then.
  const bool keeps =
      !is_over(kind) || ended_ == Ended::known || (ended_ == Ended::counting && id <= counted_to_);
  if (keeps) at(row_of(owner), kind) += n;
}

JobCounts::Row JobCounts::of(Owner owner) const {
  Row sum{};
  for (const auto& [kept, row] : by_owner_) {
    if (!owner.user.empty() && owner.user != kept.user) continue;
    if (!owner.queue.empty() && owner.queue != kept.queue) continue;
    for (std::size_t i = 0; i < kJobKinds; ++i) sum[i] += row[i];
  }
  return sum;
}

void JobCounts::begin_counting() {
  ended_ = Ended::counting;
  counted_to_ = JobId(0);
}

void JobCounts::count_ended(Owner owner, JobKind kind, std::int64_t n) {
  at(row_of(owner), kind) += n;
}

void JobCounts::stop_counting() {
  ended_ = Ended::unknown;
  for (auto& [owner, row] : by_owner_)
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(JobKind::completed), row.end(), 0);
}

void JobCounts::counted_up_to(std::optional<JobId> last) {
  if (last)
    counted_to_ = *last;
  else
    ended_ = Ended::known;
}

}  // namespace holon::instance
