// The verbs that look at the schedule, against a broker of canned answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/show/table.hpp"
#include "msg/schedule.hpp"
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

msg::Explained waiting() {
  msg::Explained job;
  job.id = 7;
  job.path = "/7";
  job.name = "wide";
  job.queue = "default";
  job.state = "SCHED";
  job.reason = "the 32 processors it needs are not free";
  job.resources = "4 nodes, 32 cores";
  job.limit = 1'800'000;
  job.position = 2;
  job.considered = 12;
  job.pending = 40;
  job.in_the_way = {{3, "/3", "sim", "ann", "RUN", "node[0-3]", 0, "job", 0},
                    {5, "/1.4", "big", "bob", "SCHED", "", 0, "job", 0},
                    {9, "", "maint", "root", "", "node7", 90'061'000, "advance", 86'461'000}};
  job.remedies = {{"limit", 300'000, "", 0.2, "a time limit of 5m or less"},
                  {"size", 2, "", 0.5, "2 nodes instead of 4"},
                  {"lease", 4'800'000, "", 0, "holon update /3 -t +80m"}};
  return job;
}

TEST(Explain, ShowsTheReasonWhoIsInTheWayAndWhatWouldHelp) {
  setenv("TZ", "UTC", 1);
  FakeBroker broker;
  broker.answer("explain", msg::ExplainReply{{waiting()}, false});
  broker.start();
  const Ran ran = run_cli({"explain", "/7"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.out,
            "job         /7  wide\n"
            "state       SCHED: the 32 processors it needs are not free\n"
            "asks for    4 nodes, 32 cores for 30m00s\n"
            "place       2 before it in queue default; the last pass looked at 12 of 40\n"
            "in the way  job 3  sim on node[0-3], without an end\n"
            "            job 1.4  big, in front of it\n"
            "            advance reservation 9  maint on node7 from 1970-01-02 00:01 until "
            "1970-01-02 01:01\n"
            "would start with a time limit of 5m or less (gives up 20 %)\n"
            "            with 2 nodes instead of 4 (gives up 50 %)\n"
            "more time   for this instance: holon update /3 -t +80m\n");
  EXPECT_EQ(broker.last<msg::ExplainRequest>("explain").ids, std::vector<std::uint64_t>{7});
}

TEST(Explain, WithoutIdsShowsTheFirstOnesAndSaysSo) {
  FakeBroker broker;
  broker.answer("explain", msg::ExplainReply{{waiting()}, true});
  broker.start();
  const Ran ran = run_cli({"explain", "--limit", "1"});
  EXPECT_THAT(ran.out, HasSubstr("holon explain --limit 0 shows all"));
  EXPECT_EQ(broker.last<msg::ExplainRequest>("explain").limit, 1u);
  EXPECT_EQ(run_cli({"explain", "--limit", "-1"}).code, kUsage);
  EXPECT_EQ(run_cli({"explain", "seven"}).code, kUsage);
}

msg::Prioritized weighted() {
  return {7,       "/7", "wide", "ann", "default",
          "SCHED", 16,   52,     "",    {{"queuetime", 10, 2, 20}, {"proc", 16, 2, 32}}};
}

TEST(Priority, ShowsWhatItIsMadeOfAndHowManyOthersWait) {
  FakeBroker broker;
  msg::Prioritized first{
      3, "/3", "now", "bob", "default", "SCHED", 31, INT64_MAX, "expedited: urgency 31", {}};
  msg::Prioritized plain{9, "/9", "p", "bob", "default", "SCHED", 16, 16, "urgency", {}};
  broker.answer("priority", msg::PriorityReply{{first, weighted(), plain}, 5});
  broker.start();
  const Ran ran = run_cli({"priority", "--limit", "3"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(
      ran.out,
      "JOB  NAME  USER  QUEUE    STATE  URGENCY  PRIORITY  COMES FROM\n"
      "/3   now   bob   default  SCHED       31   highest  expedited: urgency 31\n"
      "/7   wide  ann   default  SCHED       16        52  queuetime 10 x 2 = 20, proc 16 x 2 "
      "= 32\n"
      "/9   p     bob   default  SCHED       16        16  the urgency: nothing is weighted\n"
      "\nand 2 others; holon priority --limit 0 shows all\n");
  EXPECT_EQ(broker.last<msg::PriorityRequest>("priority").limit, 3u);
  EXPECT_EQ(run_cli({"priority", "--limit", "-1"}).code, kUsage);
  EXPECT_EQ(run_cli({"priority", "seven"}).code, kUsage);
}

TEST(Priority, PrintsJsonWithEveryField) {
  FakeBroker broker;
  broker.answer("priority", msg::PriorityReply{{weighted()}, 1});
  broker.start();
  const json out = json::parse(run_cli({"priority", "7", "--json"}).out);
  EXPECT_EQ(broker.last<msg::PriorityRequest>("priority").ids, std::vector<std::uint64_t>{7});
  EXPECT_EQ(out["pending"], 1);
  const json& job = out["jobs"][0];
  EXPECT_EQ(job["priority"], 52);
  EXPECT_EQ(job["set_by"], "");
  EXPECT_EQ(job["parts"][1]["factor"], "proc");
  EXPECT_EQ(job["parts"][1]["points"], 32);
}

TEST(Explain, PrintsJsonWithEveryField) {
  FakeBroker broker;
  broker.answer("explain", msg::ExplainReply{{waiting()}, false});
  broker.start();
  const json out = json::parse(run_cli({"explain", "--json"}).out);
  EXPECT_EQ(out["more"], false);
  const json& job = out["jobs"][0];
  EXPECT_EQ(job["id"], 7);
  EXPECT_EQ(job["considered"], 12);
  EXPECT_EQ(job["pending"], 40);
  EXPECT_EQ(job["in_the_way"][0]["id"], 3);
  EXPECT_EQ(job["remedies"][1]["kind"], "size");
  EXPECT_EQ(job["remedies"][1]["value"], 2);
}

msg::PlanPart plan() {
  msg::Span runs{3,
                 "/3",
                 "sim",
                 "ann",
                 "default",
                 "allocation",
                 1'000,
                 61'000,
                 "n0",
                 1,
                 2,
                 0,
                 {{"matlab", 1}},
                 {{"/c/n0/core10", 1, true}, {"/c/n0/core2", 1, true}}};
  msg::Span waits{7, "/2/1.6", "wide", "ann", "default", "reservation", 61'000, 0, "",
                  0, 4,        0,      {},    {}};
  return {1'000, {waits, runs}};
}

TEST(Plan, IsATableInOrderOfTime) {
  FakeBroker broker;
  broker.stream<msg::PlanPart>("plan", {plan()});
  broker.start();
  setenv("TZ", "UTC", 1);
  const Ran ran = run_cli({"plan"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.out,
            "FROM      TO        JOB  NAME  KIND         NODES  CORES  POOLS     WHERE\n"
            "00:00:01  00:01:01    3  sim   allocation       1      2  matlab 1  n0\n"
            "00:01:01  no end    1.6  wide  reservation             4            wherever there is "
            "room then\n");
}

TEST(Plan, ByVertexCountsNumbersAsNumbersAndShowsPools) {
  FakeBroker broker;
  broker.stream<msg::PlanPart>("plan", {plan()});
  broker.start();
  setenv("TZ", "UTC", 1);
  const Ran ran = run_cli({"plan", "--vertices"});
  EXPECT_EQ(ran.out,
            "VERTEX        AMOUNT  FROM      TO        JOB  NAME  KIND\n"
            "/c/n0/core2        1  00:00:01  00:01:01    3  sim   allocation\n"
            "/c/n0/core10       1  00:00:01  00:01:01    3  sim   allocation\n"
            "any cores          4  00:01:01  no end    1.6  wide  reservation\n"
            "matlab             1  00:00:01  00:01:01    3  sim   allocation\n");
  EXPECT_TRUE(broker.last<msg::PlanRequest>("plan").vertices);
}

TEST(Windows, AreListedWidestFirst) {
  FakeBroker broker;
  broker.answer("windows", msg::WindowsReply{1'000, 8, {{6, 60'000}, {2, 0}}, {}});
  broker.start();
  setenv("TZ", "UTC", 1);
  EXPECT_EQ(run_cli({"windows"}).out,
            "CORES       FOR  UNTIL\n"
            "    6     1m00s  00:01:01\n"
            "    2  any time\n");
  EXPECT_EQ(json::parse(run_cli({"windows", "--json"}).out)["windows"][0]["cores"], 6);
}

TEST(Windows, OfAFullMachineAreNone) {
  FakeBroker broker;
  broker.answer("windows", msg::WindowsReply{1'000, 8, {}, {}});
  broker.start();
  EXPECT_EQ(run_cli({"windows"}).out, "nothing is free\n");
}

TEST(Windows, SayWhichQueuesWouldStartNothing) {
  FakeBroker broker;
  broker.answer(
      "windows",
      msg::WindowsReply{1'000, 8, {{2, 0}}, {{"debug", "it is stopped"}, {"long", "job 4 waits"}}});
  broker.start();
  EXPECT_EQ(run_cli({"windows"}).out,
            "CORES       FOR\n"
            "    2  any time\n"
            "queue debug: nothing would start at once; it is stopped\n"
            "queue long: nothing would start at once; job 4 waits\n");
  EXPECT_EQ(json::parse(run_cli({"windows", "--json"}).out)["closed"][1]["queue"], "long");
}

TEST(Windows, WhereAllQueuesAreClosedSayWhy) {
  FakeBroker broker;
  broker.answer("windows", msg::WindowsReply{1'000, 8, {}, {{"default", "job 4 waits"}}});
  broker.start();
  EXPECT_EQ(run_cli({"windows"}).out, "queue default: nothing would start at once; job 4 waits\n");
}

TEST(NaturalOrder, CountsNumbersAsNumbers) {
  EXPECT_TRUE(natural_before("core2", "core10"));
  EXPECT_FALSE(natural_before("core10", "core2"));
  EXPECT_FALSE(natural_before("core2", "core2"));
  EXPECT_TRUE(natural_before("a/b9/c1", "a/b10"));
  EXPECT_TRUE(natural_before("", "a"));
}

}  // namespace
}  // namespace holon::cli
