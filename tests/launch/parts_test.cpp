// The pieces below Jobs: environment, topology and numbering, /proc.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "launch/node.hpp"
#include "launch/offer.hpp"
#include "launch/tasks/environment.hpp"
#include "launch/topology.hpp"
#include "launch/tracking/process.hpp"
#include "transport/secret.hpp"

namespace holon::launch {
namespace {

std::string value(const std::vector<std::string>& env, const std::string& key) {
  for (const std::string& entry : env)
    if (entry.starts_with(key + "=")) return entry.substr(key.size() + 1);
  return "(unset)";
}

msg::Start one_task() {
  msg::Start start;
  start.job = 4;
  start.path = "/4";
  start.tasks = {{0, "", ""}};
  return start;
}

TEST(Environment, IsSortedAndEveryKeyIsThereOnce) {
  auto start = one_task();
  start.cores = "0-1";
  start.env = {{"B", "job"}, {"HOLON_URI", "x"}};
  const Environment base = {{"A", "1"}, {"B", "program"}, {"HOLON_JOB_ID", "forged"}, {"Z", ""}};
  const auto env = task_environment(base, start, 0, {});
  std::vector<std::string> keys;
  for (const std::string& entry : env) keys.push_back(entry.substr(0, entry.find('=')));
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
  EXPECT_EQ(value(env, "A"), "1");
  EXPECT_EQ(value(env, "B"), "job");
  EXPECT_EQ(value(env, "Z"), "");
  EXPECT_EQ(value(env, "HOLON_JOB_ID"), "4");
}

TEST(Environment, SecretsAreTakenOnce) {
  const Environment secrets = {{"A", "1=2"}, {"B", ""}};
  const int fd = dup(transport::secret_in_descriptor(secrets_text(secrets))->get());
  setenv("HOLON_SECRETS_FD", std::to_string(fd).c_str(), 1);
  EXPECT_EQ(take_secrets(), secrets);
  EXPECT_EQ(std::getenv("HOLON_SECRETS_FD"), nullptr);
  EXPECT_EQ(take_secrets().error().code, Errc::not_found);
  setenv("HOLON_SECRETS_FD", "0", 1);
  EXPECT_FALSE(take_secrets());
}

TEST(Environment, TheMachineIsShownToChildInstancesOnly) {
  NodeFrame frame;
  frame.machine = "/proc/7/fd/9";
  auto start = one_task();
  const Environment inherited = {{"HOLON_MACHINE", "/proc/1/fd/2"}};
  EXPECT_EQ(value(task_environment(inherited, start, 0, frame), "HOLON_MACHINE"), "(unset)");
  start.secrets = {{"HOLON_TOKEN", "x"}};
  EXPECT_EQ(value(task_environment(inherited, start, 0, frame), "HOLON_MACHINE"), "/proc/7/fd/9");
  frame.machine = "";
  EXPECT_EQ(value(task_environment(inherited, start, 0, frame), "HOLON_MACHINE"), "(unset)");
}

TEST(Environment, ThreadsFollowTheCoresUnlessTheUserSaidOtherwise) {
  auto start = one_task();
  start.cores = "0-3";
  EXPECT_EQ(value(task_environment({}, start, 0, {}), "OMP_NUM_THREADS"), "4");
  EXPECT_EQ(value(task_environment({{"OMP_NUM_THREADS", "9"}}, start, 0, {}), "OMP_NUM_THREADS"),
            "9");
  const Environment outer = {{"OMP_NUM_THREADS", "64"}, {"HOLON_OMP_NUM_THREADS", "64"}};
  EXPECT_EQ(value(task_environment(outer, start, 0, {}), "OMP_NUM_THREADS"), "4")
      << "an outer job's number is not the user's";
  start.cores = "";
  EXPECT_EQ(value(task_environment({}, start, 0, {}), "OMP_NUM_THREADS"), "(unset)");
}

// A declared shape: one agent runs the tasks of all its nodes.
TEST(Environment, TasksOfSeveralNodesHaveTheirPlaceOnEach) {
  msg::Start start;
  start.ntasks = 5;
  start.nnodes = 3;
  for (std::uint32_t rank = 0; rank < 5; ++rank) start.tasks.push_back({rank, "", ""});
  start.node_tasks = {2, 0, 3};
  const auto has = [&](std::size_t index, const std::string& entry) {
    const auto all = task_environment({}, start, index, {"", {}, false, false});
    return std::find(all.begin(), all.end(), entry) != all.end();
  };
  EXPECT_TRUE(has(1, "HOLON_NODE_INDEX=0") && has(1, "HOLON_LOCAL_RANK=1") &&
              has(1, "HOLON_LOCAL_NTASKS=2"));
  EXPECT_TRUE(has(2, "HOLON_NODE_INDEX=2") && has(2, "HOLON_LOCAL_RANK=0") &&
              has(2, "HOLON_LOCAL_NTASKS=3"));
  EXPECT_TRUE(has(4, "HOLON_NODE_INDEX=2") && has(4, "HOLON_LOCAL_RANK=2"));
}

TEST(Environment, GpusAreNamedAsTheirLibraryCountsThem) {
  auto start = one_task();
  start.gpus = "0-1";
  NodeFrame plain{"", {}, true, false};
  EXPECT_EQ(value(task_environment({}, start, 0, plain), "CUDA_VISIBLE_DEVICES"), "0,1");
  EXPECT_EQ(value(task_environment({}, start, 0, plain), "ROCR_VISIBLE_DEVICES"), "(unset)");
  NodeFrame given{"", {"2", "5"}, true, false};
  EXPECT_EQ(value(task_environment({}, start, 0, given), "CUDA_VISIBLE_DEVICES"), "2,5");
  EXPECT_EQ(value(task_environment({}, start, 0, given), "HOLON_GPU_DEVICES"), "2,5");
  EXPECT_EQ(value(task_environment({}, start, 0, given), "HOLON_GPUS"), "0-1");
  NodeFrame amd{"", {}, true, true};
  const Environment inherited = {{"CUDA_VISIBLE_DEVICES", "7"}, {"HIP_VISIBLE_DEVICES", "7"}};
  EXPECT_EQ(value(task_environment(inherited, start, 0, amd), "ROCR_VISIBLE_DEVICES"), "0,1");
  EXPECT_EQ(value(task_environment(inherited, start, 0, amd), "HIP_VISIBLE_DEVICES"), "(unset)");
  EXPECT_EQ(value(task_environment(inherited, start, 0, amd), "CUDA_VISIBLE_DEVICES"), "(unset)");
}

// Each maker's library counts its own devices, and shows all of them unless its variable says less.
TEST(Environment, GpusOfTwoMakersAreShownToTheirOwnLibraries) {
  const NodeFrame mixed{"", {"nvidia:0", "nvidia:3", "amd:0"}, true, false};
  const auto shown = [&](const std::string& gpus) {
    auto start = one_task();
    start.gpus = gpus;
    const auto all = task_environment({}, start, 0, mixed);
    std::string text;
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"})
      text += value(all, name) + " ";
    return text;
  };
  EXPECT_EQ(shown("0-2"), "0,3 0 0 ");
  EXPECT_EQ(shown("1"), "3 -1 -1 ");
  EXPECT_EQ(shown("2"), "-1 0 0 ");
  EXPECT_EQ(shown(""), "-1 -1 -1 ");
  auto start = one_task();
  start.gpus = "2";
  EXPECT_EQ(value(task_environment({}, start, 0, mixed), "HOLON_GPU_DEVICES"),
            "nvidia:0,nvidia:3,amd:0")
      << "for the agents of a child, whose numbers are these";
}

TEST(Environment, IntelsGpusAreShownByItsOwnVariable) {
  const NodeFrame intel{"", {"intel:0", "intel:1"}, true, false};
  auto start = one_task();
  start.gpus = "1";
  const auto all = task_environment({{"CUDA_VISIBLE_DEVICES", "7"}}, start, 0, intel);
  EXPECT_EQ(value(all, "ZE_AFFINITY_MASK"), "1");
  EXPECT_EQ(value(all, "CUDA_VISIBLE_DEVICES"), "(unset)");
  EXPECT_EQ(value(task_environment({}, one_task(), 0, intel), "ZE_AFFINITY_MASK"), "-1");
}

TEST(Environment, AJobWithoutGpusIsShownNoneWhereThereAreSome) {
  EXPECT_EQ(
      value(task_environment({}, one_task(), 0, {"", {}, true, false}), "CUDA_VISIBLE_DEVICES"),
      "-1");
  EXPECT_EQ(
      value(task_environment({}, one_task(), 0, {"", {}, false, false}), "CUDA_VISIBLE_DEVICES"),
      "(unset)");
  auto declared = one_task();
  declared.hides_gpus = true;  // the instance has some that no library here knows
  const Environment of_the_job_around = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
  EXPECT_EQ(value(task_environment(of_the_job_around, declared, 0, {"", {}, false, false}),
                  "CUDA_VISIBLE_DEVICES"),
            "-1");
}

// Beside holon's own, where a script of Slurm's was translated.
TEST(Environment, NumbersHaveSlurmsNamesWhereTheyAreAskedFor) {
  auto start = one_task();
  start.slurm_names = true;
  start.cores = "0-3";
  const auto all = task_environment({{"SLURM_PROCID", "of the step around"}}, start, 0, {});
  EXPECT_EQ(value(all, "SLURM_JOB_ID"), value(all, "HOLON_JOB_ID"));
  EXPECT_EQ(value(all, "SLURM_PROCID"), value(all, "HOLON_TASK_RANK"));
  EXPECT_EQ(value(all, "SLURM_JOB_NODELIST"), value(all, "HOLON_NODELIST"));
  EXPECT_EQ(value(all, "SLURM_CPUS_ON_NODE"), "4");
  start.slurm_names = false;
  EXPECT_EQ(value(task_environment({}, start, 0, {}), "SLURM_JOB_ID"), "(unset)");
}

// A step of a script's has the job's number, and its own among the steps.
TEST(Environment, AStepKeepsWhatSlurmsNamesSayOfTheJob) {
  auto start = one_task();
  start.job = 3;
  start.slurm_names = true;
  start.ntasks = 5;
  start.nnodes = 3;
  start.nodelist = "n[1-3]";
  start.node_tasks = {2, 2, 1};
  const Environment base = {
      {kStepOf, "7"}, {"SLURM_JOB_NUM_NODES", "4"}, {"SLURM_JOB_NODELIST", "n[1-4]"}};
  const auto all = task_environment(base, start, 0, {});
  EXPECT_EQ(value(all, "SLURM_JOB_ID"), "7");
  EXPECT_EQ(value(all, "SLURM_STEP_ID"), "2") << "they count from 0";
  EXPECT_EQ(value(all, "SLURM_JOB_NUM_NODES"), "4");
  EXPECT_EQ(value(all, "SLURM_JOB_NODELIST"), "n[1-4]");
  EXPECT_EQ(value(all, "SLURM_STEP_NUM_TASKS"), "5");
  EXPECT_EQ(value(all, "SLURM_STEP_NUM_NODES"), "3");
  EXPECT_EQ(value(all, "SLURM_NNODES"), "3");
  EXPECT_EQ(value(all, "SLURM_STEP_NODELIST"), "n[1-3]");
  EXPECT_EQ(value(all, "SLURM_TASKS_PER_NODE"), "2(x2),1");
}

TEST(Topology, IsRestrictedToWhatTheProcessMayUse) {
  const auto all = topology_xml();
  ASSERT_TRUE(all) << to_string(all.error());
  EXPECT_NE(all->find("<topology version=\"2.0\""), std::string::npos);
  const auto own = CpuMask::current();
  CpuMask first;
  unsigned cpu = 0;
  while (!own->contains(cpu)) ++cpu;
  first.add(cpu);
  ASSERT_TRUE(first.apply());
  const auto node = Node::discover("");
  const auto list = allowed_cpuset();
  ASSERT_TRUE(own->apply());
  ASSERT_TRUE(node);
  EXPECT_EQ(node->cores(), 1U);
  EXPECT_EQ(*list, std::to_string(cpu));
  EXPECT_EQ(node->cpuset(), *list);
}

TEST(Topology, ANestedAgentNumbersCoresAsItsRootDoes) {
  const auto root = Node::discover("");
  ASSERT_TRUE(root);
  if (root->cores() < 2) GTEST_SKIP() << "needs two cores";
  const std::string last = std::to_string(root->cores() - 1);
  const auto own = CpuMask::current();
  const auto bound = root->cpus_of(*Idset::parse(last));
  ASSERT_TRUE(bound->apply());
  const auto nested = Node::discover(root->cpuset());
  ASSERT_TRUE(own->apply());
  ASSERT_TRUE(nested);
  EXPECT_EQ(nested->cores(), root->cores());
  EXPECT_EQ(*nested->cpus_of(*Idset::parse(last)), *bound);
}

// As hwloc writes it into its XML: the sum over all NUMA nodes.
std::uint64_t memory_in(const std::string& xml) {
  const std::string key = "local_memory=\"";
  std::uint64_t all = 0;
  for (auto at = xml.find(key); at != std::string::npos; at = xml.find(key, at + 1))
    all += std::stoull(xml.substr(at + key.size()));
  return all;
}

TEST(Topology, ShowsNoMoreMemoryThanIsAskedFor) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
  const auto all = memory_in(*topology_xml());
  if (all < 3 * kGiB) GTEST_SKIP() << "needs 3 GiB of memory";
  EXPECT_EQ(memory_in(*topology_xml("", 2 * kGiB + kGiB / 2)), 2 * kGiB);
  EXPECT_EQ(memory_in(*topology_xml("", all)), all);
  EXPECT_EQ(memory_in(*topology_xml("", kGiB / 2)), 0U) << "less than the unit that is counted in";
}

TEST(Offer, KeepsTheFirstCores) {
  const auto own = CpuMask::current();
  const auto node = Node::discover("");
  if (node->cores() < 2) GTEST_SKIP() << "needs two cores";
  EXPECT_EQ(keep_first_cores({}, {}).value(), std::nullopt);
  EXPECT_EQ(keep_first_cores(10'000, 10'000).value(), std::nullopt);
  EXPECT_TRUE(*CpuMask::current() == *own) << "nothing was to be cut";
  const auto kept = keep_first_cores(1, {});
  const auto left = CpuMask::current();
  ASSERT_TRUE(own->apply());
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ((*kept)->cores, 1U);
  EXPECT_EQ((*kept)->of, node->cores());
  const auto first = node->cpus_of(*Idset::parse("0"));
  EXPECT_TRUE(left->covers(*first) && left->count() == first->count());
}

// One at least, though a core may have more threads than were granted; and a binding counts for
// more than a number.
TEST(Offer, CountsThreadsWhereNothingIsBound) {
  const auto own = CpuMask::current();
  const auto node = Node::discover("");
  const auto online = static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN));
  if (node->cores() < 2 || own->count() < online)
    GTEST_SKIP() << "needs two cores, and all of them";
  const auto kept = keep_first_cores({}, 1);
  const auto again = keep_first_cores({}, 1);
  ASSERT_TRUE(own->apply());
  ASSERT_TRUE(kept && *kept && again);
  EXPECT_EQ((*kept)->cores, 1U);
  EXPECT_EQ(*again, std::nullopt);
}

TEST(Topology, CpusThatDoNotExistAreRefused) {
  EXPECT_EQ(topology_xml("100000").error().code, Errc::invalid_argument);
  EXPECT_EQ(topology_xml("x").error().code, Errc::invalid_argument);
  EXPECT_EQ(Node::discover("3-1x").error().code, Errc::invalid_argument);
}

TEST(Process, StatReadsNamesWithBracketsAndBlanks) {
  const pid_t pid = fork();
  if (pid == 0) {
    FILE* name = fopen("/proc/self/comm", "w");
    fputs("a) b (c", name);
    fclose(name);
    setpgid(0, 0);
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, WUNTRACED);
  const auto stat = stat_of(pid);
  kill(pid, SIGKILL);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, getpid());
  EXPECT_EQ(stat->group, pid);
  EXPECT_EQ(stat->state, 'T');
  EXPECT_GT(stat->start, stat_of(1)->start);
  waitpid(pid, &status, 0);
  EXPECT_FALSE(stat_of(pid));
}

TEST(Process, ASessionIsEndedOnlyWhileItIsStillTheSame) {
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, WUNTRACED);
  const auto stat = stat_of(pid);
  ASSERT_TRUE(stat);
  EXPECT_EQ(kill_sessions({{pid, stat->start + 1}}, "m/"), 0U)
      << "the number was given to somebody else";
  EXPECT_EQ(kill_sessions({{pid, 0}}, "m/"), 0U) << "unknown start";
  EXPECT_EQ(kill_sessions({{1, stat_of(1)->start}}, "m/"), 0U) << "never init";
  EXPECT_EQ(kill_sessions({{pid, stat->start}}, "m/"), 1U);
  waitpid(pid, &status, 0);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

}  // namespace
}  // namespace holon::launch
