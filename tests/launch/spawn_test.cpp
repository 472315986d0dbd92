// What was looked up for one task is not taken to be so for ever (launch/tasks/spawn.cpp).
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

// What the agent ignores and where a command is, it looks up again now and then, not for each task:
// of these jobs one is the first that sees the change.
TEST_F(JobsTest, WhatTheAgentBeginsToIgnoreAfterATaskIsNotIgnoredInLaterOnes) {
  std::uint64_t job = 0;
  const auto is_ignored = [&] {
    run(shell("grep SigIgn /proc/self/status"), start(++job));
    const std::string text = output(job);
    return text.size() < 24 ||
           (std::stoul(text.substr(8, 16), nullptr, 16) >> (SIGURG - 1) & 1) != 0;
  };
  ASSERT_FALSE(is_ignored());
  std::signal(SIGURG, SIG_IGN);
  EXPECT_TRUE(until([&] { return !is_ignored(); }));
  std::signal(SIGURG, SIG_DFL);
}

TEST_F(JobsTest, ACommandThatIsInstalledOrRemovedAfterATaskIsSeenByLaterOnes) {
  for (const char* place : {"first", "second"}) {
    std::filesystem::create_directory(dir_ + "/" + place);
    std::ofstream(dir_ + "/" + place + "/tool") << "#!/bin/sh\necho " << place << "\n";
    chmod((dir_ + "/" + place + "/tool").c_str(), 0755);
  }
  const std::string first = dir_ + "/first/tool", away = dir_ + "/first/away";
  std::filesystem::rename(first, away);
  std::uint64_t job = 0;
  const auto used = [&] {
    auto tool = program({"tool"});
    tool.env = {{"PATH", dir_ + "/first:" + dir_ + "/second"}};
    run(std::move(tool), start(++job));
    return output(job);
  };
  ASSERT_EQ(used(), "second\n");
  std::filesystem::rename(away, first);
  EXPECT_TRUE(until([&] { return used() == "first\n"; }));
  std::filesystem::remove(first);
  EXPECT_TRUE(until([&] { return used() == "second\n"; }));
}

// It is made from the agent's memory, which counts for nothing.
TEST_F(JobsTest, TheMemoryOfATaskIsItsOwn) {
  constexpr std::int64_t kLarge = 64 * 1024;
  std::vector<char> large(std::size_t{kLarge} * 1024, 'x');  // this process is the agent
  const auto small = run("exit 0");
  EXPECT_GT(small.tasks[0].max_rss_kb, 100);
  EXPECT_LT(small.tasks[0].max_rss_kb, 8 * 1024);
  EXPECT_EQ(large.back(), 'x');
  large = {};
  const auto grown = run(shell("head -c 64M /dev/zero | tail -c 48M > /dev/null"), start(2));
  EXPECT_GT(grown.tasks[0].max_rss_kb, 40 * 1024);
}

}  // namespace
}  // namespace holon::launch
