// checks.hpp - what must be so after every step, seen from outside of the code under test.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "holdings/book.hpp"
#include "instance/service/instance.hpp"
#include "msg/instance.hpp"
#include "world/seams/timeline.hpp"

namespace holon::world {

class Machine;
class Instance;
struct Task;
struct Truth;
struct Attempt;

class Checks {
 public:
  explicit Checks(Machine& machine) : machine_(machine) {}

  // Every running task is a job that holds its cores, by the word of its broker; or it runs on a
  // host that has been away for `rejoin_timeout`, and no other job gets those cores.
  void what_runs(const std::vector<std::unique_ptr<Instance>>& instances);
  void rejoin_timeout(Micros timeout) { rejoin_timeout_ = timeout; }
  // The scheduler's plan is the sum of what the jobs hold.
  void plan_of(const Instance& instance);
  // Notes that all work on the host's node is said to be over, until it is added again.
  void left(int host) { left_.insert(host); }
  // How often the host has been added.
  std::uint64_t times_added(int host) const {
    const auto found = times_added_.find(host);
    return found == times_added_.end() ? 0 : found->second;
  }
  // `lasts`: ms from now on; 0: the node stays.
  void added(int host, Duration lasts);
  // Notes that the batch system has told the agent there when its node is gone.
  void end_told(int host, Micros at);
  // The last time when a task was on this host of the batch system.
  Micros last_used(int host) const {
    const auto used = last_used_.find(host);
    return used == last_used_.end() ? 0 : used->second;
  }
  void all_begins() {
    left_.clear();
    gone_.clear();
  }
  // No job is placed on a node that would outlast it.
  void ends_of_nodes(const Instance& root);
  // The child believes in no later end than its parent knows of.
  void lease_of(const Instance& child, const Instance& parent);
  // What the books of the two say of each other about a grant that moves (holdings/check.hpp).
  void books_of(const Instance& child, const Instance& parent);
  // All that the journals of a tree tell of grants makes sense.
  void journals_of_tree(const std::string& state_dir);
  // An instance plans with what its book has. REQUIRES: it has a core.
  void graph_of(const Instance& child);
  // Notes that jobs of this instance may be ended as what they run on is recalled.
  void may_be_ended_below(const std::string& instance) { ended_below_.insert(instance); }
  // A record never goes back. `observer`: whose word it is.
  void record(const std::string& observer, const msg::JobRecord& record);
  // Checks records that a client reads, from whomever it likes: a question asked after an answer
  // was read gets no older one. answers_read(): answers read so far, for read_by_client().
  std::uint64_t answers_read() const { return answers_read_; }
  // `before`: the number at the time of the question. A record that is said to hold as of some time
  // is compared with what the same instance has said.
  void read_by_client(const std::string& who, const std::vector<msg::JobRecord>& records,
                      std::uint64_t before);
  // Notes the result told by the instance of the job itself.
  void told_by_owner(const msg::JobRecord& record);
  void final_record(const std::string& path, const std::optional<msg::JobRecord>& record);
  // The wishes of a job's user: the number of further attempts after failures with these codes; its
  // index in its submission, "": none.
  struct Wish {
    std::uint32_t requeue = 0;
    std::set<int> retry_on;
    std::string index;
    bool preemptible = false;
  };
  // The broker's numbers of jobs by kind are those that counting gives.
  void counts_of(const Instance& instance);
  // REQUIRES: final_record() found nothing wrong.
  void granted(const msg::JobRecord& record, const Wish& wish);
  // Notes that the broker of the job's instance has cancelled it, so many retries after its begin.
  void cancelled(const std::string& path, std::uint32_t retries) {
    last_retry_.try_emplace(path, retries);
  }
  // Notes that a user asks to cancel the job; the user may never hear whether the broker did so.
  void may_be_cancelled(const std::string& path) { cancel_asked_.insert(path); }
  // Sets whether preempted jobs run again.
  void runs_again_when_preempted(bool again) { runs_again_ = again; }
  void has_faults(bool faults) { has_faults_ = faults; }
  // Notes that all jobs are cancelled from now on.
  void calm() {
    is_calm_ = true;
    for (const auto& [path, result] : by_owner_) over_before_.insert(path);
  }
  // Notes that a user asks for another limit of the job, and may never hear of it either.
  void may_have_limit(const std::string& path) { limit_asked_[path] = now(); }
  // Notes that the job has this limit from now on, by the word of its instance.
  void has_limit(const std::string& path, Micros limit) { limits_[path] = {limit, now()}; }
  // Notes that this instance, and all below it, is about to end, or has been killed.
  void ends(const std::string& instance) { ends_[instance].push_back(now()); }
  // Each job went through its life once, by the events of the journal. task_at_end(): a task of an
  // array of the root, when all instances are over.
  void task_at_end(const instance::Journal& journal, const std::string& path, std::uint64_t id);
  void array_at_end(const msg::JobRecord& array);
  void events_of(const instance::Journal& journal, const std::string& path, std::uint64_t id);

  // The number of an instance's nodes, what its active jobs hold, and its queue's policy, as text.
  static std::string held_by(const instance::Instance& core);

 private:
  void tell_loans_of(const Instance& child, const holdings::Link& link);
  void tell_recalls_of(const Instance& child, const holdings::Link& link);
  void cut_off(const Task& task, const Instance& instance, const instance::Instance& core,
               const std::string& what);
  bool was_ended_for_return(const msg::JobRecord& record) const;
  void ended_for_return(const msg::JobRecord& record);
  void failed(const msg::JobRecord& record, const Truth& truth, const Attempt& attempt);
  void retried(const msg::JobRecord& record, const Truth& truth, const Wish& wish);
  void preempted(const msg::JobRecord& record, const Wish& wish);
  void ended_by_limit(const msg::JobRecord& record, const Attempt& attempt);
  void stands_still(const Task& task, const instance::Lifecycle& job, bool is_connected);
  bool ends_about(const std::string& path, Micros when) const;
  bool may_have_been_cancelled(const std::string& path) const;
  void note_hosts(const Instance& instance);
  bool is_given_up(int host) const;
  Micros now() const;

  Machine& machine_;
  Micros rejoin_timeout_ = 0;
  bool runs_again_ = false, has_faults_ = true;
  bool is_calm_ = false;
  std::set<std::string> over_before_;  // by the word of their owners
  struct Limit {
    Micros limit = 0, since = 0;
  };
  std::map<std::string, Limit> limits_;          // by path, of jobs that were given another one
  std::map<std::string, Micros> limit_asked_;    // when last, by path
  std::set<std::string> cancel_asked_;           // jobs
  std::map<std::string, holdings::Units> lent_;  // by the child that lends
  std::set<std::string> ended_below_;            // instances
  std::set<std::string> fenced_;                 // instances, by the word of those above
  std::map<std::string, std::set<holdings::Op>> recalls_;  // that have been told, by child
  struct Disagreement {
    Micros since = 0, last = 0;
  };
  std::map<pid_t, Disagreement> disagree_;  // of tasks with their brokers, whether they are stopped
  // When agents on other hosts were last connected, by the uri of their instance and their rank.
  std::map<std::pair<std::string, std::uint32_t>, Micros> connected_;
  std::map<std::string, std::vector<Micros>> ends_;  // of instances
  std::set<int> left_;                               // hosts
  std::map<int, std::uint64_t> times_added_;         // by host
  // Hosts that are there for a while only.
  struct Gone {
    Micros added = 0, at = 0;  // `added`: since when it is known
    bool is_told = false;      // again and again, as long as its agent is there
  };
  std::map<int, Gone> gone_;
  std::map<int, Micros> last_away_;                  // from the root, of hosts
  std::map<int, Micros> last_used_;                  // of hosts of the batch system
  std::map<int, Micros> last_heard_;                 // by the root, of hosts
  std::map<std::string, std::uint32_t> last_retry_;  // of jobs that were cancelled, at most
  std::map<std::string, msg::JobRecord> seen_;       // by observer and path
  std::map<std::string, std::string> by_owner_;      // results, by path
  struct Read {
    std::uint64_t answer = 0;
    msg::JobRecord record;
  };
  void compare_with_read(const std::string& who, const std::string& key,
                         const msg::JobRecord& record, std::uint64_t before);
  std::uint64_t answers_read_ = 0;
  std::map<std::string, std::vector<Read>> read_;  // by path, and by instance and path
};

}  // namespace holon::world
