// `holon doctor` on machines and in batch jobs that are not well.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "places.hpp"  // written by CMake
#include "tests/system/private_slurm.hpp"
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

struct Check {
  std::string state, found, remedy;
};

// Those of one name are one: the last.
struct Said {
  int code = -1;
  bool works = false;
  std::map<std::string, Check> checks;
};

Said said_by(const Ran& ran) {
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  EXPECT_TRUE(json.is_object()) << ran.out << ran.err;
  Said said{ran.code, json.value("works", false), {}};
  for (const auto& check : json.value("checks", nlohmann::json::array()))
    said.checks[check["check"]] = {check["state"], check["found"], check["remedy"]};
  return said;
}

Said ask_doctor(Sandbox& sandbox, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"doctor", "--json"});
  return said_by(sandbox.run(options));
}

void put_command(Sandbox& sandbox, const std::string& name, const std::string& body) {
  sandbox.write_file(name, "#!/bin/sh\n" + body + "\n", true);
  sandbox.environment()["PATH"] = sandbox.folder() + ":" + sandbox.environment()["PATH"];
}

TEST(Doctor, FindsAMachineWellAndLeavesNothingOnIt) {
  Sandbox sandbox;
  const auto before =
      std::distance(std::filesystem::recursive_directory_iterator(sandbox.folder()), {});
  const Said said = ask_doctor(sandbox);
  EXPECT_EQ(said.code, 0);
  EXPECT_TRUE(said.works);
  for (const char* check : {"version", "batch system", "cores", "loopback", "descriptors",
                            "processes", "locked memory", "runtime folder", "state folder"}) {
    ASSERT_TRUE(said.checks.contains(check)) << check;
    EXPECT_NE(said.checks.at(check).state, "failed") << check;
  }
  EXPECT_THAT(said.checks.at("cores").found, HasSubstr("each can be bound"));
  EXPECT_EQ(std::distance(std::filesystem::recursive_directory_iterator(sandbox.folder()), {}),
            before);
  const Ran text = sandbox.run({"doctor"});
  EXPECT_THAT(text.out, HasSubstr("ok       loopback"));
}

TEST(Doctor, FailsInOneTaskOfSeveral) {
  Sandbox sandbox;
  sandbox.environment()["PMI_SIZE"] = "4";
  sandbox.environment()["PMI_RANK"] = "1";
  const Said said = ask_doctor(sandbox);
  EXPECT_EQ(said.code, 1);
  EXPECT_FALSE(said.works);
  EXPECT_EQ(said.checks.at("task").state, "failed");
  EXPECT_THAT(said.checks.at("task").remedy, HasSubstr("--here"));
}

// /proc takes no files, from root either.
TEST(Doctor, FailsWhereTheStateFolderCannotBeWritten) {
  Sandbox sandbox;
  sandbox.environment()["XDG_STATE_HOME"] = "/proc/holon/state";
  const Said said = ask_doctor(sandbox);
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.checks.at("state folder").state, "failed");
  EXPECT_THAT(said.checks.at("state folder").remedy, HasSubstr("--state-dir"));
  EXPECT_EQ(said.checks.at("cores").state, "ok");
}

TEST(Doctor, FailsWithTooFewDescriptors) {
  Sandbox sandbox;
  const std::string line = fmt::format("ulimit -n 100; exec {} doctor --json", HOLON_BINARY);
  const Said said =
      said_by(Process({"/bin/sh", "-c", line}, sandbox.environment(), sandbox.folder()).finish());
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.checks.at("descriptors").state, "failed");
  EXPECT_THAT(said.checks.at("descriptors").remedy, HasSubstr("ulimit -n"));
}

TEST(Doctor, AsksForTheWalltime) {
  Sandbox sandbox;
  sandbox.environment()["SLURM_JOB_ID"] = "5";
  sandbox.environment()["SLURM_JOB_NODELIST"] = "n[1-2]";
  sandbox.environment()["SLURMD_NODENAME"] = "n2";
  put_command(sandbox, "srun", "exit 1");
  put_command(sandbox, "squeue", "echo 2:00:00");
  const Said two_hours = ask_doctor(sandbox);
  EXPECT_EQ(two_hours.checks.at("walltime").found, "2h00m left");
  EXPECT_EQ(two_hours.checks.at("nodes").state, "ok");
  EXPECT_THAT(two_hours.checks.at("nodes").found, HasSubstr("2 nodes, this is n2"));
  EXPECT_EQ(two_hours.checks.at("launcher").found, "srun");
  put_command(sandbox, "squeue", "echo 0:20");
  const Said short_of_time = ask_doctor(sandbox);
  EXPECT_EQ(short_of_time.code, 1);
  EXPECT_EQ(short_of_time.checks.at("walltime").state, "failed");
  EXPECT_EQ(short_of_time.checks.at("n1: reached").state, "failed") << "srun fails";
  EXPECT_EQ(ask_doctor(sandbox, {"--here", "--conf", "batch.margin=5s"}).code, 0);
  put_command(sandbox, "squeue", "echo no contact >&2; exit 1");
  const Said deaf = ask_doctor(sandbox);
  EXPECT_EQ(deaf.checks.at("walltime").state, "warning");
  EXPECT_EQ(deaf.checks.at("walltime").found, "squeue: no contact");
}

TEST(Doctor, WarnsOfVariablesThatCannotBeRead) {
  Sandbox sandbox;
  sandbox.environment()["SLURM_JOB_ID"] = "5";
  sandbox.environment()["SLURM_JOB_NODELIST"] = "n[1-";
  put_command(sandbox, "squeue", "echo UNLIMITED");
  const Said said = ask_doctor(sandbox);
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.checks.at("walltime").found, "unlimited");
  EXPECT_THAT(said.checks.at("batch system").found, HasSubstr("SLURM_JOB_NODELIST"));
  EXPECT_EQ(said.checks.at("batch system").state, "warning");
}

TEST(Doctor, KnowsARealSlurm) {
  if (const auto why = PrivateSlurm::missing(); !why.empty()) GTEST_SKIP() << why;
  Sandbox sandbox;
  PrivateSlurm slurm(sandbox, 1, 2);
  ASSERT_TRUE(slurm.up());
  const Said said =
      said_by(slurm.run({"srun", "-n1", "-t10", "-Jcheck", HOLON_BINARY, "doctor", "--json"}));
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.checks.at("batch system").found, "Slurm job 1 (check), step 0");
  EXPECT_THAT(said.checks.at("walltime").found, testing::ContainsRegex("(9m[0-9]+s|10m00s) left"));
  EXPECT_THAT(said.checks.at("nodes").found, HasSubstr("1 node, this is n1, 1 CPU granted here"));
}

// In one step, which its launcher starts: of four nodes one says nothing, one has another version.
TEST(Doctor, LooksAtTheOtherNodesOfABatchJob) {
  if (const auto why = PrivateSlurm::missing(); !why.empty()) GTEST_SKIP() << why;
  Sandbox sandbox;
  PrivateSlurm slurm(sandbox, 4, 1);
  ASSERT_TRUE(slurm.up());
  const auto script = sandbox.write_file("look.sh",
                                         fmt::format("#!/bin/sh\n{0} doctor --json > all\n"
                                                     "{0} doctor --json --here > here\n"
                                                     "squeue -h -s -j $SLURM_JOB_ID > steps\n",
                                                     HOLON_BINARY),
                                         true);
  slurm.submit({"-W", "-N4", "-n4"}, script);
  const Said all = said_by({0, sandbox.read_file("all"), ""});
  ASSERT_TRUE(all.checks.contains("other nodes")) << sandbox.read_file("all");
  EXPECT_THAT(all.checks.at("other nodes").found, HasSubstr("n[2-4]: reached, 3 cores"));
  EXPECT_FALSE(said_by({0, sandbox.read_file("here"), ""}).checks.contains("other nodes"));
  put_command(sandbox, "srun",
              R"(echo '{"host":"n2","version":"0.0.1","now":0,"checks":[]}')"
              R"(; echo '{"host":"n3","version":"","checks":[{"check":"cores","state":"failed",)"
              R"("found":"none","remedy":"some"}]}'; echo noise)");
  slurm.submit({"-W", "-N4", "-n4"}, script);
  const Said bad = said_by({0, sandbox.read_file("all"), ""});
  EXPECT_FALSE(bad.works);
  EXPECT_EQ(bad.checks.at("n2: version").state, "failed");
  EXPECT_EQ(bad.checks.at("n2: clock").state, "warning");
  EXPECT_EQ(bad.checks.at("n3: cores").remedy, "some");
  EXPECT_EQ(bad.checks.at("n4: reached").state, "failed");
}

}  // namespace
}  // namespace holon::system_test
