// model.hpp - what the server of the page knows of a tree of instances: their nodes, jobs and
// plans, kept up from the parts of their streams of events. Pure: `now` is handed in.
//
// Every change has a number, so that a viewer who has seen all up to one is told of the later ones.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "msg/events.hpp"
#include "msg/grant.hpp"
#include "msg/resource.hpp"
#include "msg/schedule.hpp"

namespace holon::web {

// A node, as a listing of resources tells of it.
struct Host {
  std::string name;
  std::int64_t cores = 0, gpus = 0;
  std::string state;   // free, busy, drained, down
  std::string reason;  // of a drained one
  bool operator==(const Host&) const = default;
};

// What an instance holds from above and has given on, and how that came about.
struct GrantView {
  msg::GrantReply now;
  std::vector<msg::GrantEvent> history;  // the newest last
};

struct InstanceView {
  msg::TreeNode node;
  std::map<std::uint64_t, msg::JobRecord> jobs;  // tasks of arrays, too
  std::vector<Host> hosts;
  bool has_resources = false;  // they were told; there may be none
  std::vector<msg::Span> plan;
  std::uint64_t changed = 0;  // the last change of anything that a line about it shows
  std::int64_t given = 0;     // cores that its child instances began with
  // Jobs that hold what a child has beyond that, by id: the child's own job.
  std::map<std::uint64_t, std::uint64_t> grants;
  std::uint64_t moved = 0;  // counts what was heard of moves: after each its grants are asked for
  GrantView grant;          // as it last said
  std::set<std::pair<Time, std::uint64_t>> waiting;  // submission and id of the jobs that wait
  std::map<Time, std::int64_t> ended;  // jobs by the second of their end, a few minutes
  std::set<std::uint64_t> arrays;      // ids of arrays
  std::string last_event;
  Time last_time = 0;
};

class Model {
 public:
  // At most so many jobs that are over are kept of an instance, the newest ones.
  explicit Model(std::size_t most_ended = 200'000) : most_ended_(most_ended) {}

  void take(const std::string& path, const msg::EventsPart& part, Time now);
  // Tasks of arrays are not in the stream: they are asked for.
  void take_jobs(const std::string& path, const std::vector<msg::JobRecord>& jobs, Time now);
  // Why jobs that wait do so, as these records have it; nothing else of them is taken.
  void take_reasons(const std::string& path, const std::vector<msg::JobRecord>& jobs);
  void take_plan(const std::string& path, std::vector<msg::Span> plan);
  void take_resources(const std::string& path, const msg::ResourceReply& reply);
  void take_grants(const std::string& path, GrantView grant);

  const std::map<std::string, InstanceView>& instances() const { return instances_; }
  const InstanceView* find(const std::string& path) const;
  // The number of the last change.
  std::uint64_t version() const { return version_; }
  // Something beside the model that is shown with it has changed.
  void touch() { ++version_; }

  // The job with this path ("/3/7"); nullptr: it is not known.
  const msg::JobRecord* job(const std::string& path) const;
  // Cores that the instance at `path` has beyond those it began with, and those that it has lent to
  // its children in this way.
  std::int64_t extra(const std::string& path) const;
  std::int64_t lent(const std::string& path) const;

  // Of the jobs that wait in the instance at `path` and below it the `most` that were submitted
  // first: their ids, by instance. O(instances x most).
  std::map<std::string, std::vector<std::uint64_t>> waiting_longest(const std::string& path,
                                                                    std::size_t most) const;

  // All jobs of the instance at `path` and of those below it, by instance and id. An array whose
  // tasks are known is left out where `tasks`; its tasks are where not.
  std::vector<const msg::JobRecord*> jobs_below(const std::string& path, bool tasks) const;

 private:
  void put(InstanceView& at, const msg::JobRecord& job, Time now);
  static void count(InstanceView& at, const msg::JobRecord& job, int sign, Time now);
  void note_move(InstanceView& at, const msg::JobEvent& event, const msg::JobRecord& job);
  void note_extra(const std::string& path);
  std::vector<std::string> children_of(const std::string& path) const;
  void forget_old(InstanceView& at) const;

  std::size_t most_ended_;
  std::map<std::string, InstanceView> instances_;
  std::uint64_t version_ = 0;
};

// Is the instance at `path` the one at `top`, or below it?
bool is_below(const std::string& path, const std::string& top);

// The path of the instance that has the job with this path.
std::string instance_of(const std::string& job_path);
// The path of a job with this id, which is also that of the instance that it may be.
std::string path_of(const std::string& instance, std::uint64_t id);

// The nodes of a listing, with the cores and GPUs that R says they have.
std::vector<Host> hosts_of(const msg::ResourceReply& reply);

inline bool is_over(const msg::JobRecord& job) {
  return job.state == "INACTIVE";
}
inline bool is_running(const msg::JobRecord& job) {
  return job.state == "RUN" || job.state == "CLEANUP";
}
inline bool is_waiting(const msg::JobRecord& job) {
  return !is_over(job) && !is_running(job);
}

// Does it wait, or a task of it? An array runs from the start of its first task on.
inline bool has_waiting(const msg::JobRecord& job) {
  return is_waiting(job) || (job.tasks_pending > 0 && !is_over(job));
}

// When it began to hold its resources to work; 0: it did not.
inline Time start_of(const msg::JobRecord& job) {
  return job.t_start > 0 || !is_running(job) ? job.t_start : job.t_alloc;
}

// The end of what the job did: `now` while it runs.
inline Time end_of_run(const msg::JobRecord& job, Time now) {
  return job.t_finish > 0 ? job.t_finish : is_over(job) ? job.t_inactive : now;
}

}  // namespace holon::web
