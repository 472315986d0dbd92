// The deterministic world (world/README.md): many seeds without a failure, and the faults that are
// planted on purpose found.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "world/world.hpp"

namespace holon::world {
namespace {

class Seeds : public ::testing::Test {
 protected:
  Seeds() {
    spdlog::set_level(spdlog::level::off);
    std::string name =
        (access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ::testing::TempDir()) + "/holon-world-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  ~Seeds() override { std::filesystem::remove_all(dir_); }

  Outcome run(std::uint64_t seed, Plant plant = Plant::none) const {
    return run_seed(seed, plant, dir_ + "/w");
  }
  static std::string last_lines(const Outcome& outcome) {
    std::string text;
    const auto& lines = outcome.history;
    for (std::size_t i = lines.size() - std::min<std::size_t>(lines.size(), 40); i < lines.size();
         ++i)
      text += lines[i] + "\n";
    return text;
  }

  std::string dir_;
};

TEST_F(Seeds, NothingIsLostOrDoubledInThreeHundredOfThem) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const auto outcome = run(seed);
    ASSERT_EQ(outcome.violation, "") << "seed " << seed << "\n" << last_lines(outcome);
  }
}

TEST_F(Seeds, OneReplaysToTheByte) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8})
    EXPECT_EQ(run(seed).history, run(seed).history);
}

TEST_F(Seeds, HaveHostsThatAreCutOffAndDie) {
  std::uint64_t cut = 0, dead = 0, kept = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    for (const auto& line : run(seed).history) {
      cut += line.find(" is cut off for ") != std::string::npos ? 1 : 0;
      dead += line.ends_with(" dies") ? 1 : 0;
      // An agent that comes back and has what it ran.
      const auto hello = line.find(": agent.hello +");
      kept += hello != std::string::npos && line.find(" of / asks broker /") < hello ? 1 : 0;
    }
  EXPECT_GT(cut, 20u);
  EXPECT_GT(dead, 5u);
  EXPECT_GT(kept, 5u);
}

// A world that nothing happens in would find nothing, and pass.
TEST_F(Seeds, HaveThreeLevelsJobsAndFaults) {
  std::uint64_t jobs = 0, deepest = 0, kills = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto outcome = run(seed);
    jobs += outcome.jobs;
    for (const auto& line : outcome.history) {
      if (line.find(" is killed") != std::string::npos) ++kills;
      if (const auto at = line.find("instance /");
          at != std::string::npos && line.ends_with("is ready"))
        deepest = std::max<std::uint64_t>(
            deepest, static_cast<std::uint64_t>(std::count(
                         line.begin() + static_cast<std::ptrdiff_t>(at), line.end(), '/')));
    }
  }
  EXPECT_GT(jobs, 400u);
  EXPECT_EQ(deepest, 2u);  // "/3/7": two below the root
  EXPECT_GT(kills, 40u);
}

class Plants : public Seeds, public ::testing::WithParamInterface<PlantInfo> {};

TEST_P(Plants, AreFoundWithinAThousandSeeds) {
  std::uint64_t seed = 1;
  while (seed <= 1'000 && run(seed, GetParam().plant).violation.empty()) ++seed;
  EXPECT_LE(seed, 1'000u) << GetParam().what;
  RecordProperty("seeds", std::to_string(seed));
}

INSTANTIATE_TEST_SUITE_P(Each, Plants, ::testing::ValuesIn(all_plants()), [](const auto& plant) {
  std::string name = plant.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace holon::world
