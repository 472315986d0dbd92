// active_job.hpp - a job of this instance that is not over.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "instance/job/job.hpp"
#include "instance/request/submission.hpp"
#include "resource/allocation.hpp"

namespace holon::instance {

// A job that is not INACTIVE.
struct ActiveJob {
  JobId id;
  std::shared_ptr<const Submission> submission;
  Lifecycle life;
  std::optional<resource::Allocation> allocation;  // while it holds resources
};

// The first event of jobs that are taken with this submission.
inline event::Submit submit_event(const Submission& submission, std::uint32_t urgency,
                                  const std::string& user) {
  return {urgency, user, submission.has_default_limit ? submission.limit : 0};
}

}  // namespace holon::instance
