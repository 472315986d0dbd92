// Graphs in a real instance: one request for tasks that wait for each other, all or none.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "instance/job/task_words.hpp"
#include "msg/graph.hpp"
#include "msg/queue.hpp"
#include "tests/instance/shared_live.hpp"

namespace holon::instance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Live;
using testing::read_file;

const std::vector<std::string> kCores = {"--resources", "node=1/core=4"};

msg::GraphSpec spec_of(const testing::JobOptions& options = {}) {
  return {Live::request({"/bin/false"}, options).jobspec, 1, 16};
}

std::vector<std::string> graph_shell(const std::string& line) {
  return {"/bin/sh", "-c", line};
}

// A chain in which each task adds its name to the file `ran`.
msg::GraphRequest chain_of_tasks(const Live& live, std::size_t length) {
  msg::GraphRequest graph;
  graph.specs = {spec_of()};
  for (std::size_t i = 0; i < length; ++i) {
    msg::GraphTask task{"t" + std::to_string(i), {0}, {}, {}};
    task.command = graph_shell("echo " + task.name + " >> " + live.dir() + "/ran");
    if (i > 0) task.after = {{"afterok", i - 1}};
    graph.tasks.push_back(std::move(task));
  }
  return graph;
}

std::vector<std::string> lines_in(const std::string& file) {
  std::vector<std::string> lines;
  std::istringstream in(read_file(file));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(TaskWords, ATaskIsItsSpecWithItsOwnWords) {
  const TaskWords words{"fit", {"./fit", "3"}, {"afterok:7", "afterany:8"}};
  const auto back = unpack_words(pack_words(words));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, words);
  const auto spec = nlohmann::json::parse(with_words(
      R"({"tasks":[{"command":["x"]}],"attributes":{"system":{"dependencies":[{"scheme":"singleton"}]}}})",
      words));
  EXPECT_EQ(spec["tasks"][0]["command"], nlohmann::json({"./fit", "3"}));
  EXPECT_EQ(spec["attributes"]["system"]["job"]["name"], "fit");
  EXPECT_EQ(spec["attributes"]["system"]["dependencies"].size(), 3u);
  EXPECT_EQ(spec["attributes"]["system"]["dependencies"][2]["value"], "8");
  EXPECT_FALSE(unpack_words("rubbish"));
  EXPECT_FALSE(parse_dependency("afterwards:7"));
}

class LiveGraphs : public testing::SharedLive {};

TEST_F(LiveGraphs, TasksRunInTheirOrderAndAreJobsLikeAnyOther) {
  const Live live(kCores);
  const auto reply = live.call<msg::GraphReply>("submit.graph", chain_of_tasks(live, 5));
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_THAT(reply->ids, ElementsAre(1, 2, 3, 4, 5));
  const auto last = live.wait_one(5);
  EXPECT_EQ(last.result, "COMPLETED");
  EXPECT_EQ(last.name, "t4");
  EXPECT_THAT(last.command, HasSubstr("echo t4"));
  EXPECT_THAT(lines_in(live.dir() + "/ran"), ElementsAre("t0", "t1", "t2", "t3", "t4"));
  const auto info = live.call<msg::JobInfoReply>("job.info", msg::JobInfoRequest{3});
  ASSERT_TRUE(info) << to_string(info.error());
  const auto jobspec = nlohmann::json::parse(info->jobspec);
  EXPECT_EQ(jobspec["attributes"]["system"]["job"]["name"], "t2");
  EXPECT_EQ(jobspec["attributes"]["system"]["dependencies"][0]["value"], "2");
  std::string names;
  std::istringstream log(info->eventlog);
  for (std::string line; std::getline(log, line);)
    names += nlohmann::json::parse(line)["name"].get<std::string>() + " ";
  EXPECT_EQ(names,
            "submit validate dependency-add dependency-remove depend priority alloc start finish "
            "release free clean ");
  EXPECT_EQ(live.job({"/bin/true"}), 6u);
}

TEST_F(LiveGraphs, NothingIsLeftOfOneThatIsRefused) {
  const Live live(kCores);
  const auto refused = [&](msg::GraphRequest graph) {
    const auto reply = live.call<msg::GraphReply>("submit.graph", graph);
    return reply ? std::string("taken") : to_string(reply.error());
  };
  auto graph = chain_of_tasks(live, 3);
  graph.tasks[1].after = {{"afterok", 1}};
  EXPECT_THAT(refused(graph), ::testing::AllOf(HasSubstr("tasks/1"), HasSubstr("before it")));
  graph = chain_of_tasks(live, 3);
  graph.tasks[2].after = {{"afterwards", 0}};
  EXPECT_THAT(refused(graph), ::testing::AllOf(HasSubstr("tasks/2"), HasSubstr("afterwards")));
  graph = chain_of_tasks(live, 3);
  graph.tasks[2].ways = {7};
  EXPECT_THAT(refused(graph), ::testing::AllOf(HasSubstr("tasks/2"), HasSubstr("spec 7 of 1")));
  graph = chain_of_tasks(live, 3);
  graph.specs.push_back({"{}", 1, 16});
  EXPECT_THAT(refused(graph), HasSubstr("specs/1"));
  graph = chain_of_tasks(live, 3);
  testing::JobOptions large;
  large.cores = 500;
  graph.specs.push_back(spec_of(large));
  graph.tasks[2].ways = {1};
  EXPECT_THAT(refused(graph), HasSubstr("tasks/2"));
  graph = chain_of_tasks(live, 3);
  graph.environment["X"] = std::string(1 << 20, 'x');
  graph.specs.assign(1'100, graph.specs[0]);
  EXPECT_THAT(refused(graph),
              ::testing::AllOf(HasSubstr("specs"), HasSubstr("at most 1073741824")));
  graph.tasks.clear();
  graph.specs.resize(1);
  EXPECT_THAT(refused(graph), HasSubstr("there are 0 tasks"));
  EXPECT_TRUE(live.jobs(true, false).empty());
  EXPECT_EQ(read_file(live.dir() + "/ran"), "");
  const auto stats = live.call<msg::StatsReply>("stats", msg::Empty{});
  ASSERT_TRUE(stats && !stats->queues.empty());
  EXPECT_EQ(stats->queues.front().submitted, 0);
  EXPECT_EQ(stats->queues.front().cancelled, 0) << "what was only asked about is no job";
  EXPECT_EQ(live.job({"/bin/true"}), 1u) << "no number was given";
}

TEST_F(LiveGraphs, OfSeveralWaysTheFirstIsTakenThatCanEverRun) {
  const Live& live = shared(kCores);
  const auto before = live.jobs(true, false).size();
  auto graph = chain_of_tasks(live, 2);
  testing::JobOptions large, two;
  large.cores = 500;
  two.cores = 2;
  graph.specs.push_back(spec_of(large));
  graph.specs.push_back(spec_of(two));
  testing::JobOptions elsewhere;
  elsewhere.system = R"({"queue": "nowhere"})";
  graph.specs.push_back(spec_of(elsewhere));
  graph.tasks[1].ways = {1, 3, 2, 0};
  const auto reply = live.call<msg::GraphReply>("submit.graph", graph);
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_EQ(live.wait_one(reply->ids[1]).ncores, 2);
  EXPECT_EQ(live.jobs(true, false).size(), before + 2) << "the way that was refused leaves nothing";
}

TEST_F(LiveGraphs, ATaskMayWaitForSomeTasksOfAnArray) {
  const Live& live = shared(kCores);
  auto graph = chain_of_tasks(live, 2);
  testing::JobOptions array;
  array.system = R"({"holon": {"array": {}}})";
  graph.specs.push_back(spec_of(array));
  graph.specs.back().count = 5;
  graph.tasks[0].ways = {1};
  graph.tasks[0].command = graph_shell("exit $((HOLON_ARRAY_INDEX == 5))");
  graph.tasks[1].after = {{"afterok", 0, "2-4"}};
  auto wrong = graph;
  wrong.tasks[1].after = {{"afterok", 0, "4-6"}};
  const auto refused = live.call<msg::GraphReply>("submit.graph", wrong);
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()),
              ::testing::AllOf(HasSubstr("tasks/1"), HasSubstr("no task with such an index: 4-6")));
  wrong.tasks[0].ways = {0};
  EXPECT_FALSE(live.call<msg::GraphReply>("submit.graph", wrong)) << "it waits for tasks of a job";
  const auto reply = live.call<msg::GraphReply>("submit.graph", graph);
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_EQ(live.wait_one(reply->ids[1]).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(reply->ids[0]).result, "FAILED");
}

TEST_F(LiveGraphs, TheSameKeyMakesNoMoreJobs) {
  const Live live(kCores);
  auto graph = chain_of_tasks(live, 4);
  graph.key = "once";
  const auto first = live.call<msg::GraphReply>("submit.graph", graph);
  ASSERT_TRUE(first) << to_string(first.error());
  live.kill_broker();
  const auto again = live.call<msg::GraphReply>("submit.graph", graph);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->ids, first->ids);
  graph.tasks.pop_back();
  EXPECT_FALSE(live.call<msg::GraphReply>("submit.graph", graph));
  live.wait_one(4);
  EXPECT_EQ(live.jobs(true, false).size(), 4u);
}

// Later tasks share the jobspec of earlier ones and wait for them, of which nothing would be left.
TEST_F(LiveGraphs, NothingIsForgottenWhileOneIsTaken) {
  const Live live({"--resources", "node=1/core=4", "--conf", "journal.keep=1"});
  constexpr std::size_t kTasks = 3'000;
  auto graph = chain_of_tasks(live, kTasks);
  graph.specs.push_back(graph.specs.front());
  for (std::size_t i = 0; i < kTasks; ++i) {
    graph.tasks[i].ways = {static_cast<std::uint32_t>(i % 2)};  // each is a batch
    graph.tasks[i].command = {"/bin/true"};
    graph.tasks[i].after.clear();
    if (i > 0 && i % 100 == 0) graph.tasks[i].after = {{"afterok", 0}};
  }
  const auto reply = live.call<msg::GraphReply>("submit.graph", graph);
  ASSERT_TRUE(reply) << to_string(reply.error());
  msg::CancelRequest all;
  all.all = true;
  ASSERT_TRUE(live.call<msg::CancelReply>("cancel", all));
}

// The broker dies again and again while they are taken and run: what was answered is all there, and
// each runs once, behind what it waits for.
TEST_F(LiveGraphs, AreWholeWhateverTheBrokerDiesOf) {
  const Live live(kCores);
  constexpr std::size_t kTasks = 1'500, kWidth = 50;
  auto graph = chain_of_tasks(live, kTasks);
  for (std::size_t i = 0; i < kTasks; ++i) {
    graph.tasks[i].after.clear();
    if (i >= kWidth) graph.tasks[i].after = {{"afterok", i - kWidth}};
  }
  const auto reply = live.call<msg::GraphReply>("submit.graph", graph);
  ASSERT_TRUE(reply) << to_string(reply.error());
  ASSERT_EQ(reply->ids.size(), kTasks);
  for (int i = 0; i < 3; ++i) {
    live.kill_broker();
    ASSERT_TRUE(live.status());
  }
  for (const auto& record : live.wait(reply->ids)) EXPECT_EQ(record.result, "COMPLETED");
  std::map<std::string, std::size_t> place;
  const auto ran = lines_in(live.dir() + "/ran");
  for (std::size_t i = 0; i < ran.size(); ++i) place[ran[i]] = i;
  EXPECT_EQ(ran.size(), kTasks);
  EXPECT_EQ(place.size(), kTasks);
  for (std::size_t i = kWidth; i < kTasks; ++i)
    EXPECT_LT(place["t" + std::to_string(i - kWidth)], place["t" + std::to_string(i)]);
}

}  // namespace
}  // namespace holon::instance
