// Machines of several kinds, as hwloc describes them: what is listed, what windows promise and what
// run gives out agree.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/support/topologies.hpp"
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

struct Kind {
  const char* name;
  const char* description;
  std::vector<test::Card> cards;
  int cores, memory, gpus;
};

const std::vector<Kind>& few_kinds() {
  static const std::vector<Kind> kAll = {
      {"TwoSockets", "pack:2 [numa(memory=4294967296)] core:4 pu:2", {}, 8, 8, 0},
      {"FourSockets", "pack:4 [numa(memory=4294967296)] core:2 pu:1", {}, 8, 16, 0},
      {"EightSockets", "pack:8 [numa(memory=4294967296)] l3:1 core:1 pu:1", {}, 8, 32, 0},
      {"NumaOutside", "group:2 [numa(memory=8589934592)] pack:2 core:2 pu:1", {}, 8, 16, 0},
      {"NumaInside", "pack:2 group:2 [numa(memory=2147483648)] core:2 pu:1", {}, 8, 8, 0},
      {"ACoreANumaNode", "pack:2 group:2 [numa(memory=2147483648)] core:1 pu:2", {}, 4, 8, 0},
      {"MemoryWithoutCores",
       "pack:2 [numa(memory=4294967296)] [numa(memory=17179869184)] core:2 pu:1",
       {},
       4,
       40,
       0},
      {"NoCoreObjects", "pack:2 [numa(memory=4294967296)] pu:3", {}, 6, 8, 0},
      {"TwoMakers",
       "pack:2 [numa(memory=4294967296)] core:2 pu:2",
       {test::kNvidia, test::kAmd, test::kNvidia},
       4,
       8,
       3}};
  return kAll;
}

class Machines : public testing::TestWithParam<Kind> {
 protected:
  std::int64_t widest() {
    const auto windows = sandbox_.json({"windows"})["windows"];
    std::int64_t cores = 0;
    for (const auto& window : windows) cores = std::max(cores, window["cores"].get<std::int64_t>());
    return cores;
  }
  int run_at_once(std::vector<std::string> options) {
    std::vector<std::string> words = {"run", "--now", "y"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("true");
    return sandbox_.run(words).code;
  }
  static std::vector<std::string> slot(int cores, int memory, int gpus) {
    std::vector<std::string> words = {"-c", std::to_string(cores)};
    if (memory > 0) words.insert(words.end(), {"-m", fmt::format("{}G", memory)});
    if (gpus > 0) words.insert(words.end(), {"-g", std::to_string(gpus)});
    return words;
  }

  Sandbox sandbox_;
};

TEST_P(Machines, WhatIsListedPromisedAndGivenOutAgrees) {
  const Kind& kind = GetParam();
  const std::string file = sandbox_.write_file(
      "machine.xml", test::with_cards(test::xml_of_synthetic(kind.description), kind.cards));
  Instance instance(sandbox_, {"--resources", file});
  EXPECT_EQ(widest(), kind.cores);
  const auto listed = sandbox_.json({"resource", "list"})["free"];
  EXPECT_EQ(listed.value("core", 0), kind.cores);
  EXPECT_EQ(listed.value("memory", 0), kind.memory);
  EXPECT_EQ(listed.value("gpu", 0), kind.gpus);
  EXPECT_EQ(run_at_once(slot(kind.cores, kind.memory, kind.gpus)), 0) << "the largest";
  EXPECT_NE(run_at_once(slot(kind.cores + 1, 0, 0)), 0);
  EXPECT_NE(run_at_once(slot(1, kind.memory + 1, 0)), 0);
  EXPECT_NE(run_at_once(slot(1, 0, kind.gpus + 1)), 0);
  // A core each, until one is left.
  sandbox_.ok({"submit", "-n", std::to_string(kind.cores - 1), "sleep", "600"});
  EXPECT_TRUE(eventually([&] { return widest() == 1; }));
  EXPECT_EQ(sandbox_.json({"resource", "list"})["free"]["core"], 1);
  EXPECT_NE(run_at_once(slot(2, 0, 0)), 0);
  EXPECT_EQ(run_at_once(slot(1, kind.memory, kind.gpus)), 0);
  sandbox_.ok({"cancel", "--all"});
}

INSTANTIATE_TEST_SUITE_P(Kinds, Machines, testing::ValuesIn(few_kinds()),
                         [](const auto& made) { return std::string(made.param.name); });

// The agent counts the GPUs of this machine as the graph does, and each library its own.
TEST(MachineOfTwoMakers, ShowsEachLibraryItsOwnDevices) {
  Sandbox sandbox;
  sandbox.environment()["HWLOC_XMLFILE"] = sandbox.write_file(
      "machine.xml", test::with_cards(test::xml_of_synthetic("pack:1 core:1 pu:1"),
                                      {test::kNvidia, test::kAmd, test::kNvidia}));
  sandbox.environment()["HWLOC_THISSYSTEM"] = "1";
  sandbox.environment().erase("HWLOC_COMPONENTS");  // hwloc would then not look at the file
  Instance instance(sandbox, {});
  const std::string print =
      "echo \"$CUDA_VISIBLE_DEVICES|$ROCR_VISIBLE_DEVICES|$HIP_VISIBLE_DEVICES\"";
  // NVIDIA's are GPUs 0 and 1 of the node, and AMD's is 2; jobs get the last ones first.
  EXPECT_EQ(sandbox.ok({"run", "-g", "3", "sh", "-c", print}), "0,1|0|0\n");
  EXPECT_EQ(sandbox.ok({"run", "-g", "2", "sh", "-c", print}), "1|0|0\n");
  EXPECT_EQ(sandbox.ok({"run", "sh", "-c", print}), "-1|-1|-1\n");
  const std::string child = "holon run -g 3 sh -c '" + print + "'";
  sandbox.ok({"batch", "-g", "3", "-o", "child.log", "--wrap", child});
  sandbox.ok({"job", "wait", "4"});
  EXPECT_EQ(sandbox.read_file("child.log"), "0,1|0|0\n");
}

}  // namespace
}  // namespace holon::system_test
