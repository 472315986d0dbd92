// What an earlier run has left of its users' tasks, where its starter and keepers were killed.
#include "tests/starter/starter_fixture.hpp"

namespace holon::starter {
namespace {

const std::string kMark = "0123456789abcdef0123456789abcdef", kOther(32, 'f');

class Sweeps : public Starters {
 protected:
  void TearDown() override {
    for (const pid_t pid : left_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    Starters::TearDown();
  }
  // A process of this user, of no keeper any more, that ignores all signals it can. `output`: its
  // standard output; "": nowhere.
  pid_t leave(unsigned uid, const std::string& lineage, const std::string& output = "") {
    int begun[2];
    EXPECT_EQ(pipe2(begun, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      setsid();
      const char* const to = output.empty() ? "/dev/null" : output.c_str();
      const int out = open(to, O_WRONLY | O_CREAT | O_APPEND, 0600);
      if (dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0) _exit(1);
      if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0) _exit(1);
      std::signal(SIGTERM, SIG_IGN);
      std::string entry = "HOLON_LINEAGE=" + lineage;
      std::string sleep = "sleep", long_time = "1000";
      char* const words[] = {sleep.data(), long_time.data(), nullptr};
      char* const with[] = {entry.data(), nullptr};
      char* const without[] = {nullptr};
      execve("/bin/sleep", words, lineage.empty() ? without : with);
      _exit(1);
    }
    close(begun[1]);
    char byte = 0;
    EXPECT_EQ(read(begun[0], &byte, 1), 0) << "it is sleep now";
    close(begun[0]);
    left_.push_back(pid);
    return pid;
  }
  static bool has_ended(pid_t pid) {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
  }
  // Until nothing is found twice in a row.
  void sweep(Request what) {
    for (int clear = 0, looks = 0; clear < 2; ++looks) {
      ASSERT_LT(looks, 10'000);
      const int found = swept(what);
      ASSERT_GE(found, 0);
      clear = found == 0 ? clear + 1 : 0;
    }
  }
  static Request of(const std::string& lineage) {
    Request what;
    what.lineage = lineage;
    return what;
  }

  std::vector<pid_t> left_;
};

TEST_F(Sweeps, EndsWhatIsOfTheInstanceAndNothingElse) {
  const std::string output = folder_ + "/state/children/3/output";
  fs::create_directories(output);
  const std::vector<pid_t> ours = {leave(kAnn, kMark + "/3"),
                                   leave(kBob, kOther + "/1 " + kMark + "/3/7"),
                                   leave(kAnn, "", output + "/5.out")};
  const std::vector<pid_t> others = {leave(kAnn, kOther + "/3"), leave(kAnn, ""),
                                     leave(kInstance, kMark + "/3"), leave(0, kMark + "/3"),
                                     leave(kEve, kMark + "/3")};
  settings_.everybody = false;
  settings_.users = {kAnn, kBob};
  start();
  Request what = of(kMark + "/");
  what.path = folder_ + "/state";
  EXPECT_EQ(swept(what), 3);
  sweep(what);
  for (const pid_t pid : ours) EXPECT_TRUE(has_ended(pid));
  for (const pid_t pid : others) EXPECT_FALSE(has_ended(pid)) << "it is somebody else's";
}

TEST_F(Sweeps, MaySpareWhatAnotherStarterKeeps) {
  start();
  Request task = request("ann", {"sleep", "1000"});
  task.env.push_back("HOLON_LINEAGE=" + kMark + "/3");
  const Fd line = run(task, -1);
  for (auto heard = hear(line.get()); heard && heard->told.what != What::running;)
    heard = hear(line.get());
  const pid_t left = leave(kAnn, kMark + "/4");
  Request what = of(kMark + "/");
  what.flags = kSpareStarted;
  sweep(what);
  EXPECT_TRUE(has_ended(left));
  EXPECT_EQ(processes_of(kAnn).size(), 1U) << "the task that is kept";
  what.flags = 0;
  sweep(what);
  EXPECT_TRUE(processes_of(kAnn).empty());
  wait_until_idle();
}

// A lineage that is a part of every one's would end tasks of other instances.
TEST_F(Sweeps, AreOfOneInstance) {
  start();
  const pid_t task = leave(kAnn, kMark + "/3");
  for (const std::string lineage : {"", "/", "0", "0/", "0123456789abcdef", " "})
    EXPECT_EQ(swept(of(lineage)), -1) << lineage;
  Request what = of(kMark);
  EXPECT_EQ(swept(what), -1) << "without its end it is the beginning of others";
  what = of(kMark + "/");
  what.path = "relative";
  EXPECT_EQ(swept(what), -1);
  what.path.clear();
  what.flags = 4;
  EXPECT_EQ(swept(what), -1);
  EXPECT_FALSE(has_ended(task));
}

}  // namespace
}  // namespace holon::starter
