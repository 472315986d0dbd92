// What programs read: one name for one thing, errors as objects, and every verb that waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/show/job_json.hpp"
#include "msg/events.hpp"
#include "msg/instance.hpp"
#include "msg/schedule.hpp"
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

msg::JobRecord over(std::uint64_t id, const std::string& result, int code) {
  msg::JobRecord record;
  record.id = id;
  record.path = "/" + std::to_string(id);
  record.state = "INACTIVE";
  record.result = result;
  record.exit_code = code;
  record.t_alloc = record.t_start = 2'000;
  record.t_finish = record.t_inactive = 9'300;
  return record;
}

json error_in(const Ran& ran) {
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_EQ(ran.out, "");
  return json::parse(ran.err, nullptr, false)["error"];
}

TEST(JsonErrors, AreObjectsInOneLineOfStandardError) {
  FakeBroker broker;
  broker.refuse("job.info", {Errc::not_found, "there is no job 7\nat all", "id"});
  broker.start();
  const Ran ran = run_cli({"job", "info", "7", "--json"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(error_in(ran), json({{"verb", "job info"},
                                 {"code", "not_found"},
                                 {"where", "id"},
                                 {"what", "there is no job 7\nat all"}}));
  EXPECT_THAT(run_cli({"job", "info", "7"}).err, HasSubstr("holon job info: there is no job 7"));
}

TEST(JsonErrors, OfACommandLineAreObjectsToo) {
  for (const auto& [words, where] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"jobs", "--json", "--nonsense"}, "--nonsense"},
           {{"jobs", "--limit", "x", "--json"}, "--limit"},
           {{"history", "--json", "--csv"}, "--csv"},
           {{"instances", "--json", "--remove"}, "--remove"},
           {{"run", "--json", "--pty", "true"}, "--pty with --json"}}) {
    const Ran ran = run_cli(words);
    EXPECT_EQ(ran.code, kUsage);
    const auto error = error_in(ran);
    EXPECT_EQ(error["code"], "invalid_argument") << ran.err;
    EXPECT_EQ(error["where"], where);
  }
  // A word of the command is none of ours.
  EXPECT_THAT(run_cli({"run", "-n", "x", "--", "prog", "--json"}).err, HasSubstr("usage: "));
}

TEST(JsonNames, OneJobIsItsIdEverywhere) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{.first_id = 7, .count = 3});
  msg::PlanPart plan;
  plan.spans.resize(1);
  plan.spans[0].id = 7;
  broker.stream("plan", std::vector<msg::PlanPart>{plan});
  broker.start();
  const auto submitted = json::parse(run_cli({"submit", "--count", "3", "--json", "true"}).out);
  EXPECT_EQ(submitted, json({{"id", 7}, {"count", 3}}));
  const auto planned = json::parse(run_cli({"plan", "--json"}).out);
  EXPECT_EQ(planned["spans"][0]["id"], 7);
  EXPECT_FALSE(planned["spans"][0].contains("job"));
}

TEST(JsonNames, OnlyATaskOfAnArrayHasAnIndex) {
  msg::JobRecord plain = over(7, "COMPLETED", 0);
  plain.name = "a\n  \"index\": 5";
  msg::JobRecord array = plain, task = plain;
  array.array = task.array = 7;
  array.tasks = 3;
  task.index = 2;
  const auto all = json::parse(json_text(std::vector<msg::JobRecord>{plain, array, task}))["jobs"];
  EXPECT_FALSE(all[0].contains("index"));
  EXPECT_FALSE(all[1].contains("index"));
  EXPECT_EQ(all[2]["index"], 2);
  EXPECT_EQ(all[1]["name"], plain.name);
  EXPECT_EQ(json::parse(json_text(array)), all[1]);
}

TEST(JsonVerbs, JobStatusPrintsTheRecordsAndExitsAsTheJobsDid) {
  FakeBroker broker;
  broker.answer("job.wait", msg::WaitReply{{over(7, "COMPLETED", 0), over(8, "FAILED", 3)}});
  broker.start();
  const Ran ran = run_cli({"job", "status", "7", "8", "--json"});
  EXPECT_EQ(ran.code, 3);
  const auto jobs = json::parse(ran.out)["jobs"];
  EXPECT_EQ(jobs[0]["id"], 7);
  EXPECT_EQ(jobs[1]["result"], "FAILED");
}

TEST(JsonVerbs, RunPrintsTheRecordAndLeavesTheOutputToStandardError) {
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{.first_id = 7, .count = 1});
  broker.stream("job.attach", std::vector<msg::OutputChunk>{{.data = "made\n"},
                                                            {.error = true, .data = "bad\n"}});
  broker.answer("job.wait", msg::WaitReply{{over(7, "FAILED", 3)}});
  broker.start();
  const Ran ran = run_cli({"run", "--json", "make"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(json::parse(ran.out)["id"], 7);
  EXPECT_EQ(json::parse(ran.out)["exit_code"], 3);
  EXPECT_EQ(ran.err, "made\nbad\n");
}

TEST(JsonVerbs, WatchPrintsAnObjectALine) {
  FakeBroker broker;
  msg::EventsPart now;
  now.cursor = "1";
  broker.stream("events", std::vector<msg::EventsPart>{now});
  broker.answer("jobs", msg::JobsReply{{over(7, "COMPLETED", 0), over(8, "FAILED", 3)}, ""});
  broker.start();
  const Ran ran = run_cli({"watch", "7", "8", "--json"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.out,
            "{\"id\":8,\"trouble\":\"exit code 3\"}\n"
            "{\"waiting\":0,\"running\":0,\"ended\":2,\"failed\":1,\"over\":true}\n");
}

}  // namespace
}  // namespace holon::cli
