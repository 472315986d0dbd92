// How often a server at an ipc:// address asks the kernel for other events of a connection: a
// broker serves thousands of messages a second, and pays for each system call thousands of times.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "transport/endpoint.hpp"
#include "transport/rpc.hpp"

namespace {
int changes_of_events = 0;
}

#ifndef __SANITIZE_THREAD__  // ThreadSanitizer's wrapper of epoll_ctl has to see the call

// Takes the place of the C library's in this program.
extern "C" int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  if (operation == EPOLL_CTL_MOD) ++changes_of_events;
  return static_cast<int>(syscall(SYS_epoll_ctl, epoll, operation, fd, event));
}

namespace holon::transport {
namespace {

constexpr Duration kWatchedPatience = 60'000;  // ms; only a failing test waits so long

TEST(WatchedEvents, AMessageThatIsServedInTheTurnItComesInChangesNone) {
  const std::string dir = *make_runtime_dir();
  const auto reactor = std::move(*Reactor::create());
  auto server = std::move(*Server::listen(*reactor, *ipc_uri(dir, "b")));
  server->on_request([](const Request& request) { request.reply(request.payload()); });
  auto client = std::move(*Client::connect(*reactor, server->uri()));
  int answers = 0;
  const auto ask = [&] {
    client->call({"echo", "x"}, [&](const Result<std::string>& answer) { answers += !!answer; });
    const int wanted = answers + 1;
    return reactor->run_until([&] { return answers == wanted; }, kWatchedPatience);
  };
  ASSERT_TRUE(ask()) << "the connection is made";
  changes_of_events = 0;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(ask());
  EXPECT_EQ(changes_of_events, 0) << "of ten messages";
  client.reset();
  server.reset();
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace holon::transport

#endif
