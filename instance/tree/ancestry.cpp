#include "instance/tree/ancestry.hpp"

#include <algorithm>

#include "launch/tracking/process.hpp"

namespace holon::instance {

bool descends_from(std::int64_t pid, const std::vector<event::Process>& ancestors) {
  constexpr int kDeepest = 10'000;  // pids may be reused while we look: it must end
  for (int steps = 0; pid > 1 && steps < kDeepest; ++steps) {
    const auto stat = launch::stat_of(static_cast<pid_t>(pid));
    if (!stat) return false;
    const auto is_it = [&](const event::Process& p) {
      return p.pid == pid && p.start == stat->start;
    };
    if (std::any_of(ancestors.begin(), ancestors.end(), is_it)) return true;
    pid = stat->parent;
  }
  return false;
}

}  // namespace holon::instance
