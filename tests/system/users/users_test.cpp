// One instance for several users: holon start --system. Runs as root only.
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <set>

#include "tests/system/users/users_fixture.hpp"

namespace holon::system_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(Users, OnlyRootStartsAnInstanceForAll) {
  const Ran ran = as("ann", start_words({}));
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("only root"));
  const Ran nobody = sandbox_->run(start_words({"--account", "no-such-account"}));
  EXPECT_THAT(nobody.err, HasSubstr("there is no such user"));
  const Ran root = sandbox_->run(start_words({"--account", "root"}));
  EXPECT_THAT(root.err, HasSubstr("without privilege"));
  fs::create_directory(folder() + "/open");
  ASSERT_EQ(chmod((folder() + "/open").c_str(), 0777), 0);
  const Ran open = sandbox_->run(start_words({"--runtime-dir", folder() + "/open"}));
  EXPECT_THAT(open.err, HasSubstr("others may write to it"));
  const Ran unknown = sandbox_->run(start_words({"--conf", "access.users=ann,nobody-knows"}));
  EXPECT_THAT(unknown.err, HasSubstr("nobody-knows"));
  const Ran program = sandbox_->run({"start", "--system", "true"});
  EXPECT_THAT(program.err, HasSubstr("SCRIPT true: an instance of several users runs no script"));
}

TEST_F(Users, AnInstanceOfOneUserStartsNothingAsAnother) {
  const Ran ran = sandbox_->run({"start", "--bg", "--resources", "node=1/core=2"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  uri_ = trimmed(ran.out);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "--for", "ann", "id"},
        {"submit", "--for", "ann", "id"},
        {"alloc", "--for", "ann", "--bg"},
        {"batch", "--for", "ann", "--wrap", "id"}}) {
    const Ran refused = as("root", words);
    const bool passes_on = words.front() == "run" || words.front() == "alloc";
    EXPECT_EQ(refused.code, passes_on ? 125 : 1) << words.front();
    EXPECT_THAT(refused.err, HasSubstr("--for ann")) << words.front();
    EXPECT_THAT(refused.err, HasSubstr("--system")) << words.front();
  }
  EXPECT_EQ(json("root", {"jobs", "-a"})["jobs"].size(), 0U);
  const std::vector<std::vector<std::string>> alone = {{"--account", "ann"},
                                                       {"--runtime-dir", folder()}};
  for (const auto& option : alone) {
    const Ran start = sandbox_->run({"start", "--bg", option[0], option[1]});
    EXPECT_EQ(start.code, 2) << option[0];
    EXPECT_THAT(start.err, HasSubstr(option[0] + " " + option[1] + ": only with --system"));
  }
}

TEST_F(Users, WhatRootConfiguresWrongIsShownWithItsPlace) {
  const std::string file = folder() + "/system.toml";
  std::ofstream(file) << "[access]\nusers = 'ann'\noperators = 'nobody-of-this-name'\n";
  Ran ran = sandbox_->run(start_words({"--conf", file}));
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("system.toml:3: access.operators: there is no user"));
  std::ofstream(file) << "[per-user]\ncores = 2\nshare = 0.5\n";
  ran = sandbox_->run(start_words({"--conf", file}));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("system.toml:3: per-user.share: per-user.cores is set, too"));
  EXPECT_THAT(ran.err, HasSubstr("system.toml:2"));
}

// The instance does not read files that its users have named; their commands do, as them.
TEST_F(Users, OutputInAFileOfOnesOwnIsReadByItsUser) {
  start();
  const std::string file = home_of("ann") + "/out";
  const std::string id = ok("ann", {"submit", "--output", file, "echo", "written"});
  ok("ann", {"job", "wait", id});
  EXPECT_EQ(ok("ann", {"job", "output", id}), "written");
  EXPECT_NE(as("bob", {"job", "output", id}).code, 0);
  EXPECT_NE(as("eve", {"job", "output", id}).code, 0);  // it is not hers to read
}

TEST_F(Users, ItsProcessesHaveNoPrivilegeButTheStarter) {
  start();
  EXPECT_EQ(processes_of(kInstance, "holon broker").size(), 1U);
  EXPECT_EQ(processes_of(kInstance, "holon agent").size(), 1U);
  for (const auto& process : processes_of(kInstance)) {
    const std::string status = text_of("/proc/" + std::to_string(process.pid) + "/status");
    EXPECT_THAT(status, HasSubstr("CapPrm:\t0000000000000000")) << process.line;
    EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1")) << process.line;
    EXPECT_THAT(status, HasSubstr("Uid:\t61000\t61000\t61000\t61000")) << process.line;
  }
  struct stat info {};
  ASSERT_EQ(stat(state_dir().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  EXPECT_EQ(info.st_uid, kInstance);
}

TEST_F(Users, TasksAndTheirFilesAreTheirUsers) {
  start();
  EXPECT_EQ(ok("ann", {"run", "sh", "-c", "id -un; id -G; pwd"}),
            "ann\n61001 61050\n" + home_of("ann"));
  EXPECT_EQ(ok("bob", {"run", "sh", "-c", "echo $HOME; cat /proc/self/loginuid >/dev/null; id -u"}),
            home_of("bob") + "\n61002");
  const std::string job =
      ok("ann", {"submit", "--output", "out", "sh", "-c", "echo hers; touch t"});
  ok("ann", {"job", "wait", job});
  EXPECT_EQ(text_of(home_of("ann") + "/out"), "hers\n");
  EXPECT_EQ(owner_of(home_of("ann") + "/out"), kAnn);
  EXPECT_EQ(owner_of(home_of("ann") + "/t"), kAnn);
  // What it names itself is the instance's, and shown to whose it is.
  const std::string own = ok("ann", {"submit", "echo", "kept"});
  ok("ann", {"job", "wait", own});
  EXPECT_EQ(ok("ann", {"job", "output", own}), "kept");
  const Ran refused = as("bob", {"job", "output", own});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.out, Not(HasSubstr("kept")));
  EXPECT_EQ(shell_as("ann", "ls " + state_dir() + " 2>&1 | grep -c denied").out, "1\n");
  const Ran code = as("ann", {"run", "sh", "-c", "exit 9"});
  EXPECT_EQ(code.code, 9);
  EXPECT_EQ(as("ann", {"run", "no-such-program"}).code, 127);
  EXPECT_EQ(as("ann", {"run", "-n", "2", "sh", "-c", "echo $HOLON_TASK_RANK"}).code, 0);
}

TEST_F(Users, LinksInThePathsOfOutputAreFollowedAsTheUser) {
  start();
  const std::string secret = folder() + "/secret", bobs = home_of("bob") + "/file";
  std::ofstream(secret) << "root's\n";
  std::ofstream(bobs) << "bob's\n";
  ASSERT_EQ(chmod(secret.c_str(), 0600), 0);
  ASSERT_EQ(chown(bobs.c_str(), kBob, kBob), 0);
  const std::string journal = state_dir() + "/journal.db";
  const std::string before = text_of(journal).substr(0, 16);
  for (const std::string& target : {secret, bobs, journal, std::string("/etc/passwd")}) {
    const std::string link = home_of("ann") + "/link";
    fs::remove(link);
    fs::create_symlink(target, link);
    const Ran ran = as("ann", {"run", "--output", link, "echo", "overwritten"});
    EXPECT_EQ(ran.code, 126) << target;
    EXPECT_THAT(ran.err, HasSubstr("Permission denied")) << target;
    const Ran direct = as("ann", {"run", "--error", target, "--output", "o", "echo", "x"});
    EXPECT_EQ(direct.code, 126) << target;
  }
  EXPECT_EQ(text_of(secret), "root's\n");
  EXPECT_EQ(text_of(bobs), "bob's\n");
  EXPECT_EQ(text_of(journal).substr(0, 16), before);
  const auto kept = denials();
  ASSERT_GE(kept.size(), 1U);
  EXPECT_LT(kept.size(), 8U) << "not one for each of the jobs";
  EXPECT_EQ(kept.front(), "ann, job 1: cannot write to the output file \"" + home_of("ann") +
                              "/link\": Permission denied");
  // Nor is anything read for somebody that only the instance may read, once the job has ended.
  const std::string job = ok("ann", {"submit", "--output", journal, "true"});
  (void)as("ann", {"job", "wait", job});
  const Ran read = as("ann", {"job", "output", job});
  EXPECT_THAT(read.out, Not(HasSubstr("SQLite")));
  const Ran input = as("ann", {"run", "--input", journal, "cat"});
  EXPECT_THAT(input.out, Not(HasSubstr("SQLite")));
}

TEST_F(Users, WhatTheSystemRefusesAJobIsInTheAuditOnceAUser) {
  start();
  const std::string folder_of_bob = home_of("bob");
  const Ran ann = as("ann", {"run", "--chdir", folder_of_bob, "true"});
  EXPECT_EQ(ann.code, 126);
  const std::string program = home_of("ann") + "/program";
  std::ofstream(program) << "#!/bin/sh\n";
  ASSERT_EQ(chmod(program.c_str(), 0700), 0);
  EXPECT_EQ(as("bob", {"run", program}).code, 126);
  // What is merely not there is refused by nobody.
  EXPECT_EQ(as("eve", {"run", "no-such-program"}).code, 127);
  EXPECT_EQ(as("eve", {"run", "--chdir", "/no/such/folder", "true"}).code, 126);
  EXPECT_EQ(as("eve", {"run", "--input", folder_of_bob + "/in", "true"}).code, 126);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(as("ann", {"run", "--error", "/x", "true"}).code, 126);
  const auto kept = denials();
  ASSERT_GE(kept.size(), 3U);
  const std::vector<std::string> first(kept.begin(), kept.begin() + 3);
  EXPECT_THAT(
      first, testing::ElementsAre("ann, job 1: cannot enter the working directory \"" +
                                      folder_of_bob + "\": Permission denied",
                                  "bob, job 2: cannot start \"" + program + "\": Permission denied",
                                  "eve, job 5: cannot read the input file \"" + folder_of_bob +
                                      "/in\": Permission denied"));
  EXPECT_LT(kept.size(), 6U) << "once a user and minute";
}

TEST_F(Users, EachSeesAndChangesTheirOwnJobs) {
  start();
  const std::string job = ok("ann", {"submit", "--name", "hers", "sleep", "1000"});
  wait_for("ann", job, "RUN");
  EXPECT_EQ(json("ann", {"jobs"})["jobs"].size(), 1U);
  EXPECT_EQ(json("bob", {"jobs", "-a"})["jobs"].size(), 0U);
  EXPECT_EQ(json("bob", {"jobs", "-a", "-R"})["jobs"].size(), 0U);
  EXPECT_EQ(json("bob", {"jobs", "-a", job})["jobs"].size(), 0U);
  EXPECT_EQ(json("eve", {"jobs"})["jobs"].size(), 1U);
  const std::vector<std::vector<std::string>> tries = {
      {"cancel", job},      {"signal", "KILL", job},     {"job", "info", job},
      {"job", "wait", job}, {"urgency", job, "0"},       {"job", "output", job},
      {"explain", job},     {"job", "eventlog", job},    {"suspend", job},
      {"resume", job},      {"update", job, "-t", "1m"}, {"watch", job}};
  for (const auto& words : tries) {
    const Ran ran = as("bob", words);
    EXPECT_NE(ran.code, 0) << testing::PrintToString(words);
    EXPECT_THAT(ran.err + ran.out, HasSubstr("another user's")) << testing::PrintToString(words);
    EXPECT_THAT(ran.out, Not(HasSubstr("hers"))) << testing::PrintToString(words);
  }
  ok("bob", {"cancel", "--all"});
  ok("bob", {"job", "wait", "--all"});  // at once: none is bob's
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"audit"},
           {"stats"},
           {"shutdown"},
           {"resource", "drain", "node0"},
           {"queue", "stop", "--all"},
           {"plan"},
           {"priority"},
           {"reserve", "-n", "1", "--start", "+1h", "--duration", "1h"},
           {"jobs", "--user", "ann"}}) {
    const Ran ran = as("bob", words);
    EXPECT_NE(ran.code, 0) << testing::PrintToString(words);
  }
  const pid_t sleeper = processes_of(kAnn, "sleep 1000").at(0).pid;
  EXPECT_EQ(shell_as("bob", "kill -9 " + std::to_string(sleeper) + " 2>/dev/null || echo no").out,
            "no\n");
  EXPECT_EQ(json("ann", {"jobs"})["jobs"][0]["state"], "RUN");
  EXPECT_TRUE(was_refused("bob", "cancel", "another user's"));
  EXPECT_TRUE(was_refused("bob", "job.signal", "another user's"));
  EXPECT_TRUE(was_refused("bob", "shutdown", "its operators"));
  EXPECT_TRUE(was_refused("bob", "job.update", "another user's"));
  ok("ann", {"update", job, "-t", "2h"});
  EXPECT_THAT(as("ann", {"update", job, "--urgency", "31"}).err, HasSubstr("for operators"));
  ok("ann", {"suspend", job});
  for (int i = 0; state_of(sleeper) != 'T' && i < 1'000; ++i) poll(nullptr, 0, 10);
  EXPECT_EQ(state_of(sleeper), 'T');
  ok("ann", {"resume", job});
  ok("ann", {"signal", "USR1", job});
  wait_for("ann", job, "INACTIVE");
  const std::string next = ok("ann", {"submit", "sleep", "1000"});
  ok("eve", {"cancel", next});
  wait_for("ann", next, "INACTIVE");
  wait_for_none_of(kAnn, "sleep");
}

TEST_F(Users, ForgedNamesAreRefusedAndInTheAudit) {
  start({"--conf", "access.users=ann,bob"});
  for (const char* name : {"ann", "root", "holon", "daemon", "no-such-user"}) {
    const Ran ran = as("bob", {"submit", "--for", name, "id", "-un"});
    EXPECT_NE(ran.code, 0) << name;
    EXPECT_THAT(ran.err, HasSubstr("by the kernel's word")) << name;
  }
  EXPECT_TRUE(was_refused("bob", "submit", "names user ann"));
  for (const char* name : {"root", "holon", "daemon"})
    EXPECT_THAT(as("eve", {"submit", "--for", name, "id"}).err,
                HasSubstr(std::string("not run as ") + name));
  EXPECT_THAT(as("root", {"submit", "id"}).err, HasSubstr("not run as root"));
  EXPECT_THAT(as("holon", {"submit", "id"}).err, HasSubstr("not run as holon"));
  EXPECT_THAT(as("bob", {"submit", "--urgency", "31", "id"}).err, HasSubstr("for operators"));
  const std::string job = ok("eve", {"submit", "--for", "ann", "--output", home_of("ann") + "/o",
                                     "sh", "-c", "id -un; pwd; echo $HOME"});
  ok("ann", {"job", "wait", job});
  EXPECT_EQ(text_of(home_of("ann") + "/o"), "ann\n/\n" + home_of("ann") + "\n");
  EXPECT_EQ(json("ann", {"jobs", "-a"})["jobs"][0]["user"], "ann");
}

TEST_F(Users, WhoIsNoUserIsAGuest) {
  start({"--conf", "access.users=ann"});
  EXPECT_EQ(as("bob", {"tree"}).code, 0);
  const Ran ran = as("bob", {"submit", "true"});
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("users that the instance serves"));
  EXPECT_TRUE(was_refused("bob", "submit", "users that the instance serves"));
  EXPECT_EQ(ok("ann", {"run", "id", "-un"}), "ann");
}

TEST_F(Users, TasksEndWithTheirAgentAndTheStarterWithTheInstance) {
  start();
  const std::string job =
      ok("ann", {"submit", "sh", "-c", "setsid env -i sleep 1000 & setsid sleep 1001"});
  // A process that is about to become one of them has the line of the one before, or none.
  const auto sleepers = [this] {
    const auto all = processes_of(kAnn, "sleep 100");
    return std::count_if(all.begin(), all.end(),
                         [](const auto& process) { return process.line.starts_with("sleep "); });
  };
  for (int i = 0; sleepers() < 2 && i < 3'000; ++i) poll(nullptr, 0, 10);
  ASSERT_EQ(sleepers(), 2);
  kill(processes_of(kInstance, "holon agent").at(0).pid, SIGKILL);
  wait_for("ann", job, "INACTIVE");
  wait_for_none_of(kAnn, "sleep 100");
  EXPECT_EQ(ok("ann", {"run", "id", "-un"}), "ann");  // the next agent
  const std::string last = ok("bob", {"submit", "sleep", "1000"});
  wait_for("bob", last, "RUN");
  for (const auto& process : processes_of(kInstance))
    if (process.line.find("start --system") != std::string::npos) kill(process.pid, SIGKILL);
  is_over_ = true;
  wait_for_none_of(kBob);
  wait_for_none_of(kInstance);
}

// Of what happens each is told what happens to their own jobs, an operator all of it.
TEST_F(Users, EventsAreOfOnesOwnJobs) {
  start();
  const auto watch = [this](const std::string& user) {
    return starts(user, {"sh", "-c", "exec \"$HOLON\" watch -f > ~/watched 2>&1"});
  };
  const auto fails = [this](const std::string& user) {
    const std::string id = ok(user, {"submit", "false"});
    (void)as(user, {"job", "wait", id});
    return "job " + id + ": exit code 1\n";
  };
  const auto told = [this](const std::string& user) { return text_of(home_of(user) + "/watched"); };
  const Process bob = watch("bob"), eve = watch("eve");
  const auto until_told = [&](const std::string& user, const std::string& of) {
    for (int i = 0; i < 1'000 && told(user).find("job ") == std::string::npos; ++i) fails(of);
  };
  until_told("bob", "bob");  // from here on both watch
  until_told("eve", "ann");
  const std::string hers = fails("ann"), his = fails("bob");
  for (const char* user : {"bob", "eve"})
    for (int i = 0; i < 3'000 && told(user).find(his) == std::string::npos; ++i)
      poll(nullptr, 0, 10);
  EXPECT_THAT(told("bob"), AllOf(HasSubstr(his), Not(HasSubstr(hers))));
  EXPECT_THAT(told("eve"), AllOf(HasSubstr(his), HasSubstr(hers)));
  bob.signal(SIGTERM);
  eve.signal(SIGTERM);
}

TEST_F(Users, WhatSurroundsAJobIsItsUsersToo) {
  const std::string log = folder() + "/surround";
  std::ofstream(log).close();
  ASSERT_EQ(chmod(log.c_str(), 0666), 0);
  start({"--conf", "job.prolog=echo before $(id -un) >> " + log, "--conf",
         "job.epilog=echo after $(id -un) >> " + log + "; setsid sleep 1003 &"});
  EXPECT_EQ(ok("ann", {"run", "sh", "-c", "id -un; echo task >> " + log}), "ann");
  EXPECT_EQ(text_of(log), "before ann\ntask\nafter ann\n");
  wait_for_none_of(kAnn);
}

TEST_F(Users, LimitsOfProcessesAreSetWithTheUsersRights) {
  start();
  EXPECT_EQ(ok("ann", {"run", "--rlimit", "nofile=123", "--rlimit", "core=0", "sh", "-c",
                       "ulimit -Sn; ulimit -Sc"}),
            "123\n0");
  rlimit own{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &own), 0);
  const Ran ran =
      as("ann", {"run", "--rlimit", "nofile=" + std::to_string(own.rlim_max + 1), "true"});
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.err, HasSubstr("cannot set its limit nofile: Operation not permitted"));
}

// The words of an array's tasks, and its tasks' numbers, are its user's.
TEST_F(Users, AnArrayIsItsUsers) {
  start();
  const std::string id =
      ok("ann", {"submit", "--array", "1-3", "sh", "-c", "id -un > out.$HOLON_ARRAY_INDEX"});
  ok("ann", {"job", "wait", id});
  for (const char* index : {"1", "2", "3"}) {
    const std::string file = home_of("ann") + "/out." + index;
    EXPECT_EQ(text_of(file), "ann\n") << index;
    EXPECT_EQ(owner_of(file), kAnn) << index;
  }
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"job", "info", id + ".2"}, {"jobs", "-a", "--tasks", id}, {"cancel", id + ".1"}}) {
    const Ran ran = as("bob", words);
    EXPECT_TRUE(ran.code != 0 || ran.out.find("sh") == std::string::npos)
        << testing::PrintToString(words) << ran.out;
  }
}

// What its tasks have counts, and nothing where it waits for more of them.
TEST_F(Users, AnIdleOpenArrayHoldsNothing) {
  start();
  const std::string id = ok("ann", {"submit", "--open", "-c", "2", "sleep", ":::", "1000", "1000"});
  for (int i = 0; i < 3'000 && json("ann", {"jobs", id})["jobs"][0]["tasks_running"] != 2; ++i)
    poll(nullptr, 0, 10);
  const auto busy = json("eve", {"users"})["users"];
  ASSERT_EQ(busy.size(), 1U);
  EXPECT_EQ(busy[0]["cores"], 4);
  EXPECT_EQ(busy[0]["running"], 1);
  ok("ann", {"cancel", id + ".1", id + ".2"});
  for (int i = 0; i < 3'000 && json("ann", {"jobs", id})["jobs"][0]["tasks_cancelled"] != 2; ++i)
    poll(nullptr, 0, 10);
  const auto idle = json("eve", {"users"})["users"];
  ASSERT_EQ(idle.size(), 1U);
  EXPECT_EQ(idle[0]["cores"], 0);
  EXPECT_EQ(idle[0]["running"], 0);
  ok("ann", {"close", id});
}

// ---- children ----

TEST_F(Users, AChildIsItsUsersAndNobodyElseReachesIt) {
  start();
  std::map<std::string, std::string> child;
  for (const auto& [user, policy] :
       {std::pair("ann", "fcfs"), std::pair("bob", "easy"), std::pair("eve", "conservative")})
    child[user] = "/" + ok(user, {"alloc", "--bg", "-n", "2", "--conf",
                                  std::string("queue.policy=") + policy});
  for (const auto& [user, path] : child) {
    const unsigned uid = people_.at(user);
    EXPECT_EQ(processes_of(uid, "holon broker").size(), 1U) << user;
    EXPECT_EQ(processes_of(uid, "holon agent").size(), 1U) << user;
    EXPECT_EQ(ok(user, {"-i", path, "run", "id", "-un"}), user);
    std::size_t journals = 0;
    for (const auto& entry : fs::recursive_directory_iterator(home_of(user)))
      if (entry.path().filename() == "journal.db") {
        ++journals;
        EXPECT_EQ(owner_of(entry.path()), uid);
      }
    EXPECT_EQ(journals, 1U) << user;
  }
  const auto tree = json("eve", {"tree"});
  ASSERT_EQ(tree["children"].size(), 3U);
  std::set<std::string> policies;
  for (const auto& node : tree["children"]) policies.insert(node["policy"]);
  EXPECT_EQ(policies.size(), 3U);
  EXPECT_EQ(json("bob", {"tree"})["children"].size(), 1U);

  const std::string ann = child["ann"];
  const auto all = json("eve", {"users"})["users"];
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0]["user"], "ann");
  EXPECT_EQ(all[0]["cores"], 2);
  EXPECT_EQ(all[0]["children"][0], child["ann"]);
  EXPECT_EQ(json("bob", {"users"})["users"].size(), 1U);
  const std::string hers = ok("ann", {"-i", ann, "submit", "--name", "hers", "sleep", "1000"});
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"-i", ann, "jobs"},
                                             {"-i", ann, "submit", "true"},
                                             {"-i", ann, "cancel", hers},
                                             {"-i", ann, "signal", "KILL", hers},
                                             {"-i", ann, "job", "info", hers},
                                             {"-i", ann, "job", "output", hers},
                                             {"-i", ann, "shutdown"},
                                             {"-i", ann, "queue", "stop", "--all"},
                                             {"-i", ann, "tree"}}) {
    const Ran ran = as("bob", words);
    EXPECT_NE(ran.code, 0) << testing::PrintToString(words);
    EXPECT_THAT(ran.out, Not(HasSubstr("hers"))) << testing::PrintToString(words);
    EXPECT_THAT(ran.err, testing::AnyOf(HasSubstr("another user's"), HasSubstr("its operators")))
        << testing::PrintToString(words);
  }
  ok("ann", {"-i", ann, "queue", "stop", "--all"});
  ok("ann", {"-i", ann, "queue", "start", "--all"});
  EXPECT_TRUE(was_refused("bob", "submit", "another user's"));
  // Nor past the root: by the child's socket, its processes, its files, or the root's.
  const auto record = json("ann", {"jobs", ann.substr(1)})["jobs"][0];
  const std::string uri = record["child_uri"];
  EXPECT_NE(starts("bob", {HOLON_BINARY, "jobs"}, {{"HOLON_URI", uri}}).finish().code, 0);
  const std::string broker = std::to_string(processes_of(kAnn, "holon broker").at(0).pid);
  EXPECT_EQ(shell_as("bob", "kill -9 " + broker + " 2>/dev/null || echo no; ls " + home_of("ann") +
                                " 2>/dev/null || echo no; cat " + state_dir() +
                                "/journal.db 2>/dev/null || echo no")
                .out,
            "no\nno\nno\n");
  EXPECT_EQ(ok("ann", {"-i", ann, "run", "sh", "-c",
                       "cat " + state_dir() + "/journal.db 2>/dev/null || echo no"}),
            "no");
  // A full queue of somebody else's takes nothing from her part.
  ok("bob", {"submit", "--count", "200", "sleep", "1000"});
  ok("bob", {"-i", child["bob"], "submit", "--count", "200", "sleep", "1000"});
  EXPECT_EQ(ok("ann", {"-i", ann, "run", "echo", "runs"}), "runs");
  // An operator looks at it, and ends it; what it did stays on record.
  EXPECT_NE(as("eve", {"-i", ann, "submit", "true"}).code, 0);
  EXPECT_NE(as("eve", {"-i", ann, "cancel", hers}).code, 0);
  EXPECT_THAT(ok("eve", {"-i", ann, "jobs"}), HasSubstr("hers"));
  ok("eve", {"-i", ann, "shutdown"});
  wait_for("ann", ann.substr(1), "INACTIVE");
  wait_for_none_of(kAnn);
  EXPECT_THAT(ok("eve", {"jobs", "-R", "-a"}), HasSubstr("hers"));
  EXPECT_THAT(ok("bob", {"jobs", "-R", "-a"}), Not(HasSubstr("hers")));
}

// With the token of somebody's child, from the root's journal, another user is not that child.
TEST_F(Users, AReplayedTokenIsRefused) {
  start();
  const std::string id = ok("ann", {"alloc", "--bg", "-n", "2"});
  std::string bytes;
  // In this order: what leaves the log between the two looks is in the file by then.
  for (const char* file : {"/journal.db-wal", "/journal.db"}) bytes += text_of(state_dir() + file);
  const std::regex token("[0-9a-f]{32}");
  std::set<std::string> candidates;
  for (std::sregex_iterator at(bytes.begin(), bytes.end(), token), end; at != end; ++at)
    candidates.insert(at->str());
  ASSERT_FALSE(candidates.empty());
  for (const auto& candidate : candidates) {
    const Ran ran =
        shell_as("bob", "printf 'HOLON_PARENT_URI=" + uri_ + "\\0HOLON_TOKEN=" + candidate +
                            "\\0' | HOLON_SECRETS_FD=3 HOLON_JOB_PATH=/" + id +
                            " \"$HOLON\" start --grant --bg 3<&0 </dev/null");
    EXPECT_NE(ran.code, 0) << candidate;
  }
  EXPECT_TRUE(was_refused("bob", "hello", "none of job")) << ok("eve", {"audit"});
  EXPECT_EQ(ok("ann", {"-i", "/" + id, "run", "id", "-un"}), "ann");
}

TEST_F(Users, AnOperatorMakesAChildForSomebody) {
  start();
  const std::string id = ok("eve", {"alloc", "--for", "ann", "--bg", "-n", "2"});
  EXPECT_EQ(processes_of(kAnn, "holon broker").size(), 1U);
  EXPECT_EQ(ok("ann", {"-i", "/" + id, "run", "id", "-un"}), "ann");
  EXPECT_NE(as("bob", {"-i", "/" + id, "run", "id", "-un"}).code, 0);
  EXPECT_NE(as("bob", {"alloc", "--for", "ann", "--bg", "-n", "1"}).code, 0);
}

}  // namespace
}  // namespace holon::system_test
