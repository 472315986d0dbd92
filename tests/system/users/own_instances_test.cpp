// Each user of an instance for several has an instance of their own: [per-user], and what operators
// give by hand.
#include <gmock/gmock.h>

#include "tests/system/users/users_fixture.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class OwnInstances : public Users {
 protected:
  void TearDown() override {
    end_all_own();
    Users::TearDown();
  }
  // Of the node at the top of the tree that this user sees.
  std::string own_path(const std::string& user) const { return json(user, {"tree"})["path"]; }
  void end_all_own() const {
    if (!uri_.empty()) (void)as("root", {"cancel", "--all"});
  }
  std::int64_t cores_of(const std::string& user) const {
    return json(user, {"tree"})["cores"].get<std::int64_t>();
  }
};

TEST_F(OwnInstances, TheFirstSubmissionMakesIt) {
  start({"--conf", "per-user.cores=2", "--conf", "per-user.policy=easy", "--conf",
         "per-user.cores-of=bob=1"});
  EXPECT_EQ(own_path("ann"), "/");
  EXPECT_EQ(ok("ann", {"run", "id", "-un"}), "ann");
  EXPECT_EQ(ok("bob", {"run", "id", "-un"}), "bob");
  EXPECT_EQ(own_path("ann"), "/1");
  EXPECT_EQ(own_path("bob"), "/2");
  EXPECT_EQ(cores_of("ann"), 2);
  EXPECT_EQ(cores_of("bob"), 1);
  EXPECT_EQ(json("ann", {"tree"})["policy"], "easy");
  EXPECT_EQ(json("ann", {"tree"})["name"], "ann");
  // Its jobs have numbers of their own, and further ones go there, too.
  EXPECT_EQ(ok("ann", {"submit", "sleep", "1000"}), "2");
  EXPECT_EQ(ok("bob", {"submit", "--count", "100", "sleep", "1000"}).substr(0, 2), "2\n");
  EXPECT_EQ(ok("ann", {"run", "echo", "runs"}), "runs");  // bob's hundred take nothing of hers
  EXPECT_EQ(json("ann", {"jobs"})["jobs"].size(), 1U);
  EXPECT_EQ(json("ann", {"jobs"})["jobs"][0]["path"], "/1/2");
  EXPECT_EQ(json("bob", {"jobs"})["jobs"].size(), 100U);
  EXPECT_EQ(processes_of(kAnn, "holon broker").size(), 1U);
  // Past their own instance nobody submits; operators do.
  const Ran past = as("ann", {"-i", "/", "submit", "true"});
  EXPECT_NE(past.code, 0);
  EXPECT_THAT(past.err, HasSubstr("an instance of their own"));
  EXPECT_TRUE(was_refused("ann", "submit", "an instance of their own"));
  EXPECT_EQ(ok("eve", {"run", "id", "-un"}), "eve");
  // Who has what.
  const auto users = json("eve", {"users"})["users"];
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[0]["user"], "ann");
  EXPECT_EQ(users[0]["cores"], 2);
  EXPECT_EQ(users[0]["children"][0], "/1");
  EXPECT_EQ(users[1]["cores"], 1);
  EXPECT_EQ(json("ann", {"users"})["users"].size(), 1U);
  EXPECT_EQ(json("eve", {"tree"})["children"].size(), 2U);
}

TEST_F(OwnInstances, AGraphMayBeTheFirstSubmission) {
  start({"--conf", "per-user.cores=2"});
  const std::string file = home_of("ann") + "/graph.toml";
  std::ofstream(file) << "[[task]]\nname = 'one'\ncommand = ['true']\n"
                         "[[task]]\nname = 'two'\ncommand = ['true']\nafterok = 'one'\n";
  EXPECT_EQ(ok("ann", {"submit", "--file", file}), "one 1\ntwo 2");
  ok("ann", {"job", "wait", "--all"});
  EXPECT_EQ(own_path("ann"), "/1");
  EXPECT_EQ(json("ann", {"jobs", "-a"})["jobs"].size(), 2U);
}

TEST_F(OwnInstances, AShareIsOfAllCores) {
  start({"--conf", "per-user.share=0.5"});
  EXPECT_EQ(ok("ann", {"run", "id", "-un"}), "ann");
  EXPECT_EQ(cores_of("ann"), 3);
}

// Two of six are hers, and the others are idle.
TEST_F(OwnInstances, OneMayHaveMoreWhileOthersDoNotUseIt) {
  start({"--conf", "per-user.cores=2", "--conf", "per-user.most=4"});
  EXPECT_EQ(ok("ann", {"run", "-n", "4", "-t", "1m", "id", "-un"}), "ann\nann\nann\nann");
  EXPECT_THAT(ok("eve", {"grant", "-i", "/", "-R"}), HasSubstr("extra"));
  const Ran never = as("ann", {"run", "-n", "5", "-t", "1m", "true"});
  EXPECT_NE(never.code, 0);
  EXPECT_THAT(never.err, HasSubstr("this instance can hold 4 at most"));
  const Ran wider = as("ann", {"-i", "/", "update", "1", "--elastic", "5"});
  EXPECT_NE(wider.code, 0);
  EXPECT_THAT(wider.err, HasSubstr("per-user.most"));
  EXPECT_EQ(ok("eve", {"-i", "/", "update", "1", "--elastic", "5"}), "");
  EXPECT_EQ(ok("ann", {"run", "-n", "5", "-t", "1m", "echo", "five"}),
            "five\nfive\nfive\nfive\nfive");
}

TEST_F(OwnInstances, OneLastsNoLongerThanTheConfigurationAndOperatorsSay) {
  start({"--conf", "per-user.cores=2", "--conf", "per-user.limit=1h"});
  EXPECT_EQ(ok("ann", {"run", "echo", "runs"}), "runs");
  for (const char* limit : {"+1h", "3h", "inf"}) {
    const Ran longer = as("ann", {"-i", "/", "update", "1", "-t", limit});
    EXPECT_NE(longer.code, 0) << limit;
    EXPECT_THAT(longer.err, HasSubstr("per-user.limit")) << limit;
  }
  EXPECT_EQ(ok("ann", {"-i", "/", "update", "1", "-t", "-10m"}), "");
  EXPECT_EQ(ok("eve", {"-i", "/", "update", "1", "-t", "+2h"}), "");
}

// What idles goes back to those who wait for it, and comes again when it is wanted.
TEST_F(OwnInstances, AnIdlePartGoesBack) {
  start({"--conf", "per-user.cores=4", "--conf", "per-user.idle=10s"});
  const std::string job = ok("ann", {"submit", "sleep", "1000"});
  EXPECT_EQ(own_path("ann"), "/1");
  Process first = starts("bob", {HOLON_BINARY, "run", "id", "-un"});
  const std::string notice = first.read_error_line();
  EXPECT_THAT(notice, HasSubstr("/2, the instance of your own, waits"));
  EXPECT_THAT(notice, HasSubstr("processors"));
  ok("ann", {"cancel", job});
  wait_for("root", "1", "INACTIVE");
  const Ran ran = first.finish();  // in /2, which has waited
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "bob\n");
  wait_for("root", "2", "INACTIVE");
  wait_for_none_of(kBob);
  // What was done in it is still to be seen, and the next one is another.
  EXPECT_THAT(ok("eve", {"jobs", "-a", "-R"}), HasSubstr("/1/1"));
  EXPECT_THAT(ok("ann", {"jobs", "-a"}), HasSubstr("sleep"));
  EXPECT_EQ(ok("ann", {"run", "id", "-un"}), "ann");
  EXPECT_EQ(own_path("ann"), "/3");
}

// A first submission on a full machine waits for its instance, also while the broker is another
// one.
TEST_F(OwnInstances, TheFirstSubmissionWaitsWithItsInstance) {
  start({"--conf", "per-user.cores=4"});
  const std::string job = ok("ann", {"submit", "sleep", "1000"});
  Process submit = starts("bob", {HOLON_BINARY, "submit", "--name", "patient", "id", "-un"});
  EXPECT_THAT(submit.read_error_line(), HasSubstr("/2, the instance of your own, waits"));
  const auto users = json("eve", {"users"})["users"];
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[1]["user"], "bob");
  EXPECT_EQ(users[1]["waiting"][0]["path"], "/2");
  EXPECT_THAT(users[1]["waiting"][0]["reason"].get<std::string>(), HasSubstr("processors"));
  EXPECT_THAT(ok("bob", {"users"}), HasSubstr("/2"));
  EXPECT_EQ(json("bob", {"-i", "/", "jobs"})["jobs"][0]["state"], "SCHED");
  kill(processes_of(kInstance, "holon broker").at(0).pid, SIGKILL);
  wait_for("root", "1", "RUN");
  EXPECT_EQ(json("eve", {"users"})["users"][1]["waiting"][0]["path"], "/2");
  ok("eve", {"cancel", "1"});
  const Ran ran = submit.finish();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "1\n");
  EXPECT_EQ(own_path("bob"), "/2");
  ok("bob", {"job", "wait", "1"});
  EXPECT_EQ(ok("bob", {"job", "output", "1"}), "bob");
  EXPECT_EQ(json("bob", {"jobs", "-a"})["jobs"].size(), 1U);  // once
}

// What ends between the question and the submission is not where it is lost: the instance here ends
// whenever it has nothing to do for a moment.
TEST_F(OwnInstances, ASubmissionGoesToTheNextOneWhereOneEnds) {
  start({"--conf", "per-user.cores=2", "--conf", "per-user.idle=1ms"});
  std::size_t lasts = 0;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "round" + std::to_string(i);
    const Ran ran = as("ann", {"submit", "--name", name, "true"});
    // One that idled before anything came says that it ended before it was up.
    if (ran.code != 0) {
      EXPECT_THAT(ran.err, HasSubstr("ended before it was up"));
      continue;
    }
    ++lasts;
    std::size_t found = 0;
    for (int look = 0; look < 1'000 && found == 0; ++look) {
      const auto all = json("eve", {"jobs", "-a", "-R"});
      for (const auto& one : all["jobs"]) found += one["name"].get<std::string>() == name ? 1 : 0;
    }
    EXPECT_EQ(found, 1U) << name;
  }
  EXPECT_GT(lasts, 0U);
}

TEST_F(OwnInstances, ItsPolicyIsTheFileThatItsUserHas) {
  start({"--conf", "per-user.cores=2", "--conf", "per-user.policy=fcfs"});
  const auto write_policy = [this](const std::string& text) {
    return shell_as("ann",
                    "mkdir -p ~/.config/holon && cat > ~/.config/holon/policy.lua <<'END'\n" +
                        text + "\nEND\n")
        .code;
  };
  ASSERT_EQ(write_policy("base = 'easy'\nfunction admit(job)\n"
                         "  if job.name == 'unwanted' then return false, 'I said so' end\n"
                         "  return true\nend"),
            0);
  ASSERT_EQ(chmod((home_of("ann") + "/.config/holon/policy.lua").c_str(), 0600), 0);
  EXPECT_EQ(ok("ann", {"run", "id", "-un"}), "ann");
  EXPECT_THAT(json("ann", {"tree"})["policy"].get<std::string>(), HasSubstr("policy.lua"));
  const Ran unwanted = as("ann", {"submit", "--name", "unwanted", "true"});
  EXPECT_NE(unwanted.code, 0);
  EXPECT_THAT(unwanted.err, HasSubstr("I said so"));
  EXPECT_EQ(ok("bob", {"run", "id", "-un"}), "bob");  // who has none
  EXPECT_EQ(json("bob", {"tree"})["policy"], "fcfs");
  // One that cannot be read says so, with file and line.
  ok("eve", {"cancel", "1"});
  wait_for("eve", "1", "INACTIVE");
  ASSERT_EQ(write_policy("base = 'easy'\nfunction admit(job"), 0);
  const Ran broken = as("ann", {"run", "true"});
  EXPECT_NE(broken.code, 0);
  EXPECT_THAT(broken.err, HasSubstr("has ended before it was up"));
  EXPECT_THAT(as("ann", {"job", "output", "/3"}).err, HasSubstr("policy.lua:3"));
}

// A link to what its user may not read is read as the user.
TEST_F(OwnInstances, APolicyFileIsReadAsItsUser) {
  const std::string secret = folder() + "/secret.lua";
  std::ofstream(secret) << "-- root's secret\nbase = 'easy'\n";
  ASSERT_EQ(chmod(secret.c_str(), 0600), 0);
  start({"--conf", "per-user.cores=2"});
  ASSERT_EQ(
      shell_as("ann", "mkdir -p ~/.config/holon && ln -s " + secret + " ~/.config/holon/policy.lua")
          .code,
      0);
  const Ran ran = as("ann", {"run", "true"});
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(as("ann", {"job", "output", "/1"}).err, HasSubstr("Permission denied"));
}

TEST_F(OwnInstances, AnOperatorGivesOneByHand) {
  start();
  const std::string id = ok("eve", {"alloc", "--for", "ann", "--bg", "-n", "2"});
  EXPECT_EQ(ok("ann", {"run", "id", "-un"}), "ann");
  EXPECT_EQ(own_path("ann"), "/" + id);
  EXPECT_EQ(cores_of("ann"), 2);
  EXPECT_EQ(ok("bob", {"run", "id", "-un"}), "bob");  // who has none, in the instance itself
  EXPECT_EQ(own_path("bob"), "/");
  EXPECT_NE(as("bob", {"-i", "/" + id, "run", "true"}).code, 0);
}

// Whoever waits for a child is told what it said before it ended.
TEST_F(OwnInstances, AChildThatCannotBeginSaysWhyWhereItIsWaitedFor) {
  start();
  ASSERT_EQ(shell_as("ann", "mkdir -p ~/.local && echo > ~/.local/state").code, 0);
  const Ran ran = as("eve", {"alloc", "--for", "ann", "--bg", "-n", "2"});
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr(".local/state"));
}

// A broker that is started again knows whose they are.
TEST_F(OwnInstances, TheyOutliveABroker) {
  start({"--conf", "per-user.cores=2"});
  EXPECT_EQ(ok("ann", {"run", "id", "-un"}), "ann");
  kill(processes_of(kInstance, "holon broker").at(0).pid, SIGKILL);
  EXPECT_EQ(ok("ann", {"run", "id", "-un"}), "ann");
  EXPECT_EQ(own_path("ann"), "/1");
}

// Whoever submits while one cannot come up is told so, and the one that can comes up after a pause.
TEST_F(OwnInstances, OneThatCannotComeUpSaysWhyAndLaterOneThatCanDoes) {
  start({"--conf", "per-user.cores=2"});
  ASSERT_EQ(shell_as("ann", "mkdir -p ~/.local && echo > ~/.local/state").code, 0);
  for (int i = 0; i < 2; ++i) {  // the second one in the pause or, on a slow machine, after it
    const Ran ran = as("ann", {"run", "true"});
    EXPECT_NE(ran.code, 0);
    EXPECT_THAT(ran.err, HasSubstr(", the instance of your own, has ended before it was up"));
  }
  EXPECT_EQ(ok("bob", {"run", "id", "-un"}), "bob");  // who has nothing to do with it
  ASSERT_EQ(shell_as("ann", "rm ~/.local/state").code, 0);
  Ran later = as("ann", {"run", "id", "-un"});
  for (int i = 0; i < 600 && later.code != 0; ++i) {
    poll(nullptr, 0, 100);
    later = as("ann", {"run", "id", "-un"});
  }
  EXPECT_EQ(later.out, "ann\n") << later.err;
}

// An open array without tasks is nothing to do.
TEST_F(OwnInstances, OneThatHasButOpenArraysEndsAndClosesThem) {
  start({"--conf", "per-user.cores=2", "--conf", "per-user.idle=2s"});
  const std::string array = ok("ann", {"submit", "--open", "true", ":::", "a"});
  EXPECT_EQ(own_path("ann"), "/1");
  wait_for("root", "1", "INACTIVE");
  wait_for_none_of(kAnn);
  const auto jobs = json("eve", {"jobs", "-a", "-R", "--user", "ann"})["jobs"];
  std::size_t found = 0;
  for (const auto& job : jobs) {
    if (job["path"] != "/1/" + array) continue;
    ++found;
    EXPECT_EQ(job["result"], "COMPLETED") << job;
    EXPECT_EQ(job["tasks_completed"], 1) << job;
  }
  EXPECT_EQ(found, 1U) << jobs;
  EXPECT_EQ(json("root", {"jobs", "-a", "1"})["jobs"][0]["result"], "COMPLETED");
}

}  // namespace
}  // namespace holon::system_test
