// What lets others go on where they were: numbers of events, and keys of submissions.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "instance/journal/journal.hpp"
#include "msg/instance.hpp"

namespace holon::instance {
namespace {

class Following : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-following-XXXXXX";
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
  // Jobs that were submitted together and are over.
  static void add_ended(Journal& journal, std::uint64_t first, std::uint64_t count,
                        const std::string& key) {
    journal.add_batch({JobId(first), count, "{}", false});
    journal.add_submit_key(key, {JobId(first), count});
    journal.add_event(JobId(first), count, {1, event::Submit{16, "ada"}});
    for (std::uint64_t id = first; id < first + count; ++id) {
      journal.add_event(JobId(id), 1, {2, event::Clean{}});
      msg::JobRecord record;
      record.id = id;
      record.path = "/" + std::to_string(id);
      record.state = "INACTIVE";
      record.result = "COMPLETED";
      journal.add_inactive(record);
    }
  }
  std::string dir_;
};

TEST_F(Following, EventsAreReadFromANumberOn) {
  Journal journal = open();
  EXPECT_EQ(journal.next_event(), 1);
  add_ended(journal, 1, 3, "a");
  EXPECT_EQ(journal.next_event(), 5);
  const auto all = journal.events_from(0, 100);
  ASSERT_EQ(all->size(), 4u);
  EXPECT_EQ(all->front().count, 3u);
  EXPECT_TRUE(std::holds_alternative<event::Submit>(all->front().event.body));
  const auto some = journal.events_from(3, 1);
  ASSERT_EQ(some->size(), 1u);
  EXPECT_EQ(some->front().number, 3);
  EXPECT_EQ(some->front().first, JobId(2));
}

TEST_F(Following, NumbersOfForgottenEventsAreNotGivenAgain) {
  std::string era;
  {
    Journal journal = open();
    add_ended(journal, 1, 2, "a");
    add_ended(journal, 3, 1, "b");
    ASSERT_TRUE(journal.commit());
    EXPECT_EQ(*journal.last_forgotten_event(), 0);
    ASSERT_TRUE(journal.forget(3, 100));
    EXPECT_EQ(*journal.last_forgotten_event(), 5);
    ASSERT_TRUE(journal.commit());
    era = *journal.event_era();
    EXPECT_NE(era, "");
  }
  const Journal journal = open();
  EXPECT_EQ(journal.next_event(), 6);
  EXPECT_EQ(*journal.event_era(), era);
}

TEST_F(Following, AKeyLastsAsLongAsTheFirstRecord) {
  {
    Journal journal = open();
    add_ended(journal, 1, 4, "a");
    add_ended(journal, 5, 1, "b");
    ASSERT_TRUE(journal.commit());
  }
  Journal journal = open();
  EXPECT_EQ(*journal.jobs_of_key("a"), (SubmitKey{JobId(1), 4}));
  EXPECT_EQ(*journal.jobs_of_key("b"), (SubmitKey{JobId(5), 1}));
  EXPECT_EQ(*journal.jobs_of_key("c"), std::nullopt);
  ASSERT_TRUE(journal.forget(4, 2));
  EXPECT_EQ(*journal.jobs_of_key("a"), std::nullopt);
  EXPECT_NE(*journal.jobs_of_key("b"), std::nullopt);
}

TEST_F(Following, AJournalOfAnEarlierVersionIsOpened) {
  { ASSERT_TRUE(open().commit()); }
  {
    SQLite::Database before(file(), SQLite::OPEN_READWRITE);
    before.exec("DROP TABLE submit_keys; DELETE FROM meta WHERE key='events.era'");
  }
  Journal journal = open();
  EXPECT_EQ(*journal.jobs_of_key("a"), std::nullopt);
  add_ended(journal, 1, 1, "a");
  EXPECT_TRUE(journal.commit());
  EXPECT_NE(*journal.jobs_of_key("a"), std::nullopt);
  EXPECT_NE(*journal.event_era(), "");
}

TEST_F(Following, AJournalThatWasRebuiltBeginsAnEra) {
  {
    Journal journal = open();
    add_ended(journal, 1, 1, "a");
    ASSERT_TRUE(journal.commit());
  }
  std::string era;
  {
    Journal journal = open();
    era = *journal.event_era();
  }
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) - 4096);
  auto journal = Journal::open(file(), Journal::Sync::normal, Journal::OnDamage::repair);
  ASSERT_TRUE(journal) << to_string(journal.error());
  ASSERT_FALSE(journal->take_news().empty()) << "it was not damaged";
  EXPECT_NE(*journal->event_era(), era) << "events may be lost";
}

}  // namespace
}  // namespace holon::instance
