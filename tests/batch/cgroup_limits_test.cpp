#include "batch/cgroup_limits.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/batch/recorded.hpp"

namespace holon::batch {
namespace {

const std::string kMountV2 =
    "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

CgroupLimits limits_of(Files files) {
  return find_cgroup_limits(environment_of("", std::move(files)));
}

TEST(CgroupLimits, OfV2AreTheLeastOfAllCgroupsAbove) {
  const auto limits = limits_of({{"/proc/self/mountinfo", kMountV2},
                                 {"/proc/self/cgroup", "0::/user.slice/job/step\n"},
                                 {"/sys/fs/cgroup/user.slice/job/step/cpu.max", "max 100000\n"},
                                 {"/sys/fs/cgroup/user.slice/job/cpu.max", "350000 100000\n"},
                                 {"/sys/fs/cgroup/user.slice/cpu.max", "800000 100000\n"},
                                 {"/sys/fs/cgroup/user.slice/job/step/memory.max", "4294967296\n"},
                                 {"/sys/fs/cgroup/user.slice/job/memory.max", "max\n"}});
  EXPECT_EQ(limits.cpus, 3.5);
  EXPECT_EQ(limits.cores(), 3U);
  EXPECT_EQ(limits.cpus_from, "/sys/fs/cgroup/user.slice/job/cpu.max");
  EXPECT_EQ(limits.memory, 4ULL << 30U);
  EXPECT_EQ(limits.memory_from, "/sys/fs/cgroup/user.slice/job/step/memory.max");
}

// With a cgroup namespace the container's own cgroup is "/".
TEST(CgroupLimits, OfAContainerStandAtTheMount) {
  const auto limits = limits_of({{"/proc/self/mountinfo", kMountV2},
                                 {"/proc/self/cgroup", "0::/\n"},
                                 {"/sys/fs/cgroup/cpu.max", "50000 100000\n"}});
  EXPECT_EQ(limits.cpus, 0.5);
  EXPECT_EQ(limits.cores(), 1U) << "one at least";
}

TEST(CgroupLimits, OfV1AreQuotaAndMemoryLimit) {
  const auto limits = limits_of(
      {{"/proc/self/mountinfo",
        "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory\n"
        "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"},
       {"/proc/self/cgroup",
        "4:memory:/slurm/job_7\n2:cpu,cpuacct:/docker/abc/in\n1:cpuset:/\n0::/\n"},
       {"/sys/fs/cgroup/cpu,cpuacct/in/cpu.cfs_quota_us", "-1\n"},
       {"/sys/fs/cgroup/cpu,cpuacct/in/cpu.cfs_period_us", "100000\n"},
       {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n"},
       {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
       {"/sys/fs/cgroup/my memory/slurm/job_7/memory.limit_in_bytes", "2097152000\n"},
       {"/sys/fs/cgroup/my memory/memory.limit_in_bytes", "9223372036854771712\n"}});
  EXPECT_EQ(limits.cpus, 2.0);
  EXPECT_EQ(limits.memory, 2'097'152'000ULL);
}

TEST(CgroupLimits, ThatAreNotThereLimitNothing) {
  const auto none = limits_of({});
  EXPECT_FALSE(none.cpus || none.memory || none.cores());
  const auto outside = limits_of({{"/proc/self/mountinfo", kMountV2},
                                  {"/proc/self/cgroup", "0::/../../other\n"},
                                  {"/sys/fs/cgroup/cpu.max", "0 0\n"}});
  EXPECT_FALSE(outside.cpus);
}

bool write_to(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  return static_cast<bool>(out);
}

// A real cgroup: made, limited, entered by a child process, which tells what it finds.
TEST(CgroupLimits, OfARealCgroupAreFound) {
  const std::string name = "/holon-test-" + std::to_string(getpid());
  const std::string v1 = "/sys/fs/cgroup/cpu" + name, v2 = "/sys/fs/cgroup" + name;
  std::string made;
  if (mkdir(v1.c_str(), 0755) == 0 && write_to(v1 + "/cpu.cfs_quota_us", "150000"))
    made = v1;
  else if (mkdir(v2.c_str(), 0755) == 0 && write_to(v2 + "/cpu.max", "150000 100000"))
    made = v2;
  if (made.empty()) {
    rmdir(v1.c_str());
    rmdir(v2.c_str());
    GTEST_SKIP() << "no cgroup with a limit of CPU time can be made here: that needs root, and the "
                    "cpu controller";
  }
  const pid_t child = fork();
  if (child == 0) {
    const bool entered = write_to(made + "/cgroup.procs", std::to_string(getpid()));
    const auto limits = find_cgroup_limits(current_environment());
    _exit(entered && limits.cpus == 1.5 && limits.cores() == 1U ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  rmdir(made.c_str());
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace holon::batch
