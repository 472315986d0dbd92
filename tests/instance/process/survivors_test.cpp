// Nothing lives on over cores that are shown as free: whatever was killed, what is left is ended
// before anybody is given a core. With a cgroup for each job, and without.
#include <gmock/gmock.h>

#include <algorithm>

#include "launch/tracking/cgroup.hpp"
#include "launch/tracking/lineage.hpp"
#include "launch/tracking/process.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using testing::alive;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Live;

class Survivors : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) != "cgroup") return;
    const auto own = launch::own_cgroup();
    const std::string dir = own ? *own + "/holon-test-" + std::to_string(getpid()) : "";
    if (!own || !launch::make_cgroup(dir)) GTEST_SKIP() << "no cgroup can be made here";
    launch::remove_cgroup(dir);
  }
  // Options of an instance with so many cores.
  static std::vector<std::string> with(int cores) {
    return {"--resources", "node=1/core=" + std::to_string(cores), "--conf",
            std::string("job.tracking=") + GetParam()};
  }
};

INSTANTIATE_TEST_SUITE_P(With, Survivors, ::testing::Values("cgroup", "process"),
                         [](const auto& kind) { return kind.param; });

std::string prefix_of(const Live& live) {
  const std::string text = testing::read_file(live.dir() + "/state/instance.id");
  const std::string id = text.substr(0, text.find('\n'));
  struct stat info {};
  EXPECT_EQ(stat((live.dir() + "/state").c_str(), &info), 0);
  return id + "-" + std::to_string(info.st_ino) + "/";
}

// Of the instance or in it, as its mark says.
std::set<pid_t> marked(const Live& live) {
  std::set<pid_t> found;
  const std::string prefix = prefix_of(live);
  for (const auto& process : launch::all_processes()) {
    if (process.is_over()) continue;
    const auto lineage = launch::variable_of(process, kLineage);
    if (lineage && is_within(*lineage, prefix)) found.insert(process.pid);
  }
  return found;
}

// None of them can do anything about the others' end.
void kill_at_once(const std::vector<pid_t>& pids) {
  for (const int signal : {SIGSTOP, SIGKILL})
    for (const pid_t pid : pids) testing::signal_process(pid, signal);
  EXPECT_TRUE(eventually([&] { return std::none_of(pids.begin(), pids.end(), alive); }));
}

std::vector<pid_t> programs_of_holon(const Live& live) {
  std::set<pid_t> all;
  testing::add_tree(live.supervisor(), all);
  std::vector<pid_t> found;
  for (const pid_t pid : all)
    if (testing::command_of(pid).starts_with(HOLON_BINARY)) found.push_back(pid);
  return found;
}

// The number that a task writes to a file.
pid_t pid_in(const std::string& file) {
  EXPECT_TRUE(eventually([&] { return testing::read_file(file).ends_with('\n'); })) << file;
  return std::stoi(testing::read_file(file));
}

// Leaves a process behind as `way` says, and stays.
std::vector<std::string> leaving(const std::string& way, const std::string& file) {
  return {"/bin/sh", "-c",
          way + " /bin/sh -c 'echo $$ > " + file + "; exec sleep 1000' & sleep 1000"};
}

TEST_P(Survivors, OfAllThatWasKilledAtOnceNothingIsThereAtTheNextStart) {
  Live live(with(6));
  std::vector<pid_t> left;
  int n = 0;
  for (const char* way : {"", "setsid", "env -i", "env -i setsid"}) {
    const std::string file = live.dir() + "/left-" + std::to_string(++n);
    live.job(leaving(way, file));
    left.push_back(pid_in(file));
  }
  const auto child = live.child({2});
  const std::string inside = live.dir() + "/left-inside";
  live.job(leaving("setsid", inside), {}, "/" + std::to_string(child));
  left.push_back(pid_in(inside));
  kill_at_once(programs_of_holon(live));
  live.start();
  for (const pid_t pid : left) EXPECT_FALSE(alive(pid)) << testing::command_of(pid);
  // The new agent may be reading the dead child's journal, with a process of its own.
  for (const pid_t pid : marked(live)) {
    const auto process = launch::stat_of(pid);
    EXPECT_TRUE(!process || pid == live.broker() || pid == live.agent() ||
                process->parent == live.agent())
        << testing::command_of(pid);
  }
  EXPECT_EQ(live.status()->cores_free, 6);
}

// The directory that is made again is another one, so that the mark of the processes is not the one
// that its inode gives.
TEST_P(Survivors, AreFoundByTheStateDirectoryThatWasMadeAgain) {
  Live live(with(2));
  const std::string file = live.dir() + "/left", state = live.dir() + "/state";
  live.job(leaving("setsid", file));
  const pid_t left = pid_in(file);
  const bool has_cgroup = std::filesystem::exists(state + "/cgroup");
  EXPECT_EQ(has_cgroup, std::string(GetParam()) == "cgroup");
  std::filesystem::rename(state, live.dir() + "/removed");
  std::vector<std::string> again = {"lock",          "instance.id",  "instance.lineage",
                                    "instance.mark", "instance.log", "journal.db"};
  if (has_cgroup) again.emplace_back("cgroup");
  for (const auto& name : again)
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(state + "/" + name); })) << name;
  EXPECT_FALSE(live.try_to_start()) << "its lock is held";
  kill_at_once(programs_of_holon(live));
  live.start();
  EXPECT_FALSE(alive(left));
  EXPECT_EQ(live.status()->cores_free, 2);
}

// Its start was in no journal when everything died.
TEST_P(Survivors, ATaskThatNobodyKnewOfIsGoneBeforeItsCoreIsGiven) {
  Live live(with(1));
  const std::string file = live.dir() + "/left";
  const pid_t supervisor = live.supervisor(), broker = live.broker(), agent = live.agent();
  testing::signal_process(agent, SIGSTOP);
  live.job(leaving("setsid", file));
  EXPECT_TRUE(live.status());  // the turn that sent the start is over
  testing::signal_process(broker, SIGSTOP);
  testing::signal_process(agent, SIGCONT);
  const pid_t left = pid_in(file);
  kill_at_once({supervisor, broker, agent});
  live.start();
  EXPECT_FALSE(alive(left));
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
}

TEST_P(Survivors, AChildsJobIsOverWhenAllOfTheChildIs) {
  const Live live(with(2));
  const auto child = live.child({2});
  const std::string path = "/" + std::to_string(child);
  const std::string file = live.dir() + "/left";
  live.job(leaving("setsid", file), {}, path);
  const pid_t left = pid_in(file);
  const auto supervisor = static_cast<pid_t>(live.record(child).pids.at(0));
  std::set<pid_t> all;
  testing::add_tree(supervisor, all);
  const auto broker = static_cast<pid_t>(live.status(path)->pid);
  testing::signal_process(broker, SIGSTOP);
  kill_at_once({supervisor, broker});
  live.wait_one(child);
  EXPECT_FALSE(alive(left));
  EXPECT_TRUE(std::none_of(all.begin(), all.end(), alive));
}

TEST_P(Survivors, AnAgentDoesNotOutliveItsSupervisor) {
  const Live live(with(1));
  const std::string file = live.dir() + "/left";
  const auto id = live.job(leaving("setsid", file));
  const pid_t left = pid_in(file);
  const auto task = static_cast<pid_t>(live.when_running(id).pids.at(0));
  const pid_t agent = live.agent(), supervisor = live.supervisor();
  kill_at_once({supervisor, live.broker()});
  EXPECT_TRUE(eventually([&] { return !alive(agent) && !alive(task) && !alive(left); }));
}

TEST_P(Survivors, OfAnAgentThatDiedNothingIsThereWhenItsJobsAreOver) {
  const Live live(with(3));
  std::vector<pid_t> left;
  for (const char* way : {"setsid", "env -i", "env -i setsid"}) {
    const std::string file = live.dir() + "/left-" + std::to_string(left.size());
    live.job(leaving(way, file));
    left.push_back(pid_in(file));
  }
  testing::signal_process(live.agent(), SIGKILL);
  for (const auto& record : live.wait({})) EXPECT_EQ(record.result, "FAILED");
  EXPECT_TRUE(std::none_of(left.begin(), left.end(), alive));
}

// The first start after the end of all has no agent yet when its broker is killed, too.
TEST_P(Survivors, ASecondDeathForgetsNobody) {
  Live live(with(1));
  const std::string file = live.dir() + "/left";
  live.when_running(live.job(leaving("env -i", file)));
  const pid_t left = pid_in(file);
  kill_at_once(programs_of_holon(live));
  std::thread second([&] {
    // As soon as there is a broker, while its agent begins.
    pid_t broker = 0;
    EXPECT_TRUE(eventually([&] {
      for (const pid_t pid : marked(live))
        if (testing::command_of(pid).find(" broker ") != std::string::npos) broker = pid;
      return broker != 0;
    }));
    testing::signal_process(broker, SIGKILL);
  });
  live.start();
  second.join();
  EXPECT_FALSE(alive(left));
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
}

TEST_P(Survivors, AStartOnADirectoryInUseIsRefusedAndEndsNobody) {
  const Live live(with(1));
  const auto id = live.job({"/bin/sleep", "1000"});
  const auto before = live.when_running(id);
  const std::string said = live.dir() + "/said";
  const std::string command = HOLON_BINARY " start --bg --state-dir " + live.dir() +
                              "/state --resources node=1/core=1 2> " + said;
  EXPECT_NE(system(command.c_str()), 0);
  EXPECT_THAT(testing::read_file(said), HasSubstr("uses"));
  // A copy is another instance, though it has all that the first one wrote.
  const std::string copy = live.dir() + "/copy";
  const std::string copied =
      "cp -a " + live.dir() + "/state " + copy +
      "; exec " HOLON_BINARY " start --resources node=1/core=1 --state-dir " + copy + " true";
  EXPECT_EQ(system(copied.c_str()), 0);
  EXPECT_EQ(live.record(id).pids, before.pids);
  EXPECT_TRUE(alive(static_cast<pid_t>(before.pids.at(0))));
}

TEST_P(Survivors, AnInstanceThatEndsLeavesNoCgroup) {
  Live live(with(2));
  live.wait_one(live.job({"/bin/true"}));
  const std::string dir = testing::read_file(live.dir() + "/state/cgroup");
  EXPECT_EQ(dir.empty(), std::string(GetParam()) == "process");
  live.stop();
  EXPECT_FALSE(!dir.empty() && std::filesystem::exists(dir.substr(0, dir.find('\n'))));
}

}  // namespace
}  // namespace holon::instance
