#include "tests/system/nodes/campaign.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <sstream>

#include "places.hpp"  // written by CMake

namespace holon::system_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// The last word of a line that begins with `mark`.
std::string last_word(const std::string& out, const std::string& mark) {
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(mark)) return line.substr(line.rfind(' ') + 1);
  return "";
}

}  // namespace

std::string write_campaign(Sandbox& sandbox) {
  const std::string holon = fmt::format("#!/bin/sh\nholon={}\n", HOLON_BINARY);
  const auto child = sandbox.write_file(
      "child.sh",
      holon +
          "$holon run -N2 -n2 sh -c 'echo child task on $(hostname)'\n"
          "id=$($holon batch -N1 -n1 --wrap \"$holon run sh -c 'echo grandchild on $(hostname)'; "
          "$holon uptime\")\n"
          "$holon job wait $id\n$holon job output $id\n$holon tree -i /\nexit 5\n",
      true);
  return sandbox.write_file(
      "campaign.sh",
      holon + "$holon uptime\n" +
          "$holon submit --count 200 sh -c true > /dev/null\n"
          "$holon job wait --all; echo all ended with $?\n"
          "for node in 1 2 3 4; do\n"
          "  echo jobs on n$node: $($holon jobs -a --format nodelist | grep -c ^n$node)\n"
          "done\n"
          "$holon run -N4 -n4 sh -c 'echo task $HOLON_TASK_RANK of 4 on $(hostname)'\n" +
          fmt::format("id=$($holon batch -N2 -n2 --conf queue.policy=easy {})\n", child) +
          "$holon job wait $id 2> /dev/null; echo child ended with $?\n$holon job output $id\n"
          "[ -z \"$SLURM_JOB_ID\" ] || squeue -h -s -j $SLURM_JOB_ID -o 'step %i'\n"
          "exit 7\n",
      true);
}

void expect_campaign(const std::string& out) {
  EXPECT_THAT(out, HasSubstr(", 4 nodes, "));
  EXPECT_THAT(out, HasSubstr("all ended with 0\n"));
  int jobs = 0;
  for (int node = 1; node <= 4; ++node) {
    const int there = std::atoi(last_word(out, fmt::format("jobs on n{}:", node)).c_str());
    EXPECT_GT(there, 0) << "on n" << node;
    jobs += there;
    EXPECT_THAT(out, ContainsRegex(fmt::format("task [0-3] of 4 on n{}\n", node)));
  }
  EXPECT_EQ(jobs, 200);
  EXPECT_THAT(out, HasSubstr("child ended with 1\n"));
  EXPECT_THAT(out, ContainsRegex("child task on n[1-4]\n"));
  EXPECT_THAT(out, ContainsRegex("grandchild on n[1-4]\n"));
  EXPECT_THAT(out, ContainsRegex("depth 2, fcfs, .*1 node, 1 of 1 cores free"));
  EXPECT_THAT(out, ContainsRegex("child.sh +easy"));
  if (testing::Test::HasFailure()) ADD_FAILURE() << out;
}

std::string write_waiting_program(Sandbox& sandbox, const std::string& file) {
  return sandbox.write_file(
      "waiting.sh",
      fmt::format("#!/bin/sh\nholon={0}\n$holon run true\n"
                  "$holon submit -N4 -n4 sh -c 'echo up >> {1}/up; exec sleep 1000'\n"
                  "while [ $(cat {1}/up 2> /dev/null | wc -l) -lt 4 ]; do sleep 0.05; done\n"
                  "echo running > {2}\nexec sleep 1000\n",
                  HOLON_BINARY, sandbox.folder(), file),
      true);
}

}  // namespace holon::system_test
