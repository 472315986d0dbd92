// Damage on the pages that say where a journal's tables are: a repair writes such a page anew, and
// takes no rows of one table for those of another.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "instance/journal/damage/layout.hpp"
#include "instance/journal/damage/repair.hpp"
#include "instance/journal/damage/schema_pages.hpp"
#include "instance/journal/events/packing.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/journal.hpp"
#include "instance/journal/schema.hpp"
#include "tests/instance/journal/damaged_journal.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint64_t kPage = 4096;

class SchemaDamageTest : public JournalDamageTest {
 protected:
  void begin_anew() const {
    fs::remove_all(dir_);
    fs::create_directory(dir_);
  }
  void make_young() const {
    begin_anew();
    auto journal = open();
    ASSERT_TRUE(journal);
    add_job(*journal, 1);
  }
  // Its log is in the database.
  void make_grown() const {
    begin_anew();
    auto journal = open();
    ASSERT_TRUE(journal);
    fill(*journal);
  }
  void make_compacted() const {
    begin_anew();
    auto journal = open();
    ASSERT_TRUE(journal);
    fill(*journal);
    ASSERT_TRUE(journal->forget(10, 100));
    ASSERT_TRUE(journal->commit());
    while (*journal->give_back(5) > 0) ASSERT_TRUE(journal->commit());
    ASSERT_TRUE(journal->commit());
    ASSERT_TRUE(journal->shrink_log());
  }

  // An empty journal as a program made it that did not have some of the later tables yet.
  void make_without(std::initializer_list<const char*> later) const {
    begin_anew();
    SQLite::Database db(file(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec("PRAGMA auto_vacuum=INCREMENTAL");
    db.exec(kJournalSchema);
    db.exec(without(kLaterTables, later));
    db.exec("PRAGMA application_id=" + std::to_string(kJournalKind.application_id));
    db.exec("PRAGMA user_version=" + std::to_string(kJournalKind.version));
    db.exec("INSERT INTO meta VALUES('instance.id', '0123456789abcdef0123456789abcdef')");
    std::ofstream(dir_ + "/instance.id") << "0123456789abcdef0123456789abcdef\njournal\n";
  }
  // Statements that do not name one of `tables`.
  static std::string without(const std::string& sql, std::initializer_list<const char*> tables) {
    std::string rest;
    for (std::size_t at = 0, end = 0; (end = sql.find(';', at)) != std::string::npos;
         at = end + 1) {
      const std::string statement = sql.substr(at, end + 1 - at);
      if (std::none_of(tables.begin(), tables.end(), [&statement](const char* table) {
            return statement.find(table) != std::string::npos;
          }))
        rest += statement;
    }
    return rest;
  }
  // As a broker does: it opens the journal, writes, and many events of it are packed.
  void fill_with_packs() const {
    auto journal = open();
    ASSERT_TRUE(journal) << to_string(journal.error());
    constexpr int kEvents = 1'500;
    for (int i = 0; i < kEvents; ++i) journal->add_event(JobId(1), 1, {i + 2, event::Submit{}});
    ASSERT_TRUE(journal->commit());
    for (int i = 0; i <= kEvents / kEventsInPack; ++i) {  // a pack a commit
      journal->set_number("test.turn", i);
      ASSERT_TRUE(journal->commit());
    }
  }

  // Those with names of tables on them, and the first one.
  std::vector<std::uint64_t> schema_pages() const {
    const std::string bytes = testing::read_file(file());
    std::vector<std::uint64_t> pages = {1};
    for (std::uint64_t at = kPage; at < bytes.size(); at += kPage)
      if (bytes.substr(at, kPage).find("CREATE TABLE") != std::string::npos)
        pages.push_back(at / kPage + 1);
    return pages;
  }
  void zero(std::uint64_t page) const {
    std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>((page - 1) * kPage));
    out << std::string(kPage, '\0');
  }

  void set_cells(std::uint64_t page, char cells) const {
    std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>((page - 1) * kPage + 3));
    out << '\0' << cells;
  }

  using Rows = std::map<std::string, std::string>;
  // By table, all of them.
  Rows rows() const {
    Rows found;
    const auto db = open_to_read(file());
    SQLite::Statement tables(*db, "SELECT name FROM sqlite_master WHERE type = 'table'");
    while (tables.executeStep()) {
      const std::string table = tables.getColumn(0).getString();
      SQLite::Statement q(*db, "SELECT * FROM " + table);
      while (q.executeStep())
        for (int i = 0; i < q.getColumnCount(); ++i) {
          // What a repair notes of itself.
          const std::string value = q.getColumn(i).getString();
          if (i == 0 && (value == kRebuilt || value == kEventEra)) break;
          found[table] += value + "|";
        }
    }
    return found;
  }

  void expect_it_is_left() const {
    const std::string copy = dir_ + "/copy.db";
    fs::copy_file(file(), copy);
    const auto mended = mend_schema(copy);
    ASSERT_TRUE(mended) << to_string(mended.error());
    EXPECT_NE(mended->damage, "");
    EXPECT_EQ(mended->mended, "");
    EXPECT_TRUE(testing::read_file(copy) == testing::read_file(file()));
    const auto repaired = repair_journal(dir_, 12'345);
    ASSERT_TRUE(repaired) << to_string(repaired.error());
    EXPECT_THAT(repaired->mended, IsEmpty());
    EXPECT_THAT(repaired->lost, Contains(HasSubstr("the schema, which says where the tables are")));
  }
  void expect_all_is_found(const Rows& before, const std::string& how) const {
    EXPECT_THAT(check_journal(dir_)->damage, Not(IsEmpty())) << how;
    const auto repaired = repair_journal(dir_, 12'345);
    ASSERT_TRUE(repaired) << to_string(repaired.error());
    EXPECT_THAT(repaired->lost, IsEmpty()) << how;
    EXPECT_THAT(repaired->mended, ElementsAre(HasSubstr("written anew"))) << how;
    EXPECT_EQ(rows(), before) << how;
    EXPECT_THAT(check_journal(dir_)->damage, IsEmpty()) << how;
  }
};

TEST_F(SchemaDamageTest, APageOfTheSchemaIsWrittenAnew) {
  const std::map<std::string, std::function<void()>> kinds = {
      {"young", [this] { make_young(); }},
      {"grown", [this] { make_grown(); }},
      {"compacted", [this] { make_compacted(); }}};
  for (const auto& [name, make] : kinds)
    for (std::size_t which = 0; which < 3; ++which) {
      make();
      const auto pages = schema_pages();
      ASSERT_EQ(pages.size(), 3u) << name;
      const Rows before = rows();
      zero(pages[which]);
      expect_all_is_found(before, name + ", page " + std::to_string(pages[which]));
    }
}

TEST_F(SchemaDamageTest, OneThatIsInTheDatabaseWhereTheRowsAreInTheLogIsWrittenAnew) {
  for (const std::size_t which : {1u, 2u}) {
    begin_anew();
    fill_and_be_killed();
    const auto pages = schema_pages();
    ASSERT_EQ(pages.size(), 3u);
    const Rows before = rows();
    zero(pages[which]);
    expect_all_is_found(before, "page " + std::to_string(pages[which]));
  }
}

// It ends with a page of the schema.
TEST_F(SchemaDamageTest, AYoungJournalThatLostItsEndIsWhole) {
  for (const std::uint64_t cut : {std::uint64_t{1}, kPage - 1, kPage}) {
    make_young();
    ASSERT_EQ(schema_pages().back() * kPage, fs::file_size(file()));
    const Rows before = rows();
    fs::resize_file(file(), fs::file_size(file()) - cut);
    expect_all_is_found(before, "without its last " + std::to_string(cut) + " bytes");
  }
}

// SQLite reads nothing of a file that has fewer pages than its first one says.
TEST_F(SchemaDamageTest, AGrownJournalThatLostItsEndHasTheRest) {
  make_grown();
  fs::resize_file(file(), fs::file_size(file()) - kPage);
  const auto repaired = repair_journal(dir_, 12'345);
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_THAT(repaired->mended,
              ElementsAre(HasSubstr("the file has not as many pages as it said")));
  EXPECT_THAT(repaired->lost, Not(IsEmpty()));
  EXPECT_GE(repaired->rows.at("jobs") + repaired->rows.at("batches"),
            static_cast<std::int64_t>(kJobs));
  EXPECT_THAT(check_journal(dir_)->damage, IsEmpty());
}

// Where the page has the later tables, nothing is wrong for SQLite with one cell of it: the others
// are not there.
TEST_F(SchemaDamageTest, APageThatSaysThatItHasFewerCellsIsWrittenAnew) {
  for (const std::size_t which : {1u, 2u})
    for (const char cells : {0, 1}) {
      SCOPED_TRACE(std::to_string(which) + ", cells: " + std::to_string(cells));
      make_grown();
      const Rows before = rows();
      set_cells(schema_pages().at(which), cells);
      const auto repaired = repair_journal(dir_, 12'345);
      ASSERT_TRUE(repaired) << to_string(repaired.error());
      EXPECT_THAT(repaired->lost, IsEmpty());
      EXPECT_THAT(repaired->mended, ElementsAre(HasSubstr("written anew")));
      EXPECT_EQ(rows(), before);
      EXPECT_THAT(check_journal(dir_)->damage, IsEmpty());
    }
}

// All its tables are there, at other pages than the layout says that it has kept.
TEST_F(SchemaDamageTest, OneThatWasVacuumedByHandIsNotSaidToHaveLostAny) {
  make_grown();
  SQLite::Database(file(), SQLite::OPEN_READWRITE).exec("DROP TABLE outputs; VACUUM");
  SQLite::Database(file(), SQLite::OPEN_READWRITE).exec(kLaterTables);
  const auto repaired = repair_journal(dir_, 12'345);
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_THAT(repaired->lost, IsEmpty());
  EXPECT_THAT(repaired->mended, IsEmpty());
}

// SQLite takes any name for a column.
TEST_F(SchemaDamageTest, AColumnWithADamagedNameIsWrittenAnew) {
  for (const char* const name : {"count INTEGER NOT NULL, spec", "request BLOB NOT NULL"}) {
    SCOPED_TRACE(name);
    make_young();
    flip(file(), testing::read_file(file()).find(name) + 1);
    const auto repaired = repair_journal(dir_, 12'345);
    ASSERT_TRUE(repaired) << to_string(repaired.error());
    EXPECT_THAT(repaired->mended, Contains(HasSubstr("have other names")));
    EXPECT_THAT(repaired->lost, IsEmpty());
  }
}

TEST_F(SchemaDamageTest, ABrokerRepairsAJournalThatLacksAColumn) {
  make_young();
  flip(file(), testing::read_file(file()).find("count INTEGER NOT NULL, spec") + 1);
  const auto journal = open(Journal::OnDamage::repair);
  ASSERT_TRUE(journal) << to_string(journal.error());
  EXPECT_THAT(ids(*journal), ElementsAre(1));
}

TEST_F(SchemaDamageTest, ABrokerThatRepairsSaysSo) {
  make_grown();
  zero(schema_pages().back());
  auto journal = open(Journal::OnDamage::repair);
  ASSERT_TRUE(journal) << to_string(journal.error());
  EXPECT_EQ(ids(*journal), all());
  EXPECT_THAT(journal->take_news(), Contains(HasSubstr("mended: the schema")));
}

// With nothing to tell it by where the tables are, none is guessed.
TEST_F(SchemaDamageTest, OneOfWhichTwoPagesAreDamagedIsLostAndSaysWhat) {
  make_grown();
  const auto pages = schema_pages();
  ASSERT_EQ(pages.size(), 3u);
  for (const std::size_t which : {0u, 2u}) zero(pages[which]);
  const auto repaired = repair_journal(dir_, 12'345);
  ASSERT_TRUE(repaired) << to_string(repaired.error());
  EXPECT_THAT(repaired->mended, IsEmpty());
  EXPECT_THAT(repaired->lost, Contains(HasSubstr("the schema, which says where the tables are")));
}

// Where a journal was not made as this program makes one, nothing tells where its tables were: they
// are lost, and that is said. No rows are taken for those of another table.
TEST_F(SchemaDamageTest, AJournalToWhichTablesWereAddedIsLeftAsItIs) {
  const std::map<std::string, std::initializer_list<const char*>> kinds = {
      // Only one page of the schema differs from that of a new journal.
      {"without two tables", {"record_bases", "event_packs"}},
      {"without one", {"event_packs"}},
      // None does, but nothing tells that the damaged one did not.
      {"without a layout", {}}};
  for (const auto& [name, later] : kinds)
    for (std::size_t which = 0;; ++which) {
      SCOPED_TRACE(name + ", page " + std::to_string(which));
      make_without(later);
      fill_with_packs();
      const auto pages = schema_pages();
      if (which == pages.size()) break;
      zero(pages[which]);
      expect_it_is_left();
    }
}

// VACUUM moves all tables. A broker that opens such a journal notices.
TEST_F(SchemaDamageTest, OneWhoseTablesWereMovedIsLeftAsItIs) {
  for (const bool is_opened : {false, true})
    for (std::size_t which = 0; which < 3; ++which) {
      SCOPED_TRACE(std::to_string(which) + (is_opened ? ", opened" : ""));
      make_grown();
      SQLite::Database(file(), SQLite::OPEN_READWRITE).exec("VACUUM");
      if (is_opened) {
        ASSERT_TRUE(open());
        EXPECT_EQ(kept_layout(*open_to_read(file())), "");
      }
      const auto pages = schema_pages();
      ASSERT_EQ(pages.size(), 3u);
      zero(pages[which]);
      expect_it_is_left();
    }
}

// A table that this program adds, of the same version of the schema, is not missing.
TEST_F(SchemaDamageTest, AJournalFromBeforeTheLatestTableIsWhole) {
  for (const bool has_layout : {false, true}) {
    make_without({"grant_entries"});
    if (has_layout) {
      SQLite::Database db(file(), SQLite::OPEN_READWRITE);
      keep_layout(db);
    }
    const auto mended = mend_schema(file());
    ASSERT_TRUE(mended) << to_string(mended.error());
    EXPECT_EQ(mended->damage, "") << has_layout;
    ASSERT_TRUE(open());
    EXPECT_EQ(kept_layout(*open_to_read(file())), "") << "it has another one now";
    EXPECT_EQ(mend_schema(file())->damage, "") << has_layout;
  }
}

// Whichever page of the schema has lost all rows but one: an index may be left without its table.
TEST_F(SchemaDamageTest, TablesThatAreMissingAreToldOfWithoutALayout) {
  make_without({});
  const std::size_t pages = schema_pages().size();
  ASSERT_GT(pages, 2u);
  for (std::size_t page = 1; page < pages; ++page) {
    make_without({});
    fill_with_packs();
    set_cells(schema_pages().at(page), 1);
    const auto repaired = repair_journal(dir_, 12'345);
    ASSERT_TRUE(repaired) << to_string(repaired.error());
    EXPECT_THAT(repaired->lost, Contains(HasSubstr("tables are found, not all that there were")))
        << page;
  }
}

TEST_F(SchemaDamageTest, NoFileIsMadeBesideTheJournal) {
  make_grown();
  fs::create_directories(file() + ".fresh/full");  // a new journal cannot have this name
  for (const bool is_damaged : {false, true}) {
    if (is_damaged) zero(schema_pages().back());
    const auto names = [this] {
      std::set<std::string> all;
      for (const auto& entry : fs::directory_iterator(dir_)) all.insert(entry.path().string());
      return all;
    };
    const auto before = names();
    const auto mended = mend_schema(file());
    ASSERT_TRUE(mended) << to_string(mended.error());
    EXPECT_EQ(mended->mended.empty(), !is_damaged);
    EXPECT_EQ(names(), before);
  }
}

}  // namespace
}  // namespace holon::instance
