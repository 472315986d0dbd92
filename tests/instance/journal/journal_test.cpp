// The journal: what was committed is there after reopening, what was not is not, and foreign files
// are refused.
#include "instance/journal/journal.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "instance/job/ended.hpp"
#include "instance/journal/instance_id.hpp"
#include "instance/journal/schema.hpp"
#include "msg/instance.hpp"

namespace holon::instance {
namespace {

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-journal-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string file() const { return dir_ + "/journal.db"; }
  Journal open() const {
    auto journal = Journal::open(file(), Journal::Sync::normal);
    EXPECT_TRUE(journal) << (journal ? "" : to_string(journal.error()));
    return std::move(*journal);
  }
  std::string dir_;
};

msg::JobRecord record(std::uint64_t id, const std::string& path, const std::string& result) {
  msg::JobRecord r;
  r.id = id;
  r.path = path;
  r.state = "INACTIVE";
  r.result = result;
  return r;
}

std::vector<Event> replay(const Journal& journal, std::uint64_t job) {
  std::vector<Event> events;
  EXPECT_TRUE(journal.replay([&](JobId first, std::uint64_t count, const Event& e) {
    if (first.value() <= job && job < first.value() + count) events.push_back(e);
  }));
  return events;
}

TEST_F(JournalTest, CommittedWritesAreThereAfterReopening) {
  const resource::Allocation allocation{
      JobId(2), {10, 20}, {{7, 1, true}, {0, 0, false}}, {{7, "fast"}}};
  {
    Journal journal = open();
    journal.add_batch({JobId(1), 3, R"({"version":1})", false});
    journal.add_event(JobId(1), 3, {5, event::Submit{16, "ada"}});
    journal.add_event(JobId(2), 1, {6, event::Alloc{"immediate", 20}});
    journal.add_allocation(allocation);
    journal.put_child({JobId(2), "token", 1, "ipc:///x"});
    journal.put_descendant(record(9, "/2/9", "COMPLETED"));
    journal.put_descendant(record(9, "/20/9", "FAILED"));
    journal.add_outbox("/2/9");
    journal.set_meta("path", "/");
    ASSERT_TRUE(journal.commit());
    journal.add_event(JobId(2), 1, {7, event::Start{{{1, 1}}}});  // never committed
  }
  const Journal journal = open();
  EXPECT_EQ(replay(journal, 1).size(), 1u);
  EXPECT_EQ(replay(journal, 2).size(), 2u);
  EXPECT_EQ(journal.events_of(JobId(2))->size(), 2u);
  EXPECT_EQ(journal.events_of(JobId(3))->size(), 1u);
  EXPECT_EQ(**journal.allocation(JobId(2)), allocation);
  EXPECT_EQ(journal.children()->at(0), (ChildGrant{JobId(2), "token", 1, "ipc:///x"}));
  ASSERT_EQ(journal.descendants_after("/2/", "", 9)->size(), 1u);
  EXPECT_EQ(journal.descendants_after("/2/", "", 9)->at(0).result, "COMPLETED");
  EXPECT_EQ(journal.descendants_after("/", "", 9)->size(), 2u);
  EXPECT_EQ((*journal.descendant("/20/9"))->result, "FAILED");
  EXPECT_EQ(journal.outbox()->at(0), "/2/9");
  EXPECT_EQ(**journal.meta("path"), "/");
  EXPECT_FALSE(journal.meta("nothing")->has_value());
  EXPECT_EQ(journal.next_id()->value(), 4u);
}

TEST_F(JournalTest, ABatchIsActiveUntilItsLastJobIsInactive) {
  Journal journal = open();
  journal.add_batch({JobId(1), 2, "{}", false});
  journal.add_event(JobId(1), 2, {1, event::Submit{}});
  journal.add_batch({JobId(3), 1, "{}", true});
  journal.add_event(JobId(3), 1, {2, event::Submit{}});
  journal.add_inactive(record(1, "/1", "COMPLETED"));
  EXPECT_EQ(journal.active_batches()->size(), 2u);
  EXPECT_EQ(*journal.inactive_ids(JobId(1), 2), std::vector<JobId>{JobId(1)});
  journal.add_inactive(record(2, "/2", "FAILED"));
  ASSERT_EQ(journal.active_batches()->size(), 1u);
  EXPECT_TRUE(journal.active_batches()->at(0).is_instance);
  EXPECT_TRUE(replay(journal, 1).empty());
  EXPECT_EQ(replay(journal, 3).size(), 1u);
  EXPECT_EQ(journal.events_of(JobId(1))->size(), 1u);
  EXPECT_EQ(journal.batch_of(JobId(2))->first, JobId(1));
  EXPECT_EQ(journal.batch_of(JobId(9)).error().code, Errc::not_found);
  EXPECT_EQ((*journal.inactive(JobId(2)))->result, "FAILED");
  ASSERT_EQ(journal.inactive_before(JobId(9), 1)->size(), 1u);
  EXPECT_EQ(journal.inactive_before(JobId(9), 1)->at(0).id, 2u);
  EXPECT_EQ(journal.inactive_before(JobId(2), 9)->at(0).id, 1u);
  EXPECT_EQ(journal.inactive_after(JobId(0), 1)->at(0).id, 1u);
  EXPECT_EQ(journal.inactive_after(JobId(1), 9)->at(0).id, 2u);
  EXPECT_TRUE(journal.inactive_after(JobId(2), 9)->empty());
  EXPECT_EQ(journal.inactive_counts()->at("FAILED"), 1);
}

TEST_F(JournalTest, TheOldestJobsThatAreOverAreForgottenAndTheirNumbersNotGivenAgain) {
  {
    Journal journal = open();
    for (std::uint64_t first = 1; first < 100; first += 3) {
      journal.add_batch({JobId(first), 3, "{}", false});
      journal.add_event(JobId(first), 3, {1, event::Submit{}});
      journal.add_event(JobId(first), 1, {2, event::Validate{}});
      for (std::uint64_t id = first; id < first + 3; ++id)
        if (id != 8) journal.add_inactive(record(id, "/" + std::to_string(id), "COMPLETED"));
    }
    auto child = record(5, "/5", "COMPLETED");
    child.is_instance = true;
    journal.add_inactive(child);
    for (const char* path : {"/5/1", "/5/1/2", "/50/1"})
      journal.put_descendant(record(1, path, "FAILED"));
    ASSERT_TRUE(journal.commit());
    EXPECT_EQ(journal.forget(0, 1000)->count, 0u);
    const auto gone = journal.forget(17, 1000);
    EXPECT_EQ(gone->count, 18u) << "whole batches";
    EXPECT_EQ(gone->instances, std::vector{JobId(5)});
    EXPECT_FALSE(gone->more);
    ASSERT_TRUE(journal.commit());
  }
  Journal journal = open();
  EXPECT_FALSE(journal.inactive(JobId(1))->has_value());
  EXPECT_EQ(journal.batch_of(JobId(4)).error().code, Errc::not_found);
  EXPECT_EQ(journal.active_batches()->at(0).first, JobId(7)) << "one of its jobs is not over";
  EXPECT_EQ(journal.events_of(JobId(8))->size(), 1u);
  EXPECT_EQ(journal.inactive_ids(JobId(1), 99)->size(), 80u);
  EXPECT_TRUE(journal.inactive(JobId(22))->has_value());
  ASSERT_EQ(journal.descendants_after("/", "", 9)->size(), 1u);
  EXPECT_EQ(journal.descendants_after("/", "", 9)->at(0).path, "/50/1");
  EXPECT_EQ(journal.next_id()->value(), 100u);
  journal.add_inactive(record(8, "/8", "COMPLETED"));
  // A large batch goes in several turns.
  std::uint64_t gone = 0;
  for (auto some = journal.forget(81, 30); some->count > 0; some = journal.forget(81 - gone, 30)) {
    EXPECT_LE(some->count, 30u);
    gone += some->count;
    EXPECT_EQ(some->more, gone < 81);
  }
  EXPECT_EQ(gone, 81u);
  EXPECT_EQ(journal.next_id()->value(), 100u);
  EXPECT_TRUE(replay(journal, 8).empty());
}

TEST_F(JournalTest, InMemoryNeedsNoFile) {
  auto journal = Journal::open("", Journal::Sync::normal);
  ASSERT_TRUE(journal);
  journal->add_batch({JobId(1), 1, "{}", false});
  ASSERT_TRUE(journal->commit());
  EXPECT_EQ(journal->active_batches()->size(), 1u);
}

TEST_F(JournalTest, ForeignAndBrokenFilesAreRefusedWithTheirName) {
  std::ofstream(file())
      << "this is a text file, long enough to not be mistaken for an empty database ............";
  auto text = Journal::open(file(), Journal::Sync::normal);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Errc::invalid_argument);
  EXPECT_EQ(text.error().where, file());

  const std::string other = dir_ + "/other.db";
  { Journal::open(other, Journal::Sync::normal); }
  std::fstream patch(other, std::ios::in | std::ios::out | std::ios::binary);
  patch.seekp(63);  // user_version, last byte
  patch.put('\x63');
  patch.close();
  auto newer = Journal::open(other, Journal::Sync::normal);
  ASSERT_FALSE(newer);
  EXPECT_THAT(newer.error().what.find("version 99"), ::testing::Ne(std::string::npos));
  EXPECT_FALSE(Journal::open(dir_ + "/no/such/dir/journal.db", Journal::Sync::normal));
}

TEST(Tables, TakeNothingOfAnotherType) {
  SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec(kJournalSchema);
  EXPECT_THROW(db.exec("INSERT INTO numbers VALUES('started','soon')"), SQLite::Exception);
  EXPECT_THROW(db.exec("INSERT INTO held_grant VALUES(2,1,'/','',0,0)"), SQLite::Exception);
}

TEST_F(JournalTest, TwoBrokersCannotShareIt) {
  Journal first = open();
  first.set_meta("a", "b");
  ASSERT_TRUE(first.commit());
  // Another process: SQLite's locks are per process.
  const pid_t child = fork();
  if (child == 0) {
    auto second = Journal::open(file(), Journal::Sync::normal);
    _exit(!second && second.error().code == Errc::busy ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A process killed without warning right after commit() leaves everything committed, and nothing
// else.
TEST_F(JournalTest, CommittedSurvivesKill) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto journal = Journal::open(file(), Journal::Sync::normal);
    for (std::uint64_t id = 1; journal; ++id) {
      journal->add_batch({JobId(id), 1, "{}", false});
      journal->add_event(JobId(id), 1, {1, event::Submit{}});
      if (!journal->commit()) break;
      if (write(pipe_fds[1], &id, sizeof id) != sizeof id) break;
    }
    _exit(1);
  }
  std::uint64_t acknowledged = 0;
  while (acknowledged < 50) ASSERT_EQ(read(pipe_fds[0], &acknowledged, sizeof acknowledged), 8);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_fds[1]);
  for (std::uint64_t id = 0; read(pipe_fds[0], &id, sizeof id) == sizeof id;) acknowledged = id;
  close(pipe_fds[0]);
  const Journal journal = open();
  EXPECT_GE(journal.next_id()->value(), acknowledged + 1);
  EXPECT_LE(journal.next_id()->value(), acknowledged + 2);
}

TEST_F(JournalTest, BeatsWhileALongOneIsOpenedAndReadUntilItIsToldToStop) {
  {
    auto journal = open();
    journal.add_batch({JobId(1), 1, "{}", false});
    for (int i = 0; i < 2000; ++i) journal.add_event(JobId(1), 1, {i, event::Validate{}});
    ASSERT_TRUE(journal.commit());
  }
  int beats = 0;
  auto journal = std::move(
      *Journal::open(file(), Journal::Sync::normal, Journal::OnDamage::refuse, [&] { ++beats; }));
  EXPECT_GT(std::exchange(beats, 0), 0) << "as it was looked at";
  const auto read_all = [&] {
    int events = 0;
    EXPECT_TRUE(journal.replay([&](JobId, std::uint64_t, const Event&) { ++events; }));
    EXPECT_EQ(events, 2000);
  };
  read_all();
  EXPECT_GT(std::exchange(beats, 0), 5);
  journal.stop_beating();
  read_all();
  EXPECT_EQ(beats, 0);
}

// ---- arrays ----

Lifecycle task_over(int status, Time when) {
  Lifecycle life = fresh_task(Lifecycle());
  for (const Event& event :
       {Event{when, event::Alloc{}}, Event{when, event::Start{}},
        Event{when, event::Finish{status, 5, 100}}, Event{when, event::Release{}},
        Event{when, event::Free{}}, Event{when, event::Clean{}}})
    life = *apply(life, event);
  return life;
}

TEST_F(JournalTest, WhatHappensToATaskIsThereAfterReopeningUntilItIsOver) {
  {
    Journal journal = open();
    journal.add_batch({JobId(1), 4, "{}", false});
    journal.add_array(JobId(1), 3);
    journal.add_event(JobId(1), 1, {1, event::Submit{16, "ada"}});
    journal.add_task_event(JobId(3), {5, event::Alloc{"immediate"}});
    ASSERT_TRUE(journal.commit());
    journal.add_task_event(JobId(3), {6, event::Start{{{77, 8}}}});
    journal.add_ended_tasks({JobId(2), 1, pack_ended(task_over(0, 9))}, "COMPLETED");
    ASSERT_TRUE(journal.commit());
    journal.add_task_event(JobId(4), {7, event::Alloc{}});  // never committed
  }
  Journal journal = open();
  EXPECT_EQ(*journal.tasks_of_array(JobId(1)), 3u);
  EXPECT_EQ(*journal.tasks_of_array(JobId(2)), std::nullopt);
  const auto runs = journal.runs_of(JobId(2), 3);
  ASSERT_TRUE(runs) << to_string(runs.error());
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ(runs->front().id, JobId(3));
  EXPECT_EQ(runs->front().events,
            (std::vector<Event>{{5, event::Alloc{"immediate"}}, {6, event::Start{{{77, 8}}}}}));
  EXPECT_EQ(*journal.latest_event(), 6) << "time goes on behind what happened to tasks";
  ASSERT_EQ(journal.active_batches()->size(), 1u) << "as long as the array has no record";
  journal.add_task_event(JobId(3), {8, event::Finish{}});
  journal.add_ended_tasks({JobId(3), 1, pack_ended(task_over(3 << 8, 8))}, "FAILED");
  journal.add_ended_tasks({JobId(4), 1, pack_ended(task_over(0, 8))}, "CANCELED");
  msg::JobRecord array = record(1, "/1", "FAILED");
  array.tasks = 3;
  journal.add_inactive(array);
  ASSERT_TRUE(journal.commit());
  EXPECT_TRUE(journal.runs_of(JobId(1), 4)->empty());
  EXPECT_TRUE(journal.active_batches()->empty());
  EXPECT_EQ(*journal.inactive_counts(),
            (std::map<std::string, std::int64_t>{{"COMPLETED", 1}, {"FAILED", 1}, {"CANCELED", 1}}))
      << "an array is counted by its tasks";
  EXPECT_EQ(journal.events_of(JobId(3))->back().body, EventBody(event::Clean{}));
}

TEST_F(JournalTest, ARangeOfEqualEndsIsOneRow) {
  Journal journal = open();
  journal.add_batch({JobId(1), 1'000'001, "{}", false});
  journal.add_array(JobId(1), 1'000'000);
  journal.add_ended_tasks({JobId(2), 400'000, "x"}, "CANCELED");
  journal.add_ended_tasks({JobId(400'003), 10, "y"}, "FAILED");
  EXPECT_EQ((*journal.ended_task(JobId(400'001)))->life, "x");
  EXPECT_FALSE(*journal.ended_task(JobId(400'002)));
  EXPECT_EQ((*journal.ended_task(JobId(400'012)))->life, "y");
  EXPECT_FALSE(*journal.ended_task(JobId(400'013)));
  std::uint64_t tasks = 0;
  ASSERT_TRUE(journal.each_ended(
      JobId(2), 1'000'000, [&](const EndedTasks& e, const std::string&) { tasks += e.count; }));
  EXPECT_EQ(tasks, 400'010u);
}

TEST_F(JournalTest, ATaskThatIsOverTakesFewBytes) {
  Journal journal = open();
  constexpr std::uint64_t kTasks = 20'000;
  journal.add_batch({JobId(1), kTasks + 1, "{}", false});
  journal.add_array(JobId(1), kTasks);
  for (std::uint64_t id = 2; id < kTasks + 2; ++id) {
    const Time now = static_cast<Time>(id);
    journal.add_task_event(JobId(id), {now, event::Alloc{"immediate", 0, {"node0", 1, 1, 0}}});
    if (id % 10 == 0) {
      ASSERT_TRUE(journal.commit());
    }
    journal.add_ended_tasks({JobId(id), 1, pack_ended(task_over(0, now))}, "COMPLETED");
    if (id % 10 == 5) {
      ASSERT_TRUE(journal.commit());
    }
  }
  ASSERT_TRUE(journal.commit());
  ASSERT_TRUE(journal.shrink_log());
  EXPECT_LT(journal.size(), std::int64_t{100 * kTasks});
}

TEST_F(JournalTest, ForgetsWhatHasBeenOverForLong) {
  Journal journal = open();
  for (const auto& [id, when] : {std::pair(1, 100), std::pair(2, 900), std::pair(3, 200)}) {
    const auto job = static_cast<std::uint64_t>(id);
    journal.add_batch({JobId(job), 1, "{}", false});
    auto one = record(job, "/" + std::to_string(id), "COMPLETED");
    one.t_inactive = when;
    journal.add_inactive(one);
  }
  ASSERT_TRUE(journal.commit());
  EXPECT_EQ(journal.forget(0, 100, 100)->count, 0u);
  EXPECT_EQ(journal.forget(0, 100, 500)->count, 1u) << "2 is not old, and 3 came after it";
  EXPECT_EQ(journal.forget(0, 100, 500)->count, 0u);
  EXPECT_EQ(journal.forget(0, 100, 901)->count, 2u);
  EXPECT_EQ(*journal.next_id(), JobId(4));
}

// What was found out about one batch says nothing about another that ends later.
TEST_F(JournalTest, AnOlderBatchThatEndsLaterIsNotForgottenWithTheNewer) {
  for (const std::uint64_t newer : {1u, 700u}) {  // one that is looked at in a step, and in two
    TearDown();
    SetUp();
    Journal journal = open();
    journal.add_batch({JobId(1), 1, "{}", false});
    journal.add_batch({JobId(2), newer, "{}", false});
    for (std::uint64_t id = 2; id < newer + 2; ++id) {
      auto one = record(id, "/" + std::to_string(id), "COMPLETED");
      one.t_inactive = 5;
      journal.add_inactive(one);
    }
    ASSERT_TRUE(journal.commit());
    EXPECT_EQ(journal.forget(0, 500, 100)->count, newer == 1 ? 1u : 0u);
    auto older = record(1, "/1", "COMPLETED");
    older.t_inactive = 900;
    journal.add_inactive(older);
    ASSERT_TRUE(journal.commit());
    ASSERT_TRUE(journal.forget(0, 500, 100));
    EXPECT_TRUE(journal.inactive(JobId(1))->has_value()) << "it has just ended";
    while (journal.forget(0, 500, 901)->more) continue;
    EXPECT_FALSE(journal.inactive(JobId(1))->has_value());
  }
}

TEST_F(JournalTest, AnArrayIsForgottenWithItsTasks) {
  Journal journal = open();
  journal.add_batch({JobId(1), 1'001, "{}", false});
  journal.add_array(JobId(1), 1'000);
  for (std::uint64_t id = 2; id < 1'002; ++id)
    journal.add_ended_tasks({JobId(id), 1, pack_ended(task_over(id == 9 ? 256 : 0, 5))},
                            id == 9 ? "FAILED" : "COMPLETED");
  msg::JobRecord array = record(1, "/1", "FAILED");
  array.tasks = 1'000;
  journal.add_inactive(array);
  ASSERT_TRUE(journal.commit());
  std::uint64_t gone = 0, failed = 0;
  for (int calls = 0; calls < 100; ++calls) {
    const auto some = journal.forget(1'000 - gone, 50);
    ASSERT_TRUE(some) << to_string(some.error());
    gone += some->count;
    for (const auto& row : some->rows) failed += row.result == "FAILED" ? row.count : 0;
    if (!some->more) break;
  }
  EXPECT_EQ(gone, 1'000u);
  EXPECT_EQ(failed, 1u);
  EXPECT_FALSE(*journal.ended_task(JobId(500)));
  EXPECT_EQ(*journal.tasks_of_array(JobId(1)), std::nullopt);
  EXPECT_TRUE(journal.inactive_counts()->empty());
}

// One row may stand for a million tasks, and behind it there is nothing to be looked at.
TEST_F(JournalTest, AnArrayOfWhichNothingBeganIsForgottenInAFewSteps) {
  constexpr std::uint64_t kTasks = 1'000'000, kAtOnce = 200;
  Journal journal = open();
  journal.add_batch({JobId(1), kTasks + 1, "{}", false});
  journal.add_array(JobId(1), kTasks);
  journal.add_ended_tasks({JobId(2), kTasks, pack_ended(Lifecycle())}, "CANCELED");
  msg::JobRecord array = record(1, "/1", "CANCELED");
  array.tasks = kTasks;
  journal.add_inactive(array);
  journal.add_batch({JobId(kTasks + 2), 1, "{}", false});
  journal.add_inactive(record(kTasks + 2, "/1000002", "COMPLETED"));
  ASSERT_TRUE(journal.commit());
  std::uint64_t gone = 0;
  int calls = 0;
  for (bool more = true; more && calls < 10; ++calls) {
    const auto some = journal.forget(kTasks - std::min(gone, kTasks), kAtOnce);
    ASSERT_TRUE(some) << to_string(some.error());
    gone += some->count;
    std::uint64_t looked = 0;
    for (const auto& [first, stop] : some->with_files) looked += stop.value() - first.value();
    EXPECT_LE(looked, kAtOnce) << "files are looked for of so many";
    more = some->more;
  }
  EXPECT_LE(calls, 3);
  EXPECT_EQ(gone, kTasks);
  EXPECT_EQ(*journal.tasks_of_array(JobId(1)), std::nullopt);
  EXPECT_TRUE(journal.inactive(JobId(kTasks + 2))->has_value());
}

// Whether all jobs of a batch are old enough is found out a part at a time.
TEST_F(JournalTest, TheAgeOfManyJobsIsLookedAtInSeveralSteps) {
  constexpr std::uint64_t kJobs = 2'300;
  Journal journal = open();
  journal.add_batch({JobId(1), kJobs, "{}", false});
  for (std::uint64_t id = 1; id <= kJobs; ++id) {
    auto one = record(id, "/" + std::to_string(id), "COMPLETED");
    one.t_inactive = id == kJobs ? 900 : 5;
    journal.add_inactive(one);
  }
  ASSERT_TRUE(journal.commit());
  const auto forget_all = [&](Time before) {
    std::uint64_t gone = 0;
    int calls = 0;
    for (bool more = true; more && calls < 1'000; ++calls) {
      const auto some = journal.forget(0, 500, before);
      EXPECT_TRUE(some);
      EXPECT_TRUE(calls > 0 || some->count == 0) << "it is not known yet";
      gone += some->count;
      more = some->more;
    }
    EXPECT_GT(calls, 3);
    return gone;
  };
  EXPECT_EQ(forget_all(900), 0u) << "the last one is not that old";
  EXPECT_EQ(forget_all(901), kJobs);
}

TEST_F(JournalTest, TheJobsBelowAForgottenChildGoAPartAtATime) {
  {
    Journal journal = open();
    journal.add_batch({JobId(5), 1, "{}", true});
    auto child = record(5, "/5", "COMPLETED");
    child.is_instance = true;
    journal.add_inactive(child);
    for (int id = 1; id <= 1'200; ++id)
      journal.put_descendant(
          record(static_cast<std::uint64_t>(id), "/5/" + std::to_string(id), "COMPLETED"));
    journal.put_descendant(record(1, "/50/1", "COMPLETED"));
    ASSERT_TRUE(journal.commit());
    ASSERT_EQ(journal.forget(1, 100)->count, 1u);
    EXPECT_EQ(journal.descendants_after("/5/", "", 9'999)->size(), 700u);
    ASSERT_TRUE(journal.commit());
  }
  Journal journal = open();
  int calls = 0;
  while (*journal.forget_below()) ASSERT_LT(++calls, 5);
  EXPECT_TRUE(journal.descendants_after("/5/", "", 9)->empty());
  EXPECT_EQ(journal.descendants_after("/50/", "", 9)->size(), 1u);
}

TEST_F(JournalTest, GivesWhatIsFreeBackToTheDisk) {
  Journal journal = open();
  for (std::uint64_t id = 1; id <= 3'000; ++id) {
    journal.add_batch({JobId(id), 1, "{}", false});
    auto one = record(id, "/" + std::to_string(id), "COMPLETED");
    one.reason = std::string(500, 'x');
    journal.add_inactive(one);
  }
  ASSERT_TRUE(journal.commit());
  ASSERT_TRUE(journal.shrink_log());
  const auto before = journal.size();
  while (journal.forget(3'000, 1'000)->more) {
  }
  ASSERT_TRUE(journal.commit());
  for (;;) {
    const auto left = journal.give_back(100);
    ASSERT_TRUE(left);
    if (*left == 0) break;
  }
  ASSERT_TRUE(journal.commit());
  const auto after = journal.shrink_log();
  ASSERT_TRUE(after) << to_string(after.error());
  EXPECT_LT(*after, before / 4);
  ASSERT_TRUE(journal.look()) << "nobody else has shortened it";
  EXPECT_TRUE(journal.take_news().empty());
}

// The directory was removed while its instance ran, and somebody started another one there.
TEST_F(JournalTest, IsNotWrittenAgainWhereAnotherInstanceHasBegun) {
  Journal journal = open();
  ASSERT_TRUE(journal.commit());
  std::filesystem::remove_all(dir_);
  std::filesystem::create_directory(dir_);
  const std::string other = new_instance_id();
  std::ofstream(dir_ + "/instance.id") << other << "\n";
  std::ofstream(file()) << "theirs";
  for (const auto& looked : {journal.look(), journal.commit()}) {
    ASSERT_FALSE(looked);
    EXPECT_THAT(looked.error().what, ::testing::HasSubstr("another instance has begun in " + dir_));
  }
  EXPECT_EQ((*read_instance_id(dir_))->id, other);
  std::ifstream in(file());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "theirs");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_), {}), 2);
}

}  // namespace
}  // namespace holon::instance
