#include "launch/mpi/part_fences.hpp"

#include <utility>

#include "base/check.hpp"

namespace holon::launch {

const msg::FenceRequest& PartFences::enter(std::string data) {
  HOLON_CHECK(!waiting_);
  const std::uint64_t round = kept_.empty() ? 1 : kept_.back().round + 1;
  if (kept_.size() == 2) kept_.pop_front();
  waiting_ = true;
  return kept_.emplace_back(msg::FenceRequest{job_, round, std::move(data)});
}

bool PartFences::release(std::uint64_t round) {
  if (!waiting_ || kept_.back().round != round) return false;
  waiting_ = false;
  return true;
}

}  // namespace holon::launch
