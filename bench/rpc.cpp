// rpc.cpp - requests between two processes over ipc://: latency of one at a time, rate of many in
// flight.
//
// The server is a child process that echoes; it ends when the pipe it holds is closed.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "transport/codec/codec.hpp"
#include "transport/endpoint.hpp"
#include "transport/rpc.hpp"

namespace holon::transport {
namespace {

class EchoServer {
 public:
  EchoServer() : dir_(*make_runtime_dir()) {
    uri_ = *ipc_uri(dir_, "s");
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[1]);
      serve(uri_, ends[0]);
      _exit(0);
    }
    close(ends[0]);
    lifeline_ = ends[1];
  }
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;
  ~EchoServer() {
    close(lifeline_);
    waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(dir_);
  }
  const std::string& uri() const { return uri_; }

 private:
  static void serve(const std::string& uri, int lifeline) {
    const auto reactor = std::move(*Reactor::create());
    const auto server = std::move(*Server::listen(*reactor, uri));
    server->on_request([](const Request& request) {
      if (request.topic() == "echo") return request.reply(request.payload());
      const auto chunks = std::stoi(request.payload());
      for (int i = 0; i < chunks; ++i) request.send(std::string(65536, 'x'));
      request.end();
    });
    const auto watch = reactor->on_fd(lifeline, kReadable, [&](unsigned) { reactor->stop(); });
    reactor->run();
  }

  std::string dir_, uri_;
  pid_t pid_ = -1;
  int lifeline_ = -1;
};

void BM_RoundTrips(benchmark::State& state) {
  EchoServer echo;
  const auto reactor = std::move(*Reactor::create());
  const auto client = std::move(*Client::connect(*reactor, echo.uri()));
  const std::string payload(static_cast<std::size_t>(state.range(1)), 'x');
  const auto window = state.range(0);
  std::int64_t sent = 0, answered = 0, failed = 0;
  const auto ask = [&] {
    ++sent;
    client->call({"echo", payload}, [&](const Result<std::string>& answer) {
      ++answered;
      failed += !answer;
    });
  };
  for (auto _ : state) {
    while (sent - answered >= window) reactor->turn(-1);
    ask();
  }
  reactor->run_until([&] { return answered == sent; }, 10000);
  if (failed > 0) state.SkipWithError("requests failed");
  state.SetItemsProcessed(answered);
}
BENCHMARK(BM_RoundTrips)
    ->ArgNames({"in_flight", "bytes"})
    ->Args({1, 64})
    ->Args({16, 64})
    ->Args({256, 64})
    ->Args({4096, 64})
    ->Args({256, 4096})
    ->UseRealTime();

void BM_StreamMegabytes(benchmark::State& state) {
  EchoServer echo;
  const auto reactor = std::move(*Reactor::create());
  const auto client = std::move(*Client::connect(*reactor, echo.uri()));
  std::int64_t bytes = 0;
  for (auto _ : state) {
    bool ended = false;
    client->open({"stream", "64"}, {[&](const std::string& chunk) {
                                      bytes += static_cast<std::int64_t>(chunk.size());
                                    },
                                    [&](const Status&) { ended = true; }});
    reactor->run_until([&] { return ended; }, 10000);
  }
  state.SetBytesProcessed(bytes);
}
BENCHMARK(BM_StreamMegabytes)->UseRealTime();

// What a command of the command line pays before its question.
void BM_ConnectAndAsk(benchmark::State& state) {
  EchoServer echo;
  for (auto _ : state) {
    const auto reactor = std::move(*Reactor::create());
    const auto client = std::move(*Client::connect(*reactor, echo.uri()));
    bool answered = false;
    client->call({"echo", ""}, [&](const Result<std::string>&) { answered = true; });
    reactor->run_until([&] { return answered; }, 10000);
  }
}
BENCHMARK(BM_ConnectAndAsk)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace holon::transport
