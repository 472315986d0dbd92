// world.hpp - one seed: a tree of instances, users, faults, and the invariants that hold all the
// time.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "msg/instance.hpp"
#include "msg/provision.hpp"
#include "world/checks.hpp"
#include "world/instance.hpp"
#include "world/machine.hpp"
#include "world/user.hpp"

namespace holon::world {

struct Outcome {
  std::string violation;             // "": none
  std::vector<std::string> history;  // each line
  std::uint64_t steps = 0, messages = 0, jobs = 0, instances = 0;
  std::uint64_t indices = 0;  // jobs of arrays among them
};

// What is added to the worlds changes what happens in each seed. A seed that is kept because it has
// found something is run in the worlds of its time:
// 1  everything else
// 2  jobs that run again after failures, arrays, children with agents on several hosts, hosts that
//    are machines: late agents, nodes that are added by hand and leave
// 3  nodes that are there for a while only; queues that preempt and preemptible jobs; jobs that are
//    suspended, go on, and are given other limits
// 4  roots that serve several users, who meddle with each other's jobs
// 5  roots that make an instance for each of their users; batch jobs that bring nodes
// 6  where batch jobs bring nodes, some are wanted once more when nothing fails any more, and have
//    nothing to do for long
// 7  children that ask for more and give it back, and parents that recall it
// 8  what children have got by themselves goes to who waits for it
// 9  children on hosts that ask for whole hosts
// 10 children that are out of reach as something is recalled, and are fenced
// 11 children that lend what they own, and have it back in time or before
inline constexpr int kEdition = 11;

// Runs one seed; `dir` is made, and removed again.
Outcome run_seed(std::uint64_t seed, Plant plant, const std::string& dir, int edition = kEdition);

class World final : public Instances {
 public:
  World(std::uint64_t seed, Plant plant, int edition, const std::string& dir);
  ~World() override;
  Outcome run();
  void add(std::unique_ptr<Instance> instance) override;
  void add(std::unique_ptr<AgentProcess> agent) override { loose_.push_back(std::move(agent)); }
  void remove(const AgentProcess& agent) override {
    std::erase_if(loose_, [&](const auto& one) { return one.get() == &agent; });
  }
  Instance* find(const std::string& path) const override;
  bool is_added_by_hand(int host) const override;

 private:
  struct Acked {
    std::string instance;  // the one that has the job
    std::uint64_t id = 0;
    Checks::Wish wish = {};
    bool is_task = false;     // of an array
    std::uint64_t array = 0;  // the array of a task
    std::string user = {};    // the job's user, if there are several
  };
  struct Ask {
    std::vector<std::string> command;
    std::int64_t cores = 1, tasks = 1;
    double limit = 0;
    std::uint64_t count = 1;
    bool is_instance = false;
    std::uint32_t requeue = 0;
    std::set<int> retry_on = {};
    std::int64_t first = -1, step = 1;  // of an array; negative: it is none
    bool is_urgent = false, preemptible = false, checkpoints = false;
    std::int64_t gpus = 0;      // of a task
    bool is_immediate = false;  // now or not at all
    std::int64_t nodes = 0;     // a task on each; 0: wherever there are cores
    bool is_whole = false;      // with all that is on them
    std::string user = {};      // the asker; "": the owner of the instance
  };
  struct Person {
    std::string name;
    std::unique_ptr<User> client;
  };

  // workload.cpp
  void act();
  void act_later();
  void submit_work(Instance& instance);
  void submit_instance(Instance& instance);
  void be_elastic(Ask& ask);
  void crowd_an_elastic_child();
  void want_nodes(Ask& ask);
  void wish_something(Ask& ask);
  void choose_queue(Ask& ask);
  void change_a_job(Instance& instance);
  // grants.cpp
  Instance* some_child();
  void move_grant();
  void ask_for_more(Instance& child);
  void fail_as_it_ends(const std::string& child, double limit);
  void release_grant(Instance& child);
  void lend_or_have_back(Instance& child);
  void lend(Instance& child);
  void recall_grant(const Instance& child);
  void lose_sight_of(const std::string& child);
  void cancel_grant(const Instance& child);
  std::string jobspec_of(const Ask& ask) const;
  void submit(Instance& instance, const Ask& ask);
  void acknowledged(const std::string& whose, const Ask& ask, const std::string& answer);
  // nodes.cpp
  void begin_machines();
  void change_nodes();
  void add_nodes(const std::vector<int>& hosts, std::uint64_t uses);
  std::vector<int> hosts_without_agent() const;
  void join_by(const std::string& answer, std::uint64_t uses, const std::vector<int>& hosts);
  Duration lasts_for_a_while();
  void remove_node();
  void bring_nodes_back();
  void check_quorum(const Instance& root);

  // people.cpp
  void begin_people();
  Person& somebody();
  void meddle();
  void try_to_rule(Person& who);
  void touch_another_ones_job(Person& who);
  void pretend(Person& who);
  void list_own(Person& who);
  void must_be_refused(Person& who, const std::string& topic, std::string payload,
                       const std::string& path = "");
  // own.cpp
  void begin_own_instances();
  void submit_to_own(Person& who, const Ask& ask);
  void submit_there(Person& who, const std::string& path, const Ask& ask);
  void cancel_own_instance(Person& who);
  void end_as_idle(Instance& instance);
  Person* owner_of(const std::string& path);
  msg::SubmitRequest request_for(const Ask& ask) const;
  void check_own_instances();
  void check_idle_end(const Instance& instance);
  void note_untold();
  bool may_be_lost(const std::string& path) const { return untold_.contains(path); }

  // batch.cpp
  void begin_batch_system();
  void want_much(Ask& ask);
  void change_provisions();
  void add_provision();
  void want_nodes_once_more();
  void change_provision(std::uint64_t number, const std::string& action);
  void begin_on_node(const BatchJob& job, int host);
  void end_on_node(const BatchJob& job, int host);
  void fail_batch_system();
  void check_batch_jobs();
  void check_idle_nodes(const instance::Instance& core, const std::vector<msg::BatchJob>& known);
  void calm_batch_system();
  void remove_provisions();
  bool is_batch_settled(const instance::Instance& core) const;
  void check_no_batch_jobs();

  void check_people(const std::string& path, const Acked& job, const msg::JobRecord& record);

  void cancel_some(Instance& instance);
  void change_policy(Instance& root);
  void hear_cancelled(const std::string& whose, const std::string& answer);
  void list();
  bool speaks_for_nobody(const std::string& path) const;
  void list_later();
  std::vector<std::string> conf();
  Instance* some_instance(bool ready);
  std::vector<Instance*> up() const;
  static std::int64_t depth(const Instance& instance);

  // faults.cpp
  void fail_something();
  void fail_later();
  void kill_broker(Instance& instance);
  void send_ghost();
  void send_forged_agent();
  void add_ghost(pid_t pid, const Ghost::Words& words, std::function<void()> taken);
  void offer_early(std::uint32_t rank);
  void fail_a_host();
  void cut_for_long(int host);
  void lose_host(int host);
  void fill_disk(Instance& instance);
  void lose_power();
  Process* some_process();
  AgentProcess* some_agent(const Instance& instance);

  void choose_hosts();
  void begin_root();
  void keep_root();
  bool run_until(Micros when, const std::function<bool()>& done);
  void step_checks();
  void look_at(Instance& instance);
  Instance* parent_of(const Instance& instance) const;
  bool is_disowned(const Instance& instance) const;
  void end_all();
  std::string what_is_left() const;
  void check_end();

  Machine machine_;
  Checks checks_;
  std::unique_ptr<User> user_;
  std::vector<Person> people_;  // beside that one; where there are any the root serves them
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<std::unique_ptr<Ghost>> ghosts_;
  std::vector<std::unique_ptr<AgentProcess>> loose_;  // no supervisor looks after them
  bool has_own_instances_ = false;
  std::vector<std::string> own_conf_;
  Duration own_idle_ = 0;                      // ms after which such an instance ends
  std::map<std::string, std::string> owners_;  // of these instances, by path
  struct Idle {
    Micros since = 0;
    std::uint64_t next_job = 0;
    pid_t broker = 0;
  };
  std::map<std::string, Idle> idle_;  // of these instances, by uri
  // Instances whose remains were looked at; jobs of which ended instances had not told all.
  std::set<std::string> buried_, untold_;
  bool has_batch_ = false;
  bool removes_provisions_ = false;  // as it ends
  bool is_over_for_good_ = false;    // no root begins any more
  std::string last_root_uri_;
  std::map<std::string, Micros> unknown_since_;  // to the journal, of batch jobs
  struct IdleNode {
    pid_t broker = 0;
    Micros since = 0;
  };
  std::map<int, IdleNode> idle_nodes_;  // of batch jobs, by host
  Instance* root_ = nullptr;
  std::vector<std::string> root_conf_;
  std::map<std::string, Acked> acked_;
  std::set<std::string> left_;               // uris of instances that are over
  std::map<std::string, std::string> held_;  // by instance: what its jobs held when it was killed
  bool calm_ = false;                        // no more work, no more faults
  bool has_faults_ = true, may_lose_power_ = false;
  std::string preempt_mode_;       // of the queue "urgent" of all instances; "": there is none
  bool changes_policies_ = false;  // of the root's queue, while jobs wait
  std::int64_t hold_ = 0;          // ms: grant.hold of all instances
  std::int64_t fence_ = 0;         // ms: grant.fence-timeout of all instances
  bool has_rivals_ = false;        // elastic children have most of the work
  bool has_nodes_ = false;  // two of them, with an agent for each, and children with several agents
  bool has_gpus_ = false;   // beside the cores
  bool has_hosts_ = false;  // three of them, with an agent on each
  Micros rejoin_timeout_ = 0;
  bool brings_back_ = false;   // it ends, and nodes that were away come back
  bool has_machines_ = false;  // and these are not declared: what is there their agents say
  std::int64_t quorum_ = 0;
  Micros gather_timeout_ = 0;
  std::uint64_t invitations_ = 0;
  std::map<std::uint64_t, std::uint64_t> places_;  // given places, by invitation
  std::uint64_t steps_ = 0;
};

}  // namespace holon::world
