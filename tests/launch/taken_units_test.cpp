// What a child runs on units that are taken from it is found by what it was given.
#include "launch/tracking/taken_units.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "launch/tracking/process.hpp"

namespace holon::launch {
namespace {

TakenUnits taken(const char* cores, const char* gpus) {
  TakenUnits units{3, {}, false};
  units.nodes.push_back({"n1", *Idset::parse(cores), *Idset::parse(gpus)});
  return units;
}

TEST(TakenUnits, AreThoseOfTheirNodeAlone) {
  const TakenUnits units = taken("4-5", "1");
  EXPECT_TRUE(has_taken_unit(units, "n[0-1]", "1", "5-7", ""));
  EXPECT_TRUE(has_taken_unit(units, "n[0-1]", "1", "0", "0-1"));
  EXPECT_FALSE(has_taken_unit(units, "n[0-1]", "0", "5-7", "1")) << "another node";
  EXPECT_FALSE(has_taken_unit(units, "n[0-1]", "1", "0-3,6", "0"));
  EXPECT_FALSE(has_taken_unit(units, "n1", "0", "", ""));
  EXPECT_TRUE(has_taken_unit(units, "", "", "4", "")) << "it does not say where it is";
}

TEST(TakenUnits, AreRefusedIfTheyAreNoSets) {
  msg::TakeRequest request;
  request.nodes = {{"n1", "x", ""}};
  EXPECT_FALSE(taken_units(request));
  request.nodes = {{"n1", "1-2", "0"}};
  const auto units = taken_units(request);
  ASSERT_TRUE(units);
  EXPECT_TRUE(units->nodes.front().cores.contains(2));
}

// Looks again and again until it is so.
template <class IsSo>
void await(const IsSo& is_so) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_so()) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    sched_yield();
  }
}

// A program with these variables; returns when it has them.
pid_t program(std::vector<std::string> words, std::vector<std::string> variables) {
  const pid_t pid = fork();
  if (pid == 0) {
    std::vector<char*> env, argv;
    for (std::string& variable : variables) env.push_back(variable.data());
    for (std::string& word : words) argv.push_back(word.data());
    env.push_back(nullptr);
    argv.push_back(nullptr);
    execve(argv[0], argv.data(), env.data());
    _exit(127);
  }
  await([&] {
    const auto process = stat_of(pid);
    return !process || !variable_of(*process, "HOLON_LINEAGE").value_or("").empty();
  });
  return pid;
}

class EndOnTakenUnits : public ::testing::Test {
 protected:
  ~EndOnTakenUnits() override {
    for (const pid_t pid : all_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  pid_t add(const std::string& lineage, const std::string& cores,
            const std::vector<std::string>& words = {"/bin/sleep", "600"}) {
    all_.push_back(program(words, {"HOLON_LINEAGE=" + lineage, "HOLON_NODELIST=n1",
                                   "HOLON_NODE_INDEX=0", "HOLON_CORES=" + cores}));
    return all_.back();
  }
  static bool lives(pid_t pid) {
    const auto process = stat_of(pid);
    return process && !process->is_over();
  }

  std::vector<pid_t> all_;
};

TEST_F(EndOnTakenUnits, FindsWhatJobsOfTheChildAndBelowItHave) {
  const std::string mark = "taken-" + std::to_string(getpid());
  const pid_t job = add(mark + "/3/7", "2,4"), below = add("other/1 " + mark + "/3/7/1", "5");
  const pid_t elsewhere = add(mark + "/3/8", "2-3"), other_child = add(mark + "/4/1", "4");
  const pid_t itself = add(mark + "/3", "4");
  const auto node = Node::discover("");
  ASSERT_TRUE(node) << node.error().what;
  const auto units = taken("4-5", "");
  const auto found = end_on_taken_units(*node, mark + "/", units);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(*found, 2u);
  for (const pid_t pid : {job, below}) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    std::erase(all_, pid);
  }
  for (const pid_t pid : {elsewhere, other_child, itself}) EXPECT_TRUE(lives(pid));
  EXPECT_EQ(*end_on_taken_units(*node, mark + "/", units), 0u);
}

// Its parent, and the leader of its session, have theirs still.
TEST_F(EndOnTakenUnits, FindsWhatHasThrownItsEnvironmentAway) {
  const std::string mark = "bare-" + std::to_string(getpid());
  const pid_t job = add(mark + "/3/7", "4", {"/bin/sh", "-c", "env -i /bin/sleep 600 & wait"});
  pid_t bare = 0;
  await([&] {
    for (const ProcessStat& process : all_processes())
      if (process.parent == job && process.has_empty_environment) bare = process.pid;
    return bare != 0;
  });
  const auto node = Node::discover("");
  ASSERT_TRUE(node) << node.error().what;
  EXPECT_EQ(*end_on_taken_units(*node, mark + "/", taken("4", "")), 2u);
  await([&] { return !lives(bare); });
  EXPECT_EQ(*end_on_taken_units(*node, mark + "/", taken("4", "")), 0u);
}

// Where the variables of this process are.
std::pair<std::uintptr_t, std::uintptr_t> own_variables() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream rest(text.substr(text.rfind(')') + 2));
  std::vector<std::uintptr_t> numbers(1);
  std::string word;
  for (int field = 3; rest >> word; ++field)
    if (field == 50 || field == 51) numbers.push_back(std::strtoull(word.c_str(), nullptr, 10));
  return numbers.size() < 3 ? std::pair<std::uintptr_t, std::uintptr_t>()
                            : std::pair(numbers[1], numbers[2]);
}

// A process that says that it is a task of this lineage, and below it one whose variables cannot be
// read, as in the middle of an exec. `parent` is 0 where there is no room for that.
struct InAnExec {
  pid_t parent = 0, child = 0;
};
InAnExec in_an_exec(const std::string& lineage, const std::string& cores) {
  std::string all = "HOLON_LINEAGE=" + lineage;
  for (const std::string& more : {std::string("HOLON_NODELIST=n1"),
                                  std::string("HOLON_NODE_INDEX=0"), "HOLON_CORES=" + cores})
    all += '\0' + more;
  const auto [begin, end] = own_variables();
  if (end - begin <= all.size() + 1) return {};
  std::array<int, 2> told{};
  EXPECT_EQ(pipe(told.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    setsid();
    auto* const variables = reinterpret_cast<char*>(begin);
    std::memset(variables, 0, end - begin);
    std::memcpy(variables, all.data(), all.size());
    const pid_t child = fork();
    if (child == 0) {
      constexpr std::uintptr_t kPage = 4096;
      const std::uintptr_t from = begin / kPage * kPage, to = (end + kPage - 1) / kPage * kPage;
      munmap(reinterpret_cast<void*>(from), to - from);  // nothing of it is needed any more
      const pid_t self = getpid();
      write(told[1], &self, sizeof self) == sizeof self ? pause() : 0;
      _exit(0);
    }
    pause();
    _exit(0);
  }
  InAnExec both{parent, 0};
  EXPECT_EQ(read(told[0], &both.child, sizeof both.child), ssize_t{sizeof both.child});
  for (const int fd : told) close(fd);
  return both;
}

// Which they are their kin says: the leader of their session, or what has started them.
TEST_F(EndOnTakenUnits, CountsWhatCannotBeJudgedYet) {
  const auto node = Node::discover("");
  ASSERT_TRUE(node) << node.error().what;
  const std::string mark = "exec-" + std::to_string(getpid());
  const auto there = in_an_exec(mark + "/3/7", "4"), elsewhere = in_an_exec(mark + "/3/8", "2");
  const auto of_agent = in_an_exec(mark + "/3", "4"), other = in_an_exec(mark + "/4/1", "4");
  if (there.parent == 0) GTEST_SKIP() << "this program has too few variables";
  for (const auto& both : {there, elsewhere, of_agent, other}) {
    all_.push_back(both.parent);
    const auto process = stat_of(both.child);
    ASSERT_TRUE(process);
    ASSERT_FALSE(variable_of(*process, "HOLON_LINEAGE")) << "it can be judged";
  }
  EXPECT_EQ(*end_on_taken_units(*node, mark + "/", taken("4", "")), 3u)
      << "the task, what it is just starting, and what the agent is";
  await([&] { return !lives(there.parent); });
  for (const pid_t pid : {elsewhere.parent, of_agent.parent, of_agent.child, other.parent})
    EXPECT_TRUE(lives(pid));
  EXPECT_GT(*end_on_taken_units(*node, mark + "/", taken("4", "")), 0u) << "it is there still";
  kill(of_agent.child, SIGKILL);
  await([&] { return !lives(of_agent.child); });
  EXPECT_EQ(*end_on_taken_units(*node, mark + "/", taken("4", "")), 0u);
  for (const auto& both : {there, elsewhere, other}) kill(both.child, SIGKILL);
}

TEST_F(EndOnTakenUnits, FindsWhatIsBoundThereWhateverItSays) {
  const auto node = Node::discover("");
  ASSERT_TRUE(node) << node.error().what;
  if (node->cores() < 2) GTEST_SKIP() << "needs two cores";
  const std::string mark = "bound-" + std::to_string(getpid());
  const pid_t there = add(mark + "/3/7", "0"), elsewhere = add(mark + "/3/8", "0");
  const auto bind = [&](pid_t pid, std::uint64_t core) {
    Idset one;
    one.insert(core);
    const auto cpus = node->cpus_of(one);
    ASSERT_TRUE(cpus);
    const auto& words = cpus->words();
    EXPECT_EQ(sched_setaffinity(pid, words.size() * sizeof(words.front()),
                                reinterpret_cast<const cpu_set_t*>(words.data())),
              0);
  };
  bind(there, 1);
  bind(elsewhere, 0);
  TakenUnits units{3, {}, true};
  units.nodes.push_back({"n1", *Idset::parse("1"), {}});
  EXPECT_EQ(*end_on_taken_units(*node, mark + "/", units), 1u);
  int status = 0;
  ASSERT_EQ(waitpid(there, &status, 0), there);
  std::erase(all_, there);
  EXPECT_TRUE(lives(elsewhere));
}

}  // namespace
}  // namespace holon::launch
