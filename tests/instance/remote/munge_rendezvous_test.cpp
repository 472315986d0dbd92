// Tasks of a Slurm step whose nodes share no home ask the first one by MUNGE.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <list>
#include <optional>
#include <thread>

#include "instance/assembly/endpoint.hpp"
#include "instance/assembly/rendezvous.hpp"
#include "tests/system/private_munge.hpp"
#include "transport/curve/admission.hpp"
#include "transport/munge/handover.hpp"
#include "transport/tcp_connection.hpp"

namespace holon::instance {
namespace {

using transport::Handover;
using transport::Munge;
using transport::UniqueFd;

// The tasks of one step, all of which are on this host.
class HomelessStep : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-munge-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // `socket`: of the daemon, as it is configured.
  Result<std::optional<Rendezvous>> meet_as(int task, const std::string& socket,
                                            Duration patience) const {
    batch::Environment environment;
    environment.variables = {{"SLURM_JOB_ID", std::to_string(getpid())},
                             {"SLURM_STEP_ID", "0"},
                             {"SLURM_PROCID", std::to_string(task)},
                             {"SLURM_LOCALID", "0"},
                             {"SLURM_STEP_NODELIST", "localhost,n2"}};
    environment.host_name = task == 0 ? "localhost" : "n2";
    config::Config config;
    config.address = "127.0.0.1";
    config.access.munge_socket = socket;
    config.gather_timeout = patience;
    Surroundings around;
    around.allocation.place.launcher = "srun";
    return meet(environment, around, config);
  }
  Rendezvous first() const {
    auto met = meet_as(0, "", 1);
    EXPECT_TRUE(met && *met);
    return met && *met ? std::move(**met) : Rendezvous();
  }

  std::string folder_;
};

// A port of 127.0.0.1 whose connections nobody answers, as behind a firewall that drops them: what
// the kernel keeps for a listener is full.
class DroppedPort {
 public:
  explicit DroppedPort(std::uint16_t port) {
    auto socket = transport::listening_socket("127.0.0.1", port);
    EXPECT_TRUE(socket) << to_string(socket.error());
    if (!socket) return;
    listening_ = std::move(socket->fd);
    EXPECT_EQ(listen(listening_.get(), 0), 0);
    while (auto one = transport::connect_tcp("127.0.0.1", port, 200))
      waiting_.push_back(std::move(*one));
  }

 private:
  UniqueFd listening_;
  std::vector<UniqueFd> waiting_;
};

TEST_F(HomelessStep, PortsThatDropConnectionsDoNotMakeTheWaitLonger) {
  if (const auto munge = Munge::load(""); !munge) GTEST_SKIP() << to_string(munge.error());
  std::list<DroppedPort> dropped;
  for (const auto port : transport::handover_ports(first().nodes.handover))
    dropped.emplace_back(port);
  using namespace std::chrono;
  const auto begin = steady_clock::now();
  const auto met = meet_as(1, "", 3'000);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, Errc::timed_out);
  EXPECT_THAT(met.error().what, ::testing::HasSubstr("nobody answers"));
  EXPECT_LT(steady_clock::now() - begin, seconds(10)) << "of three";
}

class MungedStep : public HomelessStep {
 protected:
  void SetUp() override {
    if (const auto why = system_test::no_munged(); !why.empty()) GTEST_SKIP() << why;
    HomelessStep::SetUp();
    auto words =
        system_test::munged_words(system_test::write_munge_key(folder_), folder_, socket());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    daemon_ = fork();
    if (daemon_ == 0) {
      execv(argv.front(), argv.data());
      _exit(127);
    }
    for (int i = 0; i < 6'000 && !Munge::load(socket())->seal(""); ++i) poll(nullptr, 0, 10);
    ASSERT_TRUE(Munge::load(socket())->seal(""));
    first_ = first();
    ports_ = transport::handover_ports(first_.nodes.handover);
  }
  void TearDown() override {
    stops_ = true;
    for (auto& thread : threads_) thread.join();
    if (daemon_ > 0) {
      kill(daemon_, SIGTERM);
      waitpid(daemon_, nullptr, 0);
    }
    if (!folder_.empty()) HomelessStep::TearDown();
  }

  std::string socket() const { return folder_ + "/munge.socket"; }
  // Somebody else has the first of the ports: gets the connection of each one that asks, and
  // whether a question has come by it.
  void take_first_port(const std::function<void(int fd, bool asks)>& answer) {
    auto taken = transport::listening_socket("0.0.0.0", ports_.front());
    ASSERT_TRUE(taken) << to_string(taken.error());
    threads_.emplace_back([this, answer, fd = std::make_shared<UniqueFd>(std::move(taken->fd))] {
      for (pollfd ready{fd->get(), POLLIN, 0}; !stops_;) {
        if (poll(&ready, 1, 20) != 1) continue;
        const UniqueFd asker(accept(fd->get(), nullptr, nullptr));
        char line[4096];
        answer(asker.get(), recv(asker.get(), line, sizeof line, 0) > 0);
      }
    });
  }
  // What the supervisor of the first task does, at the first port that is free.
  void give() {
    threads_.emplace_back([this] {
      const auto reactor = std::move(*transport::Reactor::create());
      const auto text = launch::write_invitation(first_.nodes.endpoint->invitation);
      const auto giving =
          Handover::open(*reactor, *Munge::load(socket()), first_.nodes.handover, text);
      EXPECT_TRUE(giving) << to_string(giving.error());
      while (!stops_) reactor->turn(20);
    });
  }
  void expect_met(const Result<std::optional<Rendezvous>>& met) const {
    ASSERT_TRUE(met) << to_string(met.error());
    ASSERT_TRUE(*met && (*met)->invitation);
    EXPECT_EQ(*(*met)->invitation, first_.nodes.endpoint->invitation);
  }

  pid_t daemon_ = -1;
  Rendezvous first_;
  std::vector<std::uint16_t> ports_;
  std::list<std::thread> threads_;
  std::atomic<bool> stops_{false};
};

TEST_F(MungedStep, AnEmptyLineAtTheFirstPortDoesNotEndTheQuestions) {
  take_first_port([](int fd, bool) { EXPECT_EQ(send(fd, "\n", 1, MSG_NOSIGNAL), 1); });
  give();
  expect_met(meet_as(1, socket(), 60'000));
}

// Who listens at the first port sees that nothing could be asked, and brings the daemon then.
TEST_F(MungedStep, ADaemonThatIsDownForAMomentDoesNotEndTheQuestions) {
  const std::string later = folder_ + "/munge.later";
  std::atomic<int> unasked{0};
  take_first_port([&](int, bool asks) {
    if (!asks && unasked++ == 0) std::filesystem::create_symlink(socket(), later);
  });
  give();
  expect_met(meet_as(1, later, 60'000));
  EXPECT_GE(unasked, 1);
}

}  // namespace
}  // namespace holon::instance
