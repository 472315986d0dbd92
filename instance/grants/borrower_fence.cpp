// borrower_fence.cpp - what may be taken from this instance while it is out of reach: nothing new
// is placed there when the instance above has not been heard for a while (reach.hpp), and what was
// taken leaves the graph once its jobs are over.
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "instance/grants/borrower.hpp"
#include "resource/graph/graph.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;

// The shortest of what the instance has; 0: nothing of it may be fenced.
Duration shortest_fence(const h::Link& up) {
  Duration least = 0;
  for (const h::Holding& holding : up.holdings)
    if (holding.fence > 0) least = least == 0 ? holding.fence : std::min(least, holding.fence);
  return least;
}

}  // namespace

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

Time Borrower::sure_until(const ActiveJob& job) const {
  if (shortest_fence(uses_.book.up()) == 0 || !job.allocation) return kTimeMax;
  const auto units = units_of(uses_.store.graph(), *job.allocation);
  if (!units) return kTimeMax;
  Time sure = kTimeMax;
  for (const h::Holding& holding : uses_.book.up().holdings)
    if (holding.fence > 0 && !h::have_none_in_common(holding.units, *units))
      sure = std::min(sure, fenced_ ? 0 : reach_.sure_until(holding.fence));
  return sure;
}

Duration Borrower::sure_for(Time now) const {
  const Duration fence = shortest_fence(uses_.book.up());
  if (fence == 0) return -1;
  return fenced_ ? 0 : std::max<Duration>(0, reach_.sure_until(fence) - now);
}

std::optional<Time> Borrower::keep_in_touch(Time now) {
  const Duration fence = shortest_fence(uses_.book.up());
  if (fence == 0) return std::nullopt;
  if (next_pulse_ > now) return next_pulse_;
  next_pulse_ = now + ParentReach::interval(fence);
  // An answer after the commit alone says something of what is in the journal.
  uses_.after_commit.add([this, now] {
    ask_pulse([this, now](const msg::GrantPulseReply& told) {
      if (!told.is_sure || fenced_) return;
      reach_.answered(now, told.left);
      is_sure();
    });
  });
  return next_pulse_;
}

// What is not sure takes no new work: it ends now, as far as the scheduler knows.
std::optional<Time> Borrower::use_what_is_sure(Time now) {
  const ParentReach nobody;
  const auto& reach = fenced_ ? nobody : reach_;
  const auto changed = ends_.changes(uses_.book.up().holdings, reach, now);
  for (const auto& [units, end] : changed)
    for (const auto v : places_of(units)) uses_.store.set_end_of(v, end);
  if (!changed.empty()) uses_.jobs.resources_changed();
  return ends_.next();
}

void Borrower::hear_of_fence(const h::Fenced& fenced) {
  if (fenced.epoch <= uses_.book.up().epoch) return;
  if (!fenced_)
    spdlog::error(
        fmt::format("the instance above has taken back what it had lent: {}", fenced.why));
  if (!fenced_ || fenced_->epoch < fenced.epoch) fenced_ = fenced;
}

// What was taken is in nobody's book here once no job is on it: until then the instance above says
// at each contact that it is gone.
void Borrower::leave_what_was_taken(Time now) {
  if (!fenced_) return;
  const h::Units taken = without(units_of(uses_.book.up()), fenced_->keeps);
  drain(taken);
  h::Recall by_force;
  by_force.units = taken;
  by_force.mode = h::RecallMode::lost;
  by_force.why = fenced_->why;
  kill_there(by_force, now);
  take_below(taken, fenced_->why, now);
  if (!is_idle(taken)) return;
  const h::Turn turn = h::receive(uses_.book.book(), h::kParent, *fenced_, now);
  write_and_send(turn, now);
  shrink(taken);
  fenced_.reset();
  connected();  // what was asked for may have been on its way, and was taken, too
}

}  // namespace holon::instance
