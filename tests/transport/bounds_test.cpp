// What one client can cost a server, and the others: descriptors, memory, time.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <zmq.hpp>

#include "tests/transport/raw_peer.hpp"
#include "transport/endpoint.hpp"
#include "transport/rpc.hpp"

namespace holon::transport {
namespace {

constexpr Duration kPatience = 60000;  // ms; only a failing test waits so long

class BoundsTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = *make_runtime_dir();
    uri_ = *ipc_uri(dir_, "s");
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<Server> serve(Options options = {}) {
    auto server = std::move(*Server::listen(*reactor_, uri_, std::move(options)));
    server->on_request([](const Request& request) { request.reply(request.payload()); });
    return server;
  }
  std::unique_ptr<Client> connect(std::string name = "") {
    Options options;
    options.name = std::move(name);
    return std::move(*Client::connect(*reactor_, uri_, options));
  }
  bool until(const std::function<bool()>& done) {
    const auto tick = reactor_->every(2, [] {});
    return reactor_->run_until(done, kPatience);
  }
  bool is_answered(Client& client) {
    std::optional<Result<std::string>> answer;
    client.call({"echo", "x"}, [&](Result<std::string> result) { answer = std::move(result); });
    return until([&] { return answer.has_value(); }) && *answer == "x";
  }
  // A server in a process of its own with so few descriptors, until the object goes.
  struct Process {
    explicit Process(pid_t number) : pid(number) {}
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process() {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    bool lives() const { return waitpid(pid, nullptr, WNOHANG) == 0; }
    pid_t pid;
  };
  Process serve_with(rlim_t descriptors, const Options& options = {}) {
    const pid_t pid = fork();
    if (pid == 0) {
      const rlimit limit{descriptors, descriptors};
      setrlimit(RLIMIT_NOFILE, &limit);
      const auto reactor = Reactor::create();
      if (!reactor) _exit(2);
      const auto server = Server::listen(**reactor, uri_, options);
      if (!server) _exit(3);
      (*server)->on_request([](const Request& request) { request.reply(request.payload()); });
      (*reactor)->run();
    }
    EXPECT_TRUE(until([&] {
      const auto state = probe_ipc(uri_);
      return state && *state == IpcState::alive;
    }));
    return Process(pid);
  }
  static std::size_t resident_mb(pid_t pid = getpid()) {
    std::size_t all = 0, resident = 0;
    std::ifstream("/proc/" + std::to_string(pid) + "/statm") >> all >> resident;
    return resident * 4096 >> 20;
  }

  std::string dir_, uri_;
  std::unique_ptr<Reactor> reactor_ = std::move(*Reactor::create());
};

TEST_F(BoundsTest, SilentConnectionsBeyondTheLimitOfOpenFilesKeepNobodyOut) {
  const auto server = serve_with(110);
  std::vector<std::unique_ptr<RawPeer>> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(std::make_unique<RawPeer>(uri_));
    if (i % 2 == 0) silent.back()->handshake();
  }
  const auto client = connect();
  EXPECT_TRUE(is_answered(*client));
  EXPECT_TRUE(server.lives());
}

// A word, and then the end; a client that has something to say is let in meanwhile.
TEST_F(BoundsTest, ConnectionsThatSayNoHelloAreToldThatThereIsNoRoomForThem) {
  const auto server = serve_with(110);
  std::vector<std::unique_ptr<RawPeer>> silent;
  for (int i = 0; i < 60; ++i) {
    silent.push_back(std::make_unique<RawPeer>(uri_));
    silent.back()->handshake();
  }
  const auto client = connect();
  EXPECT_TRUE(is_answered(*client));
  const auto told = [&] {
    return std::count_if(silent.begin(), silent.end(), [](const auto& peer) {
      return !peer->read() && peer->received().find("said no hello are open") != std::string::npos;
    });
  };
  EXPECT_TRUE(until([&] { return told() > 40; })) << told();
  EXPECT_TRUE(server.lives());
}

// ZeroMQ's own sockets, which say nothing either, connect again and again: each time they are
// turned away they have to be fit to.
TEST_F(BoundsTest, AZeroMqSocketThatWasTurnedAwayConnectsAgain) {
  Options options;
  options.introduction = 300'000;
  const auto server = serve_with(110, options);
  zmq::context_t context;
  std::vector<zmq::socket_t> silent;
  for (int i = 0; i < 30; ++i) {
    silent.emplace_back(context, zmq::socket_type::dealer);
    silent.back().set(zmq::sockopt::linger, 0);
    silent.back().connect(uri_);
  }
  const auto client = connect();
  EXPECT_TRUE(is_answered(*client));
  // Each says hello until it is welcome.
  const std::string hello = encode({Kind::hello, 1, "", "", encode_greeting({"x", 1, 1, 0})});
  std::vector<bool> welcome(silent.size());
  const auto say = [&] {
    for (std::size_t i = 0; i < silent.size(); ++i)
      if (!welcome[i]) silent[i].send(zmq::buffer(hello), zmq::send_flags::dontwait);
  };
  const auto again = reactor_->every(300, say);
  say();
  EXPECT_TRUE(until([&] {
    for (std::size_t i = 0; i < silent.size(); ++i) {
      zmq::message_t message;
      while (silent[i].recv(message, zmq::recv_flags::dontwait)) {
        const auto envelope = decode(message.to_string_view());
        if (envelope && envelope->kind == Kind::welcome) welcome[i] = true;
      }
    }
    return std::find(welcome.begin(), welcome.end(), false) == welcome.end();
  }));
}

// Many programs of one user may begin at the same moment.
TEST_F(BoundsTest, AnEighthOfTheConnectionsMayBeWithoutHello) {
  const auto before = free_descriptors();
  const auto server = serve();
  const std::size_t some = std::min<std::size_t>(before / 8, 1000) / 2;  // the test has their ends
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (std::size_t i = 0; i < some; ++i) {
    peers.push_back(std::make_unique<RawPeer>(uri_));
    peers.back()->handshake();
  }
  for (const auto& peer : peers) peer->hello();
  EXPECT_TRUE(until([&] {
    return std::all_of(peers.begin(), peers.end(), [](const auto& peer) {
      return peer->read() && peer->received().find("incarnation") != std::string::npos;
    });
  }));
}

TEST_F(BoundsTest, ClientsBeyondTheLimitOfOpenFilesAreToldSoAndComeInWhenAPlaceIsFree) {
  const auto server = serve_with(110);
  std::vector<std::unique_ptr<Client>> clients;
  while (clients.empty() || !clients.back()->refusal()) {
    ASSERT_LT(clients.size(), 110U);
    clients.push_back(connect());
    ASSERT_TRUE(until([&] { return clients.back()->connected() || clients.back()->refusal(); }));
  }
  EXPECT_GT(clients.size(), 10U);
  EXPECT_EQ(clients.back()->refusal()->code, Errc::busy);
  EXPECT_NE(clients.back()->refusal()->what.find("(ulimit -n) is 110"), std::string::npos)
      << clients.back()->refusal()->what;
  clients.front().reset();
  EXPECT_TRUE(is_answered(*clients.back()));
  EXPECT_TRUE(server.lives());
}

TEST_F(BoundsTest, TheLastPlacesAreKeptForThoseTheServerNames) {
  Options options;
  options.kept_for = {"agent"};
  const auto server = serve_with(110, options);
  std::vector<std::unique_ptr<Client>> clients;
  while (clients.empty() || !clients.back()->refusal()) {
    ASSERT_LT(clients.size(), 110U);
    clients.push_back(connect());
    ASSERT_TRUE(until([&] { return clients.back()->connected() || clients.back()->refusal(); }));
  }
  const auto agent = connect("agent 0");
  EXPECT_TRUE(is_answered(*agent));
}

TEST_F(BoundsTest, WhoDoesNotIntroduceItselfIsDropped) {
  Options options;
  options.introduction = 50;
  const auto server = serve(options);
  RawPeer silent(uri_), half(uri_);
  half.handshake();
  EXPECT_TRUE(until([&] { return !silent.read() && !half.read(); }));
}

TEST_F(BoundsTest, AnEndlessMessageOfManyPartsIsNotKept) {
  const auto server = serve();
  RawPeer endless(uri_);
  endless.handshake();
  std::string part = RawPeer::frame(std::string(1 << 20, 'm'));
  part[0] = static_cast<char>(part[0] | 1);  // more parts follow
  [[maybe_unused]] const std::size_t before = resident_mb();
  for (int i = 0; i < 200; ++i) {
    endless.write(part);
    ASSERT_TRUE(until([&] {
      endless.write();
      return endless.unwritten() == 0;
    }));
  }
#ifndef __SANITIZE_ADDRESS__  // which keeps what was freed for a while
  EXPECT_LT(resident_mb(), before + 60);
#endif
  const auto client = connect();
  EXPECT_TRUE(is_answered(*client));
}

TEST_F(BoundsTest, MessagesThatManyBeginAndNobodyCompletesAreNotAllKept) {
  const auto server = serve();
  std::vector<std::unique_ptr<RawPeer>> peers;
  const std::string begin = Zmtp::frame_header(15 << 20) + std::string(10 << 20, 'x');
  for (int i = 0; i < 10; ++i) {
    peers.push_back(std::make_unique<RawPeer>(uri_));
    peers.back()->handshake();
    peers.back()->write(begin);
    ASSERT_TRUE(until([&] {
      peers.back()->write();
      return !peers.back()->read() || peers.back()->unwritten() == 0;
    }));
  }
  // 64 MiB are kept: of six, and the others have been given up.
  EXPECT_TRUE(until([&] {
    return std::count_if(peers.begin(), peers.end(), [](auto& p) { return p->read(); }) <= 6;
  }));
  const auto client = connect();
  EXPECT_TRUE(is_answered(*client));
}

// A server in a process of its own, which dismisses all others when one of its clients asks for it.
TEST_F(BoundsTest, WhatAConnectionHadBegunIsNotKeptWhenItIsDismissed) {
  const pid_t pid = fork();
  if (pid == 0) {
    const auto reactor = Reactor::create();
    const auto server = Server::listen(**reactor, uri_, {});
    if (!server) _exit(3);
    std::vector<PeerId> known;
    (*server)->on_peer([&](PeerId id, const PeerInfo&) { known.push_back(id); });
    (*server)->on_request([&](const Request& request) {
      if (request.topic() == "dismiss")
        for (const PeerId id : known)
          if (id != request.peer()) (*server)->dismiss(id);
      request.reply(request.payload());
    });
    (*reactor)->run();
  }
  const Process server(pid);
  ASSERT_TRUE(until([&] { return probe_ipc(uri_).value_or(IpcState::absent) == IpcState::alive; }));
  const auto client = connect();
  ASSERT_TRUE(is_answered(*client));
  constexpr std::size_t kPeers = 5, kEachMb = 10;
  const std::string begin = Zmtp::frame_header(15 << 20) + std::string(kEachMb << 20, 'x');
  const std::size_t before = resident_mb(pid);
  std::vector<std::unique_ptr<RawPeer>> peers;
  while (peers.size() < kPeers) {
    peers.push_back(std::make_unique<RawPeer>(uri_));
    peers.back()->handshake();
    peers.back()->hello();
    peers.back()->write(begin);
    ASSERT_TRUE(until([&] {
      peers.back()->write();
      return peers.back()->unwritten() == 0;
    }));
    // A block that stays, behind the one that is to go.
    ASSERT_TRUE(is_answered(*client));
  }
  ASSERT_TRUE(until([&] { return resident_mb(pid) > before + kPeers * kEachMb * 8 / 10; }));
  client->call({"dismiss", ""}, [](const Result<std::string>&) {});
#ifndef __SANITIZE_ADDRESS__  // which keeps what was freed for a while
  EXPECT_TRUE(until([&] { return resident_mb(pid) < before + kEachMb / 2; }))
      << resident_mb(pid) << " MB, " << before << " before";
#endif
}

TEST_F(BoundsTest, AnswersToPingsThatNobodyReadsCountAsWell) {
  Options options;
  options.max_unsent = 1 << 20;
  const auto server = serve(options);
  RawPeer deaf(uri_);
  deaf.handshake();
  const std::string ping = std::string("\x04\x17\x04PING", 7) + std::string(2 + 16, '\0');
  std::string pings;
  for (int i = 0; i < 100'000; ++i) pings += ping;
  deaf.write(pings);
  EXPECT_TRUE(until([&] {
    deaf.write();
    return server->counters().too_slow > 0;
  }));
}

TEST_F(BoundsTest, WhoDoesNotReadItsAnswersIsNotServedUntilItDoes) {
  const auto server = serve();
  int served = 0;
  server->on_request([&](const Request& request) {
    if (request.topic() == "echo") return request.reply(request.payload());
    ++served;
    request.reply(std::string(1 << 20, 'x'));
  });
  RawPeer deaf(uri_);
  deaf.handshake();
  deaf.hello();
  constexpr int kAsked = 60;
  for (std::uint64_t id = 1; id <= kAsked; ++id) deaf.send({Kind::request, id, "big", "", ""});
  const auto client = connect();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(is_answered(*client));
  EXPECT_LT(served, 15) << "60 MiB are asked for, 8 may wait";
  EXPECT_TRUE(until([&] {
    deaf.write();
    return deaf.read() && served == kAsked && deaf.received().size() > kAsked * (1U << 20);
  }));
}

TEST_F(BoundsTest, WhatAllAreOwedTogetherIsBounded) {
  Options options;
  options.max_unsent = 4 << 20;
  const auto server = serve(options);
  int served = 0, lost = 0;
  server->on_peer_lost([&](PeerId) { ++lost; });
  std::vector<Request> streams;
  server->on_request([&](const Request& request) {
    ++served;
    streams.push_back(request);
  });
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 8; ++i) {
    peers.push_back(std::make_unique<RawPeer>(uri_));
    peers.back()->handshake();
    peers.back()->hello();
    peers.back()->send({Kind::request, 7, "watch", "", ""});
  }
  ASSERT_TRUE(until([&] { return served == 8; }));
  for (int i = 0; i < 10; ++i)
    for (const auto& stream : streams) stream.send(std::string(100 << 10, 'x'));
  EXPECT_TRUE(until([&] { return lost > 0; }));
  EXPECT_LT(lost, 8);
  EXPECT_GT(server->counters().too_slow, 0U);
}

// Each of them alone is within its bound.
TEST_F(BoundsTest, WhatFavouredConnectionsAreOwedTogetherIsBoundedAndNobodyElsePaysForIt) {
  Options options;
  options.max_unsent = 4 << 20;
  const auto server = serve(options);
  std::vector<PeerId> lost;
  server->on_peer_lost([&](PeerId id) { lost.push_back(id); });
  std::vector<Request> streams;
  server->on_request([&](const Request& request) {
    if (request.topic() == "echo") return request.reply(request.payload());
    if (request.topic() == "watch as an agent") server->favour(request.peer());
    streams.push_back(request);
  });
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (const char* how : {"watch", "watch as an agent", "watch as an agent", "watch as an agent",
                          "watch as an agent"}) {
    peers.push_back(std::make_unique<RawPeer>(uri_));
    peers.back()->handshake();
    peers.back()->hello();
    peers.back()->send({Kind::request, 7, how, "", ""});
    ASSERT_TRUE(until([&] { return streams.size() == peers.size(); }));
  }
  streams[0].send(std::string(1 << 20, 'x'));  // a client that is slow, too
  for (int i = 0; i < 30; ++i)
    for (std::size_t agent = 1; agent < streams.size(); ++agent)
      streams[agent].send(std::string(100 << 10, 'x'));
  // 12 MB for four, of which they may be owed 8.
  EXPECT_TRUE(until([&] { return !lost.empty(); }));
  EXPECT_LT(lost.size(), 4U);
  EXPECT_EQ(std::count(lost.begin(), lost.end(), streams[0].peer()), 0);
  const auto client = connect();
  EXPECT_TRUE(is_answered(*client));
}

TEST_F(BoundsTest, AFalseConfirmationEndsTheConnection) {
  const auto server = serve();
  bool lost = false;
  server->on_peer_lost([&](PeerId) { lost = true; });
  RawPeer liar(uri_);
  liar.handshake();
  liar.hello();
  ASSERT_TRUE(until([&] { return liar.read() && liar.received().size() > 120; }));
  liar.send({Kind::heartbeat, 8'000'000, "", "", ""});
  EXPECT_TRUE(until([&] { return lost; }));
  EXPECT_EQ(server->counters().malformed, 1U);
}

TEST_F(BoundsTest, AFloodOfRequestsDoesNotKeepOthersWaiting) {
  const auto server = serve();
  int flooded = 0;
  server->on_request([&](const Request& request) {
    flooded += request.topic() == "flood";
    request.reply(request.payload());
  });
  RawPeer flood(uri_);
  flood.handshake();
  flood.hello();
  std::uint64_t asked = 0;
  const auto pump = reactor_->every(1, [&] {
    std::string requests;
    for (int i = 0; i < 10'000 && flood.unwritten() < (1U << 20); ++i)
      requests += RawPeer::frame(encode({Kind::request, ++asked, "flood", "", ""}));
    flood.write(requests);
    flood.read();
  });
  ASSERT_TRUE(until([&] { return flooded > 0; }));
  const auto client = connect();
  EXPECT_TRUE(is_answered(*client)) << "while the flood goes on";
  EXPECT_LT(static_cast<std::uint64_t>(flooded), asked);
}

TEST_F(BoundsTest, RequestsThatWaitForAnAnswerAreCounted) {
  Options options;
  options.max_open = 10;
  const auto server = serve(options);
  std::vector<Request> kept;
  server->on_request([&](const Request& request) { kept.push_back(request); });
  const auto client = connect();
  std::vector<Error> refused;
  int answered = 0;
  for (int i = 0; i < 15; ++i)
    client->call({"wait", "", "", 0}, [&](const Result<std::string>& answer) {
      ++answered;
      if (!answer) refused.push_back(answer.error());
    });
  ASSERT_TRUE(until([&] { return refused.size() == 5; }));
  EXPECT_EQ(refused.front().code, Errc::busy);
  for (const auto& request : std::exchange(kept, {})) request.reply("");
  ASSERT_TRUE(until([&] { return answered == 15; }));
  client->call({"wait", "", "", 0}, [](const Result<std::string>&) {});
  EXPECT_TRUE(until([&] { return kept.size() == 1; })) << "there is room again";
}

// A request is kept as it came, whatever its handler needs of it.
TEST_F(BoundsTest, BytesOfRequestsThatWaitForAnAnswerAreCounted) {
  const auto server = serve();
  std::vector<Request> kept;
  server->on_request([&](const Request& request) { kept.push_back(request); });
  std::optional<Error> refused;  // outlives the client, whose end answers what is open
  const auto client = connect();
  constexpr std::size_t kLarge = 12 << 20;
  const auto ask = [&] {
    client->call({"wait", std::string(kLarge, 'x'), "", 0}, [&](const Result<std::string>& answer) {
      if (!answer) refused = answer.error();
    });
  };
  for (int i = 0; i < 3; ++i) ask();
  ASSERT_TRUE(until([&] { return refused && kept.size() == 2; }));
  EXPECT_EQ(refused->code, Errc::busy);
  EXPECT_EQ(refused->what,
            std::to_string(2 * kLarge) + " bytes of requests of this client are open");
  kept.front().reply("");
  ask();
  EXPECT_TRUE(until([&] { return kept.size() == 3; })) << "there is room again";
}

TEST_F(BoundsTest, WhoItIsIsTheKernelsWord) {
  const auto server = serve();
  std::optional<Principal> who;
  server->on_request([&](const Request& request) { who = request.principal(); });
  const auto client = connect();
  client->call({"x", ""}, [](const Result<std::string>&) {});
  ASSERT_TRUE(until([&] { return who.has_value(); }));
  EXPECT_EQ(*who, (Principal{Principal::Kind::ipc, geteuid(), getegid(), getpid()}));
}

TEST(ReactorBounds, TooFewDescriptorsAreSaidBeforeAnythingIsMade) {
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit limit{6, 6};
    setrlimit(RLIMIT_NOFILE, &limit);
    const auto reactor = Reactor::create();
    _exit(!reactor && reactor.error().what.find("(ulimit -n) is 6") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << "aborted, or without a word";
}

}  // namespace
}  // namespace holon::transport
