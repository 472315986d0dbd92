// parts.hpp - what a stage of a pass is given of the state. Private to qmanager/.
//
// A signature names the parts that the stage uses, a const one where the stage only reads:
//
//   void age(Parts<const SchedulerConfig, Jobs, Queues> s, Time now);
//
// and has them as members: s.config, s.jobs, s.queues. The whole state, and every set of parts that
// has these among others, can be passed; a part that is not named cannot be reached.
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

// One part under the name that it has in the state.
template <class P>
struct Given;
template <IsPart<SchedulerConfig> P>
struct Given<P> {
  P& config;
  explicit Given(auto& all) : config(all.config) {}
};
template <IsPart<Jobs> P>
struct Given<P> {
  P& jobs;
  explicit Given(auto& all) : jobs(all.jobs) {}
};
template <IsPart<Plan> P>
struct Given<P> {
  P& plan;
  explicit Given(auto& all) : plan(all.plan) {}
};
template <IsPart<Progress> P>
struct Given<P> {
  P& progress;
  explicit Given(auto& all) : progress(all.progress) {}
};
template <IsPart<Queues> P>
struct Given<P> {
  P& queues;
  explicit Given(auto& all) : queues(all.queues) {}
};
template <IsPart<Accounts> P>
struct Given<P> {
  P& accounts;
  explicit Given(auto& all) : accounts(all.accounts) {}
};
template <IsPart<Advances> P>
struct Given<P> {
  P& advances;
  explicit Given(auto& all) : advances(all.advances) {}
};
template <IsPart<Preemption> P>
struct Given<P> {
  P& preemption;
  explicit Given(auto& all) : preemption(all.preemption) {}
};

template <class... P>
struct Parts : Given<P>... {
  // NOLINTNEXTLINE(google-explicit-constructor): a stage takes the whole, and sees its parts.
  template <class All>
  Parts(All& all) : Given<P>(all)... {}
};

}  // namespace holon::qmanager
