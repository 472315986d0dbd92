// Signs of life: a connection over which nothing else is said stays, for as long as both ends give
// them.
#include <gtest/gtest.h>

#include <optional>

#include "tests/world/units/scene.hpp"

namespace holon::world {
namespace {

class Listener final : public Process {
 public:
  Listener(Machine& machine, const std::string& uri, const transport::Options& options)
      : Process(machine, "server", machine.new_pid()) {
    run([&] {
      server_ = std::move(*transport::Server::listen(reactor(), uri, options));
      server_->on_peer_lost([this](transport::PeerId) { ++lost; });
    });
  }
  ~Listener() override {
    run([this] { server_.reset(); });
  }
  int lost = 0;

 private:
  std::unique_ptr<transport::Server> server_;
};

class Caller final : public Process {
 public:
  Caller(Machine& machine, const std::string& uri, const transport::Options& options)
      : Process(machine, "client", machine.new_pid()) {
    run([&] {
      client_ = std::move(*transport::Client::connect(reactor(), uri, options));
      client_->on_lost([this] { ++lost; });
    });
  }
  ~Caller() override {
    run([this] { client_.reset(); });
  }
  bool is_connected() const { return client_->connected(); }
  int lost = 0;

 private:
  std::unique_ptr<transport::Client> client_;
};

class HeartbeatsTest : public Scene {
 protected:
  void begin(Duration servers, Duration clients) {
    const auto options = [](Duration heartbeat) {
      transport::Options made;
      made.heartbeat = heartbeat;
      made.peer_timeout = 2'000;
      return made;
    };
    server_.emplace(*machine_, "ipc://" + dir_ + "/run/s", options(servers));
    client_.emplace(*machine_, "ipc://" + dir_ + "/run/s", options(clients));
    ASSERT_TRUE(until([&] { return client_->is_connected(); }));
  }
  void strike() override {
    client_.reset();
    server_.reset();
    Scene::strike();
  }
  ~HeartbeatsTest() override { HeartbeatsTest::strike(); }

  std::optional<Listener> server_;
  std::optional<Caller> client_;
};

TEST_F(HeartbeatsTest, KeepAnIdleConnectionAlive) {
  begin(10, 10);
  pass(60 * kSecond);
  EXPECT_EQ(server_->lost, 0);
  EXPECT_EQ(client_->lost, 0);
  EXPECT_TRUE(client_->is_connected());
}

TEST_F(HeartbeatsTest, AreMissedByEitherEndAfterThePeerTimeout) {
  constexpr Duration kNever = 600'000;
  begin(kNever, 10);
  pass(1'900 * kMs);
  EXPECT_EQ(client_->lost, 0);
  EXPECT_TRUE(until([&] { return client_->lost > 0; }, 2 * kSecond));
  set(2);
  begin(10, kNever);
  pass(1'900 * kMs);
  EXPECT_EQ(server_->lost, 0);
  EXPECT_TRUE(until([&] { return server_->lost > 0; }, 2 * kSecond));
}

}  // namespace
}  // namespace holon::world
