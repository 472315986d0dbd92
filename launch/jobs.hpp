// jobs.hpp - all jobs of one agent: those that run, and results that are not acknowledged yet.
//
// A job is in at most one of these two; the start of a job in either is ignored. It leaves the
// second only by acknowledge(): so whatever is lost or repeated on the way, no job runs twice.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "launch/job.hpp"
#include "launch/news/untold_starts.hpp"
#include "launch/tracking/lineage.hpp"

namespace holon::launch {

class Jobs {
 public:
  explicit Jobs(JobContext context);
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // Called once for each job, a few milliseconds after its start, or right before its end is told.
  void on_started(std::function<void(const msg::Started&)> callback) {
    on_started_ = std::move(callback);
  }
  void on_finished(std::function<void(const msg::Finished&)> callback) {
    on_finished_ = std::move(callback);
  }

  void on_fence(std::function<void(const msg::FenceRequest&)> callback) {
    on_fence_ = std::move(callback);
  }

  // Takes jobs, which the loop starts, a few each turn, in this order. Errors: invalid_argument for
  // a request with a program that is not in it or not kept, or with a job without tasks: then
  // nothing of the request is started.
  Status start(msg::StartRequest request);
  // Kept programs belong to one connection.
  void forget_programs() { programs_.clear(); }
  void signal(const msg::SignalRequest& request);
  void checkpoint(const msg::CheckpointRequest& request);
  void kill(const msg::KillRequest& request);
  void kill_all(Duration grace, const std::string& reason);
  void limit(const msg::LimitRequest& request);
  void suspend(const msg::SuspendRequest& request);
  void renew(const msg::SureRequest& request);
  // The answer to an on_fence() call.
  void end_fence(std::uint64_t job, std::uint64_t round, const Result<msg::FenceReply>& answer);
  // Fences of all jobs, to be sent again over a new connection.
  std::vector<msg::FenceRequest> fences() const;
  // Errors of both: not_found, answered to the request.
  void follow(const transport::Request& request);
  void take_input(const transport::Request& request);

  std::vector<msg::Started> running() const;
  std::vector<std::uint64_t> waiting() const;
  std::vector<msg::Finished> unacknowledged() const;
  void acknowledge(const std::vector<msg::Finished>& finished, const msg::Reported& told);
  const Node& node() const { return context_.node; }
  // Why jobs have no cgroups of their own although the agent was given one; "": they have.
  const std::string& trouble_with_cgroups() const { return context_.tracking->trouble(); }
  // The prefix of the lineage of its jobs' processes (lineage.hpp).
  std::string prefix() const { return jobs_prefix(context_.frame.lineage); }
  // Does the job run or wait to be started?
  bool has(std::uint64_t job) const { return jobs_.contains(job) || waiting_ids_.contains(job); }
  // Does no job run or wait to be started?
  bool idle() const { return jobs_.empty() && waiting_.empty(); }

 private:
  struct Waiting {
    msg::Start start;
    std::shared_ptr<const ProgramImage> program;
  };

  bool knows(std::uint64_t job) const;
  std::shared_ptr<const ProgramImage> image_of(const msg::Program& program);
  void start_some();
  void start_one(Waiting waiting);
  void tell_started_soon(std::uint64_t job);
  void tell_started();
  // Ends jobs that were not started yet, of these (nullptr: of all).
  void drop_waiting(const std::vector<std::uint64_t>* jobs, const std::string& reason);
  void on_end(msg::Finished finished);
  void keep(msg::Finished finished);
  void sweep_soon();
  void sweep();

  JobContext context_;
  Environment inherited_;
  std::function<void(const msg::Started&)> on_started_;
  std::function<void(const msg::Finished&)> on_finished_;
  std::function<void(const msg::FenceRequest&)> on_fence_;
  // By their numbers, the latest one last.
  std::deque<std::pair<std::uint64_t, std::shared_ptr<const ProgramImage>>> programs_;
  std::deque<Waiting> waiting_;
  std::set<std::uint64_t> waiting_ids_;
  std::map<std::uint64_t, std::unique_ptr<Job>> jobs_;
  std::map<std::uint64_t, msg::Finished> unacknowledged_;
  std::map<std::uint64_t, std::unique_ptr<OutputSlot>> slots_;  // slots of some of these
  UntoldStarts untold_;                                         // starts not reported yet
  bool telling_ = false;                                        // tell_timer_ runs
  std::vector<std::unique_ptr<Job>> ended_;  // until none of their functions is running any more
  std::vector<std::unique_ptr<OutputFollower>> followers_;
  transport::Subscription strangers_, sweep_timer_, bury_, start_timer_, tell_timer_;
};

}  // namespace holon::launch
