// fake_child.hpp - a broker whose agent and whose child are played by the test.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "msg/dead_child.hpp"
#include "tests/world/units/scene.hpp"

namespace holon::world {

class WithFakeChild : public Scene {
 protected:
  // The child is job 1.
  void SetUp() override;

  // Returns the epoch that it is given; 0: it is turned away.
  std::uint64_t connect_child();
  void lose_child();
  // The agent says that the child's processes are gone, and what a reader of its journal answers.
  // Returns the record of a job below it when the child's job is over.
  msg::JobRecord end_child(const msg::DeadChild& remains, const std::string& path);
  Result<msg::Empty> send_records(std::vector<msg::JobRecord> jobs) {
    return call<msg::Empty>(*child_, "record", msg::Records{std::move(jobs)});
  }

  static msg::JobRecord record_at(const std::string& path, const std::string& state);

  template <class Reply, class Ask>
  Result<Reply> call(Peer& who, const std::string& topic, const Ask& ask) {
    const auto text = answer(who, topic, ask);
    if (!text) return tl::unexpected<Error>(text.error());
    return transport::unpack<Reply>(*text);
  }
  msg::TreeNode status() { return call<msg::TreeNode>(*user_, "status", msg::Empty{}).value(); }

  // A listing of the whole tree, by a user.
  class Listing {
   public:
    explicit Listing(WithFakeChild& test);
    // Within so long?
    bool is_answered(Micros patience = 30 * kSecond) const;
    std::map<std::string, msg::JobRecord> records() const;

   private:
    WithFakeChild& test_;
    std::shared_ptr<std::optional<Result<std::string>>> answer_ =
        std::make_shared<std::optional<Result<std::string>>>();
  };
  std::map<std::string, msg::JobRecord> listed();

  Peer* user_ = nullptr;
  Peer* agent_ = nullptr;
  Peer* child_ = nullptr;
  msg::Hello hello_;
  // What the reader of a gone child's journal says: had there been one, it had no jobs.
  msg::DeadChild leftovers_;
  std::vector<msg::JobRecord> knows_;  // what the child answers to "jobs"
  std::map<std::string, int> asked_;   // of it, by topic
  bool silent_ = false;                // it answers nothing

 private:
  std::vector<transport::Request> kept_;
};

}  // namespace holon::world
