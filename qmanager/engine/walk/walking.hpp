// walking.hpp - the queues are walked in order. Each job is tried now; if it cannot start, the
// policy says whether it gets a reservation and whether those behind it may try. Private to
// qmanager/.
//
// A kept reservation is moved to the earliest place that the rest of the plan leaves it, once after
// each end of a job (compression).
#pragma once
#include "qmanager/engine/policy_view.hpp"
#include "qmanager/engine/walk/trying.hpp"

namespace holon::qmanager {

// How far a walk goes.
struct Effort {
  Budget budget;          // of jobs; then the walk is sliced (Progress)
  bool thorough = false;  // jobs are looked at even when nothing is free
};

class Walking {
 public:
  using WalkedParts = Parts<const SchedulerConfig, Jobs, Plan, Progress, Queues, Accounts>;

  Walking(WalkedParts s, Time now, Effort effort, Deciding& deciding, Trying& trying)
      : s_(s), policy_(s), now_(now), effort_(effort), deciding_(deciding), trying_(trying) {}

  // Walks on from where the walks stopped: queue by queue or all jobs in one order, with those that
  // wait for backfill windows.
  void go_on();
  // Like go_on(), without windows.
  void go_on_in_order();
  // The last round: jobs between their soft and hard limits may take what no other job could use.
  void use_leftovers();

 private:
  void walk(Queue& queue);
  void walk_in_one_order();
  bool look_at(Queue& queue, std::size_t slot);
  Tried reserve(Job& job, Time not_before);
  void skip(Queue& queue, const Job& job);
  bool fill(Queue& queue);
  bool nothing_to_find(const Queue& queue);
  void consider(Queue& queue, Job& job);
  void pass_over(Queue& queue, Job& job);
  void left_its_place();
  void keep_in_line(Queue& queue, Job& job, std::string reason);
  void wait(Queue& queue, Job& job, bool may_reserve);

  WalkedParts s_;
  PolicyParts policy_;  // parts that policies are asked with
  Time now_;
  Effort effort_;
  Deciding& deciding_;
  Trying& trying_;
};

}  // namespace holon::qmanager
