// provisions.hpp - batch jobs that bring nodes: submitted when the scheduler's own plan lacks
// resources, and given back when nothing runs there.
//
// The scheduler is asked what is missing (Scheduler::starts_on): it tries the pass that it would
// make, had the instance the nodes of all batch jobs that are on their way and of all that it may
// still ask for. As many batch jobs are submitted as that pass uses nodes of.
//
// A batch job is journalled before it is submitted, under a name of its own; its fate is found by
// that name, so that a broker that dies in between submits nothing twice and forgets nothing. A
// batch job ends by itself when its nodes have left.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "batch/provision.hpp"
#include "instance/agents/agents.hpp"
#include "instance/basics/clock.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/journal/journal.hpp"
#include "instance/manager/manager.hpp"
#include "instance/membership/leaving_nodes.hpp"
#include "instance/membership/node_ends.hpp"
#include "msg/provision.hpp"
#include "msg/resource.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/graph/spec.hpp"
#include "resource/store.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class Provisions {
 public:
  struct Settings {
    std::string state_dir, binary;
    std::string id;              // the instance's
    std::string user;            // the batch system's name for the broker's user
    Duration interval = 10'000;  // between two questions
    Duration margin = 30'000;    // before the end of a walltime
    std::string refusal;         // why batch jobs are impossible; "": they are not
  };
  // All members must outlive the Provisions.
  struct Uses {
    transport::Reactor& reactor;
    InstanceClock& clock;
    Journal& journal;
    resource::ResourceStore& store;
    const qmanager::Scheduler& scheduler;
    JobManager& jobs;
    Agents& agents;
    NodeEnds& node_ends;
    LeavingNodes& leaving_nodes;
    AfterCommit& after_commit;
  };
  Provisions(const Uses& uses, Settings settings);
  Provisions(const Provisions&) = delete;
  Provisions& operator=(const Provisions&) = delete;

  // `fresh`: invitations of an earlier run are void. Errors: system.
  Status restore(bool fresh);

  // Makes an invitation for nodes. Errors: unsupported (nobody could reach this instance), busy.
  std::function<Result<std::string>(const msg::InviteRequest&)> invite;

  // Errors: unsupported (the place of the instance, or nobody could reach it), invalid_argument.
  Result<msg::ProvisionReply> add(const msg::ProvisionRequest& how);
  Status change(const msg::ProvisionChange& what);
  msg::ProvisionsReply list() const;

  // Call before the commit. Returns when to call it again at the latest.
  std::optional<Time> turn(Time now);
  void agent_came(const launch::msg::Hello& hello);

  // The instance ends: batch jobs that wait in a queue are cancelled, even one that is being
  // submitted. is_ending(): that goes on, or will when the agent beside the broker is there again.
  // is_cut_off(): the latter.
  void end();
  bool is_ending() const {
    return is_over_ && (!in_hand_.empty() || listings_ > 0 || is_cut_off());
  }
  bool is_cut_off() const;

  // Which batch job is to bring a node for a waiting job; "": none.
  std::string note_for(JobId job) const;
  // Why jobs that are too large for the present nodes wait; "": no more nodes may come.
  std::string awaited() const;

 private:
  struct Need {
    std::uint32_t batch_jobs = 0;  // with those on their way
    std::vector<JobId> jobs;       // jobs that would start on their nodes
  };
  using Listed = Result<std::vector<batch::ListedJob>>;

  static constexpr const char* kLeaves = "leaving";  // a batch job's state
  static bool is_queued(const msg::BatchJob& job) { return job.state != "running"; }
  static bool is_leaving(const msg::BatchJob& job) { return job.state == kLeaves; }
  static batch::System system_called(const std::string& name);
  std::string folder() const { return settings_.state_dir + "/provision"; }
  std::string file(std::uint64_t number, const char* ending) const;
  std::string name_of(std::uint64_t number) const;
  msg::Provision* find(std::uint64_t number);
  msg::BatchJob* batch_job(std::uint64_t number);
  std::uint32_t on_their_way(const msg::Provision& provision) const;
  std::uint32_t may_be_asked_for(const msg::Provision& provision) const;
  std::uint32_t late_nodes(const msg::BatchJob& job, Time now) const;
  std::uint32_t counted_on(const msg::Provision& provision, const resource::GraphSpec& node,
                           Time now) const;
  Result<resource::GraphSpec> node_like(const msg::Provision& provision) const;
  Result<Need> need_with(const msg::Provision& provision, const resource::GraphSpec& node,
                         std::uint32_t counted_on, std::uint32_t batch_jobs, Time now) const;
  Result<Need> need_of(const msg::Provision& provision, Time now) const;
  batch::BatchRequest request_for(const msg::Provision& provision, std::uint64_t number) const;
  std::string script(const msg::Provision& provision, std::uint64_t number) const;
  void look(msg::Provision& provision, Time now);
  void submit(const msg::Provision& provision, Time now);
  void send(std::uint64_t number);
  void hear_submitted(std::uint64_t number, const Result<std::string>& answer);
  void take_back(const std::vector<std::uint64_t>& numbers);
  void take_back_queued();
  void go_on_ending();
  void cancel_after_commit(const std::vector<std::uint64_t>& numbers);
  void cancel(const std::string& system, const std::vector<std::uint64_t>& numbers);
  void hear_cancelled(const std::vector<std::uint64_t>& numbers, const Result<std::string>& answer);
  void take_back_surplus(const msg::Provision& provision, std::uint32_t needed, Time now);
  void list_if_due(Time now);
  void list(const std::string& system);
  void hear_listed(const std::string& system, Time asked, const Result<std::string>& answer);
  void settle(msg::BatchJob& job, const batch::ListedJob* listed, Time asked);
  void over(const msg::BatchJob& job);
  void forget(std::uint64_t number);
  void failed(std::uint64_t provision, const std::string& why);
  void look_at_nodes(Time now);
  void give_back(const msg::BatchJob& job, std::uint32_t rank, Time now);
  std::vector<std::uint32_t> ranks_of(const msg::BatchJob& job) const;
  bool is_here(const msg::BatchJob& job) const { return !ranks_of(job).empty(); }
  bool only_waits(const msg::BatchJob& job) const { return is_queued(job) && !is_here(job); }
  void run(std::vector<std::string> command, std::function<void(const Result<std::string>&)> done);
  void renew_keys();
  Status write_files(std::uint64_t number) const;
  void remove_files(std::uint64_t number) const;
  void keep();

  const Uses uses_;
  const Settings settings_;
  msg::ProvisionsReply state_;
  std::map<std::uint64_t, std::string> keys_;            // of batch jobs submitted in this turn
  std::map<std::uint64_t, std::vector<JobId>> waiting_;  // by provision: jobs to get its nodes
  std::map<std::uint64_t, Time> surplus_since_;          // by provision
  std::map<std::uint32_t, Time> idle_since_;             // by rank
  std::set<std::string> unlisted_;  // systems whose batch jobs' fate is unknown
  Time next_look_ = 0, next_list_ = 0;
  int listings_ = 0;  // listings on their way
  bool keys_are_old_ = false;
  bool is_over_ = false;
  bool cut_off_ = false;  // at the end: the agent went away before it answered
  // Batch jobs that are being submitted, or are to be cancelled after the commit.
  std::set<std::uint64_t> in_hand_;
  struct Arrival {
    Time since = 0;           // when its first node came
    std::uint32_t nodes = 0;  // the most that were there at once
  };
  std::map<std::uint64_t, Arrival> arrivals_;  // of batch jobs that came in this run
};

}  // namespace holon::instance
