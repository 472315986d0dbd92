// Damage on the pages that say where a journal's tables are: a repair writes such a page anew, and
// takes no rows of one table for those of another.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "instance/journal/damage/repair.hpp"
#include "instance/journal/damage/schema_pages.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/journal.hpp"
#include "instance/journal/schema.hpp"
#include "places.hpp"  // written by CMake
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

  // Out of one of the texts in data/.
  void make_old(const std::string& name) const {
    SQLite::Database db(file(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(testing::read_file(HOLON_SOURCE_DIR "/tests/instance/journal/data/" + name));
    SQLite::Statement whose(db, "SELECT value FROM meta WHERE key='instance.id'");
    if (whose.executeStep())
      std::ofstream(dir_ + "/instance.id") << whose.getColumn(0).getString() << "\njournal\n";
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
  EXPECT_THAT(repaired->mended, ElementsAre(HasSubstr("written anew")));
  EXPECT_THAT(repaired->lost, Not(IsEmpty()));
  EXPECT_GE(repaired->rows.at("jobs") + repaired->rows.at("batches"),
            static_cast<std::int64_t>(kJobs));
  EXPECT_THAT(check_journal(dir_)->damage, IsEmpty());
}

// Nothing is wrong with it for SQLite; half of the tables are not there.
TEST_F(SchemaDamageTest, APageThatSaysThatItIsEmptyIsWrittenAnew) {
  make_grown();
  const Rows before = rows();
  {
    std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>((schema_pages().back() - 1) * kPage + 3));
    out << std::string(2, '\0');  // the number of its cells
  }
  expect_all_is_found(before, "no cells");
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

// Its later tables are where they came to be as it was migrated: rows are right or lost.
TEST_F(SchemaDamageTest, NoRowsOfAMigratedJournalAreTakenForThoseOfAnotherTable) {
  for (const char* old : {"root_v1.sql", "root_v1_later.sql", "root_v2.sql", "graph_v3.sql"})
    for (std::size_t which = 0;; ++which) {
      SCOPED_TRACE(std::string(old) + ", page " + std::to_string(which));
      begin_anew();
      make_old(old);
      {
        auto journal = open();
        ASSERT_TRUE(journal) << to_string(journal.error());
      }
      const auto pages = schema_pages();
      if (which == pages.size()) break;
      const Rows before = rows();
      zero(pages[which]);
      fs::copy_file(file(), dir_ + "/copy.db");
      const auto mended = mend_schema(dir_ + "/copy.db");
      ASSERT_TRUE(mended) << to_string(mended.error());
      EXPECT_NE(mended->damage, "");
      if (!mended->is_renewed) {
        EXPECT_EQ(testing::read_file(dir_ + "/copy.db"), testing::read_file(file()))
            << "it is left as it was";
        continue;
      }
      fs::rename(dir_ + "/copy.db", file());
      EXPECT_EQ(rows(), before);
    }
}

// All pages of the schema but one are those of a new journal, and where that has one table is
// another: only the rows tell.
TEST_F(SchemaDamageTest, TablesThatAreElsewhereAreFoundOutByTheirRows) {
  for (const bool is_elsewhere : {false, true}) {
    begin_anew();
    ASSERT_TRUE(create_journal(file(), "0123456789abcdef0123456789abcdef"));
    std::uint64_t of_words = 0, of_outputs = 0;
    {
      SQLite::Database db(file(), SQLite::OPEN_READWRITE);
      db.exec("INSERT INTO outputs VALUES(1, 2, 3, 4, 5)");
      const auto root = [&db](const std::string& table) {
        const auto sql = "SELECT rootpage FROM sqlite_master WHERE name='" + table + "'";
        return static_cast<std::uint64_t>(db.execAndGet(sql).getInt64());
      };
      of_words = root("graph_tasks");
      of_outputs = root("outputs");
    }
    if (is_elsewhere) {
      const std::string bytes = testing::read_file(file());
      std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
      out.seekp(static_cast<std::streamoff>((of_words - 1) * kPage));
      out << bytes.substr((of_outputs - 1) * kPage, kPage);
    }
    zero(schema_pages().back());
    const std::string before = testing::read_file(file());
    const auto mended = mend_schema(file());
    ASSERT_TRUE(mended) << to_string(mended.error());
    EXPECT_EQ(mended->is_renewed, !is_elsewhere);
    EXPECT_EQ(testing::read_file(file()) == before, is_elsewhere);
  }
}

}  // namespace
}  // namespace holon::instance
