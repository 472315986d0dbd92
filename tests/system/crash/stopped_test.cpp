// Brokers that were stopped (SIGSTOP) while jobs ended: what an agent has seen is what counts, not
// when its broker hears of it.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <fstream>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t ms_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
}

void wait_until(Clock::time_point when) {
  while (Clock::now() < when) poll(nullptr, 0, 10);
}

// A command that says that it runs and ends when somebody opens the gate.
class GatedCommand {
 public:
  explicit GatedCommand(Sandbox& sandbox) : sandbox_(sandbox), fifo_(sandbox.folder() + "/gate") {
    EXPECT_EQ(mkfifo(fifo_.c_str(), 0600), 0);
  }
  std::vector<std::string> words() const {
    return {"sh", "-c", "echo up > up; read x < gate # gated"};
  }
  void await() const {
    EXPECT_TRUE(eventually([&] { return sandbox_.read_file("up") == "up\n"; }));
  }
  // Returns when the processes are gone.
  void end() const {
    std::ofstream(fifo_) << "go\n";
    EXPECT_TRUE(eventually([&] { return sandbox_.processes({"sh -c", "# gated"}).empty(); }));
  }

 private:
  Sandbox& sandbox_;
  std::string fifo_;
};

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

TEST(Stopped, AnArrayEndsWithItsLastTask) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=1"});
  const GatedCommand gated(sandbox);
  const auto begin = Clock::now();
  sandbox.ok(joined({"submit", "--array", "1"}, gated.words()));
  gated.await();
  const auto brokers = sandbox.processes({"holon broker"});
  ASSERT_EQ(brokers.size(), 1u);
  kill(brokers.front(), SIGSTOP);
  gated.end();
  wait_until(Clock::now() + std::chrono::seconds(2));
  const std::int64_t stopped_until = ms_since(begin);
  kill(brokers.front(), SIGCONT);
  sandbox.ok({"job", "wait", "1"});
  const auto array = sandbox.json({"jobs", "-a"})["jobs"][0];
  EXPECT_EQ(array["result"], "COMPLETED");
  EXPECT_LT(array["t_finish"].get<std::int64_t>() - array["t_start"].get<std::int64_t>(),
            stopped_until - 1'000)
      << array.dump(1);
}

TEST(Stopped, AJobThatEndedWithinTheLeaseOfItsChildHasItsOwnEnd) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=2"});
  const GatedCommand gated(sandbox);
  const auto begin = Clock::now();
  sandbox.ok({"alloc", "--bg", "-n", "1", "-t", "12s"});
  sandbox.ok(joined({"-i", "/1", "submit"}, gated.words()));
  gated.await();
  const auto brokers = sandbox.processes({"holon broker"});
  ASSERT_EQ(brokers.size(), 2u);
  for (const pid_t broker : brokers) kill(broker, SIGSTOP);
  gated.end();
  EXPECT_LT(ms_since(begin), 11'000) << "the job has not ended within the lease";
  wait_until(Clock::now() + std::chrono::seconds(12));
  for (const pid_t broker : brokers) kill(broker, SIGCONT);
  EXPECT_NE(sandbox.run({"job", "wait", "1"}).code, 0) << "the lease was over";
  const auto job = sandbox.json({"job", "info", "/1/1"});
  EXPECT_EQ(job["result"], "COMPLETED") << job.dump(1);
}

}  // namespace
}  // namespace holon::system_test
