#include "standalone/accounts.hpp"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>

#include <algorithm>
#include <filesystem>

#include "standalone/remembered.hpp"
#include "tests/standalone/own_etc.hpp"

namespace holon::standalone {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

TEST(Accounts, AnswerAsTheCLibraryDoesForEveryUserOfThisMachine) {
  const Sources here;
  std::size_t seen = 0;
  const auto users = users_of_file(here).value();
  for (const User& user : users) {
    SCOPED_TRACE(user.name);
    const passwd* const entry = getpwnam(user.name.c_str());
    ASSERT_NE(entry, nullptr);
    const auto named = user_named(here, user.name).value();
    ASSERT_TRUE(named);
    EXPECT_EQ(named->uid, entry->pw_uid);
    EXPECT_EQ(named->gid, entry->pw_gid);
    EXPECT_EQ(named->home, entry->pw_dir);
    EXPECT_EQ(named->shell, entry->pw_shell);
    EXPECT_EQ(named->comment, entry->pw_gecos);
    const passwd* const numbered = getpwuid(user.uid);
    ASSERT_NE(numbered, nullptr);
    EXPECT_EQ(user_numbered(here, user.uid).value()->name, numbered->pw_name);
    ++seen;
  }
  EXPECT_GT(seen, 0u);
}

TEST(Accounts, FindTheGroupsThatTheCLibraryFinds) {
  const Sources here;
  const auto users = users_of_file(here).value();
  for (const User& user : users) {
    SCOPED_TRACE(user.name);
    std::vector<gid_t> wanted(256);
    int count = static_cast<int>(wanted.size());
    ASSERT_GE(getgrouplist(user.name.c_str(), user.gid, wanted.data(), &count), 0);
    wanted.resize(static_cast<std::size_t>(count));
    const auto found = groups_of(here, user.name, user.gid).value();
    EXPECT_THAT(found, UnorderedElementsAreArray(wanted));
    EXPECT_EQ(found.front(), user.gid);
    for (const gid_t id : wanted)
      if (const ::group* const entry = getgrgid(id); entry != nullptr) {
        ASSERT_TRUE(group_numbered(here, id).value()) << id;
        EXPECT_EQ(group_numbered(here, id).value()->name, entry->gr_name);
      }
  }
}

TEST(Accounts, SayThatThereIsNone) {
  const OwnEtc etc;
  etc.write("passwd", "ann:x:1000:1000::/home:/bin/sh\n");
  EXPECT_FALSE(user_named(etc.sources(), "bob").value());
  EXPECT_FALSE(user_numbered(etc.sources(), 1001).value());
  EXPECT_FALSE(group_named(etc.sources(), "staff").value()) << "there is no file of groups";
}

TEST(Accounts, PassOverLinesThatAreNoEntries) {
  const OwnEtc etc;
  etc.write("passwd",
            "# ann:x:1:1::/:/bin/sh\n+ann::::::\nann:x:one:1::/:/bin/sh\nann:x:1:1::/\n"
            "ann:x:-1:1::/:/bin/sh\n\nann:x:7:8:Ann, A.:/net/ann:/bin/sh\nann:x:9:9::/:/bin/no\n");
  const auto ann = user_named(etc.sources(), "ann").value();
  ASSERT_TRUE(ann);
  EXPECT_EQ(ann->uid, 7u);
  EXPECT_EQ(ann->gid, 8u);
  EXPECT_EQ(ann->comment, "Ann, A.");
}

// The machine's LDAP, for a program that cannot load the module for it.
TEST(Accounts, AskGetentForWhatNoFileHas) {
  const OwnEtc etc;
  etc.write("nsswitch.conf", "passwd: files [NOTFOUND=continue] ldap # all\ngroup:files ldap\n");
  etc.write("passwd", "ann:x:1000:1000::/:/bin/sh\n");
  etc.write("group", "staff:x:50:eve,ann\nothers:x:60:ann\n");
  etc.answer("passwd eve", "eve:*:70001:70000:Eve:/net/eve:/bin/bash");
  etc.answer("passwd 70001", "eve:*:70001:70000:Eve:/net/eve:/bin/bash");
  etc.answer("group 70000", "physics:*:70000:eve");
  etc.answer("group physics", "physics:*:70000:eve");
  etc.answer("initgroups eve", "eve                   70000 70007 50");
  ASSERT_TRUE(user_named(etc.sources(), "eve").value());
  EXPECT_EQ(user_named(etc.sources(), "eve").value()->home, "/net/eve");
  ASSERT_TRUE(user_numbered(etc.sources(), 70001).value());
  EXPECT_EQ(user_numbered(etc.sources(), 70001).value()->name, "eve");
  ASSERT_TRUE(group_numbered(etc.sources(), 70000).value());
  EXPECT_EQ(group_numbered(etc.sources(), 70000).value()->name, "physics");
  EXPECT_EQ(group_named(etc.sources(), "physics").value()->gid, 70000u);
  EXPECT_THAT(groups_of(etc.sources(), "eve", 70000).value(), ElementsAre(70000, 50, 70007));
  EXPECT_FALSE(user_named(etc.sources(), "nobody-at-all").value());
}

// getent takes "70001" for a number: a user of that name there is not.
TEST(Accounts, DoNotTakeANumberForAName) {
  const OwnEtc etc;
  etc.write("nsswitch.conf", "passwd: files ldap\n");
  etc.answer("passwd 70001", "eve:*:70001:70000:Eve:/net/eve:/bin/bash");
  EXPECT_FALSE(user_named(etc.sources(), "70001").value());
}

TEST(Accounts, AskNobodyWhereFilesAreAllThereIs) {
  const OwnEtc etc;
  etc.write("nsswitch.conf", "passwd: files\n");
  etc.answer("passwd eve", "eve:*:70001:70000:Eve:/net/eve:/bin/bash");
  EXPECT_FALSE(user_named(etc.sources(), "eve").value());
  EXPECT_EQ(etc.questions(), "");
}

// A directory that does not answer has not said that there is nobody of the name.
TEST(Accounts, SayThatTheyCouldNotAsk) {
  const OwnEtc etc;
  etc.write("nsswitch.conf", "passwd: files ldap\ngroup: files ldap\n");
  etc.write("passwd", "ann:x:1000:1000::/:/bin/sh\n");
  etc.program("#!/bin/sh\nkill -9 $$\n");
  EXPECT_TRUE(user_named(etc.sources(), "ann").value()) << "a file has that name";
  EXPECT_FALSE(user_named(etc.sources(), "eve"));
  EXPECT_FALSE(user_numbered(etc.sources(), 70001));
  EXPECT_FALSE(group_named(etc.sources(), "physics"));
  EXPECT_FALSE(group_numbered(etc.sources(), 70000));
  EXPECT_FALSE(groups_of(etc.sources(), "ann", 1000)) << "those of the file are not all";
}

TEST(Accounts, SayThatAFileCouldNotBeRead) {
  const OwnEtc etc;
  std::filesystem::create_directory(etc.sources().etc + "/passwd");
  EXPECT_FALSE(user_named(etc.sources(), "ann"));
  EXPECT_FALSE(users_of_file(etc.sources()));
}

// A listing of many rows starts a process for each name, and not for each row.
TEST(Accounts, AskOnceForANameWhereAnswersAreRemembered) {
  const OwnEtc etc;
  etc.write("nsswitch.conf", "passwd: files ldap\ngroup: files ldap\n");
  etc.answer("passwd eve", "eve:*:70001:70000:Eve:/net/eve:/bin/bash");
  etc.answer("group physics", "physics:*:70000:eve");
  etc.answer("initgroups eve", "eve 70000 70007");
  RememberedAnswers remembered({}, [] { return Time{0}; });
  Sources sources = etc.sources();
  sources.remembered = &remembered;
  for (int row = 0; row < 50; ++row) {
    EXPECT_EQ(user_named(sources, "eve").value()->uid, 70001u);
    EXPECT_EQ(group_named(sources, "physics").value()->gid, 70000u);
    EXPECT_FALSE(user_numbered(sources, 70002).value());
    EXPECT_THAT(groups_of(sources, "eve", 70000).value(), ElementsAre(70000, 70007));
  }
  EXPECT_EQ(etc.questions(), "passwd eve\ngroup physics\npasswd 70002\ninitgroups eve\n");
  etc.write("passwd", "eve:x:5:5::/:/bin/sh\n");
  EXPECT_EQ(user_named(sources, "eve").value()->uid, 5u) << "a file is read each time";
}

}  // namespace
}  // namespace holon::standalone
