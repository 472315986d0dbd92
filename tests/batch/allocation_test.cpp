#include "batch/allocation.hpp"

#include "batch/outer_variables.hpp"
#include "batch/questions.hpp"
#include "tests/batch/recorded.hpp"

namespace holon::batch {
namespace {

TEST(SlurmAllocation, OfABatchScriptIsRead) {
  const auto found = find_allocation(recorded("slurm-batch.env"));
  EXPECT_EQ(found.system, System::slurm);
  EXPECT_EQ(found.job, "1");
  EXPECT_EQ(found.step, "");
  EXPECT_EQ(found.job_name, "campaign");
  EXPECT_EQ(found.user, "root");
  EXPECT_EQ(text_of(found.nodes), "n1:4 n2:4 n3:4 n4:4");
  EXPECT_EQ(found.node, "n1");
  EXPECT_EQ(found.node_index, 0U);
  EXPECT_EQ(found.cpus_here, 4U);
  EXPECT_EQ(found.memory_here, 2000ULL * 1024 * 1024);
  EXPECT_TRUE(found.doubts.empty());
}

// The script has SLURM_NTASKS=8 and SLURM_PROCID=0, and is alone.
TEST(SlurmAllocation, ABatchScriptIsNoneOfSeveral) {
  EXPECT_FALSE(find_allocation(recorded("slurm-batch.env")).place.is_one_of_several());
  EXPECT_FALSE(find_allocation(recorded("slurm-salloc.env")).place.is_one_of_several());
}

TEST(SlurmAllocation, ATaskKnowsItsPlace) {
  const auto found = find_allocation(recorded("slurm-task.env"));
  EXPECT_EQ(found.step, "0");
  EXPECT_EQ(found.node, "n2");
  EXPECT_EQ(found.node_index, 1U);
  EXPECT_TRUE(found.place.is_one_of_several());
  EXPECT_EQ(found.place.launcher, "srun");
  EXPECT_EQ(found.place.variable, "SLURM_STEP_NUM_TASKS=8");
  EXPECT_EQ(found.place.rank, 3U);
  EXPECT_EQ(found.place.size, 8U);
}

TEST(SlurmAllocation, ATaskOfAStepWithPmiIsSruns) {
  const auto found = find_allocation(recorded("slurm-pmi2-task.env"));
  EXPECT_EQ(found.place.launcher, "srun");
  EXPECT_EQ(found.place.variable, "PMI_SIZE=2");
  EXPECT_EQ(found.place.rank, 1U);
}

// salloc's shell runs where it was typed.
TEST(SlurmAllocation, OfSallocIsOnNoneOfItsNodes) {
  auto environment = recorded("slurm-salloc.env");
  environment.host_name = "login1";
  const auto found = find_allocation(environment);
  EXPECT_EQ(text_of(found.nodes), "n1:1 n2:1");
  EXPECT_EQ(found.node, "");
  EXPECT_FALSE(found.node_index);
  EXPECT_EQ(found.cpus_here, 0U);
}

TEST(SlurmAllocation, AStepsGpusCountBeforeTheJobs) {
  const std::string job = "SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_JOB_GPUS=0-1,3\n";
  using Names = std::vector<std::string>;
  EXPECT_EQ(find_allocation(environment_of(job)).gpus, (Names{"0", "1", "3"}));
  EXPECT_EQ(find_allocation(environment_of(job + "SLURM_STEP_GPUS=2\n")).gpus, Names{"2"});
  const auto doubtful = find_allocation(environment_of(job + "SLURM_STEP_GPUS=a-b\n"));
  EXPECT_EQ(doubtful.gpus, std::nullopt);
  EXPECT_EQ(doubtful.doubts.size(), 1U);
  const std::string none = "SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=n1\n";
  EXPECT_EQ(find_allocation(environment_of(none)).gpus, std::nullopt);
}

TEST(GridEngineAllocation, GpusAreNamedByAResourceMap) {
  using Names = std::vector<std::string>;
  const std::string job = "JOB_ID=7\nSGE_TASK_ID=undefined\nHOSTNAME=n1\n";
  EXPECT_EQ(find_allocation(environment_of(job + "SGE_HGR_gpu=gpu0 gpu3\n")).gpus,
            (Names{"0", "3"}));
  EXPECT_EQ(find_allocation(environment_of(job + "SGE_HGR_GPU=1\n")).gpus, Names{"1"});
  EXPECT_EQ(find_allocation(environment_of(job + "SGE_HGR_cuda=cuda2 cuda1\n")).gpus,
            (Names{"2", "1"}));
  EXPECT_EQ(find_allocation(environment_of(job)).gpus, std::nullopt);
}

// Several nodes of one machine have the same host name.
TEST(SlurmAllocation, TheBatchSystemsNameOfTheNodeCountsBeforeTheHostsName) {
  auto environment = recorded("slurm-task.env");
  environment.host_name = "n4";
  EXPECT_EQ(find_allocation(environment).node, "n2");
}

TEST(SlurmAllocation, MemoryIsPerCpuOrPerNode) {
  const auto found = find_allocation(environment_of(
      "SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=n1\nSLURM_CPUS_ON_NODE=3\nSLURM_MEM_PER_CPU=100\n"
      "SLURM_GPUS_ON_NODE=2\nSLURM_JOB_END_TIME=1700000000\n"));
  EXPECT_EQ(found.memory_here, 300ULL * 1024 * 1024);
  EXPECT_EQ(found.gpus, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(found.ends_at, 1'700'000'000);
}

TEST(SlurmAllocation, WhatCannotBeReadIsADoubtAndNoFailure) {
  const auto found = find_allocation(environment_of(
      "SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=n[1-\nSLURM_CPUS_ON_NODE=many\nSLURM_HET_SIZE=2\n"));
  EXPECT_EQ(found.system, System::slurm);
  ASSERT_EQ(found.doubts.size(), 3U);
  EXPECT_TRUE(found.doubts[0].starts_with("SLURM_JOB_NODELIST: character "));
  EXPECT_TRUE(found.doubts[1].starts_with("SLURM_CPUS_ON_NODE: 'many'"));
  const auto uneven = find_allocation(
      environment_of("SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=n[1-3]\nSLURM_JOB_CPUS_PER_NODE=4(x2)\n"));
  EXPECT_EQ(text_of(uneven.nodes), "n1:0 n2:0 n3:0");
  EXPECT_EQ(uneven.doubts.size(), 1U);
}

TEST(GridEngineAllocation, OfABatchScriptIsRead) {
  auto environment = recorded("grid-engine-batch.env");
  const std::string file = environment.at("PE_HOSTFILE");
  const auto found = find_allocation(recorded(
      "grid-engine-batch.env", {{file, "vm 2 all.q@vm UNDEFINED\nvm2 3 all.q@vm2 UNDEFINED\n"}}));
  EXPECT_EQ(found.system, System::grid_engine);
  EXPECT_EQ(found.job, "1");
  EXPECT_EQ(found.job_name, "campaign");
  EXPECT_EQ(text_of(found.nodes), "vm:2 vm2:3");
  EXPECT_EQ(found.node_index, 0U);
  EXPECT_EQ(found.cpus_here, 2U);
  EXPECT_FALSE(found.place.is_one_of_several());
}

TEST(GridEngineAllocation, ATaskOfQrshIsOneOfSeveral) {
  const auto found = find_allocation(recorded("grid-engine-task.env"));
  EXPECT_EQ(found.place.launcher, "qrsh -inherit");
  EXPECT_TRUE(found.place.is_one_of_several());
}

TEST(GridEngineAllocation, WithoutAParallelEnvironmentIsOneNode) {
  const auto found = find_allocation(
      environment_of("JOB_ID=9\nSGE_TASK_ID=4\nHOSTNAME=n3\nNSLOTS=1\nJOB_NAME=x\n"));
  EXPECT_EQ(found.job, "9.4");
  EXPECT_EQ(text_of(found.nodes), "n3:1");
  EXPECT_EQ(find_allocation(environment_of("JOB_ID=9\n")).system, System::none);
}

TEST(PbsAllocation, OfABatchScriptIsRead) {
  const auto found = find_allocation(
      recorded("pbs-batch.env",
               {{"/var/spool/pbs/aux/1042.head", "n1.site.org\nn1.site.org\nn2.site.org\n"}}));
  EXPECT_EQ(found.system, System::pbs);
  EXPECT_FALSE(found.torque);
  EXPECT_EQ(found.job, "1042.head");
  EXPECT_EQ(found.user, "ada");
  EXPECT_EQ(text_of(found.nodes), "n1.site.org:0 n2.site.org:0");
  EXPECT_EQ(found.node, "n1.site.org");
  EXPECT_FALSE(found.place.is_one_of_several());
}

TEST(PbsAllocation, ATaskOfPbsdshIsOneOfSeveral) {
  auto environment = recorded("pbs-batch.env");
  environment.variables["PBS_NODENUM"] = "1";
  environment.variables["PBS_TASKNUM"] = "3";
  const auto found = find_allocation(environment);
  EXPECT_TRUE(found.place.is_one_of_several());
  EXPECT_EQ(found.place.variable, "PBS_NODENUM=1");
  EXPECT_EQ(found.doubts.size(), 1U) << "its node file is not there";
}

TEST(TorqueAllocation, HasALineForEachCpu) {
  const auto found = find_allocation(
      recorded("torque-batch.env",
               {{"/var/spool/torque/aux/77.head.site.org", "n7\nn7\nn7\nn7\nn8\nn8\n"}}));
  EXPECT_TRUE(found.torque);
  EXPECT_EQ(text_of(found.nodes), "n7:4 n8:2");
  EXPECT_EQ(found.cpus_here, 4U);
  EXPECT_EQ(found.walltime, 3600);
}

TEST(LsfAllocation, OfABatchScriptIsRead) {
  auto environment = recorded("lsf-batch.env");
  environment.host_name = "hostB.site.org";
  const auto found = find_allocation(environment);
  EXPECT_EQ(found.system, System::lsf);
  EXPECT_EQ(found.job, "2031");
  EXPECT_EQ(text_of(found.nodes), "hostA:4 hostB:2");
  EXPECT_EQ(found.node, "hostB");
  EXPECT_EQ(found.cpus_here, 2U);
}

TEST(LsfAllocation, HasThreeSourcesForItsHosts) {
  const std::string job = "LSB_JOBID=5\nLSB_JOBINDEX=3\n";
  const auto by_file =
      find_allocation(environment_of(job + "LSB_DJOB_HOSTFILE=/f\n", {{"/f", "a\na\nb\n"}}));
  EXPECT_EQ(text_of(by_file.nodes), "a:2 b:1");
  EXPECT_EQ(by_file.job, "5[3]");
  EXPECT_EQ(text_of(find_allocation(environment_of(job + "LSB_HOSTS=a b b\n")).nodes), "a:1 b:2");
}

TEST(OarAllocation, OfABatchScriptIsRead) {
  const auto found = find_allocation(
      recorded("oar-batch.env",
               {{"/var/lib/oar/5150", "graphene-1.site\ngraphene-1.site\ngraphene-2.site\n"}}));
  EXPECT_EQ(found.system, System::oar);
  EXPECT_EQ(found.job, "5150");
  EXPECT_EQ(found.user, "ada");
  EXPECT_EQ(text_of(found.nodes), "graphene-1.site:2 graphene-2.site:1");
  EXPECT_EQ(found.walltime, 3600);
}

TEST(FluxAllocation, ATaskKnowsItsPlace) {
  const auto found = find_allocation(recorded("flux-task.env"));
  EXPECT_EQ(found.system, System::flux);
  EXPECT_EQ(found.job, "f3a9Zq1");
  EXPECT_EQ(found.place.launcher, "flux run");
  EXPECT_EQ(found.place.rank, 3U);
  EXPECT_EQ(found.place.size, 4U);
}

TEST(FluxAllocation, AScriptOfAnInstanceWithinSlurmIsFluxs) {
  auto found = find_allocation(recorded("flux-script.env"));
  EXPECT_EQ(found.system, System::flux);
  EXPECT_FALSE(found.place.is_one_of_several());
  EXPECT_EQ(nodes_command(found), (std::vector<std::string>{"flux", "getattr", "hostlist"}));
  ASSERT_TRUE(read_nodes_answer(found, "n[1-2]\n"));
  EXPECT_EQ(text_of(found.nodes), "n1:0 n2:0");
  EXPECT_TRUE(nodes_command(found).empty());
  EXPECT_FALSE(read_nodes_answer(found, ""));
}

// A job of an instance that srun started: the step's variables are the instance's.
TEST(HolonAllocation, HidesWhatItsInstanceWasStartedWith) {
  auto environment = recorded("slurm-task.env");
  environment.variables.insert({{"HOLON_URI", "ipc:///x"},
                                {"HOLON_JOB_PATH", "/3/7"},
                                {"HOLON_NODELIST", "node[0-1]"},
                                {"HOLON_NODE_INDEX", "1"},
                                {"HOLON_NTASKS", "1"},
                                {"HOLON_TASK_RANK", "0"}});
  const auto found = find_allocation(environment);
  EXPECT_EQ(found.system, System::holon);
  EXPECT_EQ(found.job, "/3/7");
  EXPECT_EQ(found.node, "node1");
  EXPECT_FALSE(found.place.is_one_of_several());
  environment.variables["HOLON_NTASKS"] = "4";
  EXPECT_TRUE(find_allocation(environment).place.is_one_of_several());
  environment.variables.erase("HOLON_JOB_PATH");
  environment.variables.erase("HOLON_NTASKS");
  EXPECT_EQ(find_allocation(environment).system, System::slurm) << "the initial program";
  EXPECT_FALSE(find_allocation(environment).place.is_one_of_several());
}

TEST(Places, OfMpiLaunchersCountBeforeThoseOfTheBatchSystem) {
  auto environment = recorded("slurm-task.env");
  environment.variables["PMI_SIZE"] = "1";
  environment.variables["PMI_RANK"] = "0";
  EXPECT_FALSE(find_place(environment).is_one_of_several());
  const auto open_mpi =
      find_place(environment_of("OMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_RANK=2\n"));
  EXPECT_EQ(open_mpi.launcher, "mpirun");
  EXPECT_EQ(open_mpi.rank, 2U);
  EXPECT_TRUE(find_place(environment_of("PMIX_RANK=0\n")).is_one_of_several());
  EXPECT_FALSE(find_place(environment_of("HOME=/\n")).is_one_of_several());
}

TEST(Places, AreTakenAwayFromWhatRunsInAnInstance) {
  const auto names = variables_that_say(recorded("slurm-pmi2-task.env"), Says::place);
  EXPECT_EQ(names, (std::vector<std::string>{"PMI_FD", "PMI_JOBID", "PMI_RANK", "PMI_SIZE",
                                             "SLURM_GTIDS", "SLURM_LOCALID", "SLURM_NODEID",
                                             "SLURM_PROCID", "SLURM_TASK_PID"}));
}

TEST(BatchSystems, CanBeNamed) {
  for (const auto system : {System::none, System::slurm, System::pbs, System::lsf, System::oar,
                            System::grid_engine, System::flux, System::holon})
    EXPECT_EQ(system_of(name_of(system)), system);
  EXPECT_FALSE(system_of("Slurm"));
  auto both = recorded("slurm-batch.env");
  for (const auto& [name, value] : recorded("oar-batch.env").variables)
    both.variables[name] = value;
  EXPECT_EQ(find_allocation(both).system, System::slurm);
  EXPECT_EQ(find_allocation(both, System::oar).job, "5150");
  EXPECT_EQ(find_allocation(both, System::none).system, System::none);
  EXPECT_TRUE(find_allocation(both, System::none).nodes.empty());
}

}  // namespace
}  // namespace holon::batch
