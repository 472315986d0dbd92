// What one user may have at a server for everybody. Runs as root only: it connects as somebody
// else.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/endpoint.hpp"
#include "transport/rpc.hpp"

namespace holon::transport {
namespace {

constexpr uid_t kSomebody = 61'002;
constexpr Duration kBoundsPatience = 60'000;  // ms; only a failing test waits so long

class UsersBoundsTest : public testing::Test {
 protected:
  using Clients = std::vector<std::unique_ptr<Client>>;

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "this test runs as root only: it connects as another user";
    dir_ = *make_runtime_dir();
    ASSERT_EQ(chmod(dir_.c_str(), 0711), 0);
    Options options;
    options.for_everybody = true;
    options.max_open = 10;
    server_ = std::move(*Server::listen(*reactor_, *ipc_uri(dir_, "s"), options));
    server_->on_request([this](const Request& request) {
      if (request.topic() == "favour") server_->favour(request.peer());
      if (request.topic() == "wait") return kept_.push_back(request);
      request.reply("");
    });
  }
  void TearDown() override {
    kept_.clear();
    server_.reset();
    if (!dir_.empty()) std::filesystem::remove_all(dir_);
  }

  // What `does` returns in a process of this user's.
  int as(uid_t user, const std::function<int(Reactor&)>& does) {
    const pid_t child = fork();
    if (child == 0) {
      if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) _exit(100);
      const auto reactor = Reactor::create();
      _exit(reactor ? does(**reactor) : 101);
    }
    int status = 0;
    const auto tick = reactor_->every(2, [] {});
    const bool over = reactor_->run_until([&] { return waitpid(child, &status, WNOHANG) == child; },
                                          kBoundsPatience);
    if (!over) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    return over && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // How many of so many requests over each of these are refused as too many of the user's.
  static int refused(Reactor& reactor, const Clients& clients, int each) {
    // The end of the clients answers what is open.
    const auto answers = std::make_shared<std::vector<std::string>>();
    for (const auto& client : clients) {
      for (int i = 0; i < each; ++i)
        client->call({"wait", "", "", 0}, [answers](const Result<std::string>& answer) {
          answers->push_back(answer ? "" : answer.error().what);
        });
      // Answered after all that was asked before it.
      bool echoed = false;
      client->call({"echo", "", "", 0}, [&](const Result<std::string>&) { echoed = true; });
      reactor.run_until([&] { return echoed; }, kBoundsPatience);
    }
    const auto of_user =
        std::count(answers->begin(), answers->end(), "10 requests of this user are open");
    return static_cast<std::size_t>(of_user) == answers->size() ? static_cast<int>(of_user) : 102;
  }
  Clients connect(Reactor& reactor, int n) const {
    Clients clients;
    for (int i = 0; i < n; ++i)
      clients.push_back(std::move(*Client::connect(reactor, server_->uri())));
    return clients;
  }

  std::string dir_;
  std::unique_ptr<Reactor> reactor_ = std::move(*Reactor::create());
  std::vector<Request> kept_;
  std::unique_ptr<Server> server_;
};

TEST_F(UsersBoundsTest, RequestsOfAllConnectionsOfAUserAreBoundedTogether) {
  EXPECT_EQ(
      as(kSomebody, [this](Reactor& reactor) { return refused(reactor, connect(reactor, 3), 4); }),
      2);
  EXPECT_EQ(kept_.size(), 10U);
  EXPECT_EQ(as(0, [this](Reactor& reactor) { return refused(reactor, connect(reactor, 3), 4); }), 0)
      << "root has no such bound";
}

// A child instance is its user's, who could speak in its place.
TEST_F(UsersBoundsTest, AFavouredConnectionOfAUserHasTheBoundsOfItsUser) {
  const auto flood = [this](Reactor& reactor) {
    const Clients clients = connect(reactor, 3);
    for (const auto& client : clients) {
      bool favoured = false;
      client->call({"favour", "", "", 0}, [&](const Result<std::string>&) { favoured = true; });
      reactor.run_until([&] { return favoured; }, kBoundsPatience);
    }
    return refused(reactor, clients, 4);
  };
  EXPECT_EQ(as(kSomebody, flood), 2);
  EXPECT_EQ(as(0, flood), 0);
}

}  // namespace
}  // namespace holon::transport
