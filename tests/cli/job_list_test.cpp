// holon jobs with filters, orders and columns of one's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/outcome.hpp"
#include "cli/show/job_fields.hpp"
#include "cli/show/units.hpp"
#include "msg/instance.hpp"
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

msg::JobRecord record(std::uint64_t id, const std::string& name, std::int64_t cores) {
  msg::JobRecord job;
  job.id = id;
  job.path = "/" + std::to_string(id);
  job.name = name;
  job.state = "SCHED";
  job.ncores = cores;
  return job;
}

TEST(JobList, FiltersGoToTheBroker) {
  FakeBroker broker;
  broker.answer("jobs", msg::JobsReply{});
  broker.start();
  run_cli({"jobs", "--filter", "failed,Pending", "--user", "root", "--name", "a*", "--queue", "q",
           "--since", "-2h"});
  const auto asked = broker.last<msg::JobsRequest>("jobs");
  EXPECT_THAT(asked.filter.states, ElementsAre("FAILED", "PENDING"));
  EXPECT_EQ(asked.filter.user, "root");
  EXPECT_EQ(asked.filter.name, "a*");
  EXPECT_EQ(asked.filter.queue, "q");
  EXPECT_GT(asked.filter.since, 0);
  EXPECT_TRUE(asked.all);
  run_cli({"jobs", "--filter", "pending"});
  EXPECT_FALSE(broker.last<msg::JobsRequest>("jobs").all);
}

TEST(JobList, ABrokenPatternIsRefused) {
  for (const char* verb : {"jobs", "history"}) {
    const Ran ran = run_cli({verb, "--name", "sweep-[12"});
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("--name"), HasSubstr("'sweep-[12' is no pattern: a [ has "
                                                              "no ]; accepted are *, ?")));
  }
}

// A record does not tell a signal from an exit code of 128 and more.
TEST(JobList, SaysHowAJobEndedSoThatItIsTrueOfSignalsAndOfExitCodes) {
  const auto details = [](int code) {
    msg::JobRecord job = record(1, "a", 1);
    job.state = "INACTIVE";
    job.result = "FAILED";
    job.exit_code = code;
    return details_of(job, 0);
  };
  EXPECT_EQ(details(130), "exit code 130 (128 + SIGINT)");
  EXPECT_EQ(details(137), "exit code 137 (128 + SIGKILL)");
  EXPECT_EQ(details(255), "exit code 255");
  EXPECT_EQ(details(3), "exit code 3");
}

TEST(JobList, SaysThatThereIsNoSuchUser) {
  FakeBroker broker;
  broker.answer("jobs", msg::JobsReply{});
  broker.start();
  const Ran unknown = run_cli({"jobs", "--user", "nobodyhere"});
  EXPECT_EQ(unknown.code, kOk);
  EXPECT_EQ(unknown.err,
            "holon jobs: --user nobodyhere: there is no such user, and no job of one\n");
  EXPECT_EQ(run_cli({"jobs", "--user", "root"}).err, "");
}

TEST(JobList, HasTheColumnsAndTheOrderThatAreAskedFor) {
  FakeBroker broker;
  broker.answer("jobs",
                msg::JobsReply{{record(1, "b", 2), record(2, "a10", 8), record(3, "a9", 8)}, ""});
  broker.start();
  EXPECT_EQ(run_cli({"jobs", "--sort", "-cores,name", "--format", "name,id,cores,code"}).out,
            "NAME  ID  CORES  CODE\n"
            "a9     3      8     -\n"
            "a10    2      8     -\n"
            "b      1      2     -\n");
}

TEST(JobList, AFieldThatIsNoneIsToldWithThoseThatAre) {
  for (const char* option : {"--sort", "--format"}) {
    const Ran ran = run_cli({"jobs", option, "id,size"});
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_THAT(ran.err, HasSubstr(std::string(option) + ": 'size' is no field; fields are id, "));
    for (const auto& field : job_fields()) EXPECT_THAT(ran.err, HasSubstr(std::string(field.name)));
  }
  const Ran ran = run_cli({"jobs", "--filter", "broken"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("--filter: 'BROKEN' is no state; accepted are INACTIVE, "));
}

TEST(JobList, CanBeCountsOnly) {
  FakeBroker broker;
  msg::JobsReply first, last;
  first.counts = {{"FAILED", 2}, {"RUN", 1}};
  first.next = "more";
  last.counts = {{"FAILED", 10}};
  broker.handle("jobs", [first, last](const transport::Request& request) {
    const auto ask = transport::unpack<msg::JobsRequest>(request.payload());
    request.reply(transport::pack(ask->after.empty() ? first : last));
  });
  broker.start();
  EXPECT_EQ(run_cli({"jobs", "--stats"}).out,
            "STATE   JOBS\n"
            "FAILED    12\n"
            "RUN        1\n");
  EXPECT_EQ(run_cli({"jobs", "--stats", "--json"}).out,
            "{\n  \"counts\": {\n    \"FAILED\": 12,\n    \"RUN\": 1\n  }\n}\n");
}

TEST(JobList, ATimePastIsASpanAClockOrADate) {
  const Time now = *parse_time("2026-11-24 12:00", 0);
  const auto ago = [&](const char* text) { return now - *parse_since(text, now); };
  EXPECT_EQ(ago("-2h"), 2 * 3'600'000);
  EXPECT_EQ(ago("-90s"), 90'000);
  EXPECT_EQ(ago("11:30"), 30 * 60'000);
  EXPECT_EQ(ago("12:30"), (23 * 60 + 30) * 60'000);
  EXPECT_EQ(ago("2026-11-24T11:00"), 3'600'000);
  for (const char* text : {"+1h", "soon", "-", "-x", "2026-11-24T13:00"})
    EXPECT_FALSE(parse_since(text, now)) << text;
}

}  // namespace
}  // namespace holon::cli
