// The list of jobs, its filter, and failures that are alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/web/jobs.hpp"
#include "web/commands.hpp"
#include "web/listing.hpp"

namespace holon::web {
namespace {

using ::testing::ElementsAre;
using testing::ended_job;
using testing::running_job;
using testing::waiting_job;

std::vector<std::uint64_t> ids(const std::vector<const msg::JobRecord*>& jobs) {
  std::vector<std::uint64_t> found;
  for (const auto* job : jobs) found.push_back(job->id);
  return found;
}

TEST(Filter, HasTheWordsOfHolonJobs) {
  const auto failed = ended_job(1, {1, 2}, "n1", "FAILED");
  const auto timeout = ended_job(2, {1, 2}, "n2", "TIMEOUT");
  const auto runs = running_job(3, 1, "n1");
  const auto filter = read_filter("failed,timeout");
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->matches(failed));
  EXPECT_TRUE(filter->matches(timeout));
  EXPECT_FALSE(filter->matches(runs));
  EXPECT_TRUE(read_filter("running")->matches(runs));
  EXPECT_TRUE(read_filter("user:ann name:job*")->matches(runs));
  EXPECT_FALSE(read_filter("user:bob")->matches(runs));
  EXPECT_TRUE(read_filter("node:n1 failed")->matches(failed));
  EXPECT_FALSE(read_filter("node:n1 timeout")->matches(timeout));
  EXPECT_TRUE(read_filter("exit:1")->matches(failed));
  EXPECT_TRUE(read_filter("job3")->matches(runs));
  EXPECT_TRUE(read_filter("/3")->matches(runs));
  EXPECT_FALSE(read_filter("job4")->matches(runs));
}

TEST(Filter, SaysWhatItCannotRead) {
  for (const std::string text : {"exit:one", "name:[", "exit:1x"})
    EXPECT_FALSE(read_filter(text)) << text;
  EXPECT_TRUE(read_filter("  ")->empty());
}

TEST(List, ShowsWhatRunsThenWhatWaitsThenWhatIsOver) {
  const auto runs = running_job(1, 50, "n1"), later = running_job(2, 60, "n1");
  const auto waits = waiting_job(3, 20), longer = waiting_job(4, 10);
  const auto over = ended_job(5, {1, 30}, "n1"), just = ended_job(6, {1, 70}, "n1");
  const std::vector<const msg::JobRecord*> jobs = {&over, &waits, &runs, &just, &longer, &later};
  EXPECT_THAT(ids(in_order(jobs, 0, 10)), ElementsAre(2, 1, 4, 3, 6, 5));
  EXPECT_THAT(ids(in_order(jobs, 2, 2)), ElementsAre(4, 3));
  EXPECT_TRUE(in_order(jobs, 6, 2).empty());
  EXPECT_TRUE(in_order(jobs, 100, 2).empty());
}

TEST(Failures, ThatAreAlikeAreOneGroup) {
  std::vector<msg::JobRecord> jobs;
  for (std::uint64_t id = 1; id <= 5; ++id) jobs.push_back(ended_job(id, {1, 2}, "n1", "FAILED"));
  jobs.push_back(ended_job(6, {1, 2}, "n1", "TIMEOUT"));
  jobs[5].reason = "its time limit of 1s was over";
  jobs.push_back(ended_job(7, {1, 2}, "n1"));
  jobs.push_back(ended_job(8, {1, 2}, "n1", "CANCELED"));
  std::vector<const msg::JobRecord*> all;
  for (const auto& job : jobs) all.push_back(&job);
  const auto groups = failures_of(all, [](const msg::JobRecord& job) {
    return job.id == 3 ? std::string("Killed") : std::string("No such file");
  });
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].jobs, 4u);
  EXPECT_EQ(groups[0].line, "No such file");
  EXPECT_EQ(groups[1].jobs + groups[2].jobs, 2u);
}

TEST(Failures, ShowTheLastLineThatSaysSomething) {
  EXPECT_EQ(last_line_of("one\ntwo\n\n  \n"), "two");
  EXPECT_EQ(last_line_of("one"), "one");
  EXPECT_EQ(last_line_of(" \n"), "");
  EXPECT_EQ(last_line_of(std::string(1'000, 'x')).size(), 160u);
}

TEST(ReadCommands, JoinsTasksOfOneArray) {
  const auto commands =
      read_commands(R"({"verb": "retry", "what": ["/7.3", "/4", "/7.5", "/3/9.1"]})");
  ASSERT_TRUE(commands);
  EXPECT_THAT(*commands, ElementsAre(ElementsAre("retry", "/4"), ElementsAre("retry", "/3/9.1"),
                                     ElementsAre("retry", "/7.3,5")));
}

TEST(ReadCommands, NothingBecomesAnOption) {
  for (const std::string text :
       {R"({"verb": "cancel", "what": ["--all"]})", R"({"verb": "cancel", "what": ["-a"]})",
        R"({"verb": "shutdown", "what": ["/1"]})", R"({"verb": "cancel", "what": []})",
        R"({"verb": "cancel", "what": [3]})", R"({"verb": "cancel", "what": "/1"})",
        R"({"verb": "cancel", "what": ["7; rm -rf /"]})",
        R"({"verb": "drain", "at": "/", "what": ["-m"]})",
        R"({"verb": "drain", "at": "--help", "what": ["n1"]})",
        R"({"verb": "drain", "what": ["n1"]})", "[]", "", "{",
        R"({"verb": ["cancel"], "what": ["/1"]})"})
    EXPECT_FALSE(read_commands(text)) << text;
  EXPECT_TRUE(read_commands(R"({"verb": "drain", "at": "/3", "what": ["n[1-3]"]})"));
}

}  // namespace
}  // namespace holon::web
