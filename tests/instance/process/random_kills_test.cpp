// Any set of supervisors, brokers, agents and tasks of a tree of three levels killed at once, again
// and again. Afterwards every job that any level acknowledged has a record at the root, is over
// once all has settled, and no record was ever taken back.
//
// HOLON_KILL_ROUNDS and HOLON_KILL_SEED make it a soak (target `soak_kills`).
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "places.hpp"  // written by CMake
#include "tests/instance/live.hpp"
#include "tests/instance/tree/tree.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using testing::InstanceProcesses;
using testing::Live;

unsigned long variable(const char* name, unsigned long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
}

class Round {
 public:
  explicit Round(unsigned long seed) : random_(seed) {}

  void run() {
    make_tree();
    for (int strike = 0; strike < 2; ++strike) {
      load();
      look();
      hit();
      load();
      look();
    }
    settle();
    check();
  }

 private:
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  void make_tree() {
    const std::vector<std::string> conf = {
        "job.grace=500ms",
        below(2) == 0 ? "instance.record-interval=60s" : "instance.record-interval=50ms"};
    live_.child({3}, "", conf);
    paths_ = {"", "/1"};
    // The child may be hit before the grandchild is there: then there is none.
    if (live_.status("/1"))
      if (const auto reply = live_.submit(child_command(conf), {2, 0, 1, true}, "/1"))
        paths_.push_back("/1/" + std::to_string(reply->first_id));
    if (paths_.size() == 3) {
      EXPECT_TRUE(live_.status(paths_[2]));
    }
  }
  static std::vector<std::string> child_command(const std::vector<std::string>& conf) {
    std::vector<std::string> command = {HOLON_BINARY, "start", "--grant", "--bg"};
    for (const auto& item : conf) command.insert(command.end(), {"--conf", item});
    return command;
  }

  // Some jobs at each level that is there; who knows which of them will answer.
  void load() {
    for (const auto& path : paths_) {
      for (int i = 0; i < 4; ++i) {
        const std::vector<std::vector<std::string>> commands = {
            {"/bin/true"}, {"/bin/sleep", "0.2"}, {"/bin/sh", "-c", "sleep 30 & wait"}};
        const std::uint64_t count = below(3) == 0 ? 1 + below(20) : 1;
        const auto reply = live_.call<msg::SubmitReply>(
            "submit", Live::request(commands[below(3)], {1, 0, count}), path, 300);
        if (!reply) continue;
        for (std::uint64_t id = reply->first_id; id < reply->first_id + reply->count; ++id)
          acknowledged_.insert(path + "/" + std::to_string(id));
      }
    }
  }

  // All processes of the tree as they stand: the root's three first.
  std::vector<pid_t> processes() const {
    std::vector<pid_t> found = {live_.supervisor(), live_.broker(), live_.agent()};
    std::set<pid_t> rest;
    testing::add_tree(live_.agent(), rest);
    rest.erase(live_.agent());
    found.insert(found.end(), rest.begin(), rest.end());
    std::erase_if(found, [](pid_t pid) { return pid <= 1; });
    return found;
  }

  void hit() {
    const auto all = processes();
    std::vector<pid_t> chosen;
    const std::size_t one_in = 1 + below(4);
    for (const pid_t pid : all)
      if (below(one_in) == 0) chosen.push_back(pid);
    if (chosen.empty()) chosen.push_back(all[below(all.size())]);
    for (const pid_t pid : chosen) {
      struck_ += fmt::format("{} {}\n", pid, testing::command_of(pid));
      kill(pid, SIGSTOP);
    }
    for (const pid_t pid : chosen) kill(pid, SIGKILL);
    const bool root = std::find(chosen.begin(), chosen.end(), live_.supervisor()) != chosen.end();
    if (root) live_.start_again();
    ASSERT_TRUE(eventually([&] { return live_.status().has_value(); })) << struck_;
  }

  // What was seen to be over stays as it was.
  void look() {
    msg::JobsRequest ask;
    ask.all = ask.recursive = true;
    const auto reply = live_.call<msg::JobsReply>("jobs", ask, "", 10'000);
    if (!reply) return;
    for (const auto& r : reply->jobs) {
      const auto known = over_.find(r.path);
      if (known != over_.end()) {
        EXPECT_EQ(r.result, known->second) << r.path << " is " << r.state << "\n" << struck_;
      }
      if (r.state == "INACTIVE") over_.emplace(r.path, r.result);
    }
  }

  void settle() {
    msg::CancelRequest everything;
    everything.all = true;
    EXPECT_TRUE(eventually([&] {
      return live_.call<msg::CancelReply>("cancel", everything).has_value();
    })) << struck_;
    std::vector<msg::JobRecord> active;
    EXPECT_TRUE(eventually([&] {
      look();
      active = live_.jobs(false, true);
      return active.empty();
    })) << active.front().path
        << " is " << active.front().state << "\n"
        << struck_;
  }

  void check() {
    std::map<std::string, msg::JobRecord> records;
    for (auto& r : live_.jobs(true, true)) records.emplace(r.path, r);
    for (const auto& path : acknowledged_) {
      ASSERT_TRUE(records.contains(path)) << path << " was acknowledged\n" << struck_;
      const auto& r = records.at(path);
      EXPECT_EQ(r.state, "INACTIVE") << path << "\n" << struck_;
      EXPECT_FALSE(r.result.empty()) << path << "\n" << struck_;
      if (r.result == "COMPLETED") {
        EXPECT_EQ(r.exit_code, 0) << path << "\n" << struck_;
      }
    }
    EXPECT_EQ(live_.status()->cores_free, 4) << struck_;
  }

  std::mt19937_64 random_;
  Live live_{{"--resources", "node=1/core=4", "--conf", "job.grace=500ms", "--conf",
              "instance.shutdown-timeout=8s"}};
  std::vector<std::string> paths_;
  std::set<std::string> acknowledged_;
  std::map<std::string, std::string> over_;  // path and result of what was seen to be over
  std::string struck_;                       // who was killed, for the message
};

TEST(RandomKills, LoseNothingThatAnyLevelAcknowledged) {
  const auto rounds = variable("HOLON_KILL_ROUNDS", 3), seed = variable("HOLON_KILL_SEED", 1);
  for (unsigned long i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("HOLON_KILL_SEED={}", seed + i));
    Round(seed + i).run();
  }
}

}  // namespace
}  // namespace holon::instance
