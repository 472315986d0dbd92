// An instance as a program with a loop of its own sees it.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "client/observer.hpp"
#include "tests/instance/live.hpp"

namespace holon::client {
namespace {

using instance::testing::Live;

Observer observing(const Live& live) {
  Address address;
  address.uri = live.uri();
  auto observer = Observer::connect(address);
  EXPECT_TRUE(observer) << to_string(observer.error());
  return std::move(*observer);
}

TEST(ObserverOfAnInstance, FollowsAndAsksAtOnceWithoutWaiting) {
  const Live live({"--resources", "node=1/core=2"});
  auto observer = observing(live);
  EXPECT_EQ(observer.path(), "/");
  std::map<std::uint64_t, msg::JobRecord> jobs;
  msg::EventsRequest request;
  request.all = true;
  request.records = true;
  observer.follow_tree(request,
                       [&](const std::string&, const msg::EventsPart& part, const TreeCursors&) {
                         for (const auto& job : part.jobs) jobs[job.id] = job;
                         return true;
                       },
                       {});
  std::optional<Result<msg::ResourceReply>> resources;
  observer.ask<msg::ResourceReply>("resource.list", msg::Empty{}, "/",
                                   [&](auto reply) { resources = std::move(reply); });
  const auto job = live.job({"sh", "-c", "echo said"});
  const auto is_over = [&] { return jobs.contains(job) && jobs[job].state == "INACTIVE"; };
  ASSERT_TRUE(observer.reactor().run_until([&] { return is_over() && resources; }, 30'000));
  ASSERT_TRUE(*resources) << to_string(resources->error());
  EXPECT_EQ((*resources)->total.at("core"), 2);
}

TEST(ObserverOfAnInstance, LeavesAStreamWhenItHasSeenEnough) {
  const Live live({"--resources", "node=1/core=2"});
  auto observer = observing(live);
  const auto job = live.job({"sh", "-c", "echo said"});
  live.wait_one(job);
  std::string said;
  std::optional<Status> ended;
  observer.collect<msg::OutputChunk>(
      "job.attach", msg::AttachRequest{job}, "/",
      [&](const msg::OutputChunk& chunk) {
        said += chunk.data;
        return false;
      },
      [&](const Status& status) { ended = status; });
  ASSERT_TRUE(observer.reactor().run_until([&] { return ended.has_value(); }, 30'000));
  EXPECT_EQ(said, "said\n");
}

TEST(ObserverOfAnInstance, IsToldOfItsEnd) {
  Live live({"--resources", "node=1/core=2"});
  auto observer = observing(live);
  std::optional<Status> ended;
  observer.follow_tree(
      {}, [](const auto&, const auto&, const auto&) { return true; },
      [&](const Status& status) { ended = status; });
  live.stop();
  ASSERT_TRUE(observer.reactor().run_until([&] { return ended.has_value(); }, 60'000));
  EXPECT_EQ(ended->error().code, Errc::disconnected);
}

}  // namespace
}  // namespace holon::client
