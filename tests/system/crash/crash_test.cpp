// kill -9, and what must not be lost: queued jobs stay queued, running ones run on, nothing runs
// twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

pid_t broker_of(Sandbox& sandbox, const std::string& path) {
  return sandbox.json({"-i", path, "uptime"})["pid"].get<pid_t>();
}

// Kills it and returns when it is gone.
void kill_and_wait(pid_t pid) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  ASSERT_GE(handle, 0);
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  pollfd gone{handle, POLLIN, 0};
  EXPECT_EQ(poll(&gone, 1, 30'000), 1);
  close(handle);
}

// A job that says that it runs, then waits for somebody to open the gate, and notes each of its
// runs.
class Gate {
 public:
  explicit Gate(Sandbox& sandbox) : sandbox_(sandbox), fifo_(sandbox.folder() + "/gate") {
    EXPECT_EQ(mkfifo(fifo_.c_str(), 0600), 0);
  }
  std::vector<std::string> behind() const {
    return {"sh", "-c", "echo $HOLON_JOB_ID >> runs; echo up; read x < gate; echo through"};
  }
  std::vector<std::string> note() const { return {"sh", "-c", "echo $HOLON_JOB_ID >> runs"}; }
  void open() { std::ofstream(fifo_) << "go\n"; }
  // Sorted, one a line.
  std::string runs() const {
    std::vector<std::string> lines;
    std::istringstream text(sandbox_.read_file("runs"));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    std::string all;
    for (const auto& line : lines) all += line + "\n";
    return all;
  }

 private:
  Sandbox& sandbox_;
  std::string fifo_;
};

std::vector<std::string> words(std::vector<std::string> first,
                               const std::vector<std::string>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

// Kills the broker at `path`, whose two cores one job holds while two wait for them.
void survives_a_crash(Sandbox& sandbox, const std::string& path, const std::string& first_id) {
  Gate gate(sandbox);
  const auto at = [&](std::vector<std::string> more) { return words({"-i", path}, more); };
  sandbox.ok(at(words({"submit", "-c", "2"}, gate.behind())));
  sandbox.ok(at(words({"submit", "-c", "2"}, gate.note())));
  sandbox.ok(at(words({"submit", "-c", "2"}, gate.note())));
  Process output = sandbox.start(at({"job", "output", first_id}));
  ASSERT_EQ(output.read_line(), "up");
  const auto before = sandbox.json(at({"jobs"}))["jobs"];
  const std::string uri = sandbox.json(at({"uptime"}))["uri"];

  kill_and_wait(broker_of(sandbox, path));

  sandbox.environment()["HOLON_URI"] = uri;  // waits at that very address for the new broker
  const auto after = sandbox.json({"jobs"})["jobs"];
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i]["id"], before[i]["id"]);
    EXPECT_EQ(after[i]["state"], before[i]["state"]) << after[i].dump(1);
    EXPECT_EQ(after[i]["pids"], before[i]["pids"]) << "the same processes run on";
    EXPECT_EQ(after[i]["t_start"], before[i]["t_start"]);
  }
  gate.open();
  sandbox.ok({"job", "wait", "--all"});
  const int first = std::stoi(first_id);
  EXPECT_EQ(gate.runs(), std::to_string(first) + "\n" + std::to_string(first + 1) + "\n" +
                             std::to_string(first + 2) + "\n")
      << "each ran once";
  EXPECT_EQ(sandbox.ok({"job", "output", first_id}), "up\nthrough\n");
  sandbox.environment().erase("HOLON_URI");
}

TEST(Crash, OfTheRootsBrokerLosesNothing) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=2"});
  survives_a_crash(sandbox, "/", "1");
}

TEST(Crash, OfAChildsBrokerLosesNothing) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4"});
  sandbox.ok({"alloc", "--bg", "-n", "2"});
  survives_a_crash(sandbox, "/1", "1");
  EXPECT_EQ(sandbox.json({"tree"})["children"][0]["health"], "up");
}

TEST(Crash, OfTheRootsBrokerLeavesTheChildrenAlone) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4"});
  sandbox.ok({"alloc", "--bg", "-n", "2"});
  const pid_t child = broker_of(sandbox, "/1");
  const std::string uri = sandbox.json({"uptime"})["uri"];
  Gate gate(sandbox);
  sandbox.ok(words({"-i", "/1", "submit"}, gate.behind()));
  Process output = sandbox.start({"-i", "/1", "job", "output", "1"});
  ASSERT_EQ(output.read_line(), "up");

  kill_and_wait(broker_of(sandbox, "/"));

  sandbox.environment()["HOLON_URI"] = uri;
  EXPECT_TRUE(alive(child));
  gate.open();
  EXPECT_EQ(sandbox.run({"job", "wait", "/1/1"}).code, 0);
  sandbox.ok({"-i", "/1", "shutdown"});
  const auto jobs = sandbox.json({"jobs", "-R", "-a"})["jobs"];
  ASSERT_EQ(jobs.size(), 2u) << "the child's record came up to the new broker";
  EXPECT_EQ(jobs[1]["result"], "COMPLETED");
  EXPECT_EQ(sandbox.json({"resource", "list"})["free"]["core"], 4);
}

// A script that waits for its jobs must not go on, and end its instance, because of a crash.
void waiting_commands_wait_on(Sandbox& sandbox, const std::string& path) {
  Gate gate(sandbox);
  const auto at = [&](std::vector<std::string> more) { return words({"-i", path}, more); };
  Process run = sandbox.start(at(words({"run"}, gate.behind())));
  EXPECT_EQ(run.read_line(), "up");
  Process wait = sandbox.start(at({"job", "wait", "--all"}));

  kill_and_wait(broker_of(sandbox, path));

  gate.open();
  const Ran ran = run.finish();
  EXPECT_EQ(ran.out, "through\n") << "nothing twice, nothing left out";
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran waited = wait.finish();
  EXPECT_EQ(waited.code, 0) << waited.err;
}

TEST(Crash, OfTheRootsBrokerIsNotSeenByWhoeverWaits) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=2"});
  waiting_commands_wait_on(sandbox, "/");
}

TEST(Crash, OfAChildsBrokerIsNotSeenByWhoeverWaits) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4"});
  sandbox.ok({"alloc", "--bg", "-n", "2"});
  waiting_commands_wait_on(sandbox, "/1");
}

TEST(Crash, OfABrokerWhileAnAllocWaitsDoesNotLeaveItsChildWithoutIt) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=1"});
  Gate gate(sandbox);
  sandbox.ok(words({"submit"}, gate.behind()));
  Process output = sandbox.start({"job", "output", "1"});
  ASSERT_EQ(output.read_line(), "up");
  Process alloc = sandbox.start({"alloc", "sh", "-c", "holon uptime; exit 9"});
  EXPECT_THAT(alloc.read_error_line(), HasSubstr("job 2 waits"));
  kill_and_wait(broker_of(sandbox, "/"));
  gate.open();
  const Ran ran = alloc.finish();
  EXPECT_EQ(ran.code, 9) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("/2 sh: up"));
}

TEST(Crash, OfAnAgentFailsItsJobsWithThatReasonAndTheInstanceLives) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=2"});
  Gate gate(sandbox);
  sandbox.ok(words({"submit"}, gate.behind()));
  Process output = sandbox.start({"job", "output", "1"});
  ASSERT_EQ(output.read_line(), "up");
  const auto agents = sandbox.processes({"holon", "agent"});
  ASSERT_EQ(agents.size(), 1u);

  kill_and_wait(agents[0]);

  EXPECT_EQ(sandbox.run({"job", "wait", "1"}).code, 1);
  const auto jobs = sandbox.json({"jobs", "-a"})["jobs"];
  EXPECT_EQ(jobs[0]["result"], "FAILED");
  EXPECT_THAT(jobs[0]["reason"].get<std::string>(), HasSubstr("agent"));
  EXPECT_EQ(sandbox.ok({"run", "echo", "alive"}), "alive\n");
  EXPECT_TRUE(sandbox.processes({"read x"}).empty()) << "the lost job's process was ended";
}

TEST(Crash, SigtermToTheSupervisorEndsItAllInOrder) {
  Sandbox sandbox;
  Process start = sandbox.start({"start", "--resources", "node=1/core=2", "--", "sh", "-c",
                                 "holon submit sleep 600; exec sleep 601"});
  EXPECT_EQ(start.read_line(), "1");
  start.signal(SIGTERM);
  start.finish();
  EXPECT_TRUE(sandbox.processes().empty());
}

// The end waited for what nobody was left to tell, for all of instance.shutdown-timeout.
TEST(Crash, OfAnAgentWhoseJobHeedsNoSigtermDoesNotHoldUpTheEnd) {
  Sandbox sandbox;
  Process start = sandbox.start(
      {"start", "--resources", "node=1/core=2", "--state-dir", sandbox.folder() + "/kept", "--conf",
       "job.grace=5m", "--conf", "instance.shutdown-timeout=2m", "--", "sh", "-c",
       "holon submit sh -c 'trap \"echo > told\" TERM; echo > runs; while :; do sleep 0.05; done'; "
       "exec sleep 601"});
  EXPECT_EQ(start.read_line(), "1");
  const auto exists = [&](const char* name) {
    return eventually([&] { return std::filesystem::exists(sandbox.folder() + "/" + name); });
  };
  ASSERT_TRUE(exists("runs"));
  start.signal(SIGTERM);
  ASSERT_TRUE(exists("told")) << "the job's grace has begun";
  const auto agents = sandbox.processes({"holon", "agent"});
  ASSERT_EQ(agents.size(), 1u);
  kill_and_wait(agents[0]);
  const auto killed = std::chrono::steady_clock::now();
  start.finish();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(60));
  EXPECT_TRUE(sandbox.processes().empty());
  EXPECT_THAT(sandbox.ok({"journal", "export", sandbox.folder() + "/kept"}),
              HasSubstr(R"("name":"finish","context":{"status":9,)"));
}

// It has not been waited for yet.
bool has_ended(pid_t pid) {
  siginfo_t how{};
  return waitid(P_PID, static_cast<id_t>(pid), &how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         how.si_pid == pid;
}

// The descriptors of `pid` for files of this name, as descriptors of the test: what they have
// locked stays locked until the test closes them, as it does in a killed process until the kernel
// is done.
std::vector<int> take_locks(pid_t pid, const std::vector<std::string>& names) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  std::vector<int> taken;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code none;
    const auto name = std::filesystem::read_symlink(entry.path(), none).filename().string();
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    const int fd = std::stoi(entry.path().filename().string());
    taken.push_back(static_cast<int>(syscall(SYS_pidfd_getfd, process, fd, 0)));
  }
  close(process);
  return taken;
}

TEST(Crash, TheNextStartWaitsForASupervisorThatTheKernelIsNotDoneWith) {
  Sandbox sandbox;
  const std::string state = sandbox.folder() + "/state";
  const std::vector<std::string> start = {"start",         "--bg",        "--resources",
                                          "node=1/core=2", "--state-dir", state};
  const std::string uri = sandbox.ok(start);
  const auto supervisors = sandbox.processes({"start", "--bg"});
  ASSERT_EQ(supervisors.size(), 1u);
  const auto locks = take_locks(supervisors.front(), {"supervisor", "lock"});
  ASSERT_EQ(locks.size(), 2u) << "its runtime directory's and its state directory's";
  for (const int fd : locks) ASSERT_GE(fd, 0) << strerror(errno);
  for (const pid_t pid : sandbox.processes()) kill(pid, SIGKILL);
  while (!sandbox.processes().empty()) poll(nullptr, 0, 10);

  Process next = sandbox.start(start);
  poll(nullptr, 0, 300);  // so long the kernel takes
  for (const int fd : locks) close(fd);
  const Ran ran = next.finish();
  EXPECT_EQ(ran.code, 0) << ran.err;
  sandbox.ok({"shutdown"});
  // The next start leaves directories alone that are as young as this one.
  const std::string scheme = "ipc://";
  std::filesystem::remove_all(std::filesystem::path(uri.substr(scheme.size())).parent_path());
}

TEST(Crash, NoSignalAtTheVeryEndLeavesTheRuntimeDirectory) {
  for (int round = 0; round < 10; ++round) {
    Sandbox sandbox;  // which looks for what is left
    Process start =
        sandbox.start({"start", "--resources", "node=1/core=1", "--", "sh", "-c", "echo up"});
    EXPECT_EQ(start.read_line(), "up");
    while (!has_ended(start.pid())) {
      for (const int signal : {SIGTERM, SIGHUP, SIGINT}) start.signal(signal);
      usleep(100);
    }
    start.finish();
  }
}

// The broker alone is left to end what the supervisor has started.
TEST(Crash, OfTheSupervisorAndItsAgentLeavesNoInitialProgram) {
  Sandbox sandbox;
  Process instance = sandbox.start({"start", "--resources", "node=1/core=1", "sh", "-c",
                                    "holon run true; echo up; exec sleep 1000"});
  for (std::string line; line != "up";) line = instance.read_line();
  const auto agents = sandbox.processes({"holon", "agent"});
  ASSERT_EQ(agents.size(), 1u);
  instance.signal(SIGSTOP);  // it starts no other agent
  kill_and_wait(agents.front());
  instance.signal(SIGKILL);
  EXPECT_EQ(instance.finish().code, 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return sandbox.processes().empty(); }));
}

}  // namespace
}  // namespace holon::system_test
