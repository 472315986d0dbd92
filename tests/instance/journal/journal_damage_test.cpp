// What happens to the journal's files is noticed, said, and survived as far as that goes.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <stdexcept>

#include "instance/journal/damage/log.hpp"
#include "instance/journal/damage/repair.hpp"
#include "instance/journal/damage/salvage.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/instance_id.hpp"
#include "instance/journal/journal.hpp"
#include "instance/journal/schema.hpp"
#include "msg/instance.hpp"
#include "tests/instance/a_jobspec.hpp"
#include "tests/instance/journal/damaged_journal.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(JournalDamageTest, TheTablesAreOnTheDiskBeforeAnythingIsWritten) {
  fill_and_be_killed();
  fs::remove(log());
  auto journal = open();
  ASSERT_TRUE(journal) << to_string(journal.error());
  EXPECT_THAT(ids(*journal), IsEmpty());
  // What is lost is said, and its numbers are not given again.
  EXPECT_THAT(journal->take_news(), Contains(HasSubstr("lost the last 60 of its 60 commits")));
  EXPECT_THAT(lost_of(*journal), ElementsAre(Numbers(1, kJobs + 1)));
}

TEST_F(JournalDamageTest, AJournalThatIsGoneIsNotANewOne) {
  for (const auto& lose : std::vector<std::function<void()>>{
           [this] { fs::remove(file()); },
           [this] { fs::resize_file(file(), 0); },
           [this] {
             fs::remove(file());
             fs::create_directory(file());
           },
       }) {
    fs::remove_all(dir_);
    fs::create_directory(dir_);
    fill_and_be_killed();
    lose();
    const auto journal = open();
    ASSERT_FALSE(journal);
    EXPECT_EQ(journal.error().code, Errc::invalid_argument);
    EXPECT_THAT(journal.error().what, HasSubstr("holon journal repair " + dir_));
    // A broker whose jobs run goes on; it says what it has lost.
    auto repaired = open(Journal::OnDamage::repair);
    ASSERT_TRUE(repaired) << to_string(repaired.error());
    EXPECT_THAT(repaired->take_news(), Contains(HasSubstr("lost: everything")));
    EXPECT_THAT(lost_of(*repaired), ElementsAre(Numbers(1, kJobs + 1)));
  }
}

TEST_F(JournalDamageTest, AnIdThatIsLostOrDamagedIsStillKnown) {
  std::string id;
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    fill(*journal);
    id = *instance_id(dir_);
  }
  const std::string name = dir_ + "/instance.id";
  for (const char* text : {"", "no id\n"}) {
    fs::remove(name);
    if (*text != '\0') std::ofstream(name) << text;
    EXPECT_EQ(*instance_id(dir_), id);
    fs::remove(name);
    if (*text != '\0') std::ofstream(name) << text;
    const auto journal = open();
    ASSERT_TRUE(journal) << to_string(journal.error());
    EXPECT_EQ(ids(*journal), all());
    std::string written;
    std::getline(std::ifstream(name), written);
    EXPECT_EQ(written, id) << "and is written again";
  }
}

TEST_F(JournalDamageTest, TheJournalOfAnotherInstanceIsRefused) {
  fs::create_directory(dir_ + "/other");
  { ASSERT_TRUE(Journal::open(journal_file(dir_ + "/other"), Journal::Sync::normal)); }
  { ASSERT_TRUE(open()); }
  fs::copy_file(journal_file(dir_ + "/other"), file(), fs::copy_options::overwrite_existing);
  const auto journal = open();
  ASSERT_FALSE(journal);
  EXPECT_THAT(journal.error().what, HasSubstr("this is the journal of instance"));
  EXPECT_THAT(journal.error().what, HasSubstr("holon journal repair")) << "what can be done";
  const auto checked = check_journal(dir_);
  ASSERT_TRUE(checked) << to_string(checked.error());
  EXPECT_THAT(checked->damage, Contains(HasSubstr("this is the journal of instance")));
}

TEST_F(JournalDamageTest, ADamagedFrameOfTheLogTakesNothingAwayThatALaterOneHas) {
  fill_and_be_killed();
  const auto before = look_at_log(log());
  ASSERT_TRUE(before);
  ASSERT_TRUE(before->whole());
  ASSERT_GT(before->frames, kJobs);
  // Pages of the first commits are written again by later ones.
  const std::uint64_t frame = (fs::file_size(log()) - 32) / before->frames;
  for (const std::uint64_t i : {1, 7, 30}) flip(log(), 32 + i * frame + 24 + 2000);
  const auto damaged = look_at_log(log());
  ASSERT_TRUE(damaged);
  EXPECT_EQ(damaged->damaged, (std::vector<std::uint64_t>{1, 7, 30}));
  ASSERT_TRUE(damaged->mendable());
  auto journal = open();
  ASSERT_TRUE(journal) << to_string(journal.error());
  EXPECT_EQ(ids(*journal), all());
  EXPECT_THAT(journal->take_news(), Contains(HasSubstr("3 of")));
}

TEST_F(JournalDamageTest, ALogThatLostAPageIsRefusedAndRepairedWhenAsked) {
  fill_and_be_killed();
  const auto before = look_at_log(log());
  ASSERT_TRUE(before);
  const std::uint64_t frame = (fs::file_size(log()) - 32) / before->frames;
  flip(log(), 32 + (before->frames - 2) * frame + 24 + 2000);
  const auto journal = open();
  ASSERT_FALSE(journal);
  EXPECT_THAT(journal.error().what, HasSubstr("1 of"));
  EXPECT_THAT(journal.error().what, HasSubstr("holon journal check"));
  const auto checked = check_journal(dir_);
  ASSERT_TRUE(checked);
  EXPECT_THAT(checked->damage, Contains(HasSubstr("frames of the log are damaged")));
  const auto repaired = repair_journal(dir_, 0);
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_TRUE(fs::exists(repaired->kept_as));
  auto again = open();
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_GE(ids(*again).size(), kJobs / 2);
  std::int64_t lost = 0;
  for (const auto& [first, stop] : lost_of(*again)) lost += stop - first;
  EXPECT_EQ(again->next_id()->value() + static_cast<std::uint64_t>(lost), kJobs + 1);
  const auto room = again->room();  // as a broker asks that comes after one that crashed
  EXPECT_TRUE(room) << to_string(room.error());
}

TEST_F(JournalDamageTest, DamagedBytesAreFoundAtTheBeginning) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    fill(*journal);
  }
  // The head of each page but the first, which says what kind of page it is.
  for (std::uint64_t at = 4096; at < fs::file_size(file()); at += 2 * 4096) flip(file(), at);
  const auto journal = open();
  ASSERT_FALSE(journal);
  // The second word is SQLite's, where the tables' names go on from the first page to another.
  EXPECT_THAT(journal.error().what, AnyOf(HasSubstr("damaged"), HasSubstr("malformed")));
  EXPECT_THAT(journal.error().what, HasSubstr("holon journal repair"));
  const auto checked = check_journal(dir_);
  ASSERT_TRUE(checked) << to_string(checked.error());
  EXPECT_FALSE(checked->damage.empty());
  const auto repaired = repair_journal(dir_, 0);
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_FALSE(repaired->lost.empty());
  EXPECT_TRUE(open());
}

TEST_F(JournalDamageTest, RandomDamageIsNeverTakenForAWholeJournal) {
  std::mt19937 random(7);
  for (int round = 0; round < 12; ++round) {
    fs::remove_all(dir_);
    fs::create_directory(dir_);
    fill_and_be_killed();
    const std::string& victim = round % 2 == 0 ? log() : file();
    const auto size = fs::file_size(victim);
    for (int i = 0; i < 40; ++i) flip(victim, 100 + random() % (size - 100));
    auto journal = open(Journal::OnDamage::repair);
    ASSERT_TRUE(journal) << round << ": " << to_string(journal.error());
    // Each job is there, or it is said that it may not be.
    if (ids(*journal) != all()) {
      EXPECT_THAT(journal->take_news(), Contains(HasSubstr("lost"))) << round;
    }
    for (std::uint64_t id = 1; id <= kJobs; ++id)
      EXPECT_TRUE(is_known(*journal, id)) << round << ": job " << id;
    std::uint64_t next = journal->next_id()->value();
    for (const auto& [first, stop] : lost_of(*journal))
      next = std::max(next, static_cast<std::uint64_t>(stop));
    add_job(*journal, next);
    EXPECT_GE(ids(*journal).back(), kJobs) << round;
  }
}

TEST_F(JournalDamageTest, ARecordThatCannotBeReadIsNamedAndTheOthersAreListed) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    fill(*journal);
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, "UPDATE jobs SET record=x'c1' WHERE id=7", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  const auto journal = open();
  ASSERT_TRUE(journal) << to_string(journal.error());
  EXPECT_EQ(ids(*journal), all());
  const auto bad = journal->inactive(JobId(7));
  ASSERT_TRUE(bad && *bad);
  EXPECT_EQ((*bad)->path, "/7");
  EXPECT_THAT((*bad)->reason, HasSubstr("its record in the journal is damaged"));
}

TEST_F(JournalDamageTest, AnOpenJournalThatIsRemovedIsWrittenAgain) {
  for (const auto& lose : std::vector<std::function<void()>>{
           [this] { fs::remove(file()); },
           [this] { fs::remove(log()); },
           [this] { fs::remove_all(dir_); },
           [this] {
             fs::remove(file());
             std::ofstream(file()).flush();
           },
           [this] {
             fs::remove(file());
             fs::create_directory(file());
           },
           [this] { fs::resize_file(file(), fs::file_size(file()) / 2); },
           [this] {  // its log is looked for beside what the link leads to
             fs::rename(file(), dir_ + "/moved.db");
             fs::create_symlink("moved.db", file());
           },
       }) {
    fs::remove_all(dir_);
    fs::create_directory(dir_);
    std::string id;
    {
      auto journal = open();
      ASSERT_TRUE(journal) << to_string(journal.error());
      fill(*journal);
      id = *instance_id(dir_);
      lose();
      // At the next commit, without waiting for the look that comes once a second.
      add_job(*journal, kJobs + 1);
      EXPECT_THAT(journal->take_news(), Contains(HasSubstr("it was written again")));
      EXPECT_TRUE(journal->look());
      EXPECT_THAT(journal->take_news(), IsEmpty());
      add_job(*journal, kJobs + 2);
    }
    EXPECT_EQ(*instance_id(dir_), id);
    auto journal = open();
    ASSERT_TRUE(journal) << to_string(journal.error());
    auto expected = all();
    expected.insert(expected.end(), {kJobs + 1, kJobs + 2});
    EXPECT_EQ(ids(*journal), expected);
    EXPECT_THAT(journal->take_news(), IsEmpty());
  }
}

// A large one takes longer than a turn may: the watchdog must see that it gets on.
TEST_F(JournalDamageTest, ItBeatsAsItIsWrittenAgain) {
  int beats = 0;
  auto journal = Journal::open(file(), Journal::Sync::normal, Journal::OnDamage::refuse,
                               [&beats] { ++beats; });
  ASSERT_TRUE(journal);
  fill(*journal);
  journal->stop_beating();
  for (int times = 0; times < 2; ++times) {
    beats = 0;
    EXPECT_TRUE(journal->look());
    EXPECT_EQ(beats, 0) << "nothing is to be done";
    fs::remove(file());
    EXPECT_TRUE(journal->look());
    EXPECT_GE(beats, static_cast<int>(kJobs));
  }
}

TEST_F(JournalDamageTest, ALookFindsWhatHappensBetweenCommits) {
  auto journal = open();
  ASSERT_TRUE(journal);
  fill(*journal);
  EXPECT_TRUE(journal->look());
  EXPECT_THAT(journal->take_news(), IsEmpty());
  fs::remove_all(dir_);
  EXPECT_TRUE(journal->look());
  EXPECT_THAT(journal->take_news(), Contains(HasSubstr("it was written again")));
  EXPECT_TRUE(fs::exists(file()));
}

TEST_F(JournalDamageTest, ACheckOfASoundJournalChangesNothing) {
  fill_and_be_killed();
  const auto size = fs::file_size(log());
  const auto checked = check_journal(dir_);
  ASSERT_TRUE(checked) << to_string(checked.error());
  EXPECT_THAT(checked->damage, IsEmpty());
  EXPECT_EQ(checked->rows.at("jobs"), static_cast<std::int64_t>(kJobs));
  EXPECT_EQ(fs::file_size(log()), size);
  const auto journal = open();
  ASSERT_TRUE(journal);
  EXPECT_EQ(check_journal(dir_).error().code, Errc::busy);
  EXPECT_THAT(open().error().what, HasSubstr("process " + std::to_string(getpid())));
  EXPECT_EQ(repair_journal(dir_, 0).error().code, Errc::busy);
  fs::create_directory(dir_ + "/none");
  EXPECT_EQ(check_journal(dir_ + "/none").error().code, Errc::not_found);
}

}  // namespace
}  // namespace holon::instance
