#include "batch/step.hpp"

#include <algorithm>

#include "tests/batch/recorded.hpp"

namespace holon::batch {
namespace {

using Words = std::vector<std::string>;

std::string line(const Words& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

Allocation nodes_of(System system, std::initializer_list<const char*> names) {
  Allocation allocation;
  allocation.system = system;
  for (const char* name : names) allocation.nodes.push_back({name, 1});
  return allocation;
}

const Words kAgent = {"/opt/bin/holon", "agent", "--rank", "a b"};

TEST(Steps, OfSlurmAreOneSrun) {
  const auto step = step_on_nodes(find_allocation(recorded("slurm-batch.env")), kAgent).value();
  ASSERT_EQ(step.commands.size(), 1U);
  EXPECT_EQ(line(step.commands[0]),
            "srun --overlap --mpi=none --input=all -N4 -n4 --ntasks-per-node=1 --cpu-bind=none "
            "--mem=0 --export=ALL --kill-on-bad-exit=0 --no-kill --wait=0 --job-name=holon -- "
            "/opt/bin/holon agent --rank a b");
  EXPECT_TRUE(step.passes_environment && step.passes_input);
  // What sbatch -n8 -c2 --mem has left for the script's own steps.
  for (const char* name :
       {"SLURM_NTASKS", "SLURM_CPUS_PER_TASK", "SLURM_MEM_PER_NODE", "SLURM_NTASKS_PER_NODE"})
    EXPECT_NE(std::find(step.unset.begin(), step.unset.end(), name), step.unset.end()) << name;
  for (const char* name : {"SLURM_JOB_ID", "SLURM_CONF"})
    EXPECT_EQ(std::find(step.unset.begin(), step.unset.end(), name), step.unset.end()) << name;
}

// A shell of salloc on a login node: the whole instance lies on the nodes.
TEST(Steps, OfTasksHaveTheTerminalOrTheInputInTheFirst) {
  const auto allocation = nodes_of(System::slurm, {"a", "b"});
  const auto step = step_of_tasks(allocation, kAgent, false).value();
  EXPECT_EQ(line(step.commands.at(0)),
            "srun --overlap --mpi=pmi2 --input=0 --quit-on-interrupt -N2 -n2 --ntasks-per-node=1 "
            "--cpu-bind=none --mem=0 --export=ALL --kill-on-bad-exit=0 --no-kill --wait=0 "
            "--job-name=holon -- /opt/bin/holon agent --rank a b");
  EXPECT_EQ(step_of_tasks(allocation, kAgent, true).value().commands.at(0).at(3), "--pty");
  EXPECT_EQ(step_of_tasks(nodes_of(System::pbs, {"a"}), kAgent, true).error().code,
            Errc::unsupported);
}

TEST(Steps, OfPbsGoNodeByNodeOfTorqueByOnePbsdsh) {
  auto allocation = nodes_of(System::pbs, {"n1", "n2"});
  const auto step = step_on_nodes(allocation, kAgent).value();
  ASSERT_EQ(step.commands.size(), 2U);
  EXPECT_EQ(line(step.commands[1]), "pbs_tmrsh n2 /opt/bin/holon agent --rank a b");
  EXPECT_FALSE(step.passes_environment);
  allocation.torque = true;
  EXPECT_EQ(line(step_on_nodes(allocation, kAgent).value().commands[0]),
            "pbsdsh -u /opt/bin/holon agent --rank a b");
}

TEST(Steps, OfTheOtherSystems) {
  EXPECT_EQ(line(step_on_nodes(nodes_of(System::lsf, {"a", "b"}), {"/x"}).value().commands[0]),
            "blaunch -z a b /x");
  const auto grid = step_on_nodes(nodes_of(System::grid_engine, {"a", "b"}), {"/x"}).value();
  EXPECT_EQ(line(grid.commands[0]), "qrsh -inherit -V a /x");
  EXPECT_EQ(grid.commands.size(), 2U);
  EXPECT_EQ(line(step_on_nodes(nodes_of(System::oar, {"a"}), kAgent).value().commands[0]),
            "oarsh a /opt/bin/holon agent --rank 'a b'");
  EXPECT_EQ(line(step_on_nodes(nodes_of(System::flux, {}), {"/x"}).value().commands[0]),
            "flux exec -r all /x");
}

TEST(Steps, OfNoBatchSystemAreRefused) {
  EXPECT_EQ(step_on_nodes(nodes_of(System::none, {}), {"/x"}).error().code, Errc::unsupported);
  EXPECT_EQ(step_on_nodes(nodes_of(System::holon, {"a"}), {"/x"}).error().code, Errc::unsupported);
  EXPECT_EQ(step_on_nodes(nodes_of(System::slurm, {}), {"/x"}).error().code, Errc::not_found);
}

TEST(Steps, BySshQuoteForTheShellAtTheOtherEnd) {
  const auto step = step_by_ssh({"h1", "h2"}, kAgent).value();
  ASSERT_EQ(step.commands.size(), 2U);
  EXPECT_EQ(line(step.commands[0]),
            "ssh -T -o BatchMode=yes h1 -- /opt/bin/holon agent --rank 'a b'");
  EXPECT_TRUE(step.passes_input);
  EXPECT_FALSE(step.passes_environment);
  EXPECT_EQ(quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(quoted(""), "''");
  EXPECT_EQ(quoted("$HOME;x"), "'$HOME;x'");
}

// ssh takes a name like -oProxyCommand=... for an option.
TEST(Steps, BySshTakeNoOptionForAHost) {
  for (const auto& hosts : {Words{}, Words{""}, Words{"-oProxyCommand=x"}, Words{"a", "b", "a"}})
    EXPECT_EQ(step_by_ssh(hosts, {"/x"}).error().where, "--hosts");
}

}  // namespace
}  // namespace holon::batch
