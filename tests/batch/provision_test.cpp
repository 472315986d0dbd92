// Commands that submit, list and take back batch jobs, word by word, and what they answer. Those of
// Slurm and Grid Engine are tried for real in tests/system.
#include "batch/provision.hpp"

#include <gtest/gtest.h>

namespace holon::batch {
namespace {

std::string line_of(const std::vector<std::string>& command) {
  std::string line;
  for (const auto& word : command) line += (line.empty() ? "" : " ") + word;
  return line;
}

BatchRequest request(std::uint32_t nodes) {
  return {"holon-0123abcd-7", "/s/7.sh", "/s/7.out", nodes, 5430, {"-q", "short"}};
}

TEST(BatchProvision, SubmitsWithTheSystemsOwnWords) {
  EXPECT_EQ(line_of(submit_command(System::slurm, request(2))),
            "sbatch --parsable --job-name=holon-0123abcd-7 --nodes=2 --exclusive --time=91 "
            "--output=/s/7.out "
            "-q short /s/7.sh");
  EXPECT_EQ(line_of(submit_command(System::grid_engine, request(1))),
            "qsub -terse -N holon-0123abcd-7 -S /bin/sh -j y -o /s/7.out -l h_rt=5430 -q short "
            "/s/7.sh");
  EXPECT_EQ(line_of(submit_command(System::pbs, request(1))),
            "qsub -N holon-0123abcd-7 -S /bin/sh -j oe -o /s/7.out -l walltime=1:30:30 -q short "
            "/s/7.sh");
  EXPECT_EQ(line_of(submit_command(System::pbs, request(3))),
            "qsub -N holon-0123abcd-7 -S /bin/sh -j oe -o /s/7.out -l walltime=1:30:30 -l "
            "select=3 -q short /s/7.sh");
}

TEST(BatchProvision, ReadsTheNumberOfWhatWasSubmitted) {
  EXPECT_EQ(*read_submitted(System::slurm, "12\n"), "12");
  EXPECT_EQ(*read_submitted(System::slurm, "12;cluster\n"), "12");
  EXPECT_EQ(*read_submitted(System::grid_engine, "a site's greeting\n7\n"), "7");
  EXPECT_EQ(*read_submitted(System::pbs, "7.server.example\n"), "7.server.example");
  for (const auto system : {System::slurm, System::grid_engine, System::pbs})
    for (const char* answer : {"", "\n", "Unable to run job", "7 jobs"})
      EXPECT_FALSE(read_submitted(system, answer)) << answer;
}

TEST(BatchProvision, ItsScriptStartsOneProcessOnEachNode) {
  const std::vector<std::string> join = {"/opt/ho'lon", "join", "--key", "/s/a b"};
  EXPECT_EQ(script_for(System::slurm, join, 1), "exec '/opt/ho'\\''lon' 'join' '--key' '/s/a b'\n");
  EXPECT_EQ(script_for(System::slurm, {"holon"}, 2),
            "exec srun --ntasks-per-node=1 --kill-on-bad-exit=0 --mpi=none 'holon'\n");
  EXPECT_EQ(script_for(System::pbs, {"holon"}, 2), "exec pbsdsh -- 'holon'\n");
}

using Listed = std::vector<ListedJob>;
constexpr auto kQueued = ListedJob::State::queued, kRunning = ListedJob::State::running;

TEST(BatchProvision, ReadsWhatSqueueLists) {
  EXPECT_EQ(line_of(list_command(System::slurm, "ada")), "squeue -h -u ada -o %i|%t|%j");
  EXPECT_EQ(
      *read_listed(System::slurm, "12|PD|holon-1-1\n13|R|holon-1-2\n14|CG|holon-1-3\n15|CF|a|b\n"),
      (Listed{
          {"12", "holon-1-1", kQueued}, {"13", "holon-1-2", kRunning}, {"15", "a|b", kQueued}}));
  EXPECT_EQ(*read_listed(System::slurm, ""), Listed());
  EXPECT_FALSE(read_listed(System::slurm, "slurm_load_jobs error: no contact\n"));
}

TEST(BatchProvision, ReadsWhatGridEngineLists) {
  EXPECT_EQ(line_of(list_command(System::grid_engine, "ada")), "qstat -xml -u ada");
  const char* const kListed = R"(<?xml version='1.0'?>
<job_info  xmlns:xsd="http://gridscheduler.svn.sourceforge.net/qstat.xsd">
  <queue_info>
    <job_list state="running">
      <JB_job_number>3</JB_job_number>
      <JAT_prio>0.55500</JAT_prio>
      <JB_name>holon-1-1</JB_name>
      <JB_owner>ada</JB_owner>
      <state>r</state>
    </job_list>
  </queue_info>
  <job_info>
    <job_list state="pending">
      <JB_job_number>4</JB_job_number>
      <JB_name>holon-1-2</JB_name>
      <state>qw</state>
    </job_list>
  </job_info>
</job_info>)";
  EXPECT_EQ(*read_listed(System::grid_engine, kListed),
            (Listed{{"3", "holon-1-1", kRunning}, {"4", "holon-1-2", kQueued}}));
  EXPECT_FALSE(read_listed(System::grid_engine, "error: commlib error"));
}

TEST(BatchProvision, ReadsWhatPbsLists) {
  EXPECT_EQ(list_command(System::pbs, "ada").back(), "ada");
  EXPECT_EQ(*read_listed(System::pbs,
                         "Job Id: 3.server\n    Job_Name = holon-1-1\n    job_state = R\n\n"
                         "Job Id: 4.server\n    Job_Name = holon-1-2\n    job_state = Q\n"
                         "Job Id: 5.server\n    Job_Name = holon-1-3\n    job_state = F\n"),
            (Listed{{"3.server", "holon-1-1", kRunning}, {"4.server", "holon-1-2", kQueued}}));
  EXPECT_EQ(*read_listed(System::pbs, ""), Listed());
  EXPECT_FALSE(read_listed(System::pbs, "qstat: cannot connect\n"));
}

TEST(BatchProvision, TakesBackWithTheSystemsOwnWords) {
  EXPECT_EQ(line_of(cancel_command(System::slurm, {"1", "2"})), "scancel 1 2");
  EXPECT_EQ(line_of(cancel_command(System::grid_engine, {"1"})), "qdel 1");
}

}  // namespace
}  // namespace holon::batch
