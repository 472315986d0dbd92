// Kept counts say what counting says, and of whose jobs those are that are over once all have been
// counted.
#include "instance/job/job_counts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <tuple>

namespace holon::instance {
namespace {

std::int64_t in(const JobCounts::Row& row, JobKind kind) {
  return row[static_cast<std::size_t>(kind)];
}

TEST(JobCounts, AKindIsWhatListingsSayInOneWord) {
  Lifecycle life;
  EXPECT_EQ(kind_of(life), JobKind::created);
  for (const auto& [state, word] :
       std::map<JobState, std::string>{{JobState::created, "NEW"},
                                       {JobState::depend, "DEPEND"},
                                       {JobState::priority, "PRIORITY"},
                                       {JobState::sched, "SCHED"},
                                       {JobState::run, "RUN"},
                                       {JobState::cleanup, "CLEANUP"}}) {
    life.state = state;
    EXPECT_EQ(word_of(kind_of(life)), word);
    EXPECT_EQ(word, name_of(state));
    EXPECT_FALSE(is_over(kind_of(life)));
  }
  life.state = JobState::run;
  life.suspended = 7;
  EXPECT_STREQ(word_of(kind_of(life)), "SUSPENDED");
  life = {};
  life.state = JobState::inactive;
  life.finished = true;
  for (const char* why : {"", "cancel", "timeout", "invalid", "exec"}) {
    life.exception = why;
    EXPECT_EQ(word_of(kind_of(life)), result_of(life));
    EXPECT_TRUE(is_over(kind_of(life)));
    EXPECT_EQ(kind_of_result(result_of(life)), kind_of(life));
  }
  EXPECT_EQ(kind_of_result("LOST"), JobKind::failed);
}

TEST(JobCounts, OfAUserAndAQueueAreSumsOverTheOther) {
  JobCounts counts;
  counts.add(JobId(1), {"ada", "a"}, JobKind::sched, 3);
  counts.add(JobId(4), {"ada", "b"}, JobKind::sched, 2);
  counts.add(JobId(6), {"bob", "a"}, JobKind::run, 1);
  counts.add(JobId(1), {"ada", "a"}, JobKind::sched, -1);
  EXPECT_EQ(in(counts.total(), JobKind::sched), 4);
  EXPECT_EQ(in(counts.of({"ada", ""}), JobKind::sched), 4);
  EXPECT_EQ(in(counts.of({"", "a"}), JobKind::sched), 2);
  EXPECT_EQ(in(counts.of({"", "a"}), JobKind::run), 1);
  EXPECT_EQ(in(counts.of({"bob", "b"}), JobKind::run), 0);
}

// A job that ends while those that are over are being counted is counted once, wherever the count
// is; and one that is forgotten is not counted.
RC_GTEST_PROP(JobCountsProperty, WhoseEndedJobsWereIsKnownOnceTheyHaveBeenCounted, ()) {
  using Job = std::tuple<std::uint64_t, int, int>;  // id, user, kind
  const std::string users[] = {"ada", "bob"};
  std::map<std::uint64_t, Job> ended;
  JobCounts counts;
  std::uint64_t next = 1;
  const auto end_one = [&] {
    const auto id = *rc::gen::inRange<std::uint64_t>(1, 100);
    if (!ended.try_emplace(id, id, *rc::gen::inRange(0, 2), *rc::gen::inRange(7, 12)).second)
      return;
    const auto& [number, user, kind] = ended.at(id);
    counts.add(JobId(id), {users[user], "q"}, static_cast<JobKind>(kind), 1);
  };
  const int before = *rc::gen::inRange(0, 30);
  for (int i = 0; i < before; ++i) end_one();
  counts.begin_counting();
  while (counts.ended() == JobCounts::Ended::counting) {
    const auto some = *rc::gen::inRange(1, 4);
    std::optional<JobId> last;
    auto job = ended.lower_bound(next);
    for (int i = 0; i < some && job != ended.end(); ++i, ++job) {
      const auto& [id, user, kind] = job->second;
      counts.count_ended({users[user], "q"}, static_cast<JobKind>(kind), 1);
      last = JobId(id);
    }
    next = last ? last->value() + 1 : next;
    counts.counted_up_to(job == ended.end() ? std::nullopt : last);
    if (*rc::gen::arbitrary<bool>()) end_one();
    if (!ended.empty() && counts.ended() == JobCounts::Ended::known &&
        *rc::gen::arbitrary<bool>()) {
      const auto [id, user, kind] = ended.begin()->second;
      counts.add(JobId(id), {users[user], "q"}, static_cast<JobKind>(kind), -1);
      ended.erase(id);
    }
  }
  for (int user = 0; user < 2; ++user) {
    JobCounts::Row counted{};
    for (const auto& [id, job] : ended)
      if (std::get<1>(job) == user) ++counted[static_cast<std::size_t>(std::get<2>(job))];
    RC_ASSERT(counts.of({users[user], ""}) == counted);
  }
}

}  // namespace
}  // namespace holon::instance
