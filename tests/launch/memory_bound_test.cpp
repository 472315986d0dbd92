// Bounds on memory that the kernel keeps, in a folder that stands for a cgroup.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "launch/tracking/cgroup.hpp"
#include "launch/tracking/memory.hpp"

namespace holon::launch {
namespace {

class MemoryBound : public ::testing::Test {
 protected:
  MemoryBound() {
    std::string name = ::testing::TempDir() + "holon-cgroup-XXXXXX";
    dir_ = mkdtemp(name.data());
  }
  ~MemoryBound() override { std::filesystem::remove_all(dir_); }

  void put(const std::string& file, const std::string& text) const {
    std::ofstream(dir_ + "/" + file) << text;
  }
  std::string text(const std::string& file) const {
    std::ifstream in(dir_ + "/" + file);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
  }

  std::string dir_;
};

TEST_F(MemoryBound, IsOfferedWhereTheControllerIsThereAndMayBeSwitchedOn) {
  EXPECT_FALSE(offer_memory_bounds(dir_));
  put("cgroup.controllers", "cpu pids\n");
  put("cgroup.subtree_control", "");
  EXPECT_FALSE(offer_memory_bounds(dir_));
  EXPECT_EQ(text("cgroup.subtree_control"), "");
  put("cgroup.controllers", "cpu memory pids\n");
  EXPECT_TRUE(offer_memory_bounds(dir_));
  EXPECT_EQ(text("cgroup.subtree_control"), "+memory");
}

TEST_F(MemoryBound, IsWrittenWhereTheKernelTakesIt) {
  EXPECT_FALSE(bound_memory(dir_, 100));
  for (const char* file : {"memory.max", "memory.swap.max", "memory.oom.group"}) put(file, "");
  EXPECT_TRUE(bound_memory(dir_, 104857600));
  EXPECT_EQ(text("memory.max"), "104857600");
  EXPECT_EQ(text("memory.swap.max"), "0");
  EXPECT_EQ(text("memory.oom.group"), "1");
}

TEST_F(MemoryBound, WhatTheKernelEndedAndTheMostThatWasUsedIsRead) {
  EXPECT_FALSE(ran_out_of_memory(dir_));
  EXPECT_FALSE(memory_peak(dir_));
  put("memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\noom_group_kill 0\n");
  EXPECT_FALSE(ran_out_of_memory(dir_));
  put("memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n");
  EXPECT_TRUE(ran_out_of_memory(dir_));
  put("memory.peak", "123456\n");
  EXPECT_EQ(memory_peak(dir_), 123456);
}

TEST(MemoryUse, IsThatOfProcessesThatAreThere) {
  const std::int64_t own = resident_bytes({getpid()});
  EXPECT_GT(own, 1 << 20);
  EXPECT_EQ(resident_bytes({}), 0);
  EXPECT_GE(resident_bytes({getpid(), getpid()}), own);
  EXPECT_GT(proportional_bytes({getpid()}), 0);
  EXPECT_LE(proportional_bytes({getpid()}), resident_bytes({getpid()}) + (1 << 20));
}

TEST(MemoryUse, IsSaidInWords) {
  EXPECT_EQ(memory_text(std::int64_t{300} << 20), "300 MiB");
  EXPECT_EQ(memory_text(std::int64_t{3} << 29), "1.50 GiB");
}

}  // namespace
}  // namespace holon::launch
