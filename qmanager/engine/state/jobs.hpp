// jobs.hpp - the jobs of a scheduler by number: those that wait, are held, stand aside or run.
// Private to qmanager/.
#pragma once
#include <memory>
#include <unordered_map>
#include <utility>

#include "qmanager/job.hpp"

namespace holon::qmanager {

class Jobs {
 public:
  Jobs() = default;
  // The jobs of `origin`, for what-if. Each is copied when it is first asked for, so `origin` must
  // not change as long as this is in use.
  static Jobs fork_of(const Jobs& origin) {
    Jobs fork;
    fork.origin_ = &origin;
    return fork;
  }

  const Job* find(JobId id) const {
    const auto found = jobs_.find(id);
    if (found != jobs_.end()) return found->second.get();
    return origin_ == nullptr ? nullptr : origin_->find(id);
  }
  Job* find(JobId id) {
    const auto found = jobs_.find(id);
    if (found != jobs_.end()) return found->second.get();
    return origin_ == nullptr ? nullptr : copied(id);
  }
  // The job of this Jobs for one in a queue's list; a fork's lists point to the jobs of the origin.
  Job& own(Job& listed) { return origin_ == nullptr ? listed : *find(listed.request.id); }
  // Like own(), to be looked at only.
  const Job& seen(const Job& listed) const {
    return origin_ == nullptr ? listed : *find(listed.request.id);
  }

  Job& add(std::unique_ptr<Job> job) {
    const JobId id = job->request.id;
    return *jobs_.insert_or_assign(id, std::move(job)).first->second;
  }
  void forget(JobId id) {
    if (origin_ == nullptr)
      jobs_.erase(id);
    else
      jobs_[id] = nullptr;
  }

  // REQUIRES: this is no fork.
  const auto& all() const { return jobs_; }

 private:
  Job* copied(JobId id) {
    const Job* original = origin_->find(id);
    return original == nullptr ? nullptr : &add(std::make_unique<Job>(*original));
  }

  const Jobs* origin_ = nullptr;                          // the Jobs that this is a fork of
  std::unordered_map<JobId, std::unique_ptr<Job>> jobs_;  // in a fork: those that it has changed
};

}  // namespace holon::qmanager
