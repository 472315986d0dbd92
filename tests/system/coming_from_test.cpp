// The tables of equals in docs/coming-from: every line of them is run.
#include <gtest/gtest.h>

#include <fstream>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

// "| `theirs` | `holon ...` |": what stands in the last column.
std::vector<std::string> commands_of(const std::string& page) {
  const std::string begin = "| `holon ";
  const std::string end = "` |";
  std::vector<std::string> commands;
  std::ifstream in(std::string(HOLON_SOURCE_DIR "/docs/coming-from/") + page);
  for (std::string line; std::getline(in, line);) {
    const auto at = line.rfind(begin);
    if (at == std::string::npos || !line.ends_with(end)) continue;
    const auto first = at + begin.size();
    commands.push_back(line.substr(first, line.size() - first - end.size()));
  }
  return commands;
}

void write_scripts(Sandbox& sandbox) {
  sandbox.write_file("a.sh", "#!/bin/sh\ntrue\n", true);
  sandbox.write_file("list.csv", "a,b\n1,2\n3,4\n");
  sandbox.write_file("list.txt", "1\n2\n");
  sandbox.write_file("list.json", R"([{"a": 1, "b": 2}, {"a": 3, "b": 4}])");
  sandbox.write_file("job.toml", "[[task]]\nname = \"fit\"\ncommand = [\"true\"]\n");
  sandbox.write_file("campaign.sh", "#!/bin/sh\nholon run true\n", true);
  sandbox.write_file("job.sh", "#!/bin/sh\n#SBATCH -n 2\n# flux: -n 2\nholon run -n 2 true\n",
                     true);
  sandbox.write_file("job.json", sandbox.ok({"submit", "--dry-run", "true"}));
}

class ComingFrom : public testing::TestWithParam<const char*> {};

TEST_P(ComingFrom, EveryLineOfTheTableWorks) {
  Sandbox sandbox;
  Instance instance(sandbox, {"--resources", "node=1/core=4,memory=8"});
  write_scripts(sandbox);
  sandbox.ok({"submit", "true"});
  sandbox.ok({"job", "wait", "1"});
  for (int i = 0; i < 2; ++i) sandbox.ok({"submit", "--urgency", "hold", "true"});
  const auto commands = commands_of(GetParam());
  EXPECT_GE(commands.size(), 12u);
  for (const auto& command : commands) {
    Process process({"/bin/sh", "-c", "exec \"$0\" " + command, HOLON_BINARY},
                    sandbox.environment(), sandbox.folder());
    process.close_input();
    const Ran ran = process.finish();
    EXPECT_EQ(ran.code, 0) << "holon " << command << "\n" << ran.out << ran.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, ComingFrom,
                         testing::Values("slurm.md", "flux.md", "hyperqueue.md",
                                         "gnu-parallel.md"));

}  // namespace
}  // namespace holon::system_test
