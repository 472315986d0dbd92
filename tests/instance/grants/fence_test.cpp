// What a child that is out of reach does not give back is taken from it, and nothing else.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "instance/basics/clock.hpp"
#include "msg/grant.hpp"
#include "tests/instance/grants/sound_tree.hpp"
#include "tests/instance/live.hpp"
#include "tests/instance/tree/tree.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

// Of four cores the child has one, and is lent others; each job is bound to its cores where these
// are real ones.
class Fence : public ::testing::Test {
 protected:
  explicit Fence(std::vector<std::string> options = {"--resources", "node=1/core=4,gpu=2"})
      : live(with_fence(std::move(options))) {}
  void SetUp() override { ASSERT_EQ(live.child({1}), 1u); }
  void TearDown() override { testing::expect_sound_tree(live); }

  static std::vector<std::string> with_fence(std::vector<std::string> options) {
    options.insert(options.end(), {"--conf", "grant.fence-timeout=1s"});
    return options;
  }
  Result<msg::GrantAnswer> ask(const JobOptions& options) const {
    return live.call<msg::GrantAnswer>(
        "grant.ask", msg::GrantAsk{Live::request({"grant"}, options).jobspec}, "/1");
  }
  std::vector<msg::GrantPart> lent() const {
    const auto reply = live.call<msg::GrantReply>("grant.show", msg::Empty{}, "/");
    EXPECT_TRUE(reply) << reply.error().what;
    std::vector<msg::GrantPart> parts;
    if (reply)
      for (const auto& part : reply->given)
        if (part.source == "extra") parts.push_back(part);
    return parts;
  }
  std::vector<std::string> history(const std::string& path) const {
    const auto told =
        live.call<msg::GrantHistory>("grant.history", msg::GrantHistoryRequest{}, path);
    EXPECT_TRUE(told) << told.error().what;
    std::vector<std::string> names;
    if (told)
      for (const auto& event : told->events) names.push_back(event.name);
    return names;
  }
  std::uint64_t hold(const JobOptions& options, const std::string& gate) const {
    const auto job = live.job(live.gated(gate), options, "/1");
    live.when_running(job, "/1");
    return job;
  }
  pid_t task_of(std::uint64_t job) const {
    const auto pids = live.record(job, "/1").pids;
    EXPECT_FALSE(pids.empty());
    return pids.empty() ? 0 : static_cast<pid_t>(pids.front());
  }
  std::int64_t free_cores() const {
    const auto node = live.status();
    return node ? node->cores_free : -1;
  }
  void recall() const {
    const auto done = live.call<msg::Empty>("grant.recall",
                                            msg::GrantRecall{.child = 1, .reason = "others wait"});
    EXPECT_TRUE(done) << done.error().what;
  }
  // The child's own core has a job, then comes another one, and it has a job, too.
  struct Jobs {
    std::uint64_t own = 0, lent = 0;
  };
  Jobs run_on_both(const JobOptions& of_lent) const {
    Jobs jobs;
    JobOptions own;
    own.duration = 300;
    jobs.own = hold(own, "own");
    JobOptions more;
    more.duration = 600;
    const auto got = ask(more);
    EXPECT_TRUE(got && got->is_here);
    jobs.lent = hold(of_lent, "lent");
    return jobs;
  }
  Jobs run_on_both() const {
    JobOptions lent;
    lent.duration = 300;
    return run_on_both(lent);
  }

  const Live live;
};

class FenceOnRealCores : public Fence {
 protected:
  FenceOnRealCores() : Fence(std::vector<std::string>{}) {}
  void SetUp() override {
    if (free_cores() < 2) GTEST_SKIP() << "needs two cores";
    Fence::SetUp();
  }
};

TEST_F(Fence, TakesWhatIsRecalledAndTheChildGoesOnWithItsOwn) {
  const Jobs jobs = run_on_both();
  const pid_t own = task_of(jobs.own), lent_task = task_of(jobs.lent);
  const pid_t broker = testing::processes_of(live, "/1").broker;
  testing::signal_process(broker, SIGSTOP);
  recall();
  EXPECT_TRUE(eventually([&] { return free_cores() == 3; })) << free_cores();
  EXPECT_TRUE(lent().empty());
  EXPECT_FALSE(testing::alive(lent_task));
  EXPECT_TRUE(testing::alive(own)) << "its own is its own";
  EXPECT_THAT(history("/"), ::testing::IsSupersetOf({"raised", "gone"}));

  testing::signal_process(broker, SIGCONT);
  const auto lost = live.wait_one(jobs.lent, "/1");
  EXPECT_EQ(lost.exception, "node-failure");
  EXPECT_THAT(lost.reason, HasSubstr("went back to the instance above"));
  EXPECT_TRUE(eventually([&] { return live.status("/1")->cores == 1; }));
  EXPECT_EQ(history("/1").back(), "learned");
  EXPECT_EQ(live.record(jobs.own, "/1").state, "RUN");
  live.release("own");
  EXPECT_EQ(live.wait_one(jobs.own, "/1").result, "COMPLETED");

  // And it may be lent something again.
  JobOptions more;
  more.tasks = 3;
  more.duration = 600;
  const auto again = ask(more);
  ASSERT_TRUE(again) << again.error().what;
  JobOptions wide;
  wide.cores = 4;
  wide.duration = 300;
  const auto job = live.job({"/bin/true"}, wide, "/1");
  EXPECT_EQ(live.wait_one(job, "/1").result, "COMPLETED");
}

TEST_F(FenceOnRealCores, EndsWhatIsBoundThere) {
  const auto before = free_cores();
  const Jobs jobs = run_on_both();
  const pid_t own = task_of(jobs.own), lent_task = task_of(jobs.lent);
  const pid_t broker = testing::processes_of(live, "/1").broker;
  testing::signal_process(broker, SIGSTOP);
  recall();
  EXPECT_TRUE(eventually([&] { return free_cores() == before; })) << free_cores();
  EXPECT_FALSE(testing::alive(lent_task));
  EXPECT_TRUE(testing::alive(own));
  testing::signal_process(broker, SIGCONT);
  EXPECT_EQ(live.wait_one(jobs.lent, "/1").exception, "node-failure");
  EXPECT_EQ(live.record(jobs.own, "/1").state, "RUN");
  live.release("own");
}

TEST_F(Fence, RunsJobsAgainThatWereToBe) {
  JobOptions lent;
  lent.duration = 300;
  lent.system = R"({"holon":{"requeue":1}})";
  const Jobs jobs = run_on_both(lent);
  const pid_t broker = testing::processes_of(live, "/1").broker;
  testing::signal_process(broker, SIGSTOP);
  recall();
  EXPECT_TRUE(eventually([&] { return free_cores() == 3; })) << free_cores();
  testing::signal_process(broker, SIGCONT);
  live.release("own");
  live.release("lent");
  const auto again = live.wait_one(jobs.lent, "/1");
  EXPECT_EQ(again.result, "COMPLETED");
  EXPECT_EQ(again.retries, 1u);
}

TEST_F(Fence, TakesGpus) {
  JobOptions more;
  more.duration = 600;
  auto request = Live::request({"grant"}, more);
  auto spec = nlohmann::json::parse(request.jobspec);
  spec["resources"][0]["with"].push_back({{"type", "gpu"}, {"count", 1}});
  const auto got = live.call<msg::GrantAnswer>("grant.ask", msg::GrantAsk{spec.dump()}, "/1");
  ASSERT_TRUE(got) << got.error().what;
  ASSERT_EQ(got->gpus, 1);
  JobOptions one;
  one.duration = 300;
  request = Live::request(live.gated("gpu"), one);
  spec = nlohmann::json::parse(request.jobspec);
  spec["resources"][0]["with"].push_back({{"type", "gpu"}, {"count", 1}});
  request.jobspec = spec.dump();
  const auto job = live.call<msg::SubmitReply>("submit", request, "/1");
  ASSERT_TRUE(job) << job.error().what;
  live.when_running(job->first_id, "/1");
  const pid_t task = task_of(job->first_id);
  const pid_t broker = testing::processes_of(live, "/1").broker;
  testing::signal_process(broker, SIGSTOP);
  recall();
  EXPECT_TRUE(eventually([&] { return lent().empty(); }));
  EXPECT_FALSE(testing::alive(task));
  testing::signal_process(broker, SIGCONT);
  EXPECT_EQ(live.wait_one(job->first_id, "/1").exception, "node-failure");
}

TEST_F(Fence, GoesOnWhenItsBrokerWasKilledBeforeTheProof) {
  const Jobs jobs = run_on_both();
  const pid_t lent_task = task_of(jobs.lent);
  const pid_t child = testing::processes_of(live, "/1").broker, agent = live.agent();
  testing::signal_process(child, SIGSTOP);
  testing::signal_process(agent, SIGSTOP);
  recall();
  const auto is_fenced = [&] {
    const auto parts = lent();
    return parts.size() == 1 && parts.front().state == "lost";
  };
  EXPECT_TRUE(eventually(is_fenced));
  EXPECT_TRUE(testing::alive(lent_task));
  live.kill_broker();
  EXPECT_TRUE(is_fenced()) << "nobody has seen that it is gone";
  EXPECT_EQ(free_cores(), 2);
  testing::signal_process(agent, SIGCONT);
  EXPECT_TRUE(eventually([&] { return free_cores() == 3; })) << free_cores();
  EXPECT_FALSE(testing::alive(lent_task));
  testing::signal_process(child, SIGCONT);
  EXPECT_EQ(live.wait_one(jobs.lent, "/1").exception, "node-failure");
  live.release("own");
}

// The child's broker is killed while it is fenced; the next one learns of it.
TEST_F(Fence, IsLearnedByTheNextBrokerOfTheChild) {
  const Jobs jobs = run_on_both();
  const pid_t child = testing::processes_of(live, "/1").broker;
  testing::signal_process(child, SIGSTOP);
  recall();
  EXPECT_TRUE(eventually([&] { return free_cores() == 3; })) << free_cores();
  testing::signal_process(child, SIGKILL);
  ASSERT_TRUE(eventually([&] {
    const auto node = live.status("/1");
    return node && node->pid != child && node->health == "up";
  }));
  EXPECT_EQ(live.wait_one(jobs.lent, "/1").exception, "node-failure");
  EXPECT_TRUE(eventually([&] { return live.status("/1")->cores == 1; }));
  EXPECT_EQ(live.record(jobs.own, "/1").state, "RUN");
  live.release("own");
}

// What a child has lent on is taken from whoever has it, and that one, too, goes on with its own.
TEST_F(Fence, ReachesWhatWasLentOn) {
  JobOptions more;
  more.duration = 600;
  ASSERT_TRUE(ask(more)->is_here);
  const auto below = live.child({1}, "/1");
  more.duration = 300;
  const auto got = live.call<msg::GrantAnswer>(
      "grant.ask", msg::GrantAsk{Live::request({"grant"}, more).jobspec}, "/1/1");
  ASSERT_TRUE(got) << got.error().what;
  ASSERT_EQ(below, 1u);
  JobOptions two;
  two.cores = 2;
  two.duration = 200;
  const auto job = live.job(live.gated("two"), two, "/1/1");
  live.when_running(job, "/1/1");
  const pid_t child = testing::processes_of(live, "/1").broker;
  testing::signal_process(child, SIGSTOP);
  recall();
  EXPECT_TRUE(eventually([&] { return free_cores() == 3; })) << free_cores();
  testing::signal_process(child, SIGCONT);
  EXPECT_EQ(live.wait_one(job, "/1/1").exception, "node-failure");
  EXPECT_TRUE(eventually([&] { return live.status("/1/1")->cores == 1; }));
  EXPECT_EQ(live.status("/1/1")->health, "up");
}

// A job on what the child was lent has a prolog that waits for the test.
class FencePreparing : public Fence {
 protected:
  void SetUp() override {
    const std::string prolog = "echo x >> " + live.dir() + "/prologs; while [ ! -e " + live.dir() +
                               "/go ]; do sleep 0.02; done";
    ASSERT_EQ(live.child({1}, "", {"job.prolog=" + prolog}), 1u);
    JobOptions more;
    more.duration = 600;
    ASSERT_TRUE(ask(more)->is_here);
    JobOptions two;
    two.cores = 2;
    two.duration = 300;
    job_ = live.job({"/bin/true"}, two, "/1");
    ASSERT_TRUE(eventually([&] { return prologs() == 1; }));
  }
  // For longer than one answer from above is good for.
  static void pass_half_of_the_time() {
    const auto began = wall_clock_ms();
    EXPECT_TRUE(eventually([&] { return wall_clock_ms() > began + 1'200; }));
  }
  std::size_t prologs() const {
    const std::string text = testing::read_file(live.dir() + "/prologs");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), 'x'));
  }
  // Has an instance of the tree written this into its log?
  bool said(const std::string& words) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(live.dir() + "/state"))
      if (entry.is_regular_file() &&
          testing::read_file(entry.path().string()).find(words) != std::string::npos)
        return true;
    return false;
  }
  void go() const { std::ofstream(live.dir() + "/go") << ""; }
  std::uint64_t job_ = 0;
};

//   asked    asked    asked    asked    asked
//     |== sure ==|== sure ==|== sure ==|== sure ==
//     |------------- prolog -------------|-- tasks
TEST_F(FencePreparing, TakesAsLongAsItDoesWhileTheInstanceAboveIsHeard) {
  pass_half_of_the_time();
  go();
  EXPECT_EQ(live.wait_one(job_, "/1").result, "COMPLETED");
  EXPECT_EQ(prologs(), 1u);
}

//   asked                              asked
//     |== sure ==|   not heard           |== sure ==
//     |------------ prolog ----x         |- prolog -|-- tasks
TEST_F(FencePreparing, IsInVainWhenTheInstanceAboveIsNotHeard) {
  const pid_t above = live.broker();
  testing::signal_process(above, SIGSTOP);
  pass_half_of_the_time();
  go();
  EXPECT_TRUE(eventually([&] { return said("was not begun in time"); }));
  testing::signal_process(above, SIGCONT);
  EXPECT_EQ(live.wait_one(job_, "/1").result, "COMPLETED");
  EXPECT_EQ(prologs(), 2u);
}

// What the child before had been lent, and what was taken from it, is not free before an agent has
// looked, though the next child knows of none of it.
TEST_F(Fence, OfAChildThatBeginsAnewIsProvedLikewise) {
  const Jobs jobs = run_on_both();
  const pid_t lent_task = task_of(jobs.lent);
  const auto child = testing::processes_of(live, "/1");
  const pid_t agent = live.agent();
  for (const pid_t pid : {child.broker, child.agent, agent}) testing::signal_process(pid, SIGSTOP);
  recall();
  EXPECT_TRUE(eventually([&] {
    const auto parts = lent();
    return parts.size() == 1 && parts.front().state == "lost";
  }));
  // Its journal is gone with its broker.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(live.dir()))
    if (entry.path().string().find("/children/1/journal") != std::string::npos)
      std::filesystem::remove(entry.path());
  testing::signal_process(child.broker, SIGKILL);
  EXPECT_TRUE(eventually([&] {
    const auto all = history("/");
    return std::find(all.begin(), all.end(), "over") != all.end();
  }));
  EXPECT_EQ(free_cores(), 2) << "nobody has seen that it is gone";
  EXPECT_TRUE(testing::alive(lent_task));
  testing::signal_process(agent, SIGCONT);
  EXPECT_TRUE(eventually([&] { return free_cores() == 3; })) << free_cores();
  EXPECT_FALSE(testing::alive(lent_task));
  testing::signal_process(child.agent, SIGCONT);
}

}  // namespace
}  // namespace holon::instance
