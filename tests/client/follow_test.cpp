// Following an instance, and a tree: a snapshot, then every change once and in order, over whatever
// is cut off and started again in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "client/client.hpp"
#include "tests/instance/lone_broker.hpp"

namespace holon::client {
namespace {

using instance::testing::eventually;
using instance::testing::Live;

Client connected(const Live& live) {
  auto client = Client::connect({live.uri(), {}, {}});
  EXPECT_TRUE(client) << to_string(client.error());
  return std::move(*client);
}

std::vector<std::string> names_in(const std::string& eventlog) {
  std::vector<std::string> names;
  std::istringstream lines(eventlog);
  for (std::string line; std::getline(lines, line);)
    names.push_back(nlohmann::json::parse(line)["name"]);
  return names;
}

// What a follower knows, and how it came to know it.
struct Knowledge {
  std::map<std::uint64_t, msg::JobRecord> jobs;
  std::map<std::uint64_t, std::vector<std::string>> events;
  std::string cursor;
  int snapshots = 0;

  void take(const msg::EventsPart& part) {
    if (part.anew) {
      jobs.clear();
      ++snapshots;
    }
    for (const auto& job : part.jobs) jobs[job.id] = job;
    for (const auto& event : part.events) events[event.id].push_back(event.name);
    cursor = part.cursor;
  }
  std::size_t over() const {
    return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [](const auto& e) {
      return !e.second.empty() && e.second.back() == "clean";
    }));
  }
};

TEST(Follow, BeginsWithHowItStandsAndGoesOnWithWhatHappens) {
  const Live live({"--resources", "node=1/core=1"});
  const auto running = live.job(live.gated("gate"));
  live.when_running(running);
  const auto waiting = live.job({"true"}, {.count = 250});
  auto client = connected(live);
  Knowledge known;
  bool submitted = false;
  msg::EventsRequest request;
  request.records = true;
  const auto followed = client.follow(request, [&](const msg::EventsPart& part) {
    known.take(part);
    if (known.cursor.empty()) return true;
    if (!std::exchange(submitted, true)) {
      EXPECT_EQ(known.jobs.size(), 251u);
      EXPECT_EQ(known.jobs.at(running).state, "RUN");
      EXPECT_EQ(known.jobs.at(waiting).state, "SCHED");
      EXPECT_TRUE(known.events.empty()) << "what the snapshot shows is not told again";
      live.cancel(waiting);
      return true;
    }
    return known.events[waiting].empty() || known.events[waiting].back() != "clean";
  });
  ASSERT_TRUE(followed) << to_string(followed.error());
  EXPECT_EQ(known.snapshots, 1);
  EXPECT_EQ(known.events[waiting].front(), "exception");
  EXPECT_EQ(known.jobs.at(waiting).result, "CANCELED");
  EXPECT_EQ(known.events.size(), 1u) << "nothing else has happened";
  live.release("gate");
}

// Cut off after each few parts, in whatever state: together the pieces are the whole.
TEST(Follow, GoesOnFromACursorWithoutALossOrARepetition) {
  const Live live({"--resources", "node=1/core=4"});
  Knowledge known;
  std::uint64_t first = 0;
  int pieces = 0;
  const std::size_t count = 60;
  while (known.over() < count) {
    auto client = connected(live);
    int parts = 0;
    msg::EventsRequest request;
    request.cursor = known.cursor;
    const auto followed = client.follow(request, [&](const msg::EventsPart& part) {
      known.take(part);
      if (known.cursor.empty()) return true;
      if (first == 0) first = live.job({"true"}, {.count = count});
      return ++parts < 2 + pieces % 3 && known.over() < count;
    });
    ASSERT_TRUE(followed) << to_string(followed.error());
    ++pieces;
  }
  EXPECT_GT(pieces, 3);
  EXPECT_EQ(known.snapshots, 1);
  auto client = connected(live);
  for (std::uint64_t id = first; id < first + count; ++id)
    EXPECT_EQ(known.events[id], names_in(client.info(id)->eventlog)) << id;
}

TEST(Follow, OutlivesTheBroker) {
  const Live live({"--resources", "node=1/core=1"});
  const auto before = live.job(live.gated("gate"));
  live.when_running(before);
  auto client = connected(live);
  Knowledge known;
  std::thread killer;
  const auto followed = client.follow({}, [&](const msg::EventsPart& part) {
    known.take(part);
    if (!known.cursor.empty() && !killer.joinable())
      killer = std::thread([&live] {
        live.kill_broker();
        live.job({"true"});
        live.release("gate");
      });
    return known.over() < 2;
  });
  if (killer.joinable()) killer.join();
  ASSERT_TRUE(followed) << to_string(followed.error());
  EXPECT_EQ(known.snapshots, 1) << "it went on where it was";
  EXPECT_EQ(known.events[before + 1], names_in(client.info(before + 1)->eventlog));
  const auto of_first = known.events[before];
  EXPECT_EQ(std::count(of_first.begin(), of_first.end(), "finish"), 1);
}

// Jobs that come together are journalled at once and listed by and by.
TEST(Follow, TellsOfEachJobOfALargeSubmissionOnce) {
  const Live live({"--resources", "node=1/core=1"});
  auto client = connected(live);
  const std::uint64_t count = 3'000;
  std::thread submitter([&] { live.job({"sleep", "60"}, {.count = count}); });
  Knowledge known;
  std::set<std::uint64_t> heard_of;
  const auto followed = client.follow({}, [&](const msg::EventsPart& part) {
    known.take(part);
    for (const auto& job : part.jobs) heard_of.insert(job.id);
    for (const auto& event : part.events) heard_of.insert(event.id);
    return known.cursor.empty() || heard_of.size() < count;
  });
  submitter.join();
  ASSERT_TRUE(followed) << to_string(followed.error());
  for (std::uint64_t id = 1; id <= count; ++id) {
    const auto events = known.events.find(id);
    const bool submitted = events != known.events.end() && events->second.front() == "submit";
    ASSERT_NE(known.jobs.contains(id), submitted) << "job " << id << " comes in one way";
  }
}

TEST(Follow, BeginsAnewWhereItCannotGoOn) {
  const Live live({"--resources", "node=1/core=1"});
  auto client = connected(live);
  msg::EventsRequest request;
  for (const char* unknown : {"1.1.0", "1.99999.0"}) {
    request.cursor = unknown;
    Knowledge known;
    ASSERT_TRUE(client.follow(request, [&](const msg::EventsPart& part) {
      known.take(part);
      return known.cursor.empty();
    }));
    EXPECT_EQ(known.snapshots, 1) << unknown;
  }
  for (const char* nonsense : {"x", "1.2", "..", "1.-1.x", "1.2.3.4"}) {
    request.cursor = nonsense;
    const auto refused = client.follow(request, [](const msg::EventsPart&) { return false; });
    ASSERT_FALSE(refused) << nonsense;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
    EXPECT_EQ(refused.error().where, "cursor");
  }
}

TEST(Follow, TellsOfTheNodeWhenItChanges) {
  const Live live({"--resources", "node=1/core=2"});
  auto client = connected(live);
  msg::EventsRequest request;
  request.node = true;
  std::vector<std::int64_t> running;
  ASSERT_TRUE(client.follow(request, [&](const msg::EventsPart& part) {
    for (const auto& node : part.node) {
      EXPECT_EQ(node.path, "/");
      if (running.empty()) live.job({"sleep", "60"});
      running.push_back(node.running);
    }
    return running.empty() || running.back() == 0;
  }));
  EXPECT_EQ(running.front(), 0);
  EXPECT_EQ(running.back(), 1);
}

TEST(FollowTree, TellsOfChildrenUntilTheyHaveEnded) {
  const Live live({"--resources", "node=1/core=4"});
  auto client = connected(live);
  std::uint64_t child = 0, below = 0;
  std::map<std::string, Knowledge> known;
  std::string last_health;
  TreeCursors kept;
  const auto path_of_child = [&child] { return "/" + std::to_string(child); };
  const auto follow = [&](const std::function<bool()>& enough) {
    return client.follow_tree(
        {}, kept,
        [&](const std::string& path, const msg::EventsPart& part, const TreeCursors& cursors) {
          known[path].take(part);
          kept = cursors;
          if (!part.node.empty()) last_health = part.node.front().health;
          if (child == 0 && !part.cursor.empty()) child = live.child({.cores = 2});
          return !enough();
        });
  };
  ASSERT_TRUE(follow([&] { return child != 0 && !known[path_of_child()].cursor.empty(); }));
  below = live.job({"true"}, {}, path_of_child());
  live.wait_one(below, path_of_child());
  // Both go on where they were.
  ASSERT_TRUE(follow([&] { return known[path_of_child()].over() == 1; }));
  EXPECT_EQ(known[path_of_child()].events[below].front(), "submit");
  EXPECT_EQ(known[path_of_child()].snapshots, 1);
  EXPECT_EQ(known["/"].snapshots, 1);
  live.cancel(child);
  ASSERT_TRUE(follow([&] { return last_health == "ended"; }));
  EXPECT_EQ(known[path_of_child()].jobs.at(below).result, "COMPLETED");
  EXPECT_FALSE(kept.contains(path_of_child()));
}

TEST(Follow, OnceEndsBehindAllThatHasHappened) {
  const Live live({"--resources", "node=1/core=2"});
  const auto first = live.job({"true"}, {.count = 2});
  for (const auto id : {first, first + 1}) live.wait_one(id);
  auto client = connected(live);
  Knowledge known;
  msg::EventsRequest request;
  request.past = request.once = true;
  const auto hear = [&] {
    request.cursor = known.cursor;
    known.events.clear();
    return client.follow(request, [&](const msg::EventsPart& part) {
      known.take(part);
      return true;
    });
  };
  ASSERT_TRUE(hear());
  EXPECT_EQ(known.events.size(), 2u);
  for (const auto id : {first, first + 1})
    EXPECT_EQ(known.events[id], names_in(client.info(id)->eventlog)) << id;
  ASSERT_TRUE(hear());
  EXPECT_TRUE(known.events.empty()) << "nothing has happened since";
  live.kill_broker();
  live.wait_one(live.job({"true"}));
  ASSERT_TRUE(hear());
  EXPECT_EQ(known.events.size(), 1u);
  EXPECT_EQ(known.events[first + 2], names_in(client.info(first + 2)->eventlog));
}

}  // namespace
}  // namespace holon::client
