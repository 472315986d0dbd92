// The deterministic world (world/README.md): many seeds without a failure, and the faults that are
// planted on purpose found.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

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

  Outcome run(std::uint64_t seed, Plant plant = Plant::none, int edition = kEdition) const {
    return run_seed(seed, plant, dir_ + "/w", edition);
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

class Range : public Seeds,
              public ::testing::WithParamInterface<std::pair<std::uint64_t, std::uint64_t>> {};

TEST_P(Range, LosesNothingAndDoublesNothing) {
  for (std::uint64_t seed = GetParam().first; seed <= GetParam().second; ++seed) {
    const auto outcome = run(seed);
    ASSERT_EQ(outcome.violation, "") << "seed " << seed << "\n" << last_lines(outcome);
  }
}

// Behind the first sixty. All others are in the target soak_worlds.
INSTANTIATE_TEST_SUITE_P(Hundred, Range, ::testing::Values(std::pair(61, 80), std::pair(81, 100)));

// What an agent ran whose host was given up ran on as its node was offered again, after a restart
// of the broker (5074), and where the start had been on its way (885). A child that was given its
// node while the node was away above never used it (20551). The world itself took jobs for over
// that a full disk had kept from being written (31555).
TEST_F(Seeds, ThatHaveFoundSomethingDoSoNoMore) {
  for (const std::uint64_t seed : {5074, 885, 20551, 31555}) {
    const auto outcome = run(seed, Plant::none, 1);
    EXPECT_EQ(outcome.violation, "") << "seed " << seed << "\n" << last_lines(outcome);
  }
}

// An agent that did not know yet where output goes kept a start back, and a kill overtook it
// (606420). A job that was about to end and run again was cancelled as its node left (602092,
// 603758, 604497, 608851). The others were faults of the world: it knew neither that a user cancels
// a whole array, nor that a change of a limit was on its way, nor which children reach their parent
// by an agent, and took the milliseconds of a broker for exact.
TEST_F(Seeds, ThatHaveFoundSomethingOfTheThirdEditionDoSoNoMore) {
  for (const std::uint64_t seed :
       {606420, 602092, 603758, 604497, 608851, 602805, 607128, 601382, 608883, 603648, 604402,
        604885, 605793, 606022, 606285, 700550, 702025}) {
    const auto outcome = run(seed, Plant::none, 3);
    EXPECT_EQ(outcome.violation, "") << "seed " << seed << "\n" << last_lines(outcome);
  }
}

// A broker that was killed while it took a batch job back forgot it (410, 605), a root that ended
// left one queued whose cancel hung (907394), a changed limit was shorter by the way of the word
// that the tasks had begun (922864, 927108, 940528, 941244, 946495), and a broker that was killed
// as its instance ended was followed by one that did not end it (948165). The others were faults of
// the world: it counted what a user's instance had not told, and an end as told before that was
// answered (901978).
TEST_F(Seeds, ThatHaveFoundSomethingOfTheFifthEditionDoSoNoMore) {
  for (const std::uint64_t seed :
       {410, 605, 907394, 900420, 905276, 901978, 922864, 927108, 940528, 941244, 946495, 948165}) {
    const auto outcome = run(seed, Plant::none, 5);
    EXPECT_EQ(outcome.violation, "") << "seed " << seed << "\n" << last_lines(outcome);
  }
}

// 987020: what was left of a child whose host was cut off was read while its broker was dead and
// its supervisor was not, and a job that its next broker took was known to nobody. 1002133: a node
// had left and was there again before whoever asked it to leave had the answer. 1007985: the hello
// of a killed agent was read behind that of the next one, took its place, and lost the job that ran
// there. 1011263 was a fault of the world: what an agent on another host left was spared for the
// next one, by the memory of a broker that had not been able to write it.
// 1024223: the agent beside a root was killed as that ended, and a batch job stayed queued.
TEST_F(Seeds, ThatHaveFoundSomethingOfTheSixthEditionDoSoNoMore) {
  for (const std::uint64_t seed : {987020, 1002133, 1007985, 1011263, 1024223}) {
    const auto outcome = run(seed, Plant::none, 6);
    EXPECT_EQ(outcome.violation, "") << "seed " << seed << "\n" << last_lines(outcome);
  }
}

// A child that was to end took a grant of whole nodes, on which agents were never started.
TEST_F(Seeds, AChildThatIsToEndHasGotHosts) {
  const auto outcome = run(5205, Plant::none, 9);
  EXPECT_EQ(outcome.violation, "") << last_lines(outcome);
}

// A node was recalled by force while its child could not reach its agent there: jobs that still ran
// were called lost.
TEST_F(Seeds, AnAgentOutOfReachHasItsTimeThoughTheNodeIsRecalled) {
  const auto outcome = run(956025, Plant::none, 9);
  EXPECT_EQ(outcome.violation, "") << last_lines(outcome);
}

// A start on a node that had come before reached a host that was cut off when all was over.
TEST_F(Seeds, AStartIsLateOnANodeThatHasComeTwice) {
  const auto outcome = run(950017, Plant::none, 9);
  EXPECT_EQ(outcome.violation, "") << last_lines(outcome);
}

// The world took a job for ended without a cause that had run on a whole node which a fence took.
TEST_F(Seeds, AFenceMayTakeAWholeNode) {
  const auto outcome = run(985205, Plant::none, 10);
  EXPECT_EQ(outcome.violation, "") << last_lines(outcome);
}

// A child lent the last core that it had, in several loans while the one above was away, and took
// the empty book for one that had not begun: what was lent was its own once more.
TEST_F(Seeds, AChildLendsMoreWhileWhatItHasLentIsOnItsWay) {
  const auto outcome = run(996404, Plant::none, 11);
  EXPECT_EQ(outcome.violation, "") << last_lines(outcome);
}

// These were failures of a tree that was given up: a broker that died before its run had resources,
// and nodes that came and left meanwhile.
TEST_F(Seeds, ThatFailedInAnotherTreeDoNotInThisOne) {
  for (const std::uint64_t seed : {85099, 80715, 80245}) {
    const auto outcome = run(seed, Plant::none, 2);
    EXPECT_EQ(outcome.violation, "") << "seed " << seed << "\n" << last_lines(outcome);
  }
}

// How often which things happen, by a part of their line.
std::uint64_t lines_with(const Outcome& outcome, const std::string& words) {
  return static_cast<std::uint64_t>(
      std::count_if(outcome.history.begin(), outcome.history.end(),
                    [&](const auto& line) { return line.find(words) != std::string::npos; }));
}

std::uint64_t deepest_instance(const Outcome& outcome) {
  std::int64_t deepest = 0;
  for (const auto& line : outcome.history)
    if (const auto at = line.find("instance /");
        at != std::string::npos && line.ends_with("is ready"))
      deepest = std::max<std::int64_t>(
          deepest, std::count(line.begin() + static_cast<std::ptrdiff_t>(at), line.end(), '/'));
  return static_cast<std::uint64_t>(deepest);
}

// Of agents on other hosts, those that belong to a child.
std::uint64_t joins_of_children(const Outcome& outcome) {
  return static_cast<std::uint64_t>(
      std::count_if(outcome.history.begin(), outcome.history.end(), [](const auto& line) {
        const bool is_ones = line.find("of /") != std::string::npos;
        return is_ones && line.ends_with(": agent.join") && line.find("of / ") == std::string::npos;
      }));
}

// The seeds that several tests look at: each is run once.
class FirstSixty : public Seeds {
 protected:
  static const Outcome& outcome_of(std::uint64_t seed) { return outcomes()[seed - 1]; }

  void SetUp() override {
    for (std::uint64_t seed = outcomes().size() + 1; seed <= 60; ++seed)
      outcomes().push_back(run(seed));
  }
  static void TearDownTestSuite() { outcomes().clear(); }

 private:
  static std::vector<Outcome>& outcomes() {
    static std::vector<Outcome> kept;
    return kept;
  }
};

TEST_F(FirstSixty, LoseNothingAndDoubleNothing) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    ASSERT_EQ(outcome_of(seed).violation, "") << "seed " << seed << "\n"
                                              << last_lines(outcome_of(seed));
}

TEST_F(FirstSixty, ReplayToTheByte) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_EQ(run(seed).history, outcome_of(seed).history);
}

// A world that nothing happens in would find nothing, and pass.
TEST_F(FirstSixty, HaveThreeLevelsJobsHostsAndFaults) {
  std::uint64_t jobs = 0, deepest = 0, kills = 0, cut = 0, dead = 0, kept = 0, policies = 0;
  std::uint64_t preempted = 0, saved = 0, suspended = 0, limited = 0;
  std::uint64_t retried = 0, added = 0, left = 0, over_hosts = 0, arrays = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto& outcome = outcome_of(seed);
    jobs += outcome.jobs;
    kills += lines_with(outcome, " is killed");
    deepest = std::max(deepest, deepest_instance(outcome));
    cut += lines_with(outcome, " is cut off for ");
    dead += lines_with(outcome, " is back");
    policies += lines_with(outcome, "another policy decides");
    retried += lines_with(outcome, ", retry ");
    added += lines_with(outcome, " has a place by invitation ");
    left += lines_with(outcome, " has left");
    over_hosts += joins_of_children(outcome);
    arrays += outcome.indices;
    preempted += lines_with(outcome, " was preempted ");
    saved += lines_with(outcome, " is told to save");
    suspended += lines_with(outcome, " is suspended");
    limited += lines_with(outcome, " has the limit ");
    // An agent on another host that comes back, and what it has run all the time.
    for (const int rank : {1, 2})
      if (lines_with(outcome, "agent " + std::to_string(rank) + " of / asks broker /: agent.join") >
          0)
        kept += lines_with(outcome,
                           "agent " + std::to_string(rank) + " of / asks broker /: agent.hello +");
  }
  EXPECT_GT(jobs, 400u);
  EXPECT_EQ(deepest, 2u);  // "/3/7": two below the root
  EXPECT_GT(kills, 40u);
  EXPECT_GT(cut, 20u);
  EXPECT_GT(dead, 3u);
  EXPECT_GT(kept, 5u);
  EXPECT_GT(policies, 20u);
  EXPECT_GT(retried, 40u);
  EXPECT_GT(added, 5u);
  EXPECT_GT(left, 2u);
  EXPECT_GT(over_hosts, 5u);
  EXPECT_GT(arrays, 100u);
  EXPECT_GT(preempted, 10u);
  EXPECT_GT(saved, 10u);
  EXPECT_GT(suspended, 10u);
  EXPECT_GT(limited, 5u);
}

TEST_F(FirstSixty, HaveUsersWithAnInstanceEachThatEndsWhenItIdles) {
  std::uint64_t made = 0, jobs = 0, over = 0, untold = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto& outcome = outcome_of(seed);
    for (const auto& line : outcome.history) {
      const auto at = line.find(" is the instance of ");
      if (at == std::string::npos) continue;
      const auto path = line.substr(line.find('/'), at - line.find('/'));
      ++made;
      jobs += lines_with(outcome, "job " + path + "/");
      over += lines_with(outcome, "the broker of " + path + " has ended: 0");
      untold += lines_with(outcome, path + " has not told how ");
    }
  }
  EXPECT_GT(made, 8u);
  EXPECT_GT(jobs, 40u);
  EXPECT_GT(over, 4u);
  EXPECT_LT(untold, jobs / 10) << "what may be lost is the exception";
}

TEST_F(FirstSixty, HaveChildrenThatGiveToWhoWaits) {
  std::uint64_t recalls = 0, for_jobs = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    for (const auto& line : outcome_of(seed).history) {
      const bool is_recall = line.find(" is to give ") != std::string::npos &&
                             line.find(" back: ") != std::string::npos;
      recalls += is_recall;
      for_jobs += is_recall && line.ends_with(" waits for it");
    }
  EXPECT_GT(recalls, 20u);
  EXPECT_GT(for_jobs, 5u);
}

TEST_F(FirstSixty, HaveBatchJobsThatBringNodes) {
  std::uint64_t submitted = 0, joined = 0, jobs = 0, taken_back = 0, down = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto& outcome = outcome_of(seed);
    submitted += lines_with(outcome, " is submitted: holon-");
    joined += lines_with(outcome, " has a place by batch job ");
    taken_back += lines_with(outcome, " is taken back");
    down += lines_with(outcome, "the batch system is down");
    for (const auto& line : outcome.history)
      jobs += line.find("agent of batch job") != std::string::npos &&
              line.find(" starts job ") != std::string::npos;
  }
  EXPECT_GT(submitted, 10u);
  EXPECT_GT(joined, 5u);
  EXPECT_GT(jobs, 10u);
  EXPECT_GT(taken_back, 4u);
  EXPECT_GT(down, 3u);
}

TEST_F(FirstSixty, HaveChildrenThatGetMoreAndGiveItBack) {
  std::uint64_t got = 0, later = 0, back = 0, recalled = 0, killed = 0, cancelled = 0, given = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto& outcome = outcome_of(seed);
    later += lines_with(outcome, " GPUs more later");
    got += lines_with(outcome, " GPUs more");
    back += lines_with(outcome, " gives back what is not its own");
    recalled += lines_with(outcome, " is to give back what is not its own");
    killed += lines_with(outcome, " its own, and what runs there ends");
    cancelled += lines_with(outcome, "a grant of ");
    given += lines_with(outcome, ": grant taken");
  }
  EXPECT_GT(got - later, 8u);
  EXPECT_GT(later, 40u);
  EXPECT_GT(back, 4u);
  EXPECT_GT(recalled, 15u);
  EXPECT_GT(killed, 6u);
  EXPECT_GT(cancelled, 3u);
  EXPECT_GT(given, 20u);
}

TEST_F(FirstSixty, HaveChildrenThatAreFencedAndThatAreBackInTime) {
  std::uint64_t recalled = 0, silent = 0, fenced = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto& outcome = outcome_of(seed);
    recalled += lines_with(outcome, " is to give back what is not its own");
    silent += lines_with(outcome, " stands still for ");
    fenced += lines_with(outcome, "units are taken from ");
  }
  EXPECT_GT(silent, 5u);
  EXPECT_GT(fenced, 2u);
  EXPECT_GT(recalled, 2 * fenced);
}

TEST_F(FirstSixty, HaveChildrenThatLendWhatTheyOwnAndHaveItBack) {
  std::uint64_t lent = 0, used = 0, wanted = 0, killed = 0, back = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto& outcome = outcome_of(seed);
    lent += lines_with(outcome, " lends ");
    used += lines_with(outcome, ": loan of ");
    wanted += lines_with(outcome, " is to have back what it has lent");
    killed += lines_with(outcome, "has lent, and what runs there ends");
    back += lines_with(outcome, ": a loan is back");
  }
  EXPECT_GT(lent, 20u);
  EXPECT_GT(used, 10u);
  EXPECT_GT(wanted, 3u);
  EXPECT_GT(killed, 1u);
  EXPECT_GT(back, 5u);
}

class Plants : public Seeds, public ::testing::WithParamInterface<PlantInfo> {};

// From the seed on that has found the fault, and then from the first one on. What is found there is
// the fault: without it nothing is wrong, which of the first hundred other tests say.
TEST_P(Plants, AreFoundWithinAThousandSeeds) {
  constexpr std::uint64_t kMost = 1'000;
  const auto& plant = GetParam();
  std::uint64_t tried = 0, seed = plant.first_seed;
  for (; tried < kMost && run(seed, plant.plant, plant.edition).violation.empty(); ++tried)
    seed = seed % kMost + 1;
  EXPECT_LT(tried, kMost) << plant.what;
  if (tried > 9)
    std::printf("%s: tried %ju seeds, found by %ju: let it begin there (world/plants.cpp)\n",
                plant.name, std::uintmax_t{tried}, std::uintmax_t{seed});
  if (seed > 100) {
    const auto without = run(seed, Plant::none, plant.edition);
    EXPECT_EQ(without.violation, "") << "seed " << seed << "\n" << last_lines(without);
  }
  RecordProperty("seed", std::to_string(seed));
}

INSTANTIATE_TEST_SUITE_P(Each, Plants, ::testing::ValuesIn(all_plants()), [](const auto& plant) {
  std::string name = plant.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace holon::world
