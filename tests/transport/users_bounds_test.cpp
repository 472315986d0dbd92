// What one user may have at a server for everybody. Runs as root only: it connects as somebody
// else.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/bounds.hpp"
#include "transport/curve/admission.hpp"
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
    options.max_open = 10;
    listen(options);
  }
  void listen(Options options) {
    server_.reset();
    options.for_everybody = true;
    server_ = std::move(*Server::listen(*reactor_, *ipc_uri(dir_, "s"), options));
    server_->on_request([this](const Request& request) {
      if (request.topic() == kBoundReached && request.peer().value() == 0)
        return told_.push_back({request.principal(), request.payload()});
      if (request.topic() == "favour") server_->favour(request.peer());
      if (request.topic() == "wait") return kept_.push_back(request);
      request.reply("");
    });
    server_->on_peer([this](PeerId, const PeerInfo&) { ++connected_; });
    server_->on_peer_lost([this](PeerId) { --connected_; });
  }
  void TearDown() override {
    for (const pid_t child : staying_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    kept_.clear();
    strangers_.clear();
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
  // The same, and the process stays as it is until the test ends.
  int stays_as(uid_t user, const std::function<int(Reactor&)>& does) {
    std::array<int, 2> told{};
    EXPECT_EQ(pipe2(told.data(), O_CLOEXEC | O_NONBLOCK), 0);
    const pid_t child = fork();
    if (child == 0) {
      if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) _exit(100);
      const auto reactor = Reactor::create();
      const int result = reactor ? does(**reactor) : 101;
      if (write(told[1], &result, sizeof result) != sizeof result) _exit(102);
      for (;;) pause();
    }
    staying_.push_back(child);
    int result = -1;
    const auto tick = reactor_->every(2, [] {});
    reactor_->run_until([&] { return read(told[0], &result, sizeof result) == sizeof result; },
                        kBoundsPatience);
    close(told[0]);
    close(told[1]);
    return result;
  }
  // How many of so many connections, which are open as long as `clients` is, the server takes.
  static int connected(Reactor& reactor, const std::string& uri, int n, const std::string& name,
                       Clients& clients) {
    Options options;
    options.name = name;
    int taken = 0;
    for (int i = 0; i < n; ++i) {
      clients.push_back(std::move(*Client::connect(reactor, uri, options)));
      Client& client = *clients.back();
      reactor.run_until([&] { return client.connected() || client.refusal(); }, kBoundsPatience);
      taken += client.connected() ? 1 : 0;
    }
    return taken;
  }
  // Connects up to `n` clients of this user, that stay. How many there are.
  int stay_connected(uid_t user, int n, const std::string& name = "") {
    const std::string uri = server_->uri();
    return stays_as(user, [&](Reactor& reactor) {
      return connected(reactor, uri, n, name, *new Clients);  // for the life of that process
    });
  }
  void five_users_take_all_places() {
    for (uid_t user = 0; user < 5; ++user) stay_connected(kSomebody + user, 100);
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
  // As `options` say, but for a process that may open so many files.
  void listen_with(rlim_t descriptors, const Options& options = {}) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit few{descriptors, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    listen(options);
    setrlimit(RLIMIT_NOFILE, &before);
  }
  // Opens the server to clients over tcp of whom only a key is known.
  void listen_to_strangers() {
    Admission admission{
        keys_, [](const std::string& key) { return std::string(kStranger) + key; }, {}};
    auto socket = std::move(*listening_socket("127.0.0.1"));
    port_ = std::to_string(socket.port);
    const auto uri = server_->also_listen(std::move(socket.fd), std::move(admission));
    ASSERT_TRUE(uri) << to_string(uri.error());
  }
  // Connects a stranger from this address of the machine. "": the server has taken it.
  std::string refusal_of_stranger(const std::string& from = "127.0.0.1") {
    Options options;
    const KeyPair own = *new_key_pair();
    options.security = {keys_.public_key, own.public_key, own.secret_key};
    strangers_.push_back(
        std::move(*Client::connect(*reactor_, "tcp://" + from + ":0;127.0.0.1:" + port_, options)));
    Client& client = *strangers_.back();
    reactor_->run_until([&] { return client.connected() || client.refusal(); }, kBoundsPatience);
    if (client.connected()) return "";
    const std::string why = client.refusal() ? client.refusal()->what : "no answer";
    strangers_.pop_back();  // it would try again
    return why;
  }
  Clients connect(Reactor& reactor, int n) const {
    Clients clients;
    for (int i = 0; i < n; ++i)
      clients.push_back(std::move(*Client::connect(reactor, server_->uri())));
    return clients;
  }

  std::string dir_;
  std::unique_ptr<Reactor> reactor_ = std::move(*Reactor::create());
  struct Told {
    Principal who;
    std::string what;
  };
  std::vector<Told> told_;
  std::vector<Request> kept_;
  std::vector<pid_t> staying_;
  int connected_ = 0;
  KeyPair keys_ = *new_key_pair();
  std::string port_;
  std::unique_ptr<Server> server_;
  Clients strangers_;
};

TEST_F(UsersBoundsTest, RequestsOfAllConnectionsOfAUserAreBoundedTogether) {
  EXPECT_EQ(
      as(kSomebody, [this](Reactor& reactor) { return refused(reactor, connect(reactor, 3), 4); }),
      2);
  EXPECT_EQ(kept_.size(), 10U);
  ASSERT_EQ(told_.size(), 3U) << "two waits, and the echo behind them";
  EXPECT_EQ(told_.front().who.uid, kSomebody);
  EXPECT_EQ(told_.front().what, "wait: 10 requests of this user are open");
  EXPECT_EQ(as(0, [this](Reactor& reactor) { return refused(reactor, connect(reactor, 3), 4); }), 0)
      << "root has no such bound";
  EXPECT_EQ(told_.size(), 3U);
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

// However many users together have all that all may have, the next one finds something.
TEST_F(UsersBoundsTest, WhatIsLeftOfTheRequestsOfAllBoundsAUser) {
  Options options;
  options.max_open = 200;
  options.max_open_of_all = 400;
  listen(options);
  for (uid_t user = 0; user < 12; ++user) {
    const std::size_t before = kept_.size();
    stays_as(kSomebody + user, [this](Reactor& reactor) {
      const auto clients = new Clients(connect(reactor, 1));  // they stay open
      bool echoed = false;
      for (int i = 0; i < 250; ++i)
        clients->front()->call({"wait", "", "", 0}, [](const Result<std::string>&) {});
      clients->front()->call({"echo", "", "", 0},
                             [&](const Result<std::string>&) { echoed = true; });
      reactor.run_until([&] { return echoed; }, kBoundsPatience);
      return 0;
    });
    const std::size_t open = kept_.size() - before;
    EXPECT_GE(open, 2U) << "user " << user;
    EXPECT_LE(open, 200U) << "user " << user;
    if (user == 5) {
      EXPECT_LT(kept_.size(), 400U) << "six users have it all";
    }
  }
}

// Over tcp a connection counts for its address, and once it is proved whose it is for that user.
TEST_F(UsersBoundsTest, OverTcpConnectionsCountForTheirAddressAndThenForTheirUser) {
  listen_with(200);
  listen_to_strangers();
  std::vector<PeerId> peers;
  server_->on_peer([&](PeerId peer, const PeerInfo&) { peers.push_back(peer); });
  std::string refusal;
  while (refusal.empty() && peers.size() < 100) refusal = refusal_of_stranger();
  const std::size_t most = peers.size();
  EXPECT_EQ(refusal, "there are " + std::to_string(most) +
                         " connections from 127.0.0.1 of which nobody knows whose they are, as "
                         "many as one address may have");
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.front().who.name, "127.0.0.1");

  const Principal ann{Principal::Kind::munge, kSomebody, 0, 0, "afar"};
  for (const PeerId peer : peers) {
    server_->prove(peer, ann);
    EXPECT_EQ(server_->principal_of(peer), ann);
  }
  EXPECT_EQ(refusal_of_stranger(), "") << "none of its connections is a stranger's any more";
  ASSERT_EQ(peers.size(), most + 1);
  told_.clear();
  server_->prove(peers.back(), ann);
  EXPECT_EQ(server_->principal_of(peers.back()).kind, Principal::Kind::key);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_.front().who, ann);
  EXPECT_EQ(told_.front().what, "hello: this user has " + std::to_string(most) +
                                    " connections, as many as one user may have");
  const Principal bob{Principal::Kind::munge, kSomebody + 1, 0, 0, "afar"};
  server_->prove(peers.back(), bob);
  EXPECT_EQ(server_->principal_of(peers.back()), bob);
}

// Over tcp nobody sees what the kernel has taken: what counts is what the client has confirmed.
TEST_F(UsersBoundsTest, OverTcpAUserWhoReadsNothingIsServedNoMoreOverWhateverConnection) {
  constexpr std::size_t kMegabyte = 1 << 20;
  listen_with(200);
  listen_to_strangers();
  std::vector<PeerId> peers;
  server_->on_peer([&](PeerId peer, const PeerInfo&) { peers.push_back(peer); });
  for (int i = 0; i < 4; ++i) ASSERT_EQ(refusal_of_stranger(), "");
  ASSERT_EQ(peers.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i)
    server_->prove(peers[i], {Principal::Kind::munge, kSomebody, 0, 0, "afar"});
  server_->prove(peers[3], {Principal::Kind::munge, kSomebody + 1, 0, 0, "afar"});
  // What is asked behind the answers comes before these have been read.
  std::vector<Request> asked;
  server_->on_request([&](const Request& request) {
    if (request.topic() == "much") return asked.push_back(request);
    if (request.topic() == kBoundReached && request.peer().value() == 0)
      return told_.push_back({request.principal(), request.payload()});
    request.reply("");
  });
  const auto call = [&](std::size_t client, const char* topic) {
    auto answer = std::make_shared<std::string>();
    strangers_[client]->call({topic, "", "", 0}, [answer](const Result<std::string>& said) {
      *answer = said ? "answered" : said.error().what;
    });
    return answer;
  };
  const auto first = call(0, "much"), second = call(1, "much");
  ASSERT_TRUE(reactor_->run_until([&] { return asked.size() == 2; }, kBoundsPatience));
  for (const Request& request : asked) request.reply(std::string(33 * kMegabyte, 'x'));
  const auto refused = call(2, "jobs"), of_another = call(3, "jobs");
  ASSERT_TRUE(reactor_->run_until(
      [&] {
        return !refused->empty() && !of_another->empty() && !first->empty() && !second->empty();
      },
      kBoundsPatience));
  EXPECT_NE(refused->find("bytes of answers to this user are unread"), std::string::npos)
      << *refused;
  EXPECT_EQ(*of_another, "answered");
  EXPECT_EQ(*first, "answered");
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].who.uid, kSomebody);
  // Who has read it all is served again.
  std::string last;
  for (int i = 0; i < 10'000 && last != "answered"; ++i) {
    const auto again = call(2, "jobs");
    ASSERT_TRUE(reactor_->run_until([&] { return !again->empty(); }, kBoundsPatience));
    last = *again;
  }
  EXPECT_EQ(last, "answered");
}

TEST_F(UsersBoundsTest, WhereAllPlacesAreTakenTheUserWithMostGivesOne) {
  listen_with(160);
  const int share = stay_connected(kSomebody, 100);
  ASSERT_GE(share, 10);
  ASSERT_LT(share, 40);
  for (uid_t other = 1; other < 5; ++other) stay_connected(kSomebody + other, 100);
  const int all = connected_;
  EXPECT_LT(all, 5 * share) << "they have not reached the bound of all";
  EXPECT_EQ(stay_connected(kSomebody + 5, 5), 5);
  EXPECT_EQ(connected_, all);
  EXPECT_EQ(stay_connected(0, 5), 5);
  EXPECT_EQ(connected_, all);
}

// Also while an agent is in one of the places that are kept for agents.
TEST_F(UsersBoundsTest, APlaceThatAUserGivesIsTheNewcomers) {
  Options options;
  options.kept_for = {"agent"};
  listen_with(160, options);
  five_users_take_all_places();
  const int all = connected_;
  Clients agent;
  EXPECT_EQ(connected(*reactor_, server_->uri(), 1, "agent 0", agent), 1);
  EXPECT_EQ(connected_, all + 1) << "it has one of the places that are kept";
  for (uid_t user = 5; user < 8; ++user) {
    EXPECT_GE(stay_connected(kSomebody + user, 100), 5) << user;
    EXPECT_EQ(connected_, all + 1) << user;
  }
  EXPECT_EQ(stay_connected(0, 5), 5);
  EXPECT_EQ(connected_, all + 1);
}

TEST_F(UsersBoundsTest, WhoOnlyClaimsAKeptPlaceGivesNoneOfThemToOthers) {
  Options options;
  options.kept_for = {"agent"};
  listen_with(160, options);
  five_users_take_all_places();
  const int all = connected_;
  EXPECT_GT(stay_connected(kSomebody, 5, "agent 1"), 1);
  EXPECT_GT(connected_, all + 1);
  EXPECT_EQ(stay_connected(kSomebody + 5, 5), 5);
  EXPECT_EQ(connected_, all) << "the places that were claimed are free again";
}

// A process of this machine can connect from each address of the loopback.
TEST_F(UsersBoundsTest, OverTcpAllAddressesOfTheLoopbackAreOne) {
  listen_with(200);
  listen_to_strangers();
  std::string refusal;
  while (refusal.empty() && strangers_.size() < 100)
    refusal = refusal_of_stranger("127.9.8." + std::to_string(strangers_.size() + 1));
  EXPECT_EQ(refusal, "there are " + std::to_string(connected_) +
                         " connections from 127.0.0.1 of which nobody knows whose they are, as "
                         "many as one address may have");
}

}  // namespace
}  // namespace holon::transport
