// No core is held by two jobs at one instant, in any instance, on any level. Random trees of three
// levels with random grants, jobs and cancels; judged from the records.
#include <gtest/gtest.h>

#include <random>

#include "tests/system/records.hpp"
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

struct Node {
  std::string path;
  int cores;
  std::string policy;
};

class RandomTree {
 public:
  explicit RandomTree(unsigned seed)
      : random_(seed), root_(sandbox_, {"--resources", "node=2/core=4"}) {
    nodes_.push_back({"/", 8, "fcfs"});
  }

  // Two or three children, each with up to two of its own.
  void grow() {
    for (int i = below(2) + 2, left = 8; i > 0 && left > 1; --i)
      left -= add_child(nodes_[0], 1 + below(left - 1));
    const std::size_t children = nodes_.size();
    for (std::size_t i = 1; i < children; ++i)
      for (int n = below(3), left = nodes_[i].cores; n > 0 && left > 0; --n)
        left -= add_child(nodes_[i], 1 + below(left));
  }

  void submit_and_cancel(int jobs) {
    for (int i = 0; i < jobs; ++i) {
      const Node& at = nodes_[static_cast<std::size_t>(below(static_cast<int>(nodes_.size())))];
      const std::string seconds = "0.0" + std::to_string(1 + below(9));
      const Ran ran = sandbox_.run({"-i", at.path, "submit", "-n",
                                    std::to_string(1 + below(std::min(at.cores, 4))), "-t", "10s",
                                    "sleep", seconds});
      if (ran.code != 0) continue;  // more than its grant: refused
      if (below(5) == 0) {
        const std::string id = ran.out.substr(0, ran.out.find('\n'));
        sandbox_.ok({"-i", at.path, "cancel", id});
      }
    }
  }

  // Leaves first: a job of the root may wait for cores that a child holds until it ends.
  void finish_and_check() {
    std::size_t ran = 0;
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      const auto held = holdings_after_the_last_job(*node);
      EXPECT_EQ(first_conflict(held), "") << "in " << node->path;
      ran += held.size();
      for (const auto& holding : held)
        for (const auto& unit : holding.units)
          EXPECT_TRUE(granted(node->path).contains(unit))
              << holding.path << " held core " << unit.second << " of " << unit.first
              << ", which its instance does not have";
    }
    EXPECT_GT(ran, nodes_.size()) << "the workload ran";
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  int add_child(const Node parent, int cores) {
    const char* policies[] = {"fcfs", "easy", "conservative"};
    const std::string policy = policies[below(3)];
    const Ran ran = sandbox_.run({"-i", parent.path, "alloc", "--bg", "-n", std::to_string(cores),
                                  "--conf", "queue.policy=" + policy});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const std::string id = ran.out.substr(0, ran.out.find('\n'));
    nodes_.push_back({(parent.path == "/" ? "" : parent.path) + "/" + id, cores, policy});
    return cores;
  }

  std::set<Unit> granted(const std::string& path) {
    auto& units = granted_[path];
    if (units.empty())
      units = units_of(path == "/" ? nlohmann::json::parse(sandbox_.ok({"resource", "R"}))
                                   : sandbox_.json({"job", "info", path})["R"]);
    return units;
  }

  // Of the jobs that ran, child instances included; ends the node's children first.
  std::vector<Holding> holdings_after_the_last_job(const Node& node) {
    granted(node.path);
    for (const auto& other : nodes_)
      if (other.path != node.path &&
          other.path.starts_with(node.path == "/" ? "/" : node.path + "/") &&
          other.path.find('/', node.path == "/" ? 1 : node.path.size() + 1) == std::string::npos) {
        granted(other.path);
        sandbox_.ok({"-i", other.path, "shutdown"});
      }
    sandbox_.run({"-i", node.path, "job", "wait", "--all"});
    std::vector<Holding> holdings;
    const auto jobs = sandbox_.json({"-i", node.path, "jobs", "-a"})["jobs"];
    for (const auto& job : jobs) {
      if (job["t_alloc"] == 0) continue;
      const auto info = sandbox_.json({"job", "info", job["path"]});
      holdings.push_back({job["path"], job["t_alloc"], job["t_finish"], units_of(info["R"])});
      EXPECT_FALSE(holdings.back().units.empty()) << job["path"];
    }
    return holdings;
  }

  std::mt19937 random_;
  Sandbox sandbox_;
  Instance root_;
  std::vector<Node> nodes_;
  std::map<std::string, std::set<Unit>> granted_;
};

class ExclusiveCores : public testing::TestWithParam<unsigned> {};

TEST_P(ExclusiveCores, OnEveryLevelOfARandomTree) {
  RandomTree tree(GetParam());
  tree.grow();
  tree.submit_and_cancel(40);
  tree.finish_and_check();
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExclusiveCores, testing::Range(1u, 5u));

TEST(Records, AConflictIsFound) {
  const std::vector<Holding> good = {
      {"/1", 0, 5, {{"n0", 1}}}, {"/2", 5, 9, {{"n0", 1}}}, {"/3", 0, 9, {{"n1", 1}}}};
  EXPECT_EQ(first_conflict(good), "");
  const std::vector<Holding> bad = {{"/1", 0, 5, {{"n0", 1}}}, {"/2", 4, 9, {{"n0", 1}}}};
  EXPECT_EQ(first_conflict(bad), "/1 and /2 both held core 1 of n0");
}

}  // namespace
}  // namespace holon::system_test
