// active_job.hpp - a job of this instance that is not over.
#pragma once
#include <memory>
#include <optional>

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

}  // namespace holon::instance
