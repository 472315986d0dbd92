// holon journal: what it says of a sound journal, of a damaged one, and of what is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "instance/journal/journal.hpp"
#include "msg/instance.hpp"
#include "tests/cli/run.hpp"
#include "tests/instance/a_jobspec.hpp"

namespace holon::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class JournalVerbs : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-verbs-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
    auto journal = instance::Journal::open(file(), instance::Journal::Sync::normal);
    ASSERT_TRUE(journal) << to_string(journal.error());
    for (std::uint64_t id = 1; id <= 200; ++id) {
      journal->add_batch({JobId(id), 1, instance::testing::a_jobspec(), false});
      journal->add_event(JobId(id), 1, {7, instance::event::Submit{16, "ada"}});
      msg::JobRecord record;
      record.path = "/" + std::to_string(id);
      record.id = id;
      record.state = "INACTIVE";
      record.result = "COMPLETED";
      journal->add_inactive(record);
    }
    ASSERT_TRUE(journal->commit());
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string file() const { return dir_ + "/journal.db"; }
  void damage() const {
    std::fstream in(file(), std::ios::in | std::ios::out | std::ios::binary);
    for (auto at = 3 * 4096; at < static_cast<int>(fs::file_size(file())); at += 3 * 4096) {
      in.seekp(at);
      in.write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    }
  }
  std::string dir_;
};

TEST_F(JournalVerbs, ASoundOneIsCalledSo) {
  for (const auto& name : {dir_, dir_ + "/", file()}) {
    const auto check = run_cli({"journal", "check", name});
    EXPECT_EQ(check.code, kOk) << check.out << check.err;
    EXPECT_THAT(check.out, HasSubstr("200 jobs"));
    EXPECT_THAT(check.out, HasSubstr("the journal is sound"));
  }
}

TEST_F(JournalVerbs, AllOfItIsExportedByLines) {
  const auto all = run_cli({"journal", "export", dir_});
  EXPECT_EQ(all.code, kOk) << all.err;
  EXPECT_THAT(all.out, HasSubstr(R"({"batch":{"first":3,"count":1,"is_instance":false,"jobspec":)" +
                                 instance::testing::a_jobspec() + "}}"));
  EXPECT_THAT(all.out, HasSubstr(R"("name":"submit")"));
  EXPECT_THAT(all.out, HasSubstr(R"({"record":{"path":"/200")"));
}

TEST_F(JournalVerbs, ADamagedOneIsRepairedAndTheOldOneKept) {
  damage();
  const auto check = run_cli({"journal", "check", dir_});
  EXPECT_EQ(check.code, kFailed) << check.out;
  EXPECT_THAT(check.out, HasSubstr("holon journal repair " + dir_));
  const auto repair = run_cli({"journal", "repair", dir_});
  EXPECT_EQ(repair.code, kOk) << repair.out << repair.err;
  EXPECT_THAT(repair.out, HasSubstr("lost: table"));
  EXPECT_THAT(repair.out, HasSubstr("journal.db.damaged-"));
  const auto after = run_cli({"journal", "check", dir_});
  EXPECT_EQ(after.code, kOk) << after.out;
}

TEST_F(JournalVerbs, AFolderWithoutOneIsNamed) {
  fs::create_directory(dir_ + "/other");
  for (const char* verb : {"check", "export", "repair"}) {
    const auto ran = run_cli({"journal", verb, dir_ + "/other"});
    EXPECT_EQ(ran.code, kFailed) << verb;
    EXPECT_THAT(ran.err, HasSubstr(dir_ + "/other")) << verb;
  }
}

}  // namespace
}  // namespace holon::cli
