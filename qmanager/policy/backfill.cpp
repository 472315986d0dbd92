// Backfill with reservations. The three classics differ in how many of the jobs that cannot start
// are planned.
//
// EASY (Lifka, "The ANL/IBM SP Scheduling System", JSSPP 1995): the first blocked job, the head, is
// planned at its shadow time; any other may start now if the plan has room for its whole limit.
// Guarantee: while no job overruns its limit and priorities and resources stay, the head never
// starts later than its first reservation.
//
// Hybrid: the first N blocked jobs are planned. The guarantee holds for the head; the others' plans
// are made anew in each pass and may move either way.
//
// Conservative (Feitelson and Weil, "Utilization and Predictability in Scheduling the IBM SP2 with
// Backfilling", IPPS 1998): every job is planned when it comes. Guarantee, under the same
// conditions: nobody starts later than first reserved. After a job ends early the plan is
// compressed: once, in queue order, each planned job is moved to the earliest place that the rest
// of the plan leaves it.
//
// Conservative with rebuild (what Fluxion and Maui do): every pass forgets all plans and makes them
// anew in queue order. Fewer holes, no kept reservation but the head's.
#include "qmanager/policy/policy.hpp"

namespace holon::qmanager {

Policy easy() {
  return {.name = "easy", .reservations = 1, .backfill = true};
}

Policy hybrid(std::int64_t depth) {
  return {.name = "hybrid", .reservations = depth, .backfill = true};
}

Policy conservative(std::int64_t max_depth) {
  return {.name = "conservative", .reservations = max_depth, .backfill = true, .keep = true};
}

Policy conservative_rebuild(std::int64_t max_depth) {
  return {.name = "conservative-rebuild", .reservations = max_depth, .backfill = true};
}

}  // namespace holon::qmanager
