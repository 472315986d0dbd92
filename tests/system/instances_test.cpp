// Instances that can be found again: the registry, the listing, and what clears up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Instances : public ::testing::Test {
 protected:
  std::string dir(const std::string& name) const { return sandbox_.folder() + "/" + name; }
  std::vector<std::string> options(const std::string& name) const {
    return {"--resources", "node=1/core=1", "--state-dir", dir(name)};
  }
  // An instance that has run and ended with so many jobs in its queue.
  void leave(const std::string& name, int waiting) {
    Instance instance(sandbox_, options(name));
    if (waiting > 0)
      sandbox_.ok({"submit", "--urgency", "0", "--count", std::to_string(waiting), "true"});
  }
  json listed() { return sandbox_.json({"instances"})["instances"]; }
  json listed_in(const std::string& name) {
    for (const auto& one : listed())
      if (one["state_dir"] == dir(name)) return one;
    return json::object();
  }
  // As if nobody had touched it for so many days.
  void age(const std::string& name, int days) {
    const auto then = fs::file_time_type::clock::now() - std::chrono::hours(24 * days);
    for (const auto& file : fs::directory_iterator(dir(name)))
      fs::last_write_time(file.path(), then);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
        (std::chrono::system_clock::now() - std::chrono::hours(24 * days)).time_since_epoch());
    change_entry(name, [&](json& entry) { entry["ended"] = ms.count(); });
  }
  void change_entry(const std::string& name, const std::function<void(json&)>& change) {
    for (const auto& file : fs::directory_iterator(registry())) {
      std::ifstream in(file.path());
      json entry = json::parse(in);
      if (entry["state_dir"] != dir(name)) continue;
      change(entry);
      std::ofstream(file.path()) << entry;
    }
  }
  std::string registry() const { return sandbox_.folder() + "/state/holon/instances"; }
  std::size_t registered() const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& file : fs::directory_iterator(registry())) ++n;
    return n;
  }

  Sandbox sandbox_;
};

TEST_F(Instances, ThatRunAndThatHaveEndedAreListedWithTheirJobs) {
  leave("old", 3);
  Instance instance(sandbox_, options("new"));
  sandbox_.ok({"submit", "sleep", "100"});
  sandbox_.ok({"submit", "--urgency", "0", "true"});
  ASSERT_TRUE(eventually([&] { return listed_in("new")["running"] == 1; }));
  const auto now = listed_in("new"), old = listed_in("old");
  EXPECT_EQ(now["state"], "up");
  EXPECT_EQ(now["pending"], 1);
  EXPECT_EQ(now["uri"], instance.uri());
  EXPECT_EQ(now["folder"], sandbox_.folder());
  EXPECT_GT(now["bytes"], 0);
  EXPECT_EQ(old["state"], "ended");
  EXPECT_EQ(old["pending"], 3);
  EXPECT_EQ(old["running"], 0);
  EXPECT_GE(old["t_ended"], old["t_started"]);
  const std::string table = sandbox_.ok({"instances"});
  EXPECT_THAT(table, ContainsRegex("NAME +STATE +AGE +RUNNING +WAITING +SIZE +STARTED IN +STATE "
                                   "DIRECTORY"));
  EXPECT_THAT(table, ContainsRegex(" up +[^ ]+ +1 +1 +[0-9.]+ [KM]iB +~ +~/new\n"));
  EXPECT_THAT(table, ContainsRegex(" ended +[^ ]+ +3 +[0-9.]+ [KM]iB +~ +~/old\n"));
}

TEST_F(Instances, SayWhereTheirStateIs) {
  Instance instance(sandbox_, options("here"));
  EXPECT_EQ(sandbox_.json({"uptime"})["state_dir"], dir("here"));
  EXPECT_THAT(sandbox_.ok({"uptime"}), HasSubstr(", state in ~/here\n"));
  EXPECT_THAT(sandbox_.ok({"tree"}), HasSubstr("\n   state in ~/here\n"));
  EXPECT_EQ(sandbox_.json({"tree"})["state_dir"], dir("here"));
  EXPECT_THAT(sandbox_.ok({"config", "get", "instance.state-dir"}),
              ContainsRegex("instance.state-dir +" + dir("here") + " +--state-dir\n"));
  const Ran set = sandbox_.run({"start", "--conf", "instance.state-dir=x", "true"});
  EXPECT_EQ(set.code, 2);
  EXPECT_THAT(set.err, HasSubstr("`holon start --state-dir DIR` says it"));
}

TEST_F(Instances, AStartSaysThatJobsWaitInAnEarlierOneOfThisFolder) {
  leave("older", 1);
  leave("newer", 2);
  const Ran told = sandbox_.run({"start", "--resources", "node=1/core=1", "true"});
  EXPECT_EQ(told.code, 0);
  EXPECT_THAT(told.err, HasSubstr("holon start: 2 jobs wait in an earlier instance of this folder; "
                                  "`holon start --state-dir ~/newer` goes on with them; `holon "
                                  "instances` lists 1 more"));
  const Ran named =
      sandbox_.run({"start", "--state-dir", dir("third"), "--resources", "node=1/core=1", "true"});
  EXPECT_THAT(named.err, Not(HasSubstr("earlier instance")));
}

// Tasks of an array count one by one; those that are over, or ended with the instance, do not.
TEST_F(Instances, TasksThatWaitAreCountedOneByOne) {
  {
    Instance instance(sandbox_, options("array"));
    sandbox_.ok({"submit", "--array", "1-9", "sh", "-c",
                 "test $HOLON_ARRAY_INDEX -lt 4 || exec sleep 1000"});
    ASSERT_TRUE(eventually([&] {
      const auto now = sandbox_.json({"uptime"});
      return now["inactive"] == 3 && now["running"] == 1;
    }));
  }
  EXPECT_EQ(listed_in("array")["pending"], 5);
  Instance again(sandbox_, options("array"));
  EXPECT_EQ(sandbox_.json({"uptime"})["pending"].get<int>() +
                sandbox_.json({"uptime"})["running"].get<int>(),
            5);
}

TEST_F(Instances, WhatIsOldIsRemovedUnlessJobsWaitInIt) {
  leave("old", 0);
  leave("waiting", 1);
  leave("young", 0);
  age("old", 40);
  age("waiting", 40);
  Instance running(sandbox_, options("running"));
  const Ran ran = sandbox_.run({"instances", "--remove", "--older", "30d"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, ContainsRegex("removed ~/old \\([0-9.]+ [KM]iB\\)\n"));
  EXPECT_THAT(ran.out,
              HasSubstr("kept ~/waiting: 1 job waits in it; --force removes it all the same\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("young")));
  EXPECT_THAT(ran.out, Not(HasSubstr("running")));
  EXPECT_FALSE(fs::exists(dir("old")));
  EXPECT_TRUE(fs::exists(dir("waiting")) && fs::exists(dir("young")));
  EXPECT_EQ(registered(), 3u);
  sandbox_.ok({"instances", "--remove", "--older", "30d", "--force"});
  EXPECT_FALSE(fs::exists(dir("waiting")));
  const Ran lives = sandbox_.run({"instances", "--remove", "--force", dir("running")});
  EXPECT_EQ(lives.code, 1);
  EXPECT_THAT(lives.out, HasSubstr("kept ~/running: it runs\n"));
}

TEST_F(Instances, AFolderWithOtherFilesIsNotRemoved) {
  leave("mixed", 0);
  std::ofstream(dir("mixed") + "/results.csv") << "mine\n";
  const Ran ran = sandbox_.run({"instances", "--remove", "--force", dir("mixed")});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("kept ~/mixed: results.csv in it is nothing of an instance"));
  EXPECT_TRUE(fs::exists(dir("mixed") + "/journal.db"));
}

TEST_F(Instances, WhatWasRemovedByHandIsForgotten) {
  leave("gone", 0);
  ASSERT_EQ(registered(), 1u);
  fs::remove_all(dir("gone"));
  EXPECT_EQ(listed(), json::array());
  EXPECT_EQ(registered(), 0u);
}

// Several hosts share a home: what one cannot see the other may.
TEST_F(Instances, OfAnotherHostNothingIsForgottenOrRemoved) {
  leave("shared", 0);
  change_entry("shared", [](json& entry) {
    entry["host"] = "elsewhere";
    entry["ended"] = 0;
  });
  std::ofstream(registry() + "/far.json")
      << R"({"state_dir": "/nowhere/at/all", "host": "elsewhere", "name": "far", "started": 1})";
  EXPECT_EQ(listed_in("shared")["state"], "unknown");
  const auto all = listed();
  ASSERT_EQ(all.size(), 2u);
  const Ran ran = sandbox_.run({"instances", "--remove", dir("shared")});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("ran on elsewhere, which has not said that it ended"));
  EXPECT_THAT(sandbox_.ok({"instances"}), HasSubstr("on elsewhere; not to be seen from here"));
  EXPECT_EQ(registered(), 2u);
  sandbox_.ok({"instances", "--remove", "--force", dir("shared")});
  EXPECT_FALSE(fs::exists(dir("shared")));
  EXPECT_THAT(sandbox_.run({"instances", "--remove", "--older", "1d"}).out,
              HasSubstr("kept /nowhere/at/all: on elsewhere; not to be seen from here; --force "
                        "forgets it\n"));
  sandbox_.ok({"instances", "--remove", "--older", "1d", "--force"});
  EXPECT_EQ(registered(), 0u);
}

TEST_F(Instances, TwoThatStartAtOnceAreBothRegistered) {
  std::vector<Process> starts;
  for (int i = 0; i < 4; ++i)
    starts.push_back(sandbox_.start({"start", "--resources", "node=1/core=1", "--state-dir",
                                     dir("s" + std::to_string(i)), "true"}));
  for (auto& start : starts) EXPECT_EQ(start.finish().code, 0);
  EXPECT_EQ(listed().size(), 4u);
  EXPECT_EQ(registered(), 4u) << "and nothing else is there";
}

TEST_F(Instances, AHomeThatCannotBeWrittenKeepsNoneFromStarting) {
  sandbox_.environment()["XDG_STATE_HOME"] = sandbox_.write_file("no-folder", "");
  Instance instance(sandbox_, options("here"));
  EXPECT_EQ(listed_in("here")["state"], "up");
}

// As those of the version before, and of a home that was full.
TEST_F(Instances, StateInTheUsualPlaceIsFoundWithoutTheRegistry) {
  sandbox_.ok({"start", "--resources", "node=1/core=1", "true"});
  fs::remove_all(registry());
  const auto all = listed();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(all[0]["state_dir"].get<std::string>(),
              HasSubstr(sandbox_.folder() + "/state/holon/holon-"));
  EXPECT_EQ(all[0]["state"], "ended");
}

TEST_F(Instances, OneThatWasKilledHasEnded) {
  {
    Instance instance(sandbox_, options("killed"));
    sandbox_.ok({"submit", "--urgency", "0", "true"});
  }
  change_entry("killed", [](json& entry) { entry["ended"] = 0; });
  EXPECT_EQ(listed_in("killed")["state"], "ended");
  EXPECT_EQ(listed_in("killed")["pending"], 1);
}

TEST_F(Instances, SlipsAreNamed) {
  for (const auto& [words, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--remove"}, "--remove: say which ones"},
           {{"--force"}, "--force: only with --remove"},
           {{"--older", "30"}, "'30' is no age; accepted are a number and a unit"},
           {{"nowhere"}, "nowhere: no instance has kept its state there"}}) {
    std::vector<std::string> all = {"instances"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_THAT(sandbox_.run(all).err, HasSubstr(says));
  }
}

}  // namespace
}  // namespace holon::system_test
