// tree_scene.hpp - instances of a world that a test directs: real brokers and real agents, on one
// host or several, and instances below them. The test loses nodes, stops processes and lets time
// pass.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/world/units/scene.hpp"
#include "world/instance.hpp"
#include "world/user.hpp"

namespace holon::world {

class TreeScene : public Scene, public Instances {
 protected:
  ~TreeScene() override;
  void strike() override;
  void TearDown() override;  // no invariant of the world is broken

  // A root on so many hosts, with an agent on each; returns once it can be used. On the state
  // directory of the one before it, if there was one. `limit`: ms after which it ends; 0: never.
  Instance& begin_root(std::vector<std::string> conf, std::size_t hosts = 1,
                       const std::string& resources = "node=1/core=2", Duration limit = 0);
  // The instance of this path that is not over. REQUIRES: there is one.
  Instance& instance(const std::string& path = "/") const { return *find(path); }
  bool is_up(const std::string& path) const { return find(path) != nullptr && find(path)->ready(); }

  // A user asks the root, for the instance at `path`.
  template <class Reply, class Ask>
  Result<Reply> call(const std::string& topic, const Ask& ask, const std::string& path = "") {
    const auto text = answer_of_root(topic, transport::pack(ask), path);
    if (!text) return tl::unexpected<Error>(text.error());
    return transport::unpack<Reply>(*text);
  }
  struct Wanted {
    std::int64_t tasks = 1;
    std::string system = {};  // more of attributes.system, as JSON
    bool is_instance = false;
    double limit = 0;
    bool ignores_term = false;  // it ends by SIGKILL only
  };
  Result<msg::SubmitReply> submit_work(Micros time, const Wanted& wanted,
                                       const std::string& path = "");
  // A job that runs for so long. REQUIRES: it is taken.
  std::uint64_t work(Micros time, const Wanted& wanted, const std::string& path = "");
  // An instance that stays until it is ended. `conf`: items, and "--exit-on-loss". `limit`: s; 0:
  // none.
  std::uint64_t child(std::int64_t tasks, const std::vector<std::string>& conf = {},
                      const std::string& path = "", double limit = 0);
  // One that its instance starts again from its journal, until it is ended for good.
  std::uint64_t child_that_goes_on(std::int64_t tasks, const std::vector<std::string>& conf = {});
  // The same without waiting until it is up.
  std::uint64_t submit_child(std::int64_t tasks, const std::vector<std::string>& conf = {},
                             const std::string& path = "", double limit = 0);
  // As the root has it, from its child where the job is of one.
  msg::JobRecord record(std::uint64_t id, const std::string& path = "");
  bool runs(std::uint64_t id, const std::string& path = "") {
    return record(id, path).t_start != 0;
  }
  // Waits until it is.
  msg::JobRecord when_over(std::uint64_t id, const std::string& path = "");
  msg::JobRecord when_running(std::uint64_t id, const std::string& path = "");
  // Of the tasks of a job, those of which something lives on this host.
  std::size_t tasks_on(int host, std::uint64_t id, const std::string& path = "") const;

  // All that runs on this host of the root is killed, and nothing starts it again.
  void lose_for_good(int host);
  Micros now() const { return machine_->timeline.now(); }

  void add(std::unique_ptr<Instance> instance) override;
  void add(std::unique_ptr<AgentProcess> agent) override;
  void remove(const AgentProcess& agent) override;
  bool is_added_by_hand(int host) const override;
  Instance* find(const std::string& path) const override;
  // Agents that no supervisor looks after: of children on other nodes, and those added by hand.
  const std::vector<std::unique_ptr<AgentProcess>>& loose() const { return loose_; }
  User& user();

 private:
  Result<std::string> answer_of_root(const std::string& topic, const std::string& payload,
                                     const std::string& path);
  Result<msg::SubmitReply> submit_words(std::vector<std::string> words, const Wanted& wanted,
                                        const std::string& path);

  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<std::unique_ptr<AgentProcess>> loose_;
  std::unique_ptr<User> user_;
};

}  // namespace holon::world
