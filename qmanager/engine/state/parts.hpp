// parts.hpp - what a stage of a pass is given of the state. Private to qmanager/.
//
// A signature names the parts that the stage uses, a const one where the stage only reads:
//
//   void age(Parts<const SchedulerConfig, Jobs, Queues> s, Time now);
//
// and reaches them as s.config(), s.jobs(), s.queues(). The whole state, and every set of parts
// that has these among others, can be passed; a part that is not named cannot be reached.
//
// A set of parts is one pointer to the whole state, so that a stage passes one register on to the
// stages that it calls. With a reference to each part instead, making these sets was a tenth of the
// code that a job runs through.
#pragma once
#include <concepts>
#include <type_traits>

#include "qmanager/engine/state/accounts.hpp"
#include "qmanager/engine/state/advances.hpp"
#include "qmanager/engine/state/jobs.hpp"
#include "qmanager/engine/state/plan.hpp"
#include "qmanager/engine/state/preemption.hpp"
#include "qmanager/engine/state/progress.hpp"
#include "qmanager/engine/state/queues.hpp"
#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

template <class P, class Part>
concept IsPart = std::same_as<std::remove_const_t<P>, Part>;
// A stage that has the parts Q may pass P on: the same, or a const one of what it may change.
template <class P, class... Q>
concept IsAmong = ((std::same_as<P, Q> || std::same_as<P, const Q>) || ...);

// The access to one part, under the name that it has in the state.
template <class Set, class P>
struct Access;
template <class Set, IsPart<SchedulerConfig> P>
struct Access<Set, P> {
  P& config() const { return static_cast<const Set*>(this)->whole_->config(); }
};
template <class Set, IsPart<Jobs> P>
struct Access<Set, P> {
  P& jobs() const { return static_cast<const Set*>(this)->whole_->jobs(); }
};
template <class Set, IsPart<Plan> P>
struct Access<Set, P> {
  P& plan() const { return static_cast<const Set*>(this)->whole_->plan(); }
};
template <class Set, IsPart<Progress> P>
struct Access<Set, P> {
  P& progress() const { return static_cast<const Set*>(this)->whole_->progress(); }
};
template <class Set, IsPart<Queues> P>
struct Access<Set, P> {
  P& queues() const { return static_cast<const Set*>(this)->whole_->queues(); }
};
template <class Set, IsPart<Accounts> P>
struct Access<Set, P> {
  P& accounts() const { return static_cast<const Set*>(this)->whole_->accounts(); }
};
template <class Set, IsPart<Advances> P>
struct Access<Set, P> {
  P& advances() const { return static_cast<const Set*>(this)->whole_->advances(); }
};
template <class Set, IsPart<Preemption> P>
struct Access<Set, P> {
  P& preemption() const { return static_cast<const Set*>(this)->whole_->preemption(); }
};

template <class... P>
class Parts : public Access<Parts<P...>, P>... {
  static constexpr bool kReadsOnly = (std::is_const_v<P> && ...);
  using Whole = std::conditional_t<kReadsOnly, const Scheduler::State, Scheduler::State>;

 public:
  // NOLINTBEGIN(google-explicit-constructor): a stage takes the whole, and sees its parts.
  Parts(Whole& whole) : whole_(&whole) {}
  template <class... Q>
  requires(IsAmong<P, Q...>&&...) Parts(const Parts<Q...>& more) : whole_(more.whole_) {}
  // NOLINTEND(google-explicit-constructor)

 private:
  template <class... Q>
  friend class Parts;
  template <class Set, class Part>
  friend struct Access;

  Whole* whole_;
};

}  // namespace holon::qmanager
