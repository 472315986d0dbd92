#include "standalone/accounts.hpp"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>

#include <algorithm>

#include "tests/standalone/own_etc.hpp"

namespace holon::standalone {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

TEST(Accounts, AnswerAsTheCLibraryDoesForEveryUserOfThisMachine) {
  const Sources here;
  std::size_t seen = 0;
  for (const User& user : users_of_file(here)) {
    SCOPED_TRACE(user.name);
    const passwd* const entry = getpwnam(user.name.c_str());
    ASSERT_NE(entry, nullptr);
    const auto named = user_named(here, user.name);
    ASSERT_TRUE(named);
    EXPECT_EQ(named->uid, entry->pw_uid);
    EXPECT_EQ(named->gid, entry->pw_gid);
    EXPECT_EQ(named->home, entry->pw_dir);
    EXPECT_EQ(named->shell, entry->pw_shell);
    EXPECT_EQ(named->comment, entry->pw_gecos);
    const passwd* const numbered = getpwuid(user.uid);
    ASSERT_NE(numbered, nullptr);
    EXPECT_EQ(user_numbered(here, user.uid)->name, numbered->pw_name);
    ++seen;
  }
  EXPECT_GT(seen, 0u);
}

TEST(Accounts, FindTheGroupsThatTheCLibraryFinds) {
  const Sources here;
  for (const User& user : users_of_file(here)) {
    SCOPED_TRACE(user.name);
    std::vector<gid_t> wanted(256);
    int count = static_cast<int>(wanted.size());
    ASSERT_GE(getgrouplist(user.name.c_str(), user.gid, wanted.data(), &count), 0);
    wanted.resize(static_cast<std::size_t>(count));
    const auto found = groups_of(here, user.name, user.gid);
    EXPECT_THAT(found, UnorderedElementsAreArray(wanted));
    EXPECT_EQ(found.front(), user.gid);
    for (const gid_t id : wanted)
      if (const ::group* const entry = getgrgid(id); entry != nullptr) {
        ASSERT_TRUE(group_numbered(here, id)) << id;
        EXPECT_EQ(group_numbered(here, id)->name, entry->gr_name);
      }
  }
}

TEST(Accounts, SayThatThereIsNone) {
  const OwnEtc etc;
  etc.write("passwd", "ann:x:1000:1000::/home:/bin/sh\n");
  EXPECT_FALSE(user_named(etc.sources(), "bob"));
  EXPECT_FALSE(user_numbered(etc.sources(), 1001));
  EXPECT_FALSE(group_named(etc.sources(), "staff")) << "there is no file of groups";
}

TEST(Accounts, PassOverLinesThatAreNoEntries) {
  const OwnEtc etc;
  etc.write("passwd",
            "# ann:x:1:1::/:/bin/sh\n+ann::::::\nann:x:one:1::/:/bin/sh\nann:x:1:1::/\n"
            "ann:x:-1:1::/:/bin/sh\n\nann:x:7:8:Ann, A.:/net/ann:/bin/sh\nann:x:9:9::/:/bin/no\n");
  const auto ann = user_named(etc.sources(), "ann");
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
  ASSERT_TRUE(user_named(etc.sources(), "eve"));
  EXPECT_EQ(user_named(etc.sources(), "eve")->home, "/net/eve");
  ASSERT_TRUE(user_numbered(etc.sources(), 70001));
  EXPECT_EQ(user_numbered(etc.sources(), 70001)->name, "eve");
  ASSERT_TRUE(group_numbered(etc.sources(), 70000));
  EXPECT_EQ(group_numbered(etc.sources(), 70000)->name, "physics");
  EXPECT_EQ(group_named(etc.sources(), "physics")->gid, 70000u);
  EXPECT_THAT(groups_of(etc.sources(), "eve", 70000), ElementsAre(70000, 50, 70007));
  EXPECT_FALSE(user_named(etc.sources(), "nobody-at-all"));
}

// getent takes "70001" for a number: a user of that name there is not.
TEST(Accounts, DoNotTakeANumberForAName) {
  const OwnEtc etc;
  etc.write("nsswitch.conf", "passwd: files ldap\n");
  etc.answer("passwd 70001", "eve:*:70001:70000:Eve:/net/eve:/bin/bash");
  EXPECT_FALSE(user_named(etc.sources(), "70001"));
}

TEST(Accounts, AskNobodyWhereFilesAreAllThereIs) {
  const OwnEtc etc;
  etc.write("nsswitch.conf", "passwd: files\n");
  etc.answer("passwd eve", "eve:*:70001:70000:Eve:/net/eve:/bin/bash");
  EXPECT_FALSE(user_named(etc.sources(), "eve"));
  EXPECT_EQ(etc.questions(), "");
}

}  // namespace
}  // namespace holon::standalone
