#include "batch/time_left.hpp"

#include <cstdlib>
#include <ctime>

#include "tests/batch/recorded.hpp"

namespace holon::batch {
namespace {

using Kind = TimeLeft::Kind;
using Words = std::vector<std::string>;

Allocation job_of(System system, const std::string& job) {
  Allocation allocation;
  allocation.system = system;
  allocation.job = job;
  return allocation;
}

TimeLeft read(System system, const std::string& answer, std::int64_t now = 0) {
  const auto left = read_time_left(job_of(system, "1"), answer, now);
  EXPECT_TRUE(left) << answer << ": " << (left ? "" : to_string(left.error()));
  return left.value_or(TimeLeft{});
}

// As PBS and OAR write it, in the time zone of this process.
std::string local(std::int64_t seconds, const char* format) {
  const std::time_t when = seconds;
  std::tm parts{};
  localtime_r(&when, &parts);
  char text[64] = "";
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

TEST(TimeLeft, IsAskedByACommandOfEachSystem) {
  EXPECT_EQ(time_left_command(job_of(System::slurm, "7")),
            (Words{"squeue", "-h", "-j", "7", "-o", "%L"}));
  EXPECT_EQ(time_left_command(job_of(System::pbs, "7.head")), (Words{"qstat", "-f", "7.head"}));
  EXPECT_EQ(time_left_command(job_of(System::grid_engine, "7.3")),
            (Words{"qstat", "-xml", "-j", "7"}));
  EXPECT_EQ(time_left_command(job_of(System::lsf, "7[3]")),
            (Words{"bjobs", "-noheader", "-o", "time_left", "7[3]"}));
  EXPECT_EQ(time_left_command(job_of(System::oar, "7")), (Words{"oarstat", "-f", "-j", "7"}));
  EXPECT_EQ(time_left_command(job_of(System::flux, "")), (Words{"flux", "job", "timeleft"}));
  EXPECT_TRUE(time_left_command(job_of(System::holon, "/1")).empty());
  EXPECT_TRUE(time_left_command(job_of(System::none, "")).empty());
}

TEST(TimeLeft, OfSlurm) {
  EXPECT_EQ(read(System::slurm, "5:00\n"), TimeLeft::of(300));
  EXPECT_EQ(read(System::slurm, "59:10:00\n"), TimeLeft::of(59 * 3600 + 600));
  EXPECT_EQ(read(System::slurm, "1-02:03:04\n"), TimeLeft::of(93'784));
  EXPECT_EQ(read(System::slurm, "0:00\n"), TimeLeft::of(0));
  EXPECT_EQ(read(System::slurm, "INVALID\n"), TimeLeft::of(0));
  EXPECT_EQ(read(System::slurm, "UNLIMITED\n").kind, Kind::unlimited);
  EXPECT_EQ(read(System::slurm, "NOT_SET\n").kind, Kind::unknown);
}

TEST(TimeLeft, OfSlurmSince23StandsInAVariable) {
  auto allocation = job_of(System::slurm, "7");
  EXPECT_EQ(known_time_left(allocation, 1000).kind, Kind::unknown);
  allocation.ends_at = 1060;
  EXPECT_EQ(known_time_left(allocation, 1000), TimeLeft::of(60));
  EXPECT_EQ(known_time_left(allocation, 2000), TimeLeft::of(0));
}

TEST(TimeLeft, OfPbsIsTheLimitLessWhatHasPassed) {
  const std::string limit = "Job Id: 7.head\n    Resource_List.walltime = 01:00:00\n";
  EXPECT_EQ(read(System::pbs, limit + "    resources_used.walltime = 00:10:00\n"),
            TimeLeft::of(3000));
  const std::int64_t start = 1'700'000'000;
  const auto stime = "    stime = " + local(start, "%a %b %d %H:%M:%S %Y") + "\n";
  EXPECT_EQ(read(System::pbs, limit + stime, start + 900), TimeLeft::of(2700));
  // What was used is known some minutes late.
  EXPECT_EQ(
      read(System::pbs, limit + stime + "    resources_used.walltime = 00:10:00\n", start + 900),
      TimeLeft::of(2700));
  EXPECT_EQ(read(System::pbs, "Job Id: 7.head\n    Walltime.Remaining = 42\n"), TimeLeft::of(42));
  EXPECT_EQ(read(System::pbs, "Job Id: 7.head\n    job_state = R\n").kind, Kind::unlimited);
  EXPECT_EQ(read(System::pbs, limit + stime, start + 9999), TimeLeft::of(0));
}

TEST(TimeLeft, OfGridEngineIsThatOfTheSoonerLimit) {
  // Recorded: s_rt=500, h_rt=600, started at 1795368237.
  const auto answer = data("grid-engine-qstat.xml");
  EXPECT_EQ(read(System::grid_engine, answer, 1'795'368'237), TimeLeft::of(500));
  EXPECT_EQ(read(System::grid_engine, answer, 1'795'368'337), TimeLeft::of(400));
  EXPECT_EQ(read_time_left(job_of(System::grid_engine, "1.1"), answer, 1'795'368'337).value(),
            TimeLeft::of(400));
  EXPECT_FALSE(read_time_left(job_of(System::grid_engine, "1.2"), answer, 1'795'368'337))
      << "there is no such task";
  EXPECT_EQ(read(System::grid_engine, "<JB_job_number>1</JB_job_number>").kind, Kind::unlimited);
  EXPECT_FALSE(read_time_left(job_of(System::grid_engine, "1"), "<unknown_jobs/>", 0));
}

TEST(TimeLeft, OfLsf) {
  EXPECT_EQ(read(System::lsf, "1:30 L\n"), TimeLeft::of(5400));
  EXPECT_EQ(read(System::lsf, "0:3 L\n"), TimeLeft::of(180));
  EXPECT_EQ(read(System::lsf, "0:0 X\n"), TimeLeft::of(0));
  EXPECT_EQ(read(System::lsf, "0:10 E\n").kind, Kind::unlimited);
  EXPECT_EQ(read(System::lsf, "-\n").kind, Kind::unlimited);
}

TEST(TimeLeft, OfOar) {
  const std::int64_t start = 1'700'000'000;
  const auto began = local(start, "%Y-%m-%d %H:%M:%S");
  EXPECT_EQ(read(System::oar, "Job_Id: 5\n    walltime = 1:0:0\n    startTime = " + began + "\n",
                 start + 60),
            TimeLeft::of(3540));
}

TEST(TimeLeft, OfFlux) {
  EXPECT_EQ(read(System::flux, "3599\n"), TimeLeft::of(3599));
  EXPECT_EQ(read(System::flux, "59.5\n"), TimeLeft::of(59));
  EXPECT_EQ(read(System::flux, "infinity\n").kind, Kind::unlimited);
}

TEST(TimeLeft, ASystemThatDoesNotKnowTheJobAnyMoreSaysNothing) {
  for (const auto system :
       {System::slurm, System::pbs, System::lsf, System::oar, System::grid_engine})
    EXPECT_EQ(read_time_left(job_of(system, "1"), "\n", 0).error().code, Errc::not_found);
}

TEST(TimeLeft, AnAnswerOfAnotherKindIsQuoted) {
  for (const auto system :
       {System::slurm, System::lsf, System::oar, System::grid_engine, System::flux}) {
    const auto left = read_time_left(job_of(system, "1"), "slurm_load_jobs error: no contact", 0);
    ASSERT_FALSE(left) << name_of(system);
    EXPECT_NE(left.error().what.find("slurm_load"), std::string::npos) << left.error().what;
  }
  EXPECT_FALSE(read_time_left(job_of(System::pbs, "1"), "    Resource_List.walltime = soon", 0));
}

TEST(ClockLengths, AreReadFromTheRight) {
  EXPECT_EQ(read_clock_length("04").value(), 4);
  EXPECT_EQ(read_clock_length("03:04").value(), 184);
  EXPECT_EQ(read_clock_length("1-00:00:00").value(), 86'400);
  for (const char* text : {"", ":", "1:2:3:4", "-1", "1-", "a", "1:-2", "9999999999999"})
    EXPECT_FALSE(read_clock_length(text)) << text;
}

}  // namespace
}  // namespace holon::batch
