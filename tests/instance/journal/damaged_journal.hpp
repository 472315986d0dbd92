// damaged_journal.hpp - a journal with some jobs in a directory of its own, for tests that damage
// it.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "instance/journal/damage/missing.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/journal.hpp"
#include "msg/instance.hpp"
#include "tests/instance/a_jobspec.hpp"

namespace holon::instance {

class JournalDamageTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kJobs = 60;

  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-damage-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string file() const { return journal_file(dir_); }
  std::string log() const { return log_file(file()); }

  Result<Journal> open(Journal::OnDamage on_damage = Journal::OnDamage::refuse) const {
    return Journal::open(file(), Journal::Sync::normal, on_damage);
  }

  static void add_job(Journal& journal, std::uint64_t id) {
    journal.add_batch({JobId(id), 1, testing::a_jobspec(), false});
    journal.add_event(JobId(id), 1, {1, event::Submit{}});
    msg::JobRecord record;
    record.id = id;
    record.path = "/" + std::to_string(id);
    record.state = "INACTIVE";
    record.result = "COMPLETED";
    record.command = std::string(100, 'x');
    journal.add_inactive(record);
    ASSERT_TRUE(journal.commit());
  }
  void fill(Journal& journal) const {
    for (std::uint64_t id = 1; id <= kJobs; ++id) add_job(journal, id);
  }

  // Jobs in the journal of a process that was killed: all of them are in the log.
  void fill_and_be_killed() const {
    const pid_t child = fork();
    if (child == 0) {
      auto journal = open();
      if (!journal) _exit(1);
      fill(*journal);
      _exit(0);  // no destructor runs
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }

  static void flip(const std::string& name, std::uint64_t at) {
    const int fd = ::open(name.c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    unsigned char byte = 0;
    ASSERT_EQ(pread(fd, &byte, 1, static_cast<off_t>(at)), 1);
    byte ^= 0xff;
    ASSERT_EQ(pwrite(fd, &byte, 1, static_cast<off_t>(at)), 1);
    close(fd);
  }

  std::vector<std::uint64_t> ids(const Journal& journal) const {
    std::vector<std::uint64_t> found;
    const auto records = journal.inactive_before(JobId(INT64_MAX), 1000);
    EXPECT_TRUE(records);
    for (auto r = records->rbegin(); r != records->rend(); ++r) found.push_back(r->id);
    return found;
  }
  // Has it a record, is it to be gone on with, or will it have a record with those at the lost end?
  static bool is_known(const Journal& journal, std::uint64_t id) {
    const auto record = journal.inactive(JobId(id));
    const auto number = static_cast<std::int64_t>(id);
    const auto& lost = journal.lost();
    return (record && *record) || journal.batch_of(JobId(id)) ||
           std::any_of(lost.begin(), lost.end(), [number](const LostNumbers& piece) {
             return number >= piece.numbers.first && number < piece.numbers.second;
           });
  }
  // At its end: the first, and the one after the last; of each piece.
  static std::vector<Numbers> lost_of(const Journal& journal) {
    std::vector<Numbers> all;
    for (const auto& piece : journal.lost()) all.push_back(piece.numbers);
    return all;
  }
  std::string reason_of(std::uint64_t id) const {
    const auto journal = open();
    const auto record = journal ? journal->inactive(JobId(id)) : tl::unexpected(journal.error());
    return record && *record ? (*record)->reason : "";
  }
  std::vector<std::uint64_t> all() const {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t id = 1; id <= kJobs; ++id) numbers.push_back(id);
    return numbers;
  }

  std::string dir_;
};

}  // namespace holon::instance
