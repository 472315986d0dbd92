// A server that ends, and one that sends a client away: what was said last is read.
#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "transport/endpoint.hpp"
#include "transport/rpc.hpp"

namespace holon::transport {
namespace {

constexpr Duration kLeavePatience = 60'000;  // ms; only a failing test waits so long

// Server and client turn on reactors of their own, so that one of them can be slow.
class LeaveTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = *make_runtime_dir();
    server_ = std::move(*Server::listen(*reactor_, *ipc_uri(dir_, "s")));
    server_->on_peer([this](PeerId peer, const PeerInfo&) { peers_.push_back(peer); });
    server_->on_request([this](const Request& request) { requests_.push_back(request); });
    client_ = std::move(*Client::connect(*clients_, server_->uri()));
  }
  void TearDown() override {
    client_.reset();
    server_.reset();
    std::filesystem::remove_all(dir_);
  }
  bool until(const std::function<bool()>& done) {
    const auto turn_the_client_too = reactor_->every(1, [this] { clients_->turn(0); });
    return reactor_->run_until(done, kLeavePatience);
  }
  void ask() {
    client_->call({"x"}, [this](Result<std::string> result) { answer_ = std::move(result); });
    ASSERT_TRUE(until([this] { return !requests_.empty(); }));
  }
  void leave(Duration patience) {
    server_->take_leave(patience, [this] { left_ = true; });
  }

  std::string dir_;
  std::unique_ptr<Reactor> reactor_ = std::move(*Reactor::create());
  std::unique_ptr<Reactor> clients_ = std::move(*Reactor::create());
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
  std::vector<PeerId> peers_;
  std::vector<Request> requests_;
  std::optional<Result<std::string>> answer_;
  bool left_ = false;
};

TEST_F(LeaveTest, AServerStaysUntilItsLastAnswersAreRead) {
  ask();
  requests_[0].reply("the last word");
  leave(kLeavePatience);
  const auto a_while = reactor_->now() + 200;
  reactor_->run_until([&] { return left_ || reactor_->now() > a_while; }, kLeavePatience);
  EXPECT_FALSE(left_) << "the client has read nothing yet";
  EXPECT_TRUE(until([this] { return left_; }));
  server_.reset();
  ASSERT_TRUE(answer_);
  EXPECT_EQ(*answer_, "the last word");
}

TEST_F(LeaveTest, AClientThatDoesNotReadIsNotWaitedForAnyLonger) {
  ask();
  requests_[0].reply("unread");
  leave(100);
  EXPECT_TRUE(reactor_->run_until([this] { return left_; }, kLeavePatience));
}

TEST_F(LeaveTest, WhoHasGoneIsNotWaitedFor) {
  ask();
  client_.reset();
  leave(kLeavePatience);
  EXPECT_TRUE(reactor_->run_until([this] { return left_; }, kLeavePatience / 2));
}

TEST_F(LeaveTest, NobodyThereIsNoReasonToWait) {
  const auto lonely = std::move(*Server::listen(*reactor_, *ipc_uri(dir_, "t")));
  lonely->take_leave(kLeavePatience, [this] { left_ = true; });
  EXPECT_TRUE(reactor_->run_until([this] { return left_; }, kLeavePatience / 2));
}

TEST_F(LeaveTest, NoNewClientsAreTaken) {
  ask();
  leave(kLeavePatience);
  ASSERT_TRUE(until([this] { return left_; }));
  const auto late = std::move(*Client::connect(*reactor_, server_->uri()));
  EXPECT_FALSE(reactor_->run_until([&] { return late->connected(); }, 100));
  EXPECT_EQ(peers_.size(), 1u);
}

TEST_F(LeaveTest, AClientThatIsSentAwayLearnsItAndComesBackAsAnotherPeer) {
  int lost = 0;
  client_->on_lost([&] { ++lost; });
  ask();
  server_->dismiss(requests_[0].peer());
  ASSERT_TRUE(until([this] { return peers_.size() == 2; }));
  EXPECT_EQ(lost, 1);
  EXPECT_NE(peers_[0], peers_[1]);
  ASSERT_TRUE(until([this] { return answer_.has_value(); }));
  EXPECT_EQ(answer_->error().code, Errc::disconnected);
}

}  // namespace
}  // namespace holon::transport
