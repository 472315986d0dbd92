// hiding.hpp - what a user of an instance for several users is told of an own job, without the jobs
// of others.
//
// Reasons are made for the operators of the instance, and name jobs by their numbers ("job 7 is in
// front of it"). Before a user gets one who may not see job 7 the number is taken out.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/strong.hpp"
#include "instance/job/job.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

class JobManager;

class Hiding {
 public:
  // The user of a job, active or over; "": there is no such job.
  using UserOf = std::function<std::string(JobId)>;
  // May that user run jobs in this advance reservation? False: there is none.
  using MayUse = std::function<bool(JobId, const std::string&)>;
  // `viewer`: the reader; nullopt: the reader sees everything.
  Hiding(std::optional<std::string> viewer, UserOf user_of, MayUse may_use)
      : viewer_(std::move(viewer)), user_of_(std::move(user_of)), may_use_(std::move(may_use)) {}
  // `jobs` must outlive it.
  static Hiding from(std::optional<std::string> viewer, const JobManager& jobs);

  // Does the viewer see everything?
  bool hides_nothing() const { return !viewer_; }
  bool is_others(JobId job) const { return viewer_ && user_of_(job) != *viewer_; }

  // "job 7", "array 7" and "jobs 7, 8" of others become "another user's job" and so many "jobs of
  // others"; "advance reservation 9 (name)" that the viewer may not use becomes "an advance
  // reservation".
  std::string reason(std::string_view text) const;
  // Changes it in place. A record or event has to be about a job of this instance: in a child's,
  // numbers are the child's.
  void record(msg::JobRecord& record) const;
  void event(Event& event) const;

 private:
  struct Named;
  std::optional<Named> job_at(std::string_view text) const;
  std::optional<Named> jobs_at(std::string_view text) const;
  std::optional<Named> reservation_at(std::string_view text) const;

  std::optional<std::string> viewer_;
  UserOf user_of_;
  MayUse may_use_;
};

}  // namespace holon::instance
