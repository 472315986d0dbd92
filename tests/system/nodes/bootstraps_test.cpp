// One instance of four hosts, however it is started: the same program runs in each, with the same
// outcome.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <sstream>

#include "places.hpp"  // written by CMake
#include "tests/system/nodes/campaign.hpp"
#include "tests/system/nodes/private_grid_engine.hpp"
#include "tests/system/nodes/private_hosts.hpp"
#include "tests/system/private_slurm.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr std::size_t kHosts = 4;

// What all tests of a suite share: the hosts, and what brings programs to them. Each has a state
// directory of its own, on a file system that is that of all hosts.
class OnHosts : public testing::Test {
 public:
  static void TearDownTestSuite() { shared_.reset(); }

 protected:
  struct Shared {
    Sandbox sandbox;
    std::unique_ptr<PrivateHosts> hosts;
    std::unique_ptr<PrivateSlurm> slurm;
    std::unique_ptr<PrivateGridEngine> grid;
  };
  static Shared& shared() {
    if (shared_ == nullptr) shared_ = std::make_unique<Shared>();
    return *shared_;
  }

  OnHosts() : sandbox_(shared().sandbox) {}
  void SetUp() override {
    if (const auto why = PrivateHosts::missing(); !why.empty()) GTEST_SKIP() << why;
    auto& hosts = shared().hosts;
    if (hosts == nullptr) {
      hosts = std::make_unique<PrivateHosts>(sandbox_, kHosts);
      if (hosts->up()) prepare(shared());
      sandbox_.keep();
    }
    hosts_ = hosts.get();
    ASSERT_TRUE(hosts_->up());
  }
  void TearDown() override {
    if (hosts_ == nullptr) return;
    hosts_->go_back();
    sandbox_.go_back("slurmstepd");
  }
  // Once for the suite.
  virtual void prepare(Shared&) {}

  std::string state() const { return sandbox_.folder() + "/kept"; }
  Words start_words(const Words& options, const std::string& program) const {
    Words words = {HOLON_BINARY, "start", "--state-dir", state()};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(program);
    return words;
  }
  Ran run_on(std::size_t host, const Words& launcher, const Words& options,
             const std::string& program) {
    Words words = launcher;
    for (auto& word : start_words(options, program)) words.push_back(word);
    return hosts_->run(host, std::move(words));
  }
  static std::string line(const Words& words) {
    std::string text;
    for (const auto& word : words) text += word + " ";
    return text;
  }

  void expect_nothing_is_left() const {
    for (const pid_t pid : sandbox_.processes({"holon"}))
      ADD_FAILURE() << "left behind: " << pid << " " << command_line(pid);
  }
  // All of it, and with what came of each.
  void expect_records(int completed) {
    EXPECT_EQ(sandbox_.run({"journal", "check", state()}).code, 0);
    std::istringstream lines(sandbox_.ok({"journal", "export", state()}));
    int found = 0;
    for (std::string text; std::getline(lines, text);)
      found += text.find(R"("result":"COMPLETED")") != std::string::npos ? 1 : 0;
    EXPECT_GE(found, completed);
  }

  Sandbox& sandbox_;
  PrivateHosts* hosts_ = nullptr;

 private:
  static inline std::unique_ptr<Shared> shared_;
};

class Bootstraps : public OnHosts {
 protected:
  void prepare(Shared& shared) override {
    if (PrivateHosts::no_remote_shell().empty()) shared.hosts->remote_shell();
  }
  void expect_all(const Ran& ran) {
    EXPECT_EQ(ran.code, 7) << ran.err;
    expect_campaign(ran.out);
    expect_nothing_is_left();
    expect_records(200);
    if (HasFailure()) ADD_FAILURE() << ran.err;
  }
};

TEST_F(Bootstraps, MpiexecOfMpich) {
  if (const auto why = PrivateHosts::no_remote_shell(); !why.empty()) GTEST_SKIP() << why;
  if (access("/usr/bin/mpiexec.mpich", X_OK) != 0)
    GTEST_SKIP() << "there is no mpiexec.mpich here: apt-get install mpich";
  const Words mpiexec = {"/usr/bin/mpiexec.mpich",
                         "-launcher",
                         "ssh",
                         "-launcher-exec",
                         hosts_->remote_shell(),
                         "-hosts",
                         "n1,n2,n3,n4",
                         "-ppn",
                         "1",
                         "-n",
                         "4"};
  expect_all(run_on(0, mpiexec, {}, write_campaign(sandbox_)));
}

TEST_F(Bootstraps, MpirunOfOpenMpi) {
  if (const auto why = PrivateHosts::no_remote_shell(); !why.empty()) GTEST_SKIP() << why;
  if (access("/usr/bin/mpirun.openmpi", X_OK) != 0)
    GTEST_SKIP() << "there is no mpirun.openmpi here: apt-get install openmpi-bin";
  const Words mpirun = {"/usr/bin/mpirun.openmpi",
                        "--allow-run-as-root",
                        "--mca",
                        "plm_rsh_agent",
                        hosts_->remote_shell(),
                        "--host",
                        "n1,n2,n3,n4",
                        "-n",
                        "4"};
  expect_all(run_on(0, mpirun, {}, write_campaign(sandbox_)));
}

TEST_F(Bootstraps, NamedHosts) {
  if (const auto why = PrivateHosts::no_remote_shell(); !why.empty()) GTEST_SKIP() << why;
  expect_all(run_on(1, {}, {"--hosts", "n[1-4]", "--conf", "launch.ssh=" + hosts_->remote_shell()},
                    write_campaign(sandbox_)));
}

// What is started on n3 comes there when the broker has just ended.
TEST_F(Bootstraps, WhoComesTooLateIsNotLeftBehind) {
  if (const auto why = PrivateHosts::no_remote_shell(); !why.empty()) GTEST_SKIP() << why;
  const auto late = sandbox_.write_file(
      "late-ssh",
      fmt::format("#!/bin/sh\n[ $4 != n3 ] ||\n"
                  "  until [ -e {}/gate ]; do sleep 0.05; done\nexec {} \"$@\"\n",
                  sandbox_.folder(), hosts_->remote_shell()),
      true);
  Words words =
      start_words({"--hosts", "n[1-3]", "--quorum", "2", "--conf", "launch.ssh=" + late}, "true");
  Process start = hosts_->start(1, words);
  ASSERT_TRUE(eventually([&] { return !sandbox_.processes({"holon", "broker"}).empty(); }));
  ASSERT_TRUE(eventually([&] { return sandbox_.processes({"holon", "broker"}).empty(); }));
  sandbox_.write_file("gate", "go");
  const Ran ran = start.finish();
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_nothing_is_left();
  EXPECT_THAT(ran.err, HasSubstr("the instance has ended"));
}

// As a child of all nodes of another one.
TEST_F(Bootstraps, AHolonParent) {
  if (const auto why = PrivateHosts::no_remote_shell(); !why.empty()) GTEST_SKIP() << why;
  const auto campaign = write_campaign(sandbox_);
  const auto parent =
      sandbox_.write_file("parent.sh",
                          fmt::format("#!/bin/sh\nholon={}\nid=$($holon batch -N4 -n4 {})\n"
                                      "$holon job wait $id 2> /dev/null\n$holon job output $id\n"
                                      "exit $($holon jobs -a --format code $id | tail -n1)\n",
                                      HOLON_BINARY, campaign),
                          true);
  const Ran ran = run_on(
      1, {}, {"--hosts", "n[1-4]", "--conf", "launch.ssh=" + hosts_->remote_shell()}, parent);
  EXPECT_EQ(ran.code, 7) << ran.err;
  std::string out = ran.out;
  for (const auto& [at, of_root] : {std::pair("depth 3", "depth 2")})
    if (const auto found = out.find(at); found != std::string::npos)
      out.replace(found, std::string(at).size(), of_root);
  expect_campaign(out);
  expect_nothing_is_left();
}

class OfGridEngine : public OnHosts {
 protected:
  void SetUp() override {
    if (const auto why = PrivateGridEngine::missing(); !why.empty()) GTEST_SKIP() << why;
    OnHosts::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    grid_ = shared().grid.get();
    ASSERT_TRUE(grid_->up());
  }
  void TearDown() override {
    if (grid_ != nullptr) grid_->delete_all();
    OnHosts::TearDown();
  }
  void prepare(Shared& shared) override {
    shared.grid = std::make_unique<PrivateGridEngine>(sandbox_, *shared.hosts, 2);
  }

  PrivateGridEngine* grid_ = nullptr;
};

TEST_F(OfGridEngine, WithAParallelEnvironment) {
  const std::string job = grid_->submit(
      8, sandbox_.write_file(
             "grid.sh",
             "#!/bin/sh\n" + line(start_words({}, write_campaign(sandbox_))) + "\necho code $?\n",
             true));
  ASSERT_TRUE(eventually([&] { return !grid_->has_jobs(); })) << grid_->jobs();
  const std::string out = sandbox_.read_file("job-" + job);
  expect_campaign(out);
  EXPECT_THAT(out, HasSubstr("code 7\n"));
  expect_nothing_is_left();
  expect_records(200);
}

// Grid Engine ends a job with SIGKILL and nothing before it. On a machine that does much else its
// daemons and five hosts take their time for each step.
TEST_F(OfGridEngine, NothingIsLeftAfterAQdel) {
  const auto waiting = write_waiting_program(sandbox_, sandbox_.folder() + "/running");
  const std::string job = grid_->submit(
      8,
      sandbox_.write_file("grid.sh", "#!/bin/sh\n" + line(start_words({}, waiting)) + "\n", true));
  const auto comes_true = [](const std::function<bool()>& is_so) {
    return eventually(is_so) || eventually(is_so) || eventually(is_so);
  };
  const auto said = [&] { return sandbox_.read_file("job-" + job) + grid_->jobs(); };
  ASSERT_TRUE(comes_true([&] { return !sandbox_.read_file("running").empty(); })) << said();
  EXPECT_EQ(grid_->run({"qdel", "-u", "*"}).code, 0);
  EXPECT_TRUE(comes_true([&] { return sandbox_.processes({"sleep 1000"}).empty(); })) << said();
  EXPECT_TRUE(comes_true([&] { return sandbox_.processes({"holon"}).empty(); })) << said();
  ASSERT_TRUE(comes_true([&] { return !grid_->has_jobs(); })) << said();
  hosts_->let_folders_stay();
  expect_records(1);
}

class OfSlurm : public OnHosts {
 protected:
  void SetUp() override {
    if (const auto why = PrivateSlurm::missing(); !why.empty()) GTEST_SKIP() << why;
    OnHosts::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    slurm_ = shared().slurm.get();
    ASSERT_TRUE(slurm_->up());
  }
  void TearDown() override {
    if (slurm_ != nullptr) slurm_->become_idle();
    OnHosts::TearDown();
  }
  void prepare(Shared& shared) override {
    shared.slurm = std::make_unique<PrivateSlurm>(sandbox_, *shared.hosts, 2);
  }

  // A batch script of four tasks on four nodes that does so; the job's id.
  std::string submit(const std::string& command, const Words& options = {}) {
    Words words = {"-N4", "-n4", "-t5"};
    words.insert(words.end(), options.begin(), options.end());
    return slurm_->submit(words,
                          sandbox_.write_file("batch.sh", "#!/bin/sh\n" + command + "\n", true));
  }
  // The next line that something writes into this pipe.
  std::string line_of(const std::string& pipe) {
    Process read({"/usr/bin/head", "-n1", pipe}, sandbox_.environment(), sandbox_.folder());
    std::string text = read.read_line();
    read.finish();
    return text;
  }
  std::string make_pipe(const std::string& name) {
    const std::string path = sandbox_.folder() + "/" + name;
    Process({"/usr/bin/mkfifo", path}, sandbox_.environment(), sandbox_.folder()).finish();
    return path;
  }
  void wait_until_over() {
    const auto jobs = [&] { return slurm_->run({"squeue", "-h", "-o", "%i %T %r"}).out; };
    ASSERT_TRUE(eventually([&] { return jobs().empty(); })) << jobs();
  }

  static void expect_granted(const std::string& out) {
    EXPECT_THAT(out, HasSubstr(", 4 nodes, 4 of 4 cores free")) << "a CPU on each was granted";
    int steps = 0;
    std::istringstream lines(out);
    for (std::string text; std::getline(lines, text);)
      steps += text.starts_with("step ") && text.find(".batch") == std::string::npos &&
                       text.find(".extern") == std::string::npos &&
                       text.find(".interactive") == std::string::npos
                   ? 1
                   : 0;
    EXPECT_EQ(steps, 1) << out;
  }
  void expect_all(int code, const std::string& out) {
    EXPECT_EQ(code, 7);
    expect_campaign(out);
    expect_granted(out);
    wait_until_over();
    expect_nothing_is_left();
    expect_records(200);
  }

  PrivateSlurm* slurm_ = nullptr;
};

TEST_F(OfSlurm, ABatchScript) {
  const std::string code = make_pipe("code");
  const std::string job =
      submit(line(start_words({}, write_campaign(sandbox_))) + "\necho $? > " + code);
  const std::string said = line_of(code);
  expect_all(std::atoi(said.c_str()), sandbox_.read_file("job-" + job));
}

TEST_F(OfSlurm, TasksWithPmi) {
  const Ran ran =
      run_on(0, {"srun", "-N4", "--ntasks-per-node=1", "--mpi=pmi2"}, {}, write_campaign(sandbox_));
  expect_all(ran.code, ran.out);
}

TEST_F(OfSlurm, TasksWithoutPmi) {
  const Ran ran =
      run_on(0, {"srun", "-N4", "--ntasks-per-node=1", "--mpi=none"}, {}, write_campaign(sandbox_));
  expect_all(ran.code, ran.out);
}

// The shell of salloc is on a host that has none of the nodes.
TEST_F(OfSlurm, AShellOfSalloc) {
  const Ran ran = run_on(0, {"salloc", "-N4", "-n4", "-t5"}, {}, write_campaign(sandbox_));
  expect_all(ran.code, ran.out);
}

// It stays a task of the step, which would end with its tasks otherwise.
TEST_F(OfSlurm, TasksInTheBackgroundStayUntilShutdown) {
  Words words = {"srun", "-N4", "--ntasks-per-node=1", "--mpi=pmi2", HOLON_BINARY, "start", "--bg"};
  Process step = hosts_->start(0, words);
  const std::string uri = step.read_line();
  EXPECT_THAT(uri, testing::StartsWith("ipc://"));
  sandbox_.environment()["HOLON_URI"] = uri;
  EXPECT_THAT(hosts_->holon(1, {"uptime"}).out, HasSubstr("4 nodes"));
  EXPECT_EQ(hosts_->holon(1, {"shutdown"}).code, 0);
  const Ran ran = step.finish();
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_nothing_is_left();
}

// The other half of each node's GPUs is granted to another job.
TEST_F(OfSlurm, GpusAreThoseThatWereGranted) {
  const std::string held = make_pipe("held"), code = make_pipe("code");
  submit("echo held > " + held + "; exec sleep 1000", {"--gres=gpu:1"});
  EXPECT_EQ(line_of(held), "held");
  const auto program =
      sandbox_.write_file("gpus.sh",
                          fmt::format("#!/bin/sh\n{0} uptime --json | grep gpus\n"
                                      "{0} run -N4 -n4 -g1 sh -c 'echo $(hostname): $HOLON_GPUS is "
                                      "$CUDA_VISIBLE_DEVICES'\n"
                                      "{0} run -n1 sh -c 'echo without: $CUDA_VISIBLE_DEVICES'\n",
                                      HOLON_BINARY),
                          true);
  const std::string job =
      submit(line(start_words({}, program)) + "\necho $? > " + code, {"--gres=gpu:1"});
  EXPECT_EQ(line_of(code), "0");
  const std::string out = sandbox_.read_file("job-" + job);
  EXPECT_THAT(out, HasSubstr("\"gpus\": 4,"));
  for (int node = 1; node <= 4; ++node)
    EXPECT_THAT(out, HasSubstr(fmt::format("n{}: 0 is 1\n", node)));
  EXPECT_THAT(out, HasSubstr("without: -1\n"));
  EXPECT_EQ(slurm_->run({"scancel", "--user=root"}).code, 0);
  wait_until_over();
}

// Of all nodes, and of a child on two of them.
TEST_F(OfSlurm, TheLeaseFollowsAChangedWalltime) {
  const std::string pipe = make_pipe("running");
  const auto program = sandbox_.write_file(
      "child.sh",
      fmt::format("#!/bin/sh\nid=$({0} batch -N2 -n2 --wrap 'exec sleep 1000')\n"
                  "until {0} -i /$id uptime > /dev/null 2>&1; do sleep 0.1; done\n"
                  "echo running > {1}\nexec sleep 1000\n",
                  HOLON_BINARY, pipe),
      true);
  const std::string job = submit(line(start_words({"--conf", "batch.interval=1s"}, program)));
  EXPECT_EQ(line_of(pipe), "running");
  const auto end_of = [&](const std::string& path) {
    const auto said = hosts_->holon(1, {"-i", path, "uptime", "--json"}).out;
    const auto status = nlohmann::json::parse(said, nullptr, false);
    return status.is_object() ? status.value("expiration", std::int64_t{0}) / 60'000 : 0;
  };
  const auto root = end_of("/"), child = end_of("/1");
  EXPECT_GT(child, 0);
  const Words longer = {"submit", "-t", "20m", "-N2", "-n2", "true"};
  const Ran refused = hosts_->holon(1, longer);
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("this instance ends in"));
  const auto moves_to = [&](const std::string& minutes, std::int64_t by) {
    EXPECT_EQ(slurm_->run({"scontrol", "update", "jobid=" + job, "timelimit=" + minutes}).code, 0);
    EXPECT_TRUE(eventually([&] { return std::abs(end_of("/") - root - by) <= 1; })) << minutes;
    EXPECT_TRUE(eventually([&] { return std::abs(end_of("/1") - child - by) <= 1; })) << minutes;
  };
  moves_to("65", 60);
  EXPECT_EQ(hosts_->holon(1, longer).code, 0);
  moves_to("35", 30);
  EXPECT_EQ(hosts_->holon(1, {"shutdown"}).code, 0);
  wait_until_over();
  expect_nothing_is_left();
}

// ---- how it ends ----

class Ends : public OfSlurm {
 protected:
  std::string waiting_program(const std::string& pipe) {
    return write_waiting_program(sandbox_, pipe);
  }
  void expect_end() {
    wait_until_over();
    // The job is over for Slurm with its script; what the signal has reached may still be ending.
    for (const char* program : {"holon", "sleep 1000"})
      EXPECT_TRUE(eventually([&] { return sandbox_.processes({program}).empty(); })) << program;
    EXPECT_EQ(sandbox_.run({"journal", "check", state()}).code, 0);
    EXPECT_THAT(sandbox_.ok({"journal", "export", state()}), HasSubstr(R"("result":"COMPLETED")"));
  }
};

TEST_F(Ends, ByScancel) {
  const std::string pipe = make_pipe("running");
  const std::string job = submit(line(start_words({}, waiting_program(pipe))));
  EXPECT_EQ(line_of(pipe), "running");
  EXPECT_EQ(slurm_->run({"scancel", job}).code, 0);
  expect_end();
}

TEST_F(Ends, ByScancelOfTasks) {
  const std::string pipe = make_pipe("running");
  Words words = {"srun", "-N4", "--ntasks-per-node=1", "--mpi=pmi2"};
  for (auto& word : start_words({}, waiting_program(pipe))) words.push_back(word);
  Process step = hosts_->start(0, words);
  EXPECT_EQ(line_of(pipe), "running");
  EXPECT_EQ(slurm_->run({"scancel", "--user=root"}).code, 0);
  expect_end();
  step.finish();
}

// No grace at all: what is left then is what the kernel ends with its parents.
TEST_F(Ends, BySigkill) {
  const std::string pipe = make_pipe("running");
  const std::string job = submit(line(start_words({}, waiting_program(pipe))));
  EXPECT_EQ(line_of(pipe), "running");
  EXPECT_EQ(slurm_->run({"scancel", "--full", "--signal=KILL", job}).code, 0);
  expect_end();
}

TEST_F(Ends, ByTheWalltime) {
  const std::string pipe = make_pipe("running"), code = make_pipe("code");
  const std::string job =
      submit(line(start_words({"--conf", "batch.interval=1s", "--conf", "batch.margin=58s"},
                              waiting_program(pipe))) +
             "\necho $? > " + code);
  EXPECT_EQ(line_of(pipe), "running");
  EXPECT_EQ(slurm_->run({"scontrol", "update", "jobid=" + job, "timelimit=1"}).code, 0);
  EXPECT_EQ(line_of(code), "124");
  expect_end();
}

}  // namespace
}  // namespace holon::system_test
