#include "instance/grants/reach.hpp"

namespace holon::instance {

SureEnds::Ends SureEnds::changes(const std::vector<holdings::Holding>& holdings,
                                 const ParentReach& reach, Time now) {
  Ends ends, changed;
  next_.reset();
  for (const holdings::Holding& holding : holdings) {
    if (holding.fence == 0) continue;
    const Time sure = reach.sure_until(holding.fence);
    ends.emplace_back(holding.units, sure > now ? holding.until : 0);
    if (sure > now) next_ = std::min(next_.value_or(sure), sure);
  }
  if (ends == known_) return {};
  for (const auto& one : ends)
    if (std::find(known_.begin(), known_.end(), one) == known_.end()) changed.push_back(one);
  known_ = std::move(ends);
  return changed;
}

}  // namespace holon::instance
