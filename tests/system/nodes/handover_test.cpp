// A text for processes of the same user on other machines, by a real munged of the test's own.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <thread>

#include "tests/system/private_munge.hpp"
#include "tests/system/sandbox.hpp"
#include "transport/curve/admission.hpp"
#include "transport/munge/handover.hpp"
#include "transport/tcp_connection.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;
using transport::Handover;
using transport::Munge;

constexpr Duration kHandoverPatience = 10'000;
constexpr uid_t kSomebodyElse = 54'321;

class Handovers : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = no_munged(); !why.empty()) GTEST_SKIP() << why;
    chmod(sandbox_.folder().c_str(), 0711);  // for other users
    daemon_.emplace(munged_words(write_munge_key(sandbox_.folder()), sandbox_.folder(), socket()),
                    std::map<std::string, std::string>{{"PATH", "/usr/bin:/bin"}},
                    sandbox_.folder());
    ASSERT_TRUE(eventually([&] { return munge().seal("").has_value(); }));
  }
  void TearDown() override {
    stop_giving();
    if (!daemon_) return;
    daemon_->signal(SIGTERM);
    daemon_->finish();
  }

  std::string socket() const { return sandbox_.folder() + "/munge.socket"; }
  Munge munge() const { return *Munge::load(socket()); }
  // Of this test only: others may run at the same time.
  std::string name() const { return "invitation of " + sandbox_.folder(); }

  // By the reactor, which nobody turns yet.
  void prepare_to_give(const std::string& text) {
    reactor_ = std::move(*transport::Reactor::create());
    auto opened = Handover::open(*reactor_, munge(), name(), text);
    ASSERT_TRUE(opened) << to_string(opened.error());
    giving_ = std::move(*opened);
  }
  void give(const std::string& text) {
    prepare_to_give(text);
    ASSERT_TRUE(giving_);
    gives_.emplace([this] {
      while (!stops_) reactor_->turn(20);
    });
  }
  void stop_giving() {
    stops_ = true;
    if (gives_) gives_->join();
    gives_.reset();
    giving_.reset();
  }
  Result<std::string> ask_at(std::uint16_t port, Duration patience = kHandoverPatience) const {
    return transport::ask_for_handover(munge(), "127.0.0.1", port, name(), patience);
  }
  // At each of the ports; the error is of one where somebody is.
  Result<std::string> ask() const {
    Result<std::string> said = fail(Errc::disconnected, "nobody is there");
    for (const auto port : transport::handover_ports(name())) {
      auto given = ask_at(port);
      if (given) return given;
      if (given.error().code != Errc::disconnected) said = std::move(given);
    }
    return said;
  }
  // As an exit code: 0: it was denied.
  static int code_of_denial(const Result<std::string>& came) {
    return came ? 1 : came.error().code == Errc::denied ? 0 : 2;
  }
  // The port at which it is given.
  std::uint16_t port() const {
    for (const auto port : transport::handover_ports(name()))
      if (transport::connect_tcp("127.0.0.1", port, kHandoverPatience)) return port;
    return 0;
  }
  transport::UniqueFd connected() const {
    auto connection = transport::connect_tcp("127.0.0.1", port(), kHandoverPatience);
    EXPECT_TRUE(connection) << to_string(connection.error());
    return connection ? std::move(*connection) : transport::UniqueFd();
  }
  static void say(const transport::UniqueFd& connection, const std::string& line) {
    EXPECT_EQ(send(connection.get(), (line + "\n").data(), line.size() + 1, MSG_NOSIGNAL),
              static_cast<ssize_t>(line.size() + 1));
  }
  // Turns the reactor until it has answered there.
  bool is_answered(const transport::UniqueFd& connection) {
    char letters[6] = {};
    const auto has_come = [&] {
      return recv(connection.get(), letters, sizeof letters, MSG_PEEK | MSG_DONTWAIT) >= 0;
    };
    reactor_->run_until(has_come, 30'000);
    return std::string(letters, sizeof letters) == "MUNGE:";
  }
  // What comes for this line until the other side closes the connection.
  std::string answer_to(const std::string& line) const {
    const auto connection = connected();
    say(connection, line);
    std::string all;
    char piece[4096];
    for (pollfd ready{connection.get(), POLLIN, 0}; poll(&ready, 1, 30'000) == 1;) {
      const ssize_t n = recv(connection.get(), piece, sizeof piece, 0);
      if (n <= 0) return all;
      all.append(piece, static_cast<std::size_t>(n));
    }
    return all + " and nothing more";
  }
  std::string question(const std::string& number) const {
    return *munge().seal("holon asks for\n" + name() + "\n" + number + "\n");
  }
  static pid_t start_as_somebody_else(const std::function<int()>& what) {
    const pid_t pid = fork();
    if (pid == 0) _exit(setgid(kSomebodyElse) == 0 && setuid(kSomebodyElse) == 0 ? what() : 99);
    return pid;
  }
  // Its exit code.
  static int as_somebody_else(const std::function<int()>& what) {
    int status = 0;
    waitpid(start_as_somebody_else(what), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  Sandbox sandbox_;
  std::optional<Process> daemon_;
  std::unique_ptr<transport::Reactor> reactor_;
  std::unique_ptr<Handover> giving_;
  std::optional<std::thread> gives_;
  std::atomic<bool> stops_{false};
};

TEST_F(Handovers, ComeToProcessesOfTheSameUser) {
  const auto nobody = ask();
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Errc::disconnected) << to_string(nobody.error());
  const std::string text(3'000, 'x');
  give(text);
  for (int again = 0; again < 3; ++again) {
    const auto came = ask();
    ASSERT_TRUE(came) << to_string(came.error());
    EXPECT_EQ(*came, text);
  }
}

TEST_F(Handovers, OfNoOtherUserAreAnswered) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  give("the key");
  EXPECT_EQ(as_somebody_else([&] { return code_of_denial(ask()); }), 0);
  EXPECT_TRUE(ask());
  // What was sealed for this user, another one cannot open.
  const std::string sealed = answer_to(question("7"));
  EXPECT_THAT(sealed, testing::StartsWith("MUNGE:"));
  const auto opens = [&] {
    const auto opened = munge().decode(sealed.substr(0, sealed.size() - 1));
    return opened ? 1 : code_of_denial(tl::unexpected(opened.error()));
  };
  EXPECT_EQ(as_somebody_else(opens), 0);
}

// What the daemon would do without being told to is the site's affair.
TEST_F(Handovers, AreSealed) {
  give("the key");
  const auto sealed = sandbox_.write_file("sealed", answer_to(question("7")));
  const Ran shown = Process({"/usr/bin/unmunge", "--socket=" + socket(), "--input=" + sealed},
                            {{"PATH", "/usr/bin:/bin"}}, sandbox_.folder())
                        .finish();
  EXPECT_THAT(shown.out, testing::ContainsRegex("CIPHER: +aes128"));
  EXPECT_THAT(shown.out,
              testing::ContainsRegex("UID_RESTRICTION: .*\\(" + std::to_string(geteuid()) + "\\)"));
  EXPECT_THAT(shown.out, HasSubstr("the key")) << "decoded by whom it is for";
}

TEST_F(Handovers, AQuestionIsGoodOnceAndForOneText) {
  give("the key");
  const std::string asked = question("7");
  EXPECT_THAT(answer_to(asked), testing::StartsWith("MUNGE:"));
  EXPECT_EQ(answer_to(asked), "") << "it is replayed";
  for (const std::string& wrong :
       {*munge().seal("holon asks for\nsomething else\n7\n"), std::string("MUNGE:AAAA:"),
        std::string(), *munge().seal("holon asks for\n" + name() + "\n"),
        question("8").replace(20, 4, "AAAA"), std::string(100'000, 'x')})
    EXPECT_EQ(answer_to(wrong), "") << wrong.substr(0, 40);
  EXPECT_TRUE(ask()) << "the others are served all the same";
}

// Who listens at the port first has nothing that is taken for an answer.
TEST_F(Handovers, AnAnswerToAnotherQuestionIsNotTaken) {
  const auto listening =
      transport::listening_socket("127.0.0.1", transport::handover_ports(name()).front());
  ASSERT_TRUE(listening) << to_string(listening.error());
  const auto answered_with = [&](const std::string& answer) {
    std::thread other([&] {
      pollfd ready{listening->fd.get(), POLLIN, 0};
      if (poll(&ready, 1, 30'000) != 1) return;
      const transport::UniqueFd fd(accept(listening->fd.get(), nullptr, nullptr));
      char line[4096];
      EXPECT_GT(recv(fd.get(), line, sizeof line, 0), 0);
      EXPECT_GT(send(fd.get(), (answer + "\n").data(), answer.size() + 1, MSG_NOSIGNAL), 0);
    });
    const auto came = ask();
    other.join();
    EXPECT_EQ(code_of_denial(came), 0);
    return came ? "taken: " + *came : to_string(came.error());
  };
  const auto earlier = munge().seal("holon gives\n" + name() + "\n12345\nan earlier one");
  EXPECT_THAT(answered_with(*earlier), HasSubstr("for another one"));
  EXPECT_THAT(answered_with(*earlier), HasSubstr("Replayed credential"));
  for (const char* const none : {"no credential", "", "MUNGE:", "MUNGE:?:"})
    EXPECT_THAT(answered_with(none), testing::Not(HasSubstr("taken"))) << none;
}

TEST_F(Handovers, AnAnswerInDripsIsNotWaitedFor) {
  const auto port = transport::handover_ports(name()).front();
  const auto listening = transport::listening_socket("127.0.0.1", port);
  ASSERT_TRUE(listening) << to_string(listening.error());
  constexpr int kLetters = 12;  // in six seconds
  int dripped = 0;
  std::thread other([&] {
    pollfd ready{listening->fd.get(), POLLIN, 0};
    if (poll(&ready, 1, 30'000) != 1) return;
    const transport::UniqueFd fd(accept(listening->fd.get(), nullptr, nullptr));
    for (; dripped < kLetters && send(fd.get(), "M", 1, MSG_NOSIGNAL) == 1; ++dripped)
      poll(nullptr, 0, 500);
  });
  const auto came = ask_at(port, 1'000);
  other.join();
  ASSERT_FALSE(came);
  EXPECT_EQ(came.error().code, Errc::timed_out) << to_string(came.error());
  EXPECT_LT(dripped, kLetters);
}

TEST_F(Handovers, TheDaemonIsNotAskedForThoseThatHaveGivenUp) {
  prepare_to_give("the key");
  const std::string asked = question("7");
  say(connected(), asked);
  const auto later = connected();
  say(later, question("8"));
  EXPECT_TRUE(is_answered(later));
  const auto opened = munge().decode(asked);
  EXPECT_TRUE(opened) << to_string(opened.error());
}

// Those that wait to be let in do not keep the process busy.
TEST_F(Handovers, WhoComesWhereNoDescriptorIsLeftIsLetInLater) {
  using namespace std::chrono;
  prepare_to_give("the key");
  const auto waits = connected();
  say(waits, question("7"));
  const int next = dup(waits.get());
  close(next);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none_left{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  int turns = 0;
  for (const auto end = steady_clock::now() + milliseconds(500); steady_clock::now() < end; ++turns)
    reactor_->turn(20);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_LT(turns, 200);
  EXPECT_TRUE(is_answered(waits));
}

TEST_F(Handovers, OfAnotherUserAreNotTaken) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  int up[2] = {-1, -1};
  ASSERT_EQ(pipe2(up, O_CLOEXEC), 0);
  const pid_t other = start_as_somebody_else([&] {
    const auto reactor = std::move(*transport::Reactor::create());
    const auto opened = Handover::open(*reactor, munge(), name(), "a key of mine");
    if (!opened || write(up[1], "x", 1) != 1) return 1;
    reactor->run();
    return 0;
  });
  char byte = 0;
  ASSERT_EQ(read(up[0], &byte, 1), 1);
  const auto came = ask();
  EXPECT_FALSE(came) << *came;
  EXPECT_EQ(came.error().code, Errc::denied) << to_string(came.error());
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  for (const int fd : up) close(fd);
}

}  // namespace
}  // namespace holon::system_test
