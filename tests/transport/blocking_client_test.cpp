// The command line's client, against a server in another process; and the addresses it is given.
#include "transport/blocking_client.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "transport/codec/fields.hpp"
#include "transport/dispatcher.hpp"
#include "transport/endpoint.hpp"
#include "transport/supervisor_lock.hpp"

namespace holon::transport {
namespace {

struct Number {
  std::int64_t value = 0;
  HOLON_FIELDS(value)
};

// Doubles numbers, counts, and can be told to be slow or to die.
void serve(const std::string& uri, int ready) {
  const auto reactor = std::move(*Reactor::create());
  const auto server = std::move(*Server::listen(*reactor, uri));
  Dispatcher table;
  std::vector<Request> slow;
  table.add("double", [](const Request& r) {
    r.reply(pack(Number{unpack<Number>(r.payload())->value * 2}));
  });
  table.add("count", [](const Request& r) {
    const auto end = unpack<Number>(r.payload())->value;
    for (std::int64_t i = 0; i < end; ++i) r.send(pack(Number{i}));
    end < 0 ? r.fail({Errc::invalid_argument, "negative", "value"}) : r.end();
  });
  table.add("slow", [&](const Request& r) { slow.push_back(r); });
  table.add("die", [](const Request&) { raise(SIGKILL); });
  server->on_request(table);
  static_cast<void>(!write(ready, "x", 1));
  reactor->run();
}

class BlockingClientTest : public testing::Test {
 protected:
  // A client that connects before there is a server again.
  void expect_to_wait_for_the_next() {
    const pid_t later = fork();
    if (later == 0) {
      usleep(100000);
      serve(uri_, STDERR_FILENO);
      _exit(0);
    }
    EXPECT_TRUE(BlockingClient::connect(uri_, 20000));
    kill(later, SIGKILL);
    waitpid(later, nullptr, 0);
  }
  void SetUp() override {
    dir_ = *make_runtime_dir();
    uri_ = *ipc_uri(dir_, "s");
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(dir_);
  }
  void begin() {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      serve(uri_, ends[1]);
      _exit(0);
    }
    char ready = 0;
    ASSERT_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    close(ends[1]);
  }
  void stop() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  std::string dir_, uri_;
  pid_t pid_ = -1;
};

TEST_F(BlockingClientTest, CallsAndStreams) {
  begin();
  auto client = BlockingClient::connect(uri_);
  ASSERT_TRUE(client) << to_string(client.error());
  const auto doubled = client->call<Number>("double", Number{21});
  ASSERT_TRUE(doubled);
  EXPECT_EQ(doubled->value, 42);
  std::int64_t sum = 0;
  EXPECT_TRUE(client->stream<Number>("count", Number{100}, "", [&](const Number& n) {
    sum += n.value;
    return true;
  }));
  EXPECT_EQ(sum, 4950);
  const Status failed =
      client->stream<Number>("count", Number{-1}, "", [](const Number&) { return true; });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), (Error{Errc::invalid_argument, "negative", "value"}));
}

TEST_F(BlockingClientTest, AStreamEndsWhenTheCallerHasEnough) {
  begin();
  auto client = BlockingClient::connect(uri_);
  int seen = 0;
  EXPECT_TRUE(
      client->stream<Number>("count", Number{1000}, "", [&](const Number&) { return ++seen < 3; }));
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(client->call<Number>("double", Number{1})->value, 2);
}

// The reactor turns only within a call: nothing else would send what was said before its wait.
TEST_F(BlockingClientTest, ACallGoesOutBeforeTheWaitForItsAnswer) {
  begin();
  Options options;
  options.heartbeat = 60'000;
  auto client = BlockingClient::connect(uri_, 20'000, options);
  ASSERT_TRUE(client) << to_string(client.error());
  for (int i = 0; i < 20; ++i) {
    const auto doubled = client->call<Number>("double", Number{i}, "", 20'000);
    ASSERT_TRUE(doubled) << to_string(doubled.error());
    EXPECT_EQ(doubled->value, 2 * i);
  }
}

TEST_F(BlockingClientTest, TimeoutsAndLossesAreToldApart) {
  begin();
  auto client = BlockingClient::connect(uri_);
  EXPECT_EQ(client->call<Number>("slow", Number{}, "", 30).error().code, Errc::timed_out);
  EXPECT_EQ(client->call<Number>("die", Number{}).error().code, Errc::disconnected);
  stop();
  begin();
  EXPECT_EQ(client->call<Number>("double", Number{4})->value, 8) << "the successor is found";
}

TEST_F(BlockingClientTest, NobodyThereIsSaidInWordsThatFit) {
  const auto absent = BlockingClient::connect(uri_, 100);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::not_found);
  begin();
  stop();  // its socket file stays
  const auto stale = BlockingClient::connect(uri_, 100);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, Errc::disconnected);
  EXPECT_EQ(BlockingClient::connect("nonsense", 100).error().code, Errc::invalid_argument);
  EXPECT_EQ(BlockingClient::connect("ipc://" + std::string(200, 'x'), 100).error().code,
            Errc::invalid_argument);
}

TEST_F(BlockingClientTest, NobodyIsWaitedForWhereTheSupervisorIsGone) {
  SupervisorLock(dir_).take();  // and let go, as by one that was killed
  begin();
  stop();
  for (const bool is_stale : {true, false}) {
    if (!is_stale) std::filesystem::remove(dir_ + "/s");
    const auto gone = BlockingClient::connect(uri_, 100);
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, Errc::disconnected);
    EXPECT_NE(gone.error().what.find("it was killed"), std::string::npos) << gone.error().what;
  }
}

TEST_F(BlockingClientTest, ASupervisorThatLivesStartsAnotherServer) {
  SupervisorLock lock(dir_);
  lock.take();
  begin();
  stop();
  expect_to_wait_for_the_next();
}

TEST_F(BlockingClientTest, AServerThatIsBeingRestartedIsWaitedFor) {
  begin();
  stop();
  expect_to_wait_for_the_next();
}

TEST_F(BlockingClientTest, AServerThatHasNotMadeItsSocketAgainIsWaitedForToo) {
  begin();
  stop();
  std::filesystem::remove(dir_ + "/s");
  expect_to_wait_for_the_next();
}

TEST(Endpoint, ARuntimeDirIsItsOwnersOnly) {
  const std::string dir = *make_runtime_dir();
  struct stat info {};
  ASSERT_EQ(stat(dir.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700U);
  EXPECT_EQ(make_runtime_dir(dir), dir) << "it may be there already";
  const std::string below = dir + "/below";
  EXPECT_EQ(make_runtime_dir(below), below);
  ASSERT_EQ(chmod(below.c_str(), 0750), 0);
  EXPECT_EQ(make_runtime_dir(below).error().code, Errc::denied);
  std::filesystem::create_symlink(dir, dir + "/link");
  EXPECT_EQ(make_runtime_dir(dir + "/link").error().code, Errc::denied);
  EXPECT_EQ(make_runtime_dir(dir + "/a/b/c").error().code, Errc::system);
  std::filesystem::remove_all(dir);
}

// Some sites' TMPDIR is.
TEST(Endpoint, ADirectoryTooLongForASocketIsNotTakenAsTheBase) {
  const std::string dir = *make_runtime_dir();
  const std::string runtime =
      std::getenv("XDG_RUNTIME_DIR") != nullptr ? std::getenv("XDG_RUNTIME_DIR") : "";
  const std::string deep = dir + "/" + std::string(90, 'd');
  std::filesystem::create_directory(deep);
  setenv("XDG_RUNTIME_DIR", deep.c_str(), 1);
  const std::string base = runtime_base();
  setenv("XDG_RUNTIME_DIR", dir.c_str(), 1);
  EXPECT_EQ(runtime_base(), dir);
  runtime.empty() ? unsetenv("XDG_RUNTIME_DIR") : setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
  EXPECT_NE(base, deep);
  std::filesystem::remove_all(dir);
}

TEST(Endpoint, APathThatDoesNotFitASocketAddressIsRefusedWithNumbers) {
  const std::string dir = "/tmp/" + std::string(97, 'd');
  EXPECT_TRUE(ipc_uri(dir, "1234"));  // 107 characters
  const auto refused = ipc_uri(dir, "12345");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::out_of_range);
  EXPECT_NE(refused.error().what.find("108"), std::string::npos) << refused.error().what;
  EXPECT_NE(refused.error().what.find("107"), std::string::npos);
}

}  // namespace
}  // namespace holon::transport
