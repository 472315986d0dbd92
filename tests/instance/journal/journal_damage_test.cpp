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

#include "instance/instance_id.hpp"
#include "instance/journal/damage/log.hpp"
#include "instance/journal/damage/repair.hpp"
#include "instance/journal/damage/salvage.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/journal.hpp"
#include "instance/journal/schema.hpp"
#include "msg/instance.hpp"
#include "tests/instance/a_jobspec.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kJobs = 60;

class JournalDamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-damage-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { fs::remove_all(dir_); }
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
    const auto [first, stop] = journal.lost_ids();
    return (record && *record) || journal.batch_of(JobId(id)) ||
           (JobId(id) >= first && JobId(id) < stop);
  }
  std::vector<std::uint64_t> all() const {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t id = 1; id <= kJobs; ++id) numbers.push_back(id);
    return numbers;
  }

  std::string dir_;
};

TEST_F(JournalDamageTest, TheTablesAreOnTheDiskBeforeAnythingIsWritten) {
  fill_and_be_killed();
  fs::remove(log());
  auto journal = open();
  ASSERT_TRUE(journal) << to_string(journal.error());
  EXPECT_THAT(ids(*journal), IsEmpty());
  // What is lost is said, and its numbers are not given again.
  EXPECT_THAT(journal->take_news(), Contains(HasSubstr("lost the last 60 of its 60 commits")));
  EXPECT_EQ(journal->lost_ids(), std::pair(JobId(1), JobId(kJobs + 1)));
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
    EXPECT_EQ(repaired->lost_ids(), std::pair(JobId(1), JobId(kJobs + 1)));
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
  EXPECT_EQ(again->next_id()->value() + again->lost_ids().second.value() -
                again->lost_ids().first.value(),
            kJobs + 1);
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
  EXPECT_THAT(journal.error().what, HasSubstr("damaged"));
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
    add_job(*journal, std::max(journal->next_id()->value(), journal->lost_ids().second.value()));
    EXPECT_GE(ids(*journal).back(), kJobs) << round;
  }
}

TEST_F(JournalDamageTest, JobsThatAreMissingInTheMiddleAreNamedAndHaveARecord) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    fill(*journal);
    // Numbers of reservations that are over are no jobs.
    for (const std::int64_t number : {61, 63})
      journal->set_number(kReservationNumber + std::to_string(number), number);
    add_job(*journal, 62);
    add_job(*journal, 64);
  }
  {
    SQLite::Database db(file(), SQLite::OPEN_READWRITE);
    for (const char* rows : {"first BETWEEN 20 AND 24", "first = 40"})
      db.exec(std::string("DELETE FROM batches WHERE ") + rows);
    db.exec("DELETE FROM jobs WHERE id BETWEEN 20 AND 24 OR id = 40 OR id = 50");
  }
  const auto checked = check_journal(dir_);
  ASSERT_TRUE(checked) << to_string(checked.error());
  EXPECT_THAT(checked->damage, ::testing::ElementsAre("jobs 20 to 24: neither a batch nor a record",
                                                      "job 40: neither a batch nor a record"))
      << "job 50 has a batch: it is gone on with";
  const auto repaired = repair_journal(dir_, 12'345);
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_THAT(repaired->lost, ::testing::ElementsAre("jobs 20 to 24", "job 40"));
  {  // an open one is not checked
    const auto journal = open();
    ASSERT_TRUE(journal) << to_string(journal.error());
    for (const std::uint64_t id : {20, 22, 24, 40}) {
      const auto record = journal->inactive(JobId(id));
      ASSERT_TRUE(record && *record) << id;
      EXPECT_EQ((*record)->path, "/" + std::to_string(id));
      EXPECT_EQ((*record)->state, "INACTIVE");
      EXPECT_EQ((*record)->result, "FAILED");
      EXPECT_THAT((*record)->reason, HasSubstr("the journal has lost it"));
      EXPECT_EQ((*record)->t_inactive, 12'345);
    }
    EXPECT_FALSE(*journal->inactive(JobId(61)));
  }
  const auto again = check_journal(dir_);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_THAT(again->damage, IsEmpty());
}

// Of what is inside of a row SQLite knows nothing.
TEST_F(JournalDamageTest, RowsThatMakeNoSenseAreNamedAndTakenOut) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    fill(*journal);
    journal->add_batch({JobId(61), 1, testing::a_jobspec("waits"), false});
    journal->add_event(JobId(61), 1, {1, event::Submit{}});
    add_job(*journal, 62);
  }
  {
    SQLite::Database db(file(), SQLite::OPEN_READWRITE);
    db.exec(
        "UPDATE specs SET jobspec = replace(jobspec, 'resources', 'resour\x01es') "
        "WHERE jobspec LIKE '%waits%'");
    db.exec("UPDATE jobs SET record = x'ff' || record WHERE id = 7");
    db.exec("UPDATE events SET context = '{' WHERE job = 9");
    db.exec("INSERT INTO allocs VALUES(61, 1, 2, x'ff')");
    db.exec("INSERT INTO reservations VALUES(63, 'no jobspec', 1, 2, '', '', 0)");
  }
  const std::vector<std::string> found = {"job 7: its record", "jobspec 61", "event 9",
                                          "job 61: what it holds", "advance reservation 63"};
  const auto checked = check_journal(dir_);
  ASSERT_TRUE(checked) << to_string(checked.error());
  EXPECT_EQ(checked->damage, found);
  const auto repaired = repair_journal(dir_, 12'345);
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  for (const auto& row : found) EXPECT_THAT(repaired->lost, Contains(row));
  EXPECT_THAT(repaired->lost, Contains("job 61"));
  {
    const auto journal = open();
    ASSERT_TRUE(journal) << to_string(journal.error());
    for (const std::uint64_t id : {7, 61}) {
      const auto record = journal->inactive(JobId(id));
      ASSERT_TRUE(record) << id << ": " << to_string(record.error());
      EXPECT_TRUE(*record || journal->batch_of(JobId(id))) << id;
    }
    EXPECT_EQ((*journal->inactive(JobId(61)))->result, "FAILED");
  }
  const auto again = check_journal(dir_);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_THAT(again->damage, IsEmpty());
}

// A broker that repairs must not be taken for one that hangs: what is copied counts, and so does
// each step after it.
TEST_F(JournalDamageTest, ARepairOfManyBadRowsShowsThatItGetsOn) {
  constexpr int kRows = 5'000;
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    fill(*journal);
  }
  {
    SQLite::Database db(file(), SQLite::OPEN_READWRITE);
    db.exec("WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < " +
            std::to_string(99 + kRows) +
            ") INSERT INTO jobs SELECT i, 'COMPLETED', x'ff00' FROM n");
  }
  const auto mark = JournalMark::open(dir_);
  ASSERT_TRUE(mark);
  std::int64_t beats = 0;
  const auto repaired = rebuild_journal(dir_, *mark, 12'345, [&beats] { ++beats; });
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  std::int64_t copied = 0;
  for (const auto& [table, rows] : repaired->rows) copied += rows;
  EXPECT_GT(copied, kRows);
  EXPECT_GT(beats, copied + kRows / 100) << "also where rows are looked at and taken out";
  EXPECT_EQ(std::count_if(repaired->lost.begin(), repaired->lost.end(),
                          [](const auto& what) { return what.ends_with(": its record"); }),
            kRows);
  SQLite::Database db(file(), SQLite::OPEN_READONLY);
  EXPECT_EQ(db.execAndGet("SELECT count(*) FROM jobs WHERE record = x'ff00'").getInt(), 0);
}

TEST_F(JournalDamageTest, OneThatWasFoundToMakeNoSenseIsRefusedUntilItIsRepaired) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    fill(*journal);
    journal->set_meta("runtime_dir", "half done");
    const Error why = journal->condemn({Errc::invalid_argument, "a bad row", "job 3"});
    EXPECT_EQ(why.where, file());
    EXPECT_EQ(why.code, Errc::system);
    EXPECT_THAT(why.what, AllOf(HasSubstr("a bad row"), HasSubstr("holon journal repair")));
  }
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what,
              AllOf(HasSubstr("a bad row"), HasSubstr("holon journal repair")));
  auto repaired = open(Journal::OnDamage::repair);
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_THAT(repaired->take_news(), Contains(HasSubstr("a bad row")));
  EXPECT_EQ(repaired->meta("runtime_dir")->value_or(""), "") << "of a beginning that failed";
  EXPECT_EQ(ids(*repaired), all());
}

// As many jobs are made of a batch as its row says.
TEST_F(JournalDamageTest, ABatchThatSaysItHasMoreJobsThanItCanIsDamage) {
  for (const char* damage : {"count = 1000000000000 WHERE first = 20", "count = 0 WHERE first = 20",
                             "count = 1000000000000 WHERE first = 60"}) {
    fs::remove_all(dir_);
    fs::create_directory(dir_);
    {
      auto journal = open();
      ASSERT_TRUE(journal);
      fill(*journal);
    }
    {
      SQLite::Database db(file(), SQLite::OPEN_READWRITE);
      db.exec(std::string("UPDATE batches SET ") + damage);
    }
    EXPECT_THAT(check_journal(dir_)->damage, Contains(HasSubstr("jobs, and 1 at most"))) << damage;
    const auto refused = open();
    ASSERT_FALSE(refused) << damage;
    EXPECT_THAT(refused.error().what, HasSubstr("jobs, and 1 at most"));
    auto repaired = open(Journal::OnDamage::repair);
    ASSERT_TRUE(repaired) << to_string(repaired.error());
    EXPECT_THAT(repaired->take_news(), Contains(HasSubstr("jobs, and 1 at most")));
    EXPECT_EQ(ids(*repaired), all());
    EXPECT_TRUE(repaired->active_batches()->empty());
    EXPECT_EQ(repaired->next_id(), JobId(kJobs + 1));
  }
}

// journal.keep takes the oldest away: that they are not there is right.
TEST_F(JournalDamageTest, JobsThatWereForgottenAreNotMissing) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    journal->set_number(kReservationNumber + std::string("7"), 7);
    fill(*journal);
    ASSERT_TRUE(journal->forget(10, 100));
    ASSERT_TRUE(journal->commit());
    EXPECT_FALSE(*journal->number(kReservationNumber + std::string("7"))) << "nor is it kept";
    for (const std::uint64_t id : {61, 63}) add_job(*journal, id);
  }
  EXPECT_THAT(check_journal(dir_)->damage,
              ::testing::ElementsAre("job 62: neither a batch nor a record"));
}

// Where the cell of the table row with this text begins: payload's length and key come first
// (https://www.sqlite.org/fileformat2.html#b_tree_pages).
std::size_t cell_with(const std::string& bytes, const std::string& text) {
  constexpr std::size_t kPage = 4096, kPageHead = 8;
  const auto two = [&](std::size_t at) {
    return std::size_t{static_cast<unsigned char>(bytes[at])} << 8 |
           static_cast<unsigned char>(bytes[at + 1]);
  };
  const std::size_t at = bytes.find(text), page = at / kPage * kPage;
  std::size_t begin = 0;
  for (std::size_t cell = 0; cell < two(page + 3); ++cell) {
    const std::size_t place = page + two(page + kPageHead + 2 * cell);
    if (place <= at) begin = std::max(begin, place);
  }
  return begin;
}

TEST_F(JournalDamageTest, ARepairEndsWhereADamagedRowHasAKeyThatWasPassedBefore) {
  constexpr int kRows = 400;
  const std::string from = dir_ + "/from.db", to = dir_ + "/to.db";
  for (const auto& name : {from, to})
    ASSERT_TRUE(create_journal(name, "0123456789abcdef0123456789abcdef"));
  {
    SQLite::Database db(from, SQLite::OPEN_READWRITE);
    SQLite::Transaction all(db);
    for (int id = 1; id <= kRows; ++id) {
      SQLite::Statement add(db, "INSERT INTO jobs VALUES(?, 'COMPLETED', ?)");
      add.bind(1, id);
      add.bind(2, "row " + std::to_string(id) + ";" + std::string(200, 'x'));
      add.exec();
    }
    all.commit();
  }
  std::ostringstream read;
  read << std::ifstream(from, std::ios::binary).rdbuf();
  std::string bytes = read.str();
  const std::size_t row = cell_with(bytes, "row 200;"), next = cell_with(bytes, "row 201;");
  bytes.replace(row + 2, 2, "\x80\x05", 2);  // its key is 5 now
  bytes.replace(next, 2, "\xff\x7f", 2);     // longer than what there is
  std::ofstream(from, std::ios::binary) << bytes;
  SQLite::Database damaged(from, SQLite::OPEN_READONLY), mended(to, SQLite::OPEN_READWRITE);
  int beats = 0;
  const auto salvage = copy_readable(damaged, mended, [&] {
    if (++beats > 100 * kRows) throw std::runtime_error("it goes round and round");
  });
  ASSERT_TRUE(salvage) << to_string(salvage.error());
  EXPECT_EQ(salvage->rows.at("jobs"), kRows - 2);
  EXPECT_THAT(salvage->lost, Contains("table jobs: id 200 to 201"));
}

TEST_F(JournalDamageTest, ARepairedJournalIsForItsOwnerOnly) {
  fill_and_be_killed();
  const mode_t usual = umask(022);
  const auto repaired = repair_journal(dir_, 0);
  umask(usual);
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_EQ(fs::status(file()).permissions() & fs::perms::mask,
            fs::perms::owner_read | fs::perms::owner_write);
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
