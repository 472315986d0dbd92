// The screen of holon top: what stands on it, and that it fits.
#include "cli/top/screen.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/show/table.hpp"

namespace holon::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Time kTopNow = 1'000'000;

msg::JobRecord top_job(std::uint64_t id, const std::string& state, std::int64_t cores) {
  msg::JobRecord job;
  job.id = id;
  job.path = "/" + std::to_string(id);
  job.name = "job" + std::to_string(id);
  job.user = "ann";
  job.queue = id % 2 == 0 ? "gpu" : "default";
  job.state = state;
  job.ncores = cores;
  job.t_submit = kTopNow - 60'000;
  if (state == "RUN") job.t_start = job.t_alloc = kTopNow - 30'000;
  if (state == "RUN") job.expiration = kTopNow + 600'000;
  if (state == "SCHED") job.reason = "the 4 processors it needs are not free";
  return job;
}

web::Model top_model(int running, int waiting, int children) {
  web::Model model;
  msg::EventsPart part;
  msg::TreeNode node;
  node.path = "/";
  node.name = "here";
  node.policy = "easy";
  node.health = "up";
  node.cores = 16;
  node.cores_free = 4;
  node.t_started = kTopNow - 3'600'000;
  part.node = {node};
  std::uint64_t id = 1;
  for (int i = 0; i < running; ++i) part.jobs.push_back(top_job(id++, "RUN", 2));
  for (int i = 0; i < waiting; ++i) part.jobs.push_back(top_job(id++, "SCHED", 4));
  model.take("/", part, kTopNow);
  for (int i = 0; i < children; ++i) {
    msg::EventsPart of_child;
    node.path = "/" + std::to_string(100 + i);
    node.name = "child";
    of_child.node = {node};
    model.take(node.path, of_child, kTopNow);
  }
  return model;
}

std::string text_of(const std::vector<TopLine>& lines) {
  std::string text;
  for (const auto& line : lines) text += line.text + "\n";
  return text;
}

TopView view_of(int width, int height) {
  TopView view;
  view.width = width;
  view.height = height;
  view.now = kTopNow;
  return view;
}

TEST(TopScreen, HasJobsWithReasonsQueuesAndChildren) {
  const std::string text = text_of(top_screen(top_model(3, 2, 2), view_of(80, 24)));
  for (const char* part :
       {"/ here  easy  up 1h00m", "12 of 16 in use", "INSTANCES  2", "> /100", "QUEUES  2",
        "RUNNING  3", "WAITING  2", "the 4 processors it needs", "q: end"})
    EXPECT_THAT(text, HasSubstr(part));
}

// An array of three tasks of which so many run, in the second of two queues.
msg::JobRecord top_array(std::uint64_t id, std::uint64_t running) {
  msg::JobRecord array = top_job(id, running > 0 ? "RUN" : "SCHED", 1);
  array.name = "array";
  array.queue = "sweeps";
  array.array = id;
  array.tasks = 3;
  array.tasks_running = running;
  array.tasks_pending = 3 - running;
  return array;
}
msg::JobRecord top_task(std::uint64_t id, std::uint64_t array) {
  msg::JobRecord task = top_job(id, "RUN", 1);
  task.name = "task";
  task.queue = "sweeps";
  task.array = array;
  task.index = id - array;
  return task;
}

TEST(TopScreen, AnArrayWaitsForAsLongAsATaskOfItDoes) {
  web::Model model = top_model(1, 0, 0);
  const auto shown = [&](std::uint64_t running) {
    std::vector<msg::JobRecord> jobs = {top_array(50, running)};
    for (std::uint64_t i = 1; i <= running; ++i) jobs.push_back(top_task(50 + i, 50));
    model.take_jobs("/", jobs, kTopNow);
    return text_of(top_screen(model, view_of(80, 24)));
  };
  const std::string begun = shown(1);
  EXPECT_THAT(begun, HasSubstr("RUNNING  2"));
  EXPECT_THAT(begun, HasSubstr("WAITING  1"));
  EXPECT_THAT(begun, ContainsRegex("sweeps +1 running 2 waiting"));
  const std::string all_run = shown(3);
  EXPECT_THAT(all_run, HasSubstr("RUNNING  4"));
  EXPECT_THAT(all_run, HasSubstr("WAITING  0"));
  EXPECT_THAT(all_run, ContainsRegex("sweeps +3 running 0 waiting"));
  EXPECT_THAT(all_run, Not(HasSubstr("3 running, ")));
}

TEST(TopScreen, AnArrayRunsWhereItsTasksAreNotKnown) {
  web::Model model = top_model(1, 0, 0);
  model.take_jobs("/", {top_array(50, 3)}, kTopNow);
  const std::string text = text_of(top_screen(model, view_of(80, 24)));
  EXPECT_THAT(text, HasSubstr("RUNNING  2"));
  EXPECT_THAT(text, ContainsRegex("array .* 3 running"));
  EXPECT_THAT(text, HasSubstr("WAITING  0"));
}

TEST(TopScreen, SaysThatTheConnectionIsLost) {
  auto view = view_of(80, 24);
  view.connected = false;
  EXPECT_THAT(text_of(top_screen(top_model(1, 1, 0), view)), HasSubstr("no connection"));
}

TEST(TopOnce, IsWholeOnceTheInstanceHasToldOfItsResources) {
  web::Model model = top_model(0, 0, 0);
  EXPECT_FALSE(is_told(model, "/"));
  EXPECT_FALSE(is_told(model, "/7"));
  model.take_resources("/", {});  // it has none
  EXPECT_TRUE(is_told(model, "/"));
}

TEST(TopOnce, OfAnInstanceThatHasToldNothingIsAnError) {
  const auto none = top_once(web::Model(), view_of(80, 24));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::timed_out);
  const auto some = top_once(top_model(1, 1, 0), view_of(80, 24));
  ASSERT_TRUE(some);
  EXPECT_THAT(*some, HasSubstr("WAITING  1"));
  EXPECT_THAT(*some, Not(HasSubstr("q: end")));
}

TEST(TopScreen, FitsEveryTerminal) {
  for (const auto& [width, height] :
       {std::pair{80, 24}, {40, 10}, {200, 60}, {20, 5}, {10, 2}, {4, 1}})
    for (const auto& [running, waiting, children] :
         {std::tuple{0, 0, 0}, {1, 0, 0}, {0, 300, 0}, {300, 0, 1}, {50, 50, 40}}) {
      const auto lines = top_screen(top_model(running, waiting, children), view_of(width, height));
      EXPECT_EQ(lines.size(), static_cast<std::size_t>(height));
      for (const auto& line : lines)
        EXPECT_LE(display_width(line.text), static_cast<std::size_t>(width)) << line.text;
    }
}

// One that runs leaves its part of the screen to those that wait.
TEST(TopScreen, LeavesNoRoomUnused) {
  const std::string text = text_of(top_screen(top_model(1, 40, 0), view_of(80, 24)));
  std::size_t waiting = 0;
  for (std::size_t at = 0; (at = text.find("processors it needs", at)) != std::string::npos; ++at)
    ++waiting;
  EXPECT_EQ(waiting, 24u - 4 - 2 - 3 - 1) << text;
}

TEST(TopScreen, TheChosenChildIsInSight) {
  auto view = view_of(80, 24);
  view.chosen = 39;
  EXPECT_THAT(text_of(top_screen(top_model(5, 5, 40), view)), HasSubstr("> /139"));
}

TEST(TopPlan, AddsUpWhatRunsAndWhatIsReserved) {
  web::Model model = top_model(2, 0, 0);  // 2 x 2 of 16 cores for 600 s
  msg::Span span;
  span.kind = "reservation";
  span.cores = 8;
  span.begin = kTopNow + 600'000;
  span.end = kTopNow + 1'200'000;
  model.take_plan("/", {span});
  const auto shares = planned_shares(*model.find("/"), kTopNow, kTopNow + 1'200'000, 4);
  ASSERT_EQ(shares.size(), 4u);
  EXPECT_NEAR(shares[0], 0.25, 1e-9);
  EXPECT_NEAR(shares[1], 0.25, 1e-9);
  EXPECT_NEAR(shares[2], 0.5, 1e-9);
  EXPECT_NEAR(shares[3], 0.5, 1e-9);
}

}  // namespace
}  // namespace holon::cli
