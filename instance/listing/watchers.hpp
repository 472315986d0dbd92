// watchers.hpp - clients that wait for jobs: "job.wait", and the event streams of "job.watch".
//
// An event of a job costs no more than the clients that wait for this job.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "instance/basics/sliced_work.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/users/hiding.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Watchers {
 public:
  Watchers(const JobManager& jobs, const Journal& journal, AfterCommit& after_commit,
           SlicedWork& portions)
      : jobs_(jobs), journal_(journal), after_commit_(after_commit), sliced_work_(portions) {}

  // `viewer`: the user of these jobs, who must not read of others' jobs; nullopt: the sender sees
  // all.
  void wait(const transport::Request& request, std::optional<std::string> viewer = {});
  void watch(const transport::Request& request, std::optional<std::string> viewer = {});

  void happened(JobId job, const Event& event);
  void ended(JobId job);
  // Jobs first .. last have each had these last events.
  void ended_unstarted(JobId first, JobId last, const std::vector<Event>& events);
  // The instance ends: waiting requests are answered with `why`.
  void close(const Error& why);

 private:
  // One request; the jobs it still waits for are also in by_job_.
  struct Watcher {
    transport::Request request;
    transport::PeerId peer{};
    std::optional<std::string> viewer;
    std::vector<JobId> asked;  // of a wait: jobs whose records are its answer
    std::unordered_set<JobId> left;
    std::size_t counted = 0;  // jobs of this request that are counted in asked_for_
    bool streams = false;
    bool all = false;   // watches every job
    bool begun = true;  // false: events of the past are still to be sent
  };
  using Number = std::uint64_t;

  Watcher& add(const transport::Request& request, std::size_t jobs);
  void stand_by(Number number, JobId job);
  void drop(Number number);
  Status check(const transport::Request& request, const std::vector<std::uint64_t>& ids) const;
  void answer(Number number);
  bool replay_some(Number number, std::size_t& next);
  Result<bool> replay(const Watcher& watcher, JobId job);
  void end_if_over(Number number);
  std::shared_ptr<const std::string> pack_event(JobId job, const Event& event,
                                                const Hiding& hiding) const;
  Hiding hiding_from(std::optional<std::string> viewer) const;
  void send(const Watcher& watcher, std::shared_ptr<const std::string> event);

  const JobManager& jobs_;
  const Journal& journal_;
  AfterCommit& after_commit_;
  SlicedWork& sliced_work_;
  Number last_ = 0;
  std::unordered_map<Number, Watcher> watchers_;
  std::unordered_map<JobId, std::unordered_set<Number>> by_job_;
  std::unordered_set<Number> of_all_;
  std::size_t asked_for_ = 0;  // jobs, of all requests
  std::unordered_map<transport::PeerId, std::size_t> asked_by_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace holon::instance
