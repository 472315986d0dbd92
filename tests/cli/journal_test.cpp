// holon journal: what it says of a sound journal, of a damaged one, and of what is none.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

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
  // A command line of somebody who may not do everything.
  static Ran run_as_nobody(const std::vector<std::string>& args) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      constexpr uid_t kNobody = 65'534;
      if (geteuid() == 0 && setuid(kNobody) != 0) _exit(99);
      const Ran ran = run_cli(args);
      const std::string text = ran.out + ran.err;
      _exit(write(ends[1], text.data(), text.size()) >= 0 ? ran.code : 99);
    }
    close(ends[1]);
    Ran ran;
    char piece[4096];
    for (ssize_t n = 0; (n = read(ends[0], piece, sizeof piece)) > 0;)
      ran.err.append(piece, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
  }
  std::string dir_;
};

// That it may not be looked at does not mean that it is not there.
TEST_F(JournalVerbs, WhatMayNotBeReadIsNotCalledMissing) {
  ASSERT_EQ(chmod(dir_.c_str(), 0), 0);
  for (const char* verb : {"check", "repair", "export"}) {
    const auto ran = run_as_nobody({"journal", verb, dir_});
    EXPECT_EQ(ran.code, kFailed) << verb;
    EXPECT_THAT(ran.err, HasSubstr(file() + ": Permission denied")) << verb;
  }
  ASSERT_EQ(chmod(dir_.c_str(), 0700), 0);
}

TEST_F(JournalVerbs, AReportOfADamagedOneSaysThatJobsMayBeMissing) {
  const std::string page = dir_ + "/page.html";
  {
    auto journal = instance::Journal::open(file(), instance::Journal::Sync::normal);
    ASSERT_TRUE(journal);
    journal->add_batch({JobId(201), 1, instance::testing::a_jobspec(), false});
    msg::JobRecord ran;
    ran.path = "/201";
    ran.id = 201;
    ran.state = "INACTIVE";
    ran.result = "COMPLETED";
    ran.t_submit = 1'000;
    ran.t_start = 2'000;
    ran.t_finish = ran.t_inactive = 3'000;
    journal->add_inactive(ran);
    ASSERT_TRUE(journal->commit());
  }
  const auto whole = run_cli({"report", dir_, "-o", page});
  EXPECT_EQ(whole.code, kOk) << whole.err;
  EXPECT_EQ(whole.err, "");
  {
    SQLite::Database db(file(), SQLite::OPEN_READWRITE);
    db.exec("UPDATE jobs SET record = x'00' WHERE id = 7");
    db.exec("INSERT INTO meta VALUES('journal.condemned', 'it made no sense')");
  }
  const auto ran = run_cli({"report", dir_, "-o", page});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_THAT(ran.err, HasSubstr("holon report: the journal is damaged: job 7: its record\n"));
  EXPECT_THAT(ran.err, HasSubstr("holon report: the journal is damaged: it made no sense\n"));
  EXPECT_THAT(ran.err, HasSubstr("holon journal check " + dir_));
  std::stringstream text;
  text << std::ifstream(page).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("jobs that cannot be read are left out"));
}

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
