// Final records that are kept as differences from another one of their batch.
#include "instance/journal/records/ended_record.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "instance/journal/damage/export.hpp"
#include "instance/journal/damage/repair.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/journal.hpp"
#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;
using msg::JobRecord;
using ::testing::IsEmpty;
using ::testing::Le;

constexpr const char* kSpecOfOne =
    R"({"version":1,"resources":[{"type":"slot","count":1,"label":"task","with":[{"type":"core",
    "count":1}]}],"tasks":[{"command":["true"],"slot":"task","count":{"per_slot":1}}],
    "attributes":{"system":{"duration":0}}})";

JobRecord ended_job(std::uint64_t id) {
  JobRecord r;
  r.path = "/3/" + std::to_string(id);
  r.id = id;
  r.name = "step" + std::to_string(id);
  r.user = r.group = "ada";
  r.queue = "default";
  r.state = "INACTIVE";
  r.result = "COMPLETED";
  r.exit_code = 0;
  r.command = "sh task " + std::to_string(id);
  r.nodelist = "node0";
  r.resources = "1 core";
  r.nnodes = r.ncores = r.ntasks = 1;
  const auto later = static_cast<std::int64_t>(id);
  r.t_submit = 1'795'685'584'294;
  r.t_alloc = r.t_submit + 700 * later;
  r.t_start = r.t_alloc + 1;
  r.t_finish = r.t_start + 20 + later % 7;
  r.t_inactive = r.t_finish;
  r.selection = "immediate";
  r.output = "/var/lib/holon/output/" + std::to_string(id) + ".out";
  r.error = "/var/lib/holon/output/" + std::to_string(id) + ".err";
  r.max_rss_kb = 13'000 + later % 500;
  r.pids = {10'000 + later};
  return r;
}

TEST(Difference, OfEqualJobsIsSmall) {
  const JobRecord base = ended_job(7);
  for (const std::uint64_t id : {7U, 8U, 500U, 99'999U}) {
    const std::string bytes = pack_difference(ended_job(id), base);
    EXPECT_THAT(bytes.size(), Le(45u)) << id;
    const auto read = unpack_difference(bytes, base);
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(transport::pack(*read), transport::pack(ended_job(id)));
  }
}

// Each member has a value that follows from its place.
class CountedRecord {
 public:
  JobRecord operator()() {
    JobRecord r;
    r.with_fields([this](auto&... members) { (fill(members), ...); });
    return r;
  }

 private:
  void fill(std::string& text) { text = "m" + std::to_string(++place_); }
  void fill(std::vector<std::int64_t>& list) { list = {++place_, -1}; }
  void fill(bool& flag) { flag = ++place_ > 0; }
  void fill(auto& number) {
    number = static_cast<std::remove_reference_t<decltype(number)>>(++place_);
  }

  std::int64_t place_ = 0;
};

// The bytes that journals of version 4 hold. Who moves or inserts a member of JobRecord, or writes
// one in another way, makes records that are kept say something else, and needs another version.
// Members that have come since stand behind these.
constexpr const char* kKeptInVersion4 =
    "01000000032d6d310102020000026d33030000026d34040000026d35050000026d36060000026d37"
    "070000026d380809090000036d31300a0000036d31310b180c0000036d31330d0000036d31340e00"
    "00036d31350f0000036d31361022112412261328142c15041704180419341a361b381c0000036d32"
    "391d011e0000036d33311f0000042d6d3332200000042d6d3333214422462302480124252526264e"
    "27282852292a2a2b2b2c2c2d2d2e2e2f2f3030313164326633683401356c";

TEST(Difference, IsReadAsVersion4WroteIt) {
  const JobRecord base = ended_job(7);
  const std::string bytes = pack_difference(CountedRecord()(), base);
  std::string hex;
  for (const unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
  EXPECT_TRUE(hex.starts_with(kKeptInVersion4)) << hex;
  const auto read = unpack_difference(bytes, base);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(transport::pack(*read), transport::pack(CountedRecord()()));
}

// Values that are far from each other, and paths that only look as if a number was in them.
class RandomRecord {
 public:
  explicit RandomRecord(std::uint64_t seed) : random_(seed) {}
  JobRecord operator()() {
    JobRecord r;
    r.with_fields([this](auto&... members) { (fill(members), ...); });
    return r;
  }

 private:
  bool often() { return random_() % 3 != 0; }
  void fill(std::string& text) {
    static const std::vector<std::string> kTexts = {
        "",   "7",     "/7",    "/tmp/7.out", "/tmp/77.out", "n/7", "-", "/tmp/\x01.out",
        "/7", "/7/x7", "a\nb c"};
    text = kTexts[random_() % kTexts.size()];
  }
  void fill(bool& flag) { flag = often(); }
  void fill(std::vector<std::int64_t>& all) {
    all.resize(random_() % 3);
    for (auto& one : all) fill(one);
  }
  template <std::integral T>
  void fill(T& number) {
    static const std::vector<std::uint64_t> kNumbers = {0,
                                                        1,
                                                        2,
                                                        7,
                                                        77,
                                                        128,
                                                        1'795'685'584'294,
                                                        static_cast<std::uint64_t>(-1),
                                                        static_cast<std::uint64_t>(-300)};
    if (often()) number = static_cast<T>(kNumbers[random_() % kNumbers.size()]);
  }
  std::mt19937_64 random_;
};

TEST(Difference, OfAnyTwoRecordsSaysAllOfThem) {
  RandomRecord random(1);
  for (int i = 0; i < 3'000; ++i) {
    const JobRecord base = random(), record = random();
    const auto read = unpack_difference(pack_difference(record, base), base);
    ASSERT_TRUE(read) << to_string(read.error());
    ASSERT_EQ(transport::pack(*read), transport::pack(record)) << "seed 1, number " << i;
  }
}

// Whatever is done to its bytes: a record, or an error.
TEST(Difference, ThatIsDamagedIsRefusedOrReadToItsEnd) {
  const JobRecord base = ended_job(7);
  const std::string good = pack_difference(ended_job(500), base);
  std::mt19937_64 random(2);
  int refused = 0;
  for (int i = 0; i < 3'000; ++i) {
    std::string bytes = good;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    if (i % 3 == 0) bytes.resize(random() % bytes.size());
    refused += !unpack_difference(bytes, base);
  }
  EXPECT_GT(refused, 300);
  EXPECT_FALSE(unpack_difference("", base));
  EXPECT_FALSE(unpack_difference(transport::pack(base), base)) << "a whole record is none";
}

class RecordsOfABatch : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-records-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { fs::remove_all(dir_); }
  Journal open() const {
    auto journal = Journal::open(journal_file(dir_), Journal::Sync::normal);
    EXPECT_TRUE(journal) << (journal ? "" : to_string(journal.error()));
    return std::move(*journal);
  }
  // 400 jobs, that end in any order, one that is alone, and a batch of which one has ended.
  void fill() {
    Journal journal = open();
    journal.add_batch({JobId(1), 400, kSpecOfOne, false});
    journal.add_batch({JobId(401), 1, kSpecOfOne, false});
    journal.add_batch({JobId(402), 2, kSpecOfOne, false});
    for (std::uint64_t i = 0; i < 400; ++i) journal.add_inactive(ended_job(1 + i * 7 % 400));
    journal.add_inactive(ended_job(401));
    journal.add_inactive(ended_job(403));
    ASSERT_TRUE(journal.commit());
  }
  std::int64_t ask(const std::string& sql) const {
    SQLite::Database db(journal_file(dir_), SQLite::OPEN_READONLY);
    return db.execAndGet(sql).getInt64();
  }
  std::string dir_;
};

void expect_all_records(const Journal& journal) {
  for (std::uint64_t id = 1; id <= 403; ++id) {
    if (id == 402) continue;
    const auto record = journal.inactive(JobId(id));
    ASSERT_TRUE(record && *record) << id;
    ASSERT_EQ(transport::pack(**record), transport::pack(ended_job(id)));
  }
  EXPECT_EQ(journal.inactive_after(JobId(0), 1'000)->size(), 402u);
  const auto rows = journal.ended_rows(JobId(0), 1'000);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 402u);
  for (const auto& row : *rows) EXPECT_EQ(row.user + row.queue + row.result, "adadefaultCOMPLETED");
}

TEST_F(RecordsOfABatch, AreSmallAndThereAgain) {
  fill();
  EXPECT_THAT(ask("SELECT avg(length(record)) FROM jobs WHERE id <= 400"), Le(45));
  EXPECT_EQ(ask("SELECT count(*) FROM record_bases"), 2);
  expect_all_records(open());
}

// By a journal that is opened again, with the base of before.
TEST_F(RecordsOfABatch, AreComparedWithTheBaseThatIsThere) {
  fill();
  {
    Journal journal = open();
    journal.add_inactive(ended_job(402));
    ASSERT_TRUE(journal.commit());
    EXPECT_EQ(transport::pack(**journal.inactive(JobId(402))), transport::pack(ended_job(402)));
  }
  EXPECT_EQ(ask("SELECT count(*) FROM record_bases"), 2);
}

// As a repair leaves a batch whose row was damaged.
TEST_F(RecordsOfABatch, KeepTheirBaseWhereTheBatchHasFewerJobs) {
  fill();
  {
    SQLite::Database db(journal_file(dir_), SQLite::OPEN_READWRITE);
    db.exec("UPDATE batches SET count = 300 WHERE first = 1");
    db.exec("DELETE FROM jobs WHERE id = 299");
  }
  {
    Journal journal = open();
    journal.add_inactive(ended_job(299));
    ASSERT_TRUE(journal.commit());
    for (const std::uint64_t id : {1U, 299U, 300U, 400U})
      EXPECT_EQ(transport::pack(**journal.inactive(JobId(id))), transport::pack(ended_job(id)));
  }
  EXPECT_EQ(ask("SELECT count(*) FROM record_bases"), 2);
}

// In portions; each that is left can be read until it goes.
TEST_F(RecordsOfABatch, AreForgottenWithTheirBase) {
  fill();
  {
    Journal journal = open();
    ASSERT_EQ(journal.forget(400, 150)->count, 150u);
    EXPECT_EQ(transport::pack(**journal.inactive(JobId(151))), transport::pack(ended_job(151)));
    ASSERT_EQ(journal.forget(250, 250)->count, 250u);
    EXPECT_FALSE(*journal.inactive(JobId(400)));
    ASSERT_TRUE(journal.commit());
  }
  EXPECT_EQ(ask("SELECT count(*) FROM record_bases"), 1) << "that of the batch that is not over";
}

TEST_F(RecordsOfABatch, AreCheckedExportedAndRepaired) {
  fill();
  const auto check = check_journal(dir_);
  ASSERT_TRUE(check) << to_string(check.error());
  EXPECT_THAT(check->damage, IsEmpty());
  std::vector<std::string> told;
  JournalSink sink;
  sink.batch = [](const Batch&) {};
  sink.event = [](JobId, std::uint64_t, Time, const std::string&, const std::string&) {};
  sink.record = [&](const JobRecord& record) {
    if (transport::pack(record) == transport::pack(ended_job(record.id)))
      told.push_back(record.path);
  };
  sink.lost = [](const std::string& what) { ADD_FAILURE() << what; };
  ASSERT_TRUE(export_journal(dir_, sink));
  EXPECT_EQ(told.size(), 402u);
  const auto repair = repair_journal(dir_, 7);
  ASSERT_TRUE(repair) << to_string(repair.error());
  EXPECT_THAT(repair->lost, IsEmpty());
  expect_all_records(open());
}

TEST_F(RecordsOfABatch, AreNamedWhereWhatTheyShareIsLost) {
  fill();
  {
    SQLite::Database db(journal_file(dir_), SQLite::OPEN_READWRITE);
    db.exec("DELETE FROM record_bases WHERE id = 400");
  }
  const Journal journal = open();
  const auto record = journal.inactive(JobId(5));
  ASSERT_TRUE(record && *record);
  EXPECT_THAT((*record)->reason, ::testing::HasSubstr("its record in the journal is damaged"));
  EXPECT_EQ(transport::pack(**journal.inactive(JobId(401))), transport::pack(ended_job(401)));
}

}  // namespace
}  // namespace holon::instance
