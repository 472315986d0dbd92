// ParentLink: what changed goes up until the parent has it in its journal, whoever is lost on the
// way.
#include "instance/tree/parent_link.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "transport/codec/codec.hpp"
#include "transport/endpoint.hpp"

namespace holon::instance {
namespace {

constexpr Duration kSoon = 50, kNever = 60'000;

class ParentLinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = *transport::make_runtime_dir();
    uri_ = *transport::ipc_uri(dir_, "p");
    listen();
  }
  void TearDown() override {
    link_.reset();
    server_.reset();
    std::filesystem::remove_all(dir_);
  }

  // The parent: takes records, and answers them unless told not to.
  void listen() {
    server_ = std::move(*transport::Server::listen(*reactor_, uri_));
    server_->on_request([this](const transport::Request& request) {
      if (request.topic() == "hello") {
        hellos_.push_back(*transport::unpack<msg::Hello>(request.payload()));
        msg::Grant grant;
        grant.epoch = 7;
        return request.reply(transport::pack(grant));
      }
      if (request.topic() != "record") return request.reply(transport::pack(msg::Empty{}));
      std::vector<std::string> paths;
      const auto records = transport::unpack<msg::Records>(request.payload());
      for (const auto& record : records->jobs)
        paths.push_back(record.path + " " + record.state);
      told_.push_back(paths);
      if (deny_) return request.fail({Errc::denied, "who are you?", {}});
      acknowledge_ ? request.reply(transport::pack(msg::Empty{})) : kept_.push_back(request);
    });
  }
  void connect(Duration interval) {
    ParentLink::Callbacks callbacks;
    callbacks.granted = [this](const msg::Grant&) { ++granted_; };
    callbacks.denied = [](const Error& error) { ADD_FAILURE() << error.what; };
    callbacks.lost = [] {};
    callbacks.request = [](const transport::Request&) {};
    callbacks.record = [this](const std::string& path) -> std::optional<msg::JobRecord> {
      const auto found = states_.find(path);
      if (found == states_.end()) return std::nullopt;
      msg::JobRecord record;
      record.path = path;
      record.state = found->second;
      return record;
    };
    auto link = ParentLink::connect(*reactor_, uri_, {}, {"secret", JobId(7), "ipc://here", 0},
                                    *journal_, std::move(callbacks), interval);
    ASSERT_TRUE(link) << link.error().what;
    link_ = std::move(*link);
    const int before = granted_;
    ASSERT_TRUE(until([&] { return granted_ > before; }));
  }
  void change(const std::string& path, const std::string& state) {
    states_[path] = state;
    link_->changed(path);
  }
  // As a broker's turns do it.
  bool until(const std::function<bool()>& done) {
    const auto tick = reactor_->every(2, [this] {
      ASSERT_TRUE(journal_->commit());
      if (link_) link_->flush();
    });
    return reactor_->run_until(done, 30'000);
  }
  using Told = std::vector<std::vector<std::string>>;

  std::string dir_, uri_;
  std::unique_ptr<transport::Reactor> reactor_ = std::move(*transport::Reactor::create());
  std::unique_ptr<transport::Server> server_;
  std::optional<Journal> journal_ = std::move(*Journal::open("", Journal::Sync::normal));
  std::unique_ptr<ParentLink> link_;
  std::map<std::string, std::string> states_;
  std::vector<msg::Hello> hellos_;
  Told told_;
  std::vector<transport::Request> kept_;
  bool acknowledge_ = true, deny_ = false;
  int granted_ = 0;
};

TEST_F(ParentLinkTest, ChangesOfOneIntervalGoUpTogetherAsTheyAreThen) {
  connect(kSoon);
  change("/7/1", "SCHED");
  ASSERT_TRUE(until([&] { return link_->all_sent(); }));
  change("/7/1", "RUN");
  change("/7/2", "SCHED");
  change("/7/1", "CLEANUP");
  EXPECT_FALSE(link_->all_sent());
  ASSERT_TRUE(until([&] { return link_->all_sent(); }));
  EXPECT_EQ(told_, (Told{{"/7/1 SCHED"}, {"/7/1 CLEANUP", "/7/2 SCHED"}}));
  EXPECT_TRUE(journal_->outbox()->empty());
}

TEST_F(ParentLinkTest, WhatWasNotAcknowledgedIsToldToTheNextConnection) {
  connect(0);
  acknowledge_ = false;
  change("/7/1", "RUN");
  ASSERT_TRUE(until([&] { return told_.size() == 1; }));
  EXPECT_FALSE(link_->all_sent());
  EXPECT_EQ(*journal_->outbox(), std::vector<std::string>{"/7/1"});
  acknowledge_ = true;
  kept_.clear();
  server_.reset();
  listen();
  ASSERT_TRUE(until([&] { return link_->all_sent(); }));
  EXPECT_EQ(told_.back(), std::vector<std::string>{"/7/1 RUN"});
  EXPECT_EQ(hellos_.back().epoch, 7u) << "it shows what it was granted";
  EXPECT_TRUE(journal_->outbox()->empty());
}

// The acknowledgement is for what was told, not for what has happened since.
TEST_F(ParentLinkTest, WhatChangesWhileItIsToldIsToldAgain) {
  connect(0);
  acknowledge_ = false;
  change("/7/1", "RUN");
  ASSERT_TRUE(until([&] { return told_.size() == 1; }));
  change("/7/1", "INACTIVE");
  acknowledge_ = true;
  kept_.front().reply(transport::pack(msg::Empty{}));
  ASSERT_TRUE(until([&] { return told_.size() == 2; }));
  EXPECT_EQ(told_.back(), std::vector<std::string>{"/7/1 INACTIVE"});
  ASSERT_TRUE(until([&] { return link_->all_sent(); }));
  EXPECT_TRUE(journal_->outbox()->empty());
}

TEST_F(ParentLinkTest, ALaterBrokerTellsWhatTheEarlierOneOwed) {
  connect(kNever);
  change("/7/1", "SCHED");
  ASSERT_TRUE(until([&] { return link_->all_sent(); }));
  change("/7/1", "RUN");
  change("/7/9", "SCHED");  // and is forgotten
  states_.erase("/7/9");
  ASSERT_TRUE(until([&] { return journal_->outbox()->size() == 2; }));
  EXPECT_EQ(told_.size(), 1u) << "the interval is long";
  link_.reset();
  connect(0);
  link_->load_outbox();
  link_->send_now();
  ASSERT_TRUE(until([&] { return link_->all_sent(); }));
  EXPECT_EQ(told_.back(), std::vector<std::string>{"/7/1 RUN"});
  EXPECT_TRUE(journal_->outbox()->empty()) << "also of what is no job any more";
}

TEST_F(ParentLinkTest, OneThatIsNotTakenForTheChildSaysHelloAgainAndOwesWhatItOwed) {
  connect(0);
  deny_ = true;
  change("/7/1", "RUN");
  ASSERT_TRUE(until([&] { return told_.size() == 1; }));
  deny_ = false;
  ASSERT_TRUE(until([&] { return link_->all_sent(); }));
  EXPECT_EQ(hellos_.size(), 2u);
  EXPECT_EQ(hellos_.back().epoch, 7u);
  EXPECT_EQ(told_.back(), std::vector<std::string>{"/7/1 RUN"});
}

}  // namespace
}  // namespace holon::instance
