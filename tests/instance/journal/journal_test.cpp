// The journal: what was committed is there after reopening, what was not is not, and foreign files
// are refused.
#include "instance/journal/journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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

}  // namespace
}  // namespace holon::instance
