// ParentLink: whatever happens to the connection, to the parent and to the child itself, the parent
// comes to know every job as the child's journal has it, and never hears of an earlier state after
// a later one.
#include "instance/tree/parent_link.hpp"

#include <gmock/gmock.h>

#include "tests/world/units/scene.hpp"

namespace holon::world {
namespace {

using instance::Journal;
using instance::ParentLink;

// Paths, and how often each has changed.
using Versions = std::map<std::string, int>;

class Above final : public Process {
 public:
  Above(Machine& machine, const std::string& uri, Versions& known)
      : Process(machine, "parent", machine.new_pid()), known_(known) {
    run([&] {
      server_ = std::move(*transport::Server::listen(reactor(), uri));
      server_->on_request([this](const transport::Request& request) { take(request); });
    });
  }
  ~Above() override {
    run([this] { server_.reset(); });
  }
  std::string went_back;  // of which job it heard an earlier state after a later one
  int messages = 0;
  std::vector<std::uint64_t> epochs;

 private:
  void take(const transport::Request& request) {
    if (request.topic() == "hello") {
      child_ = request.peer();
      epochs.push_back(transport::unpack<msg::Hello>(request.payload())->epoch);
      msg::Grant grant;
      grant.epoch = 7;
      return request.reply(transport::pack(grant));
    }
    if (request.topic() != "record") return request.reply(transport::pack(msg::Empty{}));
    // What one that is dead has sent may still come after the first words of the next.
    if (request.peer() != child_) return request.fail({Errc::denied, "who are you?", {}});
    ++messages;
    const auto records = transport::unpack<msg::Records>(request.payload());
    for (const auto& record : records->jobs) {
      int& known = known_[record.path];
      if (record.exit_code < known) went_back = record.path;
      known = record.exit_code;
    }
    request.reply(transport::pack(msg::Empty{}));
  }
  Versions& known_;
  transport::PeerId child_{0};
  std::unique_ptr<transport::Server> server_;
};

// A child of which there is nothing but its link and its journal. `now`: its jobs, as a broker has
// them; `kept`: as they were committed.
class Below final : public Process {
 public:
  Below(Machine& machine, const std::string& uri, const std::string& file, Versions& kept)
      : Process(machine, "child", machine.new_pid()), now(kept), kept_(kept) {
    run([&] {
      journal_.emplace(
          std::move(*Journal::open(file, Journal::Sync::normal, Journal::OnDamage::repair)));
      ParentLink::Callbacks callbacks;
      callbacks.granted = [this](const msg::Grant&) { ++granted; };
      callbacks.denied = [](const Error& error) { ADD_FAILURE() << error.what; };
      callbacks.lost = [] {};
      callbacks.request = [](const transport::Request&) {};
      callbacks.record = [this](const std::string& path) -> std::optional<msg::JobRecord> {
        const auto found = now.find(path);
        if (found == now.end()) return std::nullopt;
        msg::JobRecord record;
        record.path = path;
        record.exit_code = found->second;
        return record;
      };
      link_ = std::move(*ParentLink::connect(reactor(), uri, {}, {"token", JobId(7), "ipc://c", 0},
                                             *journal_, std::move(callbacks), 100));
      link_->load_outbox();
      turn_end_ = reactor().at_turn_end([this] {
        ASSERT_TRUE(journal_->commit());
        if (alive()) kept_ = now;
        link_->flush();
      });
    });
  }
  ~Below() override {
    run([this] {
      turn_end_.cancel();
      link_.reset();
      journal_.reset();
    });
  }
  void change(const std::string& path) {
    deliver([this, path] {
      ++now[path];
      link_->changed(path);
    });
  }
  bool all_sent() const { return link_->all_sent(); }
  bool owes_nothing() const { return link_->all_sent() && journal_->outbox()->empty(); }

  Versions now;
  int granted = 0;

 private:
  Versions& kept_;
  std::optional<Journal> journal_;
  std::unique_ptr<ParentLink> link_;
  transport::Subscription turn_end_;
};

class ParentLinkScene : public Scene {
 protected:
  void begin_above() {
    above_.reset();
    above_ = std::make_unique<Above>(*machine_, at(), known_);
  }
  void begin_below() {
    below_.reset();
    below_ = std::make_unique<Below>(*machine_, at(), dir_ + "/state/journal.db", kept_);
  }
  std::string at() const { return "ipc://" + dir_ + "/run/parent"; }
  void strike() override {
    below_.reset();
    above_.reset();
    known_.clear();
    kept_.clear();
    Scene::strike();
  }
  ~ParentLinkScene() override { ParentLinkScene::strike(); }

  Versions known_, kept_;  // above, and on the disk of the child
  std::unique_ptr<Above> above_;
  std::unique_ptr<Below> below_;
};

TEST_F(ParentLinkScene, ChangesOfOneIntervalGoTogether) {
  begin_above();
  begin_below();
  ASSERT_TRUE(until([&] { return below_->granted == 1; }));
  below_->change("/7/1");
  ASSERT_TRUE(until([&] { return below_->owes_nothing() && known_["/7/1"] == 1; }));
  EXPECT_EQ(above_->messages, 1) << "after a quiet time at once";
  for (int i = 0; i < 20; ++i) below_->change("/7/" + std::to_string(i % 4));
  ASSERT_TRUE(until([&] { return known_["/7/3"] == 5; }));
  EXPECT_EQ(above_->messages, 2);
  EXPECT_EQ(known_, below_->now);
}

TEST_F(ParentLinkScene, WhatHappensWhileTheParentIsAwayIsToldWhenItIsBack) {
  begin_above();
  begin_below();
  ASSERT_TRUE(until([&] { return below_->granted == 1; }));
  above_->kill("");
  above_.reset();
  for (int i = 0; i < 5; ++i) below_->change("/7/1");
  pass(30 * kSecond);
  EXPECT_FALSE(below_->all_sent());
  begin_above();
  ASSERT_TRUE(until([&] { return below_->owes_nothing(); }));
  EXPECT_EQ(known_["/7/1"], 5);
  EXPECT_EQ(above_->epochs, std::vector<std::uint64_t>{7}) << "it shows what it was granted";
}

TEST_F(ParentLinkScene, TheParentComesToKnowWhatIsWrittenDownWhateverIsLost) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    set(seed);
    begin_above();
    begin_below();
    Dice& dice = machine_->dice;
    std::string went_back;
    for (int step = 0; step < 60; ++step) {
      switch (dice.between(1, 8)) {
        case 1:
          machine_->wires.break_one();
          break;
        case 2:
          machine_->wires.hold_one(dice.between(10, 2'000) * kMs);
          break;
        case 3:
          below_->kill_after(dice.between(1, 12));
          break;
        case 4:
          above_->kill_after(dice.between(1, 6));
          break;
        default:
          below_->change("/7/" + std::to_string(dice.between(1, 6)));
      }
      pass(dice.between(1, 300) * kMs);
      if (!above_->went_back.empty()) went_back = above_->went_back;
      if (!above_->alive()) begin_above();
      if (!below_->alive()) begin_below();
    }
    machine_->wires.heal();
    above_->kill_after(-1);
    below_->kill_after(-1);
    ASSERT_TRUE(until([&] { return below_->owes_nothing() && known_ == below_->now; }));
    EXPECT_EQ(went_back, "");
  }
}

}  // namespace
}  // namespace holon::world
