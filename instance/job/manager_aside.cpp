// The part of the JobManager that keeps jobs at which brokers failed away from the scheduler. They
// are held (urgency 0), and the scheduler is not told of them; meta key "jobs.aside" says that it
// was not a person who did that.
#include <fmt/core.h>

#include "instance/job/manager.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr const char* kAsideKey = "jobs.aside";

}  // namespace

void JobManager::set_aside(JobId id, Time now) {
  ActiveJob* job = find_mutable(id);
  if (job == nullptr || !is_pending(job->life.state)) return;
  if (job->life.urgency != qmanager::kUrgencyHold)
    change_urgency(*job, qmanager::kUrgencyHold, now);
  aside_.insert(id.value());
  journal_.set_meta(kAsideKey, transport::pack(aside_));
}

// It has ended, or somebody has decided otherwise.
void JobManager::let_back(JobId id) {
  if (aside_.erase(id.value()) != 0) journal_.set_meta(kAsideKey, transport::pack(aside_));
}

Status JobManager::restore_aside() {
  const auto text = journal_.meta(kAsideKey);
  if (!text) return tl::unexpected(text.error());
  if (!*text) return {};
  auto kept = transport::unpack<std::set<std::uint64_t>>(**text);
  if (!kept) return tl::unexpected(kept.error());
  for (const std::uint64_t id : *kept)
    if (find(JobId(id)) != nullptr) aside_.insert(id);
  return {};
}

}  // namespace holon::instance
