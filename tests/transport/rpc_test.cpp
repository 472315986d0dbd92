// Requests, streams and losses between a Server and Clients on one reactor, over real sockets.
#include "transport/rpc.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <stdexcept>

#include "transport/codec/codec.hpp"
#include "transport/dispatcher.hpp"
#include "transport/endpoint.hpp"

namespace holon::transport {
namespace {

constexpr Duration kRpcPatience = 60000;  // ms; only a failing test waits so long

class RpcTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = *make_runtime_dir();
    uri_ = *ipc_uri(dir_, "b");
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<Server> serve(Options options = {}) {
    auto server = Server::listen(*reactor_, uri_, options);
    EXPECT_TRUE(server) << to_string(server.error());
    return std::move(*server);
  }
  std::unique_ptr<Client> connect(Options options = {}) {
    auto client = Client::connect(*reactor_, uri_, options);
    EXPECT_TRUE(client) << to_string(client.error());
    return std::move(*client);
  }
  bool until(const std::function<bool()>& done) { return reactor_->run_until(done, kRpcPatience); }
  Result<std::string> ask(Client& client, Call call) {
    std::optional<Result<std::string>> answer;
    client.call(std::move(call), [&](Result<std::string> result) { answer = std::move(result); });
    EXPECT_TRUE(until([&] { return answer.has_value(); }));
    return answer ? *answer : fail(Errc::timed_out, "no answer at all");
  }

  std::string dir_, uri_;
  std::unique_ptr<Reactor> reactor_ = std::move(*Reactor::create());
};

void echo(const Request& request) {
  request.reply(request.path() + "|" + request.payload());
}

TEST_F(RpcTest, AnAnswerCarriesWhatTheHandlerGave) {
  auto server = serve();
  server->on_request(echo);
  auto client = connect();
  EXPECT_EQ(ask(*client, {"echo", "hello", "/3/7"}), "/3/7|hello");
}

TEST_F(RpcTest, ARequestMadeBeforeAnyServerListensIsAnsweredOnceOneDoes) {
  auto client = connect();
  std::optional<Result<std::string>> answer;
  client->call({"echo", "early"}, [&](Result<std::string> result) { answer = std::move(result); });
  reactor_->turn(0);
  auto server = serve();
  server->on_request(echo);
  EXPECT_TRUE(until([&] { return answer.has_value(); }));
  EXPECT_EQ(*answer, "|early");
}

TEST_F(RpcTest, AnErrorArrivesWithCodeWordsAndPlace) {
  auto server = serve();
  server->on_request([](const Request& r) {
    r.fail({Errc::unsatisfiable, "5 cores asked, 4 there", "/resources/0"});
  });
  auto client = connect();
  const auto answer = ask(*client, {"submit", ""});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), (Error{Errc::unsatisfiable, "5 cores asked, 4 there", "/resources/0"}));
}

TEST_F(RpcTest, ARequestMayBeAnsweredLaterAndOutOfOrder) {
  auto server = serve();
  std::vector<Request> kept;
  server->on_request([&](const Request& request) { kept.push_back(request); });
  auto client = connect();
  std::string order;
  client->call({"1", ""}, [&](const Result<std::string>&) { order += '1'; });
  client->call({"2", ""}, [&](const Result<std::string>&) { order += '2'; });
  ASSERT_TRUE(until([&] { return kept.size() == 2; }));
  kept[1].reply("");
  kept[0].reply("");
  EXPECT_TRUE(until([&] { return order.size() == 2; }));
  EXPECT_EQ(order, "21");
}

TEST_F(RpcTest, ARequestDroppedUnansweredFailsInsteadOfHanging) {
  auto server = serve();
  server->on_request([](const Request&) {});
  auto client = connect();
  const auto answer = ask(*client, {"lost", ""});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::system);
}

TEST_F(RpcTest, AFaultOfAHandlerCostsItsRequestOnly) {
  auto server = serve();
  server->on_request([](const Request& request) {
    if (request.topic() == "fault") throw std::runtime_error("map::at");
    echo(request);
  });
  auto client = connect();
  EXPECT_EQ(ask(*client, {"fault", ""}).error(),
            (Error{Errc::system, "internal error: map::at", ""}));
  EXPECT_TRUE(ask(*client, {"echo", ""}));
}

TEST_F(RpcTest, UnknownTopicsAndServersWithoutHandlerSayUnsupported) {
  auto server = serve();
  auto client = connect();
  EXPECT_EQ(ask(*client, {"x", ""}).error().code, Errc::unsupported);
  Dispatcher dispatcher;
  dispatcher.add("known", echo);
  server->on_request(dispatcher);
  EXPECT_EQ(ask(*client, {"x", ""}).error().code, Errc::unsupported);
  EXPECT_TRUE(ask(*client, {"known", ""}));
}

TEST_F(RpcTest, ASecondAnswerIsIgnored) {
  auto server = serve();
  server->on_request([](const Request& request) {
    request.reply("first");
    request.reply("second");
    request.fail({Errc::busy, "third", ""});
  });
  auto client = connect();
  EXPECT_EQ(ask(*client, {"x", ""}), "first");
  EXPECT_EQ(ask(*client, {"x", ""}), "first");
  EXPECT_EQ(client->counters().unexpected, 0U);
}

TEST_F(RpcTest, TheServerCallsItsClientOverTheConnectionTheClientOpened) {
  auto server = serve();
  std::optional<PeerId> peer;
  server->on_peer([&](PeerId id, const PeerInfo& info) {
    peer = id;
    EXPECT_EQ(info.name, "agent 3");
    EXPECT_EQ(info.pid, getpid());
  });
  Options options;
  options.name = "agent 3";
  auto client = connect(options);
  client->on_request(echo);
  ASSERT_TRUE(until([&] { return peer.has_value(); }));
  std::optional<Result<std::string>> answer;
  server->call(*peer, {"start", "job"},
               [&](Result<std::string> result) { answer = std::move(result); });
  ASSERT_TRUE(until([&] { return answer.has_value(); }));
  EXPECT_EQ(*answer, "|job");
}

TEST_F(RpcTest, CallingAPeerThatDoesNotExistFailsLaterNotInsideTheCall) {
  auto server = serve();
  bool failed = false;
  server->call(PeerId{42}, {"x", ""}, [&](const Result<std::string>& result) {
    failed = !result && result.error().code == Errc::disconnected;
  });
  EXPECT_FALSE(failed);
  reactor_->turn(0);
  EXPECT_TRUE(failed);
}

TEST_F(RpcTest, NoAnswerInTimeIsAnErrorAndTheServerIsTold) {
  auto server = serve();
  std::vector<Request> kept;
  bool cancelled = false;
  server->on_request([&](const Request& request) {
    if (request.topic() == "quick") return request.reply("");
    request.on_cancel([&] { cancelled = true; });
    kept.push_back(request);
  });
  auto client = connect();
  ASSERT_TRUE(ask(*client, {"quick", ""}));  // a request's time counts from before its connection
  const auto answer = ask(*client, {"slow", "", "", 30});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::timed_out);
  ASSERT_TRUE(until([&] { return cancelled; }));
  EXPECT_TRUE(kept[0].done());
}

TEST_F(RpcTest, ATimeoutCoversTheWaitForAConnectionToo) {
  auto client = connect();
  const auto answer = ask(*client, {"x", "", "", 30});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::timed_out);
}

TEST_F(RpcTest, AStreamDeliversItsChunksInOrderThenEnds) {
  auto server = serve();
  server->on_request([](const Request& request) {
    for (int i = 0; i < 1000; ++i) request.send(std::to_string(i));
    request.end();
  });
  auto client = connect();
  std::vector<std::string> chunks;
  std::optional<Status> ended;
  client->open({"watch", ""}, {[&](std::string chunk) { chunks.push_back(std::move(chunk)); },
                               [&](Status status) { ended = std::move(status); }});
  ASSERT_TRUE(until([&] { return ended.has_value(); }));
  EXPECT_TRUE(ended->has_value());
  ASSERT_EQ(chunks.size(), 1000U);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(chunks[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST_F(RpcTest, AStreamWhereOneAnswerWasExpectedIsAnErrorAndStopped) {
  auto server = serve();
  bool cancelled = false;
  std::vector<Request> kept;
  server->on_request([&](const Request& request) {
    kept.push_back(request);
    request.on_cancel([&] { cancelled = true; });
    request.send("chunk");
  });
  auto client = connect();
  const auto answer = ask(*client, {"x", "", "", 0});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::protocol);
  EXPECT_TRUE(until([&] { return cancelled; }));
}

TEST_F(RpcTest, ACancelledStreamStopsAtItsSourceAndIsSilent) {
  auto server = serve();
  std::optional<Request> stream;
  bool cancelled = false;
  server->on_request([&](const Request& request) {
    stream = request;
    request.on_cancel([&] { cancelled = true; });
    request.send("one");
  });
  auto client = connect();
  int chunks = 0, ends = 0;
  const CallId id = client->open(
      {"watch", ""}, {[&](const std::string&) { ++chunks; }, [&](const Status&) { ++ends; }});
  ASSERT_TRUE(until([&] { return chunks == 1; }));
  client->cancel(id);
  ASSERT_TRUE(until([&] { return cancelled; }));
  stream->send("two");
  server->on_request(echo);
  EXPECT_TRUE(ask(*client, {"x", ""})) << "came after anything sent before it";
  EXPECT_EQ(chunks, 1);
  EXPECT_EQ(ends, 0);
}

TEST_F(RpcTest, AStreamIsCancelledWhenItsClientLeaves) {
  auto server = serve();
  std::optional<Request> stream;
  bool cancelled = false, lost = false;
  server->on_request([&](const Request& request) {
    stream = request;
    request.on_cancel([&] { cancelled = true; });
  });
  server->on_peer_lost([&](PeerId) { lost = true; });
  auto client = connect();
  client->open({"watch", ""}, {});
  ASSERT_TRUE(until([&] { return stream.has_value(); }));
  client.reset();
  EXPECT_TRUE(until([&] { return cancelled && lost; }));
  stream->send("to nobody");
  stream->end();
}

TEST_F(RpcTest, ALostServerFailsOpenCallsAtOnceAndItsSuccessorIsFound) {
  auto server = serve();
  std::vector<Request> kept;
  server->on_request([&](const Request& request) { kept.push_back(request); });
  auto client = connect();
  std::vector<std::uint64_t> incarnations;
  int lost = 0;
  std::string order;
  client->on_connected([&](const PeerInfo& info) {
    incarnations.push_back(info.incarnation);
    client->call({"hello", ""}, [&](const Result<std::string>&) {});
  });
  client->on_lost([&] { ++lost; });
  std::optional<Result<std::string>> answer;
  client->call({"slow", "", "", 0},
               [&](Result<std::string> result) { answer = std::move(result); });
  ASSERT_TRUE(until([&] { return kept.size() == 2; }));
  EXPECT_EQ(kept[0].topic(), "hello") << "calls of on_connected go first";
  server.reset();
  ASSERT_TRUE(until([&] { return lost == 1; }));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->error().code, Errc::disconnected);

  std::optional<Result<std::string>> second;
  client->call({"echo", "again"}, [&](Result<std::string> result) { second = std::move(result); });
  server = serve();
  server->on_request([&](const Request& request) {
    order += request.topic() + " ";
    echo(request);
  });
  ASSERT_TRUE(until([&] { return second.has_value(); }));
  EXPECT_EQ(*second, "|again");
  EXPECT_EQ(order, "hello echo ");
  ASSERT_EQ(incarnations.size(), 2U);
  EXPECT_NE(incarnations[0], incarnations[1]);
}

// Deaf: never gives a sign of life of its own accord. Lively: wants one often.
Options deaf() {
  Options options;
  options.heartbeat = 600000;
  return options;
}
Options lively() {
  Options options;
  options.heartbeat = 10;
  options.peer_timeout = 60;
  return options;
}

TEST_F(RpcTest, AClientLosesAServerThatIsSilent) {
  auto server = serve(deaf());
  auto client = connect(lively());
  int lost = 0, connections = 0;
  client->on_connected([&](const PeerInfo&) { ++connections; });
  client->on_lost([&] { ++lost; });
  EXPECT_TRUE(until([&] { return lost == 1 && connections == 2; })) << "and tries again";
}

TEST_F(RpcTest, AServerLosesAClientThatIsSilent) {
  auto server = serve(lively());
  auto client = connect(deaf());
  int lost = 0;
  server->on_peer_lost([&](PeerId) { ++lost; });
  EXPECT_TRUE(until([&] { return lost > 0; }));
}

// Nobody was silent while this process did not listen.
TEST_F(RpcTest, WhatWasSentWhileTheServerWasStoppedIsReadAlsoWhereItsSenderHasGone) {
  Options options;
  options.heartbeat = 50;
  options.peer_timeout = 200;
  auto server = serve(options);
  bool is_asked = false;
  server->on_request([&](const Request&) { is_asked = true; });
  const auto theirs = std::move(*Reactor::create());
  auto client = std::move(*Client::connect(*theirs, server->uri()));
  ASSERT_TRUE(until([&] {
    theirs->turn(0);
    return client->connected();
  }));
  client->call({"farewell"}, [](const Result<std::string>&) {});
  theirs->run_until([] { return false; }, 1'000);  // only they have the processor
  client.reset();
  EXPECT_TRUE(until([&] { return is_asked; }));
}

TEST_F(RpcTest, AStaleConnectionIsTakenUpAgainAfterTheServerForgotIt) {
  Options impatient;
  impatient.heartbeat = 10;
  impatient.peer_timeout = 30;
  auto server = serve(impatient);
  server->on_request(echo);
  auto client = connect();  // its heartbeats come too seldom for this server
  int connections = 0;
  client->on_connected([&](const PeerInfo&) { ++connections; });
  EXPECT_TRUE(until([&] { return connections >= 2; }));
  EXPECT_TRUE(ask(*client, {"echo", "x"}));
}

TEST_F(RpcTest, ForwardingPassesAnswersErrorsStreamsAndCancellation) {
  auto child = serve();
  auto parent = std::move(*Server::listen(*reactor_, *ipc_uri(dir_, "p")));
  bool cancelled = false;
  std::optional<Request> endless;
  child->on_request([&](const Request& request) {
    if (request.topic() == "echo") return echo(request);
    if (request.topic() == "bad") return request.fail({Errc::not_found, "no job 9", ""});
    if (request.topic() == "endless") {
      endless = request;
      request.on_cancel([&] { cancelled = true; });
      return request.send("first");
    }
    request.send("a");
    request.send("b");
    request.end();
  });
  auto down = connect();
  parent->on_request([&](const Request& request) { down->forward(request, "/below"); });
  auto client = std::move(*Client::connect(*reactor_, parent->uri()));
  EXPECT_EQ(ask(*client, {"echo", "x", "/3/below"}), "/below|x");
  EXPECT_EQ(ask(*client, {"bad", ""}).error(), (Error{Errc::not_found, "no job 9", ""}));
  std::string got;
  bool ended = false;
  client->open({"stream", ""}, {[&](const std::string& chunk) { got += chunk; },
                                [&](const Status& s) { ended = s.has_value(); }});
  EXPECT_TRUE(until([&] { return ended; }));
  EXPECT_EQ(got, "ab");
  bool first = false;
  const CallId id = client->open({"endless", ""}, {[&](const std::string&) { first = true; }, {}});
  ASSERT_TRUE(until([&] { return first; }));
  client->cancel(id);
  EXPECT_TRUE(until([&] { return cancelled; }));
}

TEST_F(RpcTest, MessagesUpToTheLimitPassAndLargerOnesAreRefusedOnTheSpot) {
  Options small;
  small.max_message = 1 << 20;
  auto server = serve(small);
  server->on_request([](const Request& request) {
    if (request.topic() == "large answer")
      request.reply(std::string(2 << 20, 'x'));
    else
      request.reply(std::to_string(request.payload().size()));
  });
  auto client = connect();
  const std::string fits((1 << 20) - 100, 'x');
  EXPECT_EQ(ask(*client, {"size", fits}), std::to_string(fits.size()));
  const auto refused = ask(*client, {"size", std::string(1 << 20, 'x')});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::out_of_range);
  const auto answer = ask(*client, {"large answer", ""});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::out_of_range);
  EXPECT_EQ(ask(*client, {"size", "abc"}), "3") << "the connection is still good";
}

TEST_F(RpcTest, ManyMegabytesPassWithConfirmationsKeepingTheBacklogSmall) {
  Options options;
  options.max_backlog = 4 << 20;
  auto server = serve(options);
  std::size_t worst = 0;
  int left = 512;
  std::optional<Request> stream;
  Subscription pump;
  server->on_request([&](const Request& request) {
    stream = request;
    pump = reactor_->every(1, [&] {
      while (left > 0 && stream->backlog() < (2U << 20)) {
        stream->send(std::string(128 << 10, 'x'));
        worst = std::max(worst, stream->backlog());
        if (--left == 0) stream->end();
      }
    });
  });
  auto client = connect();
  std::size_t got = 0;
  bool ended = false;
  client->open({"dump", ""}, {[&](const std::string& chunk) { got += chunk.size(); },
                              [&](const Status& s) { ended = s.has_value(); }});
  EXPECT_TRUE(until([&] { return ended; }));
  EXPECT_EQ(got, std::size_t{512} * (128 << 10));
  EXPECT_LT(worst, 4U << 20);
  EXPECT_EQ(server->counters().too_slow, 0U);
}

TEST_F(RpcTest, APeerThatDoesNotReadIsGivenUpInsteadOfFillingTheMemory) {
  Options options;
  options.max_backlog = 1 << 20;
  auto server = serve(options);
  bool lost = false;
  server->on_peer_lost([&](PeerId) { lost = true; });
  server->on_request([&](const Request& request) {
    for (int i = 0; i < 100; ++i) request.send(std::string(64 << 10, 'x'));
  });
  auto client = connect();
  client->open({"flood", ""}, {});
  EXPECT_TRUE(until([&] { return lost; }));
  EXPECT_GT(server->counters().too_slow, 0U);
}

TEST_F(RpcTest, ClosingFromInsideACallbackIsSafe) {
  auto server = serve();
  auto client = connect();
  server->on_request([&](const Request& request) {
    request.reply("");
    server.reset();
  });
  bool done = false;
  client->call({"x", ""}, [&](const Result<std::string>&) {
    client.reset();
    done = true;
  });
  EXPECT_TRUE(until([&] { return done; }));
}

TEST_F(RpcTest, TwoServersNeverShareAnAddressAndADeadOnesSocketIsReplaced) {
  auto server = serve();
  const auto second = Server::listen(*reactor_, uri_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::exists);
  server->on_request(echo);
  auto client = connect();
  EXPECT_TRUE(ask(*client, {"x", ""})) << "the first one is unharmed";

  const std::string stale = *ipc_uri(dir_, "stale");
  const pid_t pid = fork();
  if (pid == 0) {  // a server that dies without cleaning up
    auto other = Reactor::create();
    auto dying = Server::listen(**other, stale);
    _exit(dying ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(probe_ipc(stale), IpcState::stale);
  EXPECT_TRUE(Server::listen(*reactor_, stale));
}

TEST_F(RpcTest, PlainTcpListensOnLoopbackOnly) {
  const auto open = Server::listen(*reactor_, "tcp://0.0.0.0:*");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, Errc::invalid_argument);
  auto server = Server::listen(*reactor_, "tcp://127.0.0.1:*");
  ASSERT_TRUE(server);
  (*server)->on_request(echo);
  auto client = std::move(*Client::connect(*reactor_, (*server)->uri()));
  EXPECT_EQ(ask(*client, {"x", "y"}), "|y");
}

TEST_F(RpcTest, TheSocketIsForItsOwnerOnly) {
  auto server = serve();
  struct stat info {};
  ASSERT_EQ(stat((dir_ + "/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0U);
}

}  // namespace
}  // namespace holon::transport
