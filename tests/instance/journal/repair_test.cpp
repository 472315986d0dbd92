// A journal of which parts are lost or make no sense: what check finds, and what repair makes of
// it.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "instance/job/array.hpp"
#include "instance/job/ended.hpp"
#include "instance/job/task_words.hpp"
#include "instance/journal/damage/log.hpp"
#include "instance/journal/damage/missing.hpp"
#include "instance/journal/damage/repair.hpp"
#include "instance/journal/damage/salvage.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/instance_id.hpp"
#include "instance/journal/journal.hpp"
#include "instance/journal/schema.hpp"
#include "msg/graph.hpp"
#include "msg/instance.hpp"
#include "tests/instance/a_jobspec.hpp"
#include "tests/instance/journal/damaged_journal.hpp"
#include "tests/instance/live.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr const char* kFilesThatAreRefused =
    "UPDATE specs SET jobspec = json_set(jobspec, '$.attributes.system.files', "
    R"(json('{"link":{"mode":41471,"data":"/etc/passwd"}}')) WHERE id = 1)";

// A journal of version 5 has no jobspec that a submission is refused for.
TEST_F(JournalDamageTest, FilesThatAreNotAcceptedAreDamage) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    add_job(*journal, 1);
  }
  EXPECT_THAT(check_journal(dir_)->damage, IsEmpty());
  EXPECT_EQ(SQLite::Database(file(), SQLite::OPEN_READWRITE).exec(kFilesThatAreRefused), 1);
  EXPECT_THAT(check_journal(dir_)->damage, Contains("jobspec 1"));
}

TEST_F(JournalDamageTest, OneOfAnEarlierVersionIsRefusedAndLeftAsItIs) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    add_job(*journal, 1);
  }
  {
    SQLite::Database db(file(), SQLite::OPEN_READWRITE);
    db.exec("DROP TABLE event_packs");
    db.exec("PRAGMA user_version = 4");
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const std::string before = testing::read_file(file());
  const auto says = HasSubstr("the journal has version 4, this program reads version 5");
  EXPECT_THAT(check_journal(dir_)->damage, Contains(says));
  const auto repaired = repair_journal(dir_, 12'345);
  ASSERT_FALSE(repaired);
  EXPECT_THAT(repaired.error().what, says);
  for (const auto on_damage : {Journal::OnDamage::refuse, Journal::OnDamage::repair}) {
    const auto journal = Journal::open(file(), Journal::Sync::normal, on_damage);
    ASSERT_FALSE(journal);
    EXPECT_THAT(journal.error().what, says);
  }
  EXPECT_EQ(testing::read_file(file()), before);
}

TEST_F(JournalDamageTest, ADamagedNumberOfTheVersionIsNoEarlierVersion) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    add_job(*journal, 1);
  }
  SQLite::Database(file(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 4");
  const auto repaired = repair_journal(dir_, 12'345);
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_THAT(repaired->lost, IsEmpty());
  EXPECT_THAT(check_journal(dir_)->damage, IsEmpty());
}

KeptGraph graph_of(std::size_t tasks, JobId first) {
  msg::GraphRequest request;
  request.specs = {{testing::a_jobspec(), 1, 16}};
  for (std::size_t i = 0; i < tasks; ++i) request.tasks.push_back({"t", {0}, {}, {}});
  return {first, tasks, "ada", std::vector<std::uint32_t>(tasks, 0), transport::pack(request)};
}

TEST_F(JournalDamageTest, TasksOfAGraphThatAreToComeAreNotMissing) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    add_job(*journal, 1);
    journal->add_graph(graph_of(5, JobId(2)));
    add_job(*journal, 2);
    add_job(*journal, 7);  // submitted while they enter
    EXPECT_EQ(*journal->entered_before(JobId(7)), JobId(3));
    EXPECT_EQ(*journal->graphs(), std::vector{graph_of(5, JobId(2))});
  }
  EXPECT_THAT(check_journal(dir_)->damage, IsEmpty());
  const auto repaired = repair_journal(dir_, 12'345);
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_THAT(repaired->lost, IsEmpty());
  auto journal = open();
  ASSERT_TRUE(journal);
  EXPECT_EQ(*journal->graphs(), std::vector{graph_of(5, JobId(2))});
  journal->remove_graph(JobId(2));
  EXPECT_TRUE(journal->graphs()->empty());
}

// The number of an entered task is not given to one that is to come, whichever row of it is left.
TEST_F(JournalDamageTest, ATaskOfWhichSomethingIsLeftHasEntered) {
  auto journal = open();
  ASSERT_TRUE(journal);
  journal->add_graph(graph_of(5, JobId(2)));
  journal->add_batch({JobId(2), 1, testing::a_jobspec(), false});
  journal->add_words(JobId(3), TaskWords{"t", {}, {}});
  EXPECT_EQ(*journal->entered_before(JobId(7)), JobId(4));
  journal->add_ended_tasks({JobId(5), 9, ""}, "COMPLETED");
  EXPECT_EQ(*journal->entered_before(JobId(7)), JobId(7)) << "none has entered behind the graph";
}

TEST_F(JournalDamageTest, AGraphKeepsItsNumbers) {
  auto journal = open();
  ASSERT_TRUE(journal);
  journal->add_graph(graph_of(5, JobId(2)));
  ASSERT_TRUE(journal->commit());
  EXPECT_EQ(*journal->next_id(), JobId(7));
}

TEST_F(JournalDamageTest, ADamagedGraphIsNamedAndItsTasksHaveRecords) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    add_job(*journal, 1);
    auto graph = graph_of(3, JobId(2));
    graph.ways = {0, 7, 0};  // there is one spec
    journal->add_graph(graph);
    add_job(*journal, 5);
    graph = graph_of(3, JobId(6));
    graph.numbers = 2;
    journal->add_graph(graph);
    add_job(*journal, 8);
  }
  const auto found = check_journal(dir_)->damage;
  EXPECT_THAT(found, Contains("the graph that begins with job 2"));
  EXPECT_THAT(found, Contains("the graph that begins with job 6"));
  ASSERT_TRUE(repair_journal(dir_, 12'345));
  EXPECT_TRUE(open()->graphs()->empty());
  EXPECT_THAT(reason_of(4), HasSubstr("lost"));
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

// The numbers that it has kept to grow into are no jobs, whichever of its rows is lost.
TEST_F(JournalDamageTest, AnOpenArrayThatLostWhatItWasLeavesNoJobsInItsRoom) {
  const std::uint64_t kTasks = 5, kStop = 2 + 1 + kTasks, kEnd = 2 + 1 + 2 + kRoomOfOpen;
  for (const bool is_last : {false, true})
    for (const char* damage :
         {"UPDATE specs SET jobspec = x'00' WHERE id = (SELECT spec FROM batches WHERE first = 2)",
          "DELETE FROM specs WHERE id = (SELECT spec FROM batches WHERE first = 2)",
          "DELETE FROM batches WHERE first = 2"}) {
      SCOPED_TRACE(std::string(damage) + (is_last ? ", the last one" : ""));
      fs::remove_all(dir_);
      fs::create_directory(dir_);
      {
        auto journal = open();
        ASSERT_TRUE(journal);
        add_job(*journal, 1);
        journal->add_batch({JobId(2), kEnd - 2, testing::a_jobspec(), false});
        journal->add_array(JobId(2), 2);
        journal->add_event(JobId(2), 1, {1, event::Submit{}});
        journal->extend_array(JobId(2), kTasks, testing::a_jobspec("longer"));
        journal->add_event(JobId(2), 1, {2, event::ArrayExtend{kTasks - 2}});
        journal->add_event(JobId(2), 1, {3, event::ArrayClose{}});
        for (std::uint64_t task = 3; task < kStop - 1; ++task)
          journal->add_ended_tasks({JobId(task), 1, pack_ended({})}, "COMPLETED");
        if (!is_last) add_job(*journal, kEnd);
        ASSERT_TRUE(journal->commit());
      }
      SQLite::Database(file(), SQLite::OPEN_READWRITE).exec(damage);
      EXPECT_THAT(check_journal(dir_)->damage, Not(IsEmpty()));
      if (std::string_view(damage).starts_with("DELETE FROM specs")) {
        EXPECT_FALSE(open());
      }
      const auto repaired = repair_journal(dir_, 12'345);
      ASSERT_TRUE(repaired) << to_string(repaired.error());
      EXPECT_THAT(repaired->lost, Contains("array 2, 5 tasks; of 4 the result is known"));
      EXPECT_THAT(repaired->lost, Not(Contains(HasSubstr("100"))));
      EXPECT_THAT(check_journal(dir_)->damage, IsEmpty());
      const auto journal = open();
      ASSERT_TRUE(journal) << to_string(journal.error());
      EXPECT_EQ(journal->next_id(), JobId(is_last ? kEnd : kEnd + 1)) << "no number is given twice";
      EXPECT_THAT(lost_of(*journal), IsEmpty());
      std::vector<std::string> results;
      for (const std::uint64_t id : ids(*journal))
        results.push_back((*journal->inactive(JobId(id)))->result);
      std::vector<std::string> expected = {"COMPLETED", "FAILED",    "COMPLETED", "COMPLETED",
                                           "COMPLETED", "COMPLETED", "FAILED"};
      if (!is_last) expected.push_back("COMPLETED");
      EXPECT_EQ(results, expected);
      // Job 2 is the array, which is no job beside its tasks.
      const std::map<std::string, std::int64_t> counts = {{"COMPLETED", is_last ? 5 : 6},
                                                          {"FAILED", 1}};
      EXPECT_EQ(*journal->inactive_counts(), counts);
      std::int64_t counted = 0;
      const auto rows = journal->ended_rows(JobId(0), 100);
      ASSERT_TRUE(rows);
      for (const EndedRow& row : *rows) counted += row.is_array ? 0 : 1;
      EXPECT_EQ(counted, is_last ? 6 : 7) << "of each user, too";
    }
}

// Its batch is lost, and the row that said that it was an array, too: what stands beside the
// journal still tells which numbers were given to its tasks.
TEST_F(JournalDamageTest, NumbersThatAnOpenArrayHadKeptAreNoJobsWhateverIsLost) {
  constexpr std::uint64_t kEnd = 2 + 1 + 2 + kRoomOfOpen;  // of what it has kept
  for (const bool is_everything : {false, true})
    for (const bool is_last : {false, true}) {
      SCOPED_TRACE(std::string(is_everything ? "everything" : "the array") +
                   (is_last ? ", the last one" : ""));
      fs::remove_all(dir_);
      fs::create_directory(dir_);
      {
        auto journal = open();
        ASSERT_TRUE(journal);
        add_job(*journal, 1);
        journal->add_batch({JobId(2), kEnd - 2, testing::a_jobspec(), false});
        journal->add_array(JobId(2), 2);
        ASSERT_TRUE(journal->commit());
        journal->extend_array(JobId(2), 5, testing::a_jobspec("longer"));
        ASSERT_TRUE(journal->commit());
        if (!is_last) add_job(*journal, kEnd);
      }
      if (is_everything)
        fs::resize_file(file(), 0);
      else
        for (const char* damage :
             {"DELETE FROM batches WHERE first = 2", "DELETE FROM arrays WHERE id = 2"})
          SQLite::Database(file(), SQLite::OPEN_READWRITE).exec(damage);
      const auto repaired = repair_journal(dir_, 12'345);
      ASSERT_TRUE(repaired) << to_string(repaired.error());
      EXPECT_THAT(repaired->lost, Not(Contains(HasSubstr(std::to_string(kEnd - 1)))));
      if (!is_everything && !is_last) {
        EXPECT_THAT(repaired->lost, IsSupersetOf({"array 2", "jobs 3 to 7, tasks of array 2"}));
        EXPECT_THAT(reason_of(3), HasSubstr("a task of array 2"));
      }
      const auto next = static_cast<std::int64_t>(is_last ? kEnd : kEnd + 1);
      for (int round = 0; round < 2; ++round) {
        auto journal = open();
        ASSERT_TRUE(journal) << to_string(journal.error());
        std::vector<Numbers> expected;
        if (round == 0 && is_everything && is_last) expected = {{1, 2}, {2, 3}, {3, 8}};
        if (round == 0 && is_everything && !is_last)
          expected = {{1, 2}, {2, 3}, {3, 8}, {std::int64_t(kEnd), next}};
        if (round == 0 && !is_everything && is_last) expected = {{2, 3}, {3, 8}};
        EXPECT_EQ(lost_of(*journal), expected);
        // As who opens a journal does.
        for (const auto& piece : journal->lost())
          for (auto id = piece.numbers.first; id < piece.numbers.second; ++id)
            journal->add_inactive(lost_record("/", static_cast<std::uint64_t>(id), 1));
        ASSERT_TRUE(journal->commit());
        EXPECT_EQ(journal->next_id(), JobId(static_cast<std::uint64_t>(next)));
        // Its tasks are, and no array is beside its tasks.
        const std::int64_t lost_jobs = is_everything ? (is_last ? 1 : 2) : 0;
        EXPECT_EQ(journal->inactive_counts()->at("FAILED"), 5 + lost_jobs);
        EXPECT_THAT((*journal->inactive(JobId(2)))->reason, HasSubstr("the journal has lost it"));
      }
      EXPECT_THAT(check_journal(dir_)->damage, IsEmpty());
    }
}

// More jobs than records are made of.
TEST_F(JournalDamageTest, ARepairIsSoundHoweverManyJobsAreLost) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    journal->add_batch({JobId(1), kMostRecorded + 50, testing::a_jobspec(), false});
    add_job(*journal, kMostRecorded + 51);
  }
  SQLite::Database(file(), SQLite::OPEN_READWRITE).exec("DELETE FROM batches WHERE first = 1");
  ASSERT_TRUE(repair_journal(dir_, 12'345));
  EXPECT_THAT(check_journal(dir_)->damage, IsEmpty());
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

}  // namespace
}  // namespace holon::instance
