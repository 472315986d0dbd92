// docs/own-policy.md: every line of it that a reader could type is typed, in its order.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

// The first lines of Lua in a fence, and all commands in fences.
struct Page {
  std::string lua;
  std::vector<std::string> commands;
};

Page read_page() {
  Page page;
  std::ifstream in(HOLON_SOURCE_DIR "/docs/own-policy.md");
  std::string fence;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      fence = fence.empty() ? line : "";
    } else if (fence == "```lua") {
      page.lua += line + "\n";
    } else if (!fence.empty()) {
      if (line.starts_with("$ ")) line.erase(0, 2);
      if (line.starts_with("holon ")) page.commands.push_back(line);
    }
  }
  return page;
}

// 40 jobs on 8 processors, as Standard Workload Format.
std::string sample_trace() {
  std::string swf = "; MaxProcs: 8\n";
  for (int id = 1; id <= 40; ++id) {
    const std::string run = std::to_string(60 * (1 + id * 7 % 11));
    const std::string procs = std::to_string(1 + id * 5 % 8);
    swf += std::to_string(id) + " " + std::to_string(20 * id) + " -1 " + run + " " + procs +
           " -1 -1 " + procs + " " + run + " -1 1 1 1 -1 1 -1 -1 -1\n";
  }
  return swf;
}

std::string without_comment(std::string command) {
  command.resize(std::min(command.size(), command.find('#')));
  command.resize(command.find_last_not_of(' ') + 1);
  return command;
}

Ran run_line(Sandbox& sandbox, const std::string& command) {
  Process process({"/bin/sh", "-c", "exec \"$0\" " + command.substr(std::string("holon ").size()),
                   HOLON_BINARY},
                  sandbox.environment(), sandbox.folder());
  process.close_input();
  return process.finish();
}

// All cores are in use, and jobs 4 to 8 wait.
void let_jobs_wait(Sandbox& sandbox) {
  sandbox.ok({"job", "wait", "--all"});
  sandbox.ok({"submit", "-n", "8", "-t", "1h", "sleep", "600"});
  for (const char* minutes : {"50m", "40m", "30m", "20m", "10m"})
    sandbox.ok({"submit", "-n", "8", "-t", minutes, "true"});
}

TEST(OwnPolicyPage, EveryLineOfItWorks) {
  Sandbox sandbox;
  const Page page = read_page();
  sandbox.write_file("mine.lua", page.lua);
  sandbox.write_file("trace.swf", sample_trace());
  sandbox.write_file("campaign.sh", "#!/bin/sh\nholon run true\n", true);
  Instance instance(sandbox, {"--resources", "node=1/core=8"});
  EXPECT_GE(page.commands.size(), 13u);
  std::map<std::string, std::string> said;
  for (const auto& command : page.commands) {
    if (command.starts_with("holon policy what-if") && !said.contains("waits")) {
      let_jobs_wait(sandbox);
      said["waits"] = "";
    }
    const Ran ran = run_line(sandbox, command);
    EXPECT_EQ(ran.code, 0) << command << "\n" << ran.out << ran.err;
    said[without_comment(command)] = ran.out;
  }
  const auto one = said.find("holon policy what-if mine.lua 7");
  ASSERT_NE(one, said.end());
  EXPECT_TRUE(one->second.starts_with("with mine.lua job 7 would start at ")) << one->second;
}

}  // namespace
}  // namespace holon::system_test
