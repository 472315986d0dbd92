// Slurm's commands answered by holon: ids, states, times, layouts and options, each as slurm 22.05
// has them; what they ask an instance for and what they print of its answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "cli/slurm/fields.hpp"
#include "cli/slurm/job_ids.hpp"
#include "cli/slurm/layout.hpp"
#include "cli/slurm/options.hpp"
#include "cli/slurm/tools.hpp"
#include "cli/slurm/words.hpp"
#include "msg/queue.hpp"
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Ran called(const std::string& name, std::vector<std::string> words) {
  std::ostringstream out, err;
  Io io{out, err};
  slurm::Call call{name, name, std::move(words), io};
  Ran ran;
  ran.code = slurm::command_called(name)(call);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

TEST(SlurmTools, AreHolonByTheirNames) {
  EXPECT_NE(slurm::command_called("/opt/slurm/bin/squeue"), nullptr);
  EXPECT_NE(slurm::command_called("srun"), nullptr);
  EXPECT_EQ(slurm::command_called("/usr/bin/holon"), nullptr);
  EXPECT_EQ(slurm::command_called("srun/holon"), nullptr);
  EXPECT_EQ(slurm::names_of_commands().size(), 8u);
}

std::string jobs_in(const std::string& list) {
  const auto jobs = slurm::job_ids_in(list);
  if (!jobs) return jobs.error().what;
  std::string text;
  for (const auto& job : *jobs)
    text += std::to_string(job.id) + (job.indices.empty() ? "" : "." + job.indices) + " ";
  return text;
}

TEST(SlurmTools, ReadIdsOfJobsTasksAndSteps) {
  EXPECT_EQ(jobs_in("7"), "7 ");
  EXPECT_EQ(jobs_in("7,8,12"), "7 8 12 ");
  EXPECT_EQ(jobs_in("7_3"), "7.3 ");
  EXPECT_EQ(jobs_in("7_[1-3,5],9"), "7.1-3,5 9 ");
  EXPECT_EQ(jobs_in("7.batch,8.0"), "7 8 ");
  EXPECT_EQ(jobs_in("7_*"), "7 ");
  EXPECT_EQ(jobs_in("seven"), "Invalid job id specified: seven");
  EXPECT_EQ(jobs_in("7_"), "Invalid job id specified: 7_");
  EXPECT_EQ(jobs_in("7_x"), "Invalid job id specified: 7_x");
}

msg::JobRecord job_in(const std::string& state, const std::string& result = "") {
  msg::JobRecord job;
  job.id = 7;
  job.path = "/7";
  job.name = "fit";
  job.user = "ana";
  job.queue = "default";
  job.state = state;
  job.result = result;
  return job;
}

TEST(SlurmTools, NameStatesAsSlurmDoes) {
  EXPECT_EQ(slurm::state_of(job_in("DEPEND")).letters, "PD");
  EXPECT_EQ(slurm::state_of(job_in("RUN")).name, "RUNNING");
  EXPECT_EQ(slurm::state_of(job_in("CLEANUP")).letters, "CG");
  EXPECT_EQ(slurm::state_of(job_in("INACTIVE", "COMPLETED")).letters, "CD");
  EXPECT_EQ(slurm::state_of(job_in("INACTIVE", "CANCELED")).name, "CANCELLED");
  EXPECT_EQ(slurm::state_of(job_in("INACTIVE", "TIMEOUT")).letters, "TO");
  EXPECT_EQ(slurm::state_of(job_in("INACTIVE", "REJECTED")).letters, "F");
  auto lost = job_in("INACTIVE", "FAILED");
  lost.exception = "node-failure";
  EXPECT_EQ(slurm::state_of(lost).letters, "NF");
  auto stopped = job_in("RUN");
  stopped.t_suspended = 1;
  EXPECT_EQ(slurm::state_of(stopped).name, "SUSPENDED");
  EXPECT_EQ(slurm::states_in("pd,Running")->size(), 2u);
  EXPECT_EQ(slurm::states_in("all")->size(), 24u);
  EXPECT_EQ(slurm::states_in("nap").error().what, "Invalid job state specified: NAP");
}

TEST(SlurmTools, NameReasonsAndExitCodesAsSlurmDoes) {
  auto job = job_in("SCHED");
  for (const auto& [waits, reason] : {std::pair("resources", "Resources"),
                                      {"order", "Priority"},
                                      {"pool", "Licenses"},
                                      {"held", "JobHeldUser"},
                                      {"untried", "None"}}) {
    job.waits_for = waits;
    EXPECT_EQ(slurm::reason_of(job), reason);
  }
  auto failed = job_in("INACTIVE", "FAILED");
  failed.exit_code = 3;
  EXPECT_EQ(slurm::exit_code_of(failed), "3:0");
  EXPECT_EQ(slurm::reason_of(failed), "NonZeroExitCode");
  failed.exit_code = 137;
  EXPECT_EQ(slurm::exit_code_of(failed), "0:9");
  EXPECT_EQ(slurm::exit_code_of(job_in("RUN")), "0:0");
}

TEST(SlurmTools, WriteDurationsAsSqueueAndAsSacct) {
  EXPECT_EQ(slurm::short_duration(65'000), "1:05");
  EXPECT_EQ(slurm::short_duration(7'200'000), "2:00:00");
  EXPECT_EQ(slurm::short_duration(90'061'000), "1-01:01:01");
  EXPECT_EQ(slurm::long_duration(65'000), "00:01:05");
  EXPECT_EQ(slurm::long_duration(90'061'000), "1-01:01:01");
  EXPECT_EQ(slurm::time_of(0, "N/A"), "N/A");
}

TEST(SlurmTools, ReadTimesAsSacctDoes) {
  const Time now = 1'795'953'600'000;
  EXPECT_EQ(*slurm::time_in("now", now), now);
  EXPECT_EQ(*slurm::time_in("now-2hours", now), now - 7'200'000);
  EXPECT_EQ(*slurm::time_in("now-1days", now), now - 86'400'000);
  EXPECT_EQ(*slurm::time_in("now+30minutes", now), now + 1'800'000);
  EXPECT_LE(*slurm::time_in("midnight", now), now);
  EXPECT_GT(*slurm::time_in("today", now), now - 86'400'001);
  EXPECT_EQ(*slurm::time_in("1970-01-01", now), 1);
  EXPECT_EQ(slurm::time_of(*slurm::time_in("2026-10-31T12:30:05", now), ""), "2026-10-31T12:30:05");
  EXPECT_EQ(slurm::time_of(*slurm::time_in("10/31", now), ""), "2026-10-31T00:00:00");
  EXPECT_FALSE(slurm::time_in("soon", now));
}

std::string in_layout(const std::string& format, const std::vector<std::string>& texts) {
  const auto parts = slurm::letters_in(format, [](char c) { return c != '?'; });
  return parts ? slurm::line_of(*parts, texts) : parts.error().what;
}

TEST(SlurmTools, LayRowsOutByLetters) {
  EXPECT_EQ(in_layout("%.6i|%4j|%t", {"7", "longer", "R"}), "     7|long|R\n");
  EXPECT_EQ(in_layout("%i", {"7"}), "7\n");
  EXPECT_EQ(in_layout("job %i!", {"7", ""}), "job 7!\n");
  EXPECT_EQ(in_layout("%?", {}), "Invalid job format specification: ?");
  const auto names = slurm::names_in("JobID:6,Name:.8,State", [](std::string_view name) {
    return slurm::field_of_squeue(name) != nullptr;
  });
  ASSERT_TRUE(names);
  EXPECT_EQ(slurm::line_of(*names, {"7", "fit", "RUNNING"}),
            "7          fitRUNNING             \n");
}

TEST(SlurmTools, ReadOptionsAsGetoptDoes) {
  using slurm::Option;
  constexpr Option kKnown[] = {{'h', "noheader"},
                               {'o', "format", Option::Takes::value},
                               {0, "me"},
                               {0, "exclusive", Option::Takes::joined_value}};
  const auto read = slurm::Options::read({"-ho%i", "word", "--form", "%j", "--exclusive"}, kKnown);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_TRUE(read->has("noheader"));
  EXPECT_EQ(read->value("format"), "%j") << "the last one holds";
  EXPECT_EQ(read->value("exclusive"), "");
  EXPECT_THAT(read->rest(), ElementsAre("word"));
  EXPECT_EQ(slurm::Options::read({"-x"}, kKnown).error().what, "unknown option: -x");
  EXPECT_EQ(slurm::Options::read({"-o"}, kKnown).error().what, "option -o needs a value");
  EXPECT_EQ(slurm::Options::read({"--nope"}, kKnown).error().what, "unknown option: --nope");
  const auto stopped = slurm::Options::read({"-h", "a.sh", "-o"}, kKnown, true);
  ASSERT_TRUE(stopped);
  EXPECT_THAT(stopped->rest(), ElementsAre("a.sh", "-o"));
}

TEST(SlurmTools, SqueueShowsWhatWaitsAndRuns) {
  FakeBroker broker;
  msg::JobsReply reply;
  auto runs = job_in("RUN");
  runs.nodelist = "n[1-2]";
  runs.nnodes = 2;
  runs.t_start = 1;
  auto waits = job_in("SCHED");
  waits.id = 8;
  waits.waits_for = "resources";
  reply.jobs = {runs, waits};
  broker.answer("jobs", reply);
  broker.start();
  const auto ran = called("squeue", {"-h", "-o", "%i|%t|%D|%R"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "7|R|2|n[1-2]\n8|PD|1|(Resources)\n");
  EXPECT_EQ(called("squeue", {"-h", "-t", "PD", "-o", "%i"}).out, "8\n");
  EXPECT_EQ(called("squeue", {"-h", "-u", "bob"}).out, "");
  EXPECT_EQ(called("squeue", {"-h", "-w", "n2", "-o", "%i"}).out, "7\n");
  EXPECT_EQ(called("squeue", {"-h", "-q", "normal", "-S", "-i", "-o", "%i"}).out, "8\n7\n");
  EXPECT_EQ(called("squeue", {"-h", "-q", "high"}).out, "");
  EXPECT_THAT(called("squeue", {"-S", "M"}).err, HasSubstr("Invalid sort specification: M"));
  EXPECT_THAT(called("squeue", {}).out,
              StartsWith("             JOBID PARTITION     NAME     USER ST       TIME  NODES "
                         "NODELIST(REASON)\n                 7   default      fit      ana  R "));
  EXPECT_THAT(called("squeue", {"-o", "%!"}).err,
              HasSubstr("squeue: error: Invalid job format specification: !"));
}

TEST(SlurmTools, SacctShowsTheJobAndItsScript) {
  FakeBroker broker;
  auto over = job_in("INACTIVE", "FAILED");
  over.exit_code = 3;
  over.t_alloc = over.t_start = 1'795'953'600'000;
  over.t_finish = over.t_inactive = 1'795'953'665'000;
  over.ncores = 4;
  over.max_rss_kb = 2'048;
  broker.answer("jobs", msg::JobsReply{{over}, ""});
  broker.start();
  const auto ran =
      called("sacct", {"-nP", "-j", "7", "-o", "JobID,State,ExitCode,Elapsed,MaxRSS,AllocCPUS"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "7|FAILED|3:0|00:01:05||4\n"
            "7.batch|FAILED|3:0|00:01:05|2048K|4\n");
  EXPECT_EQ(called("sacct", {"-X", "-n", "-j", "7", "--format=JobID%5,State%4"}).out,
            "    7 FAI+ \n");
  EXPECT_THAT(called("sacct", {"-j", "7", "-X"}).out,
              StartsWith("JobID           JobName  Partition    Account  AllocCPUS      State "
                         "ExitCode \n------------ ---------- "));
  EXPECT_THAT(called("sacct", {"-o", "Nope"}).err, HasSubstr("Invalid field requested: \"Nope\""));
}

TEST(SlurmTools, ScontrolShowsHostNamesWithoutAnInstance) {
  EXPECT_EQ(called("scontrol", {"show", "hostnames", "n[1-3],m7"}).out, "n1\nn2\nn3\nm7\n");
  EXPECT_EQ(called("scontrol", {"show", "hostlist", "n1,n2,n3"}).out, "n[1-3]\n");
  EXPECT_EQ(called("scontrol", {"frob"}).code, 1);
}

TEST(SlurmTools, ScontrolHoldsReleasesAndUpdates) {
  FakeBroker broker;
  broker.answer("urgency", msg::Empty{});
  broker.answer("job.update", msg::Empty{});
  broker.start();
  EXPECT_EQ(called("scontrol", {"hold", "7,8"}).code, 0);
  EXPECT_EQ(broker.last<msg::UrgencyRequest>("urgency").urgency, 0u);
  EXPECT_THAT(broker.last<msg::UrgencyRequest>("urgency").ids, ElementsAre(7, 8));
  EXPECT_EQ(called("scontrol", {"release", "7"}).code, 0);
  EXPECT_EQ(broker.last<msg::UrgencyRequest>("urgency").urgency, 16u);
  EXPECT_EQ(called("scontrol", {"update", "jobid=7", "TimeLimit=1-00:00:00"}).code, 0);
  EXPECT_EQ(broker.last<msg::UpdateRequest>("job.update").limit, 86'400'000);
  EXPECT_THAT(called("scontrol", {"update", "jobid=7", "Nice=3"}).err,
              HasSubstr("Update of this parameter is not supported: Nice=3"));
}

TEST(SlurmTools, ScancelNeedsToKnowWhat) {
  const auto ran = called("scancel", {});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "scancel: error: No job identification provided\n");
  EXPECT_THAT(called("scancel", {"-i", "7"}).err, HasSubstr("unknown option: -i"));
  EXPECT_THAT(called("scancel", {"x"}).err, HasSubstr("Invalid job id specified: x"));
}

}  // namespace
}  // namespace holon::cli
