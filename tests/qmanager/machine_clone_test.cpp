// A machine that was cloned answers as its twin that never was, whatever happens to the clones; and
// a clone answers as the machine would have.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include <fmt/core.h>

#include "qmanager/machine/flat_machine.hpp"

namespace holon::tests {
namespace {

using qmanager::FlatMachine;
using qmanager::Machine;

// What the machine answers to something that `random` chooses; `held`: who holds something on it.
std::string play(Machine& machine, std::set<JobId>& held, std::mt19937& random, Time now) {
  qmanager::JobRequest job;
  job.id = JobId{1 + random() % 30};
  job.procs = 1 + static_cast<std::int64_t>(random() % 6);
  const Duration length = 1 + static_cast<Duration>(random() % 20);
  const unsigned what = random() % 5;
  if (what == 0) return fmt::format("{}", machine.earliest(job, {now, now, length}).value_or(-1));
  if (held.contains(job.id)) {
    if (what < 3) {
      machine.release(job.id, now);
      held.erase(job.id);
      return "released";
    }
    const Interval had = machine.holding(job.id).when;
    const bool moved = machine.set_end(job.id, had.begin + length).has_value();
    return fmt::format("{} {}", moved, machine.holding(job.id).when.end);
  }
  const auto outcome =
      what < 3 ? machine.reserve(job, {now, now, length}) : machine.start(job, now, length);
  const auto* found = std::get_if<resource::Allocation>(&outcome);
  if (found == nullptr) return "not now";
  held.insert(job.id);
  return fmt::format("{} to {}", found->when.begin, found->when.end);
}

TEST(MachineClone, IsNotSeenByTheMachineNorByOtherClones) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    FlatMachine watched(8);
    FlatMachine alone(8);
    std::set<JobId> held_here, held_there;
    std::mt19937 history(seed), same_history(seed), whims(seed + 1);
    for (Time now = 0; now < 100; ++now) {
      const auto clone = watched.clone();
      auto held = held_here;
      for (int n = 0; n < 4; ++n) play(*clone, held, whims, now);
      clone->check_invariants();
      const auto next = watched.clone();
      const auto after = clone->clone();
      auto held_after = held;
      auto held_next = held_here;
      std::mt19937 future = history;
      const std::string answer = play(watched, held_here, history, now);
      ASSERT_EQ(answer, play(alone, held_there, same_history, now));
      ASSERT_EQ(answer, play(*next, held_next, future, now));
      play(*after, held_after, whims, now);
      play(*clone, held, whims, now);
      for (auto* each : {clone.get(), after.get(), next.get(), static_cast<Machine*>(&watched)})
        each->check_invariants();
      for (const JobId id : held_after) ASSERT_GE(after->procs_held(id), 1);
    }
  }
}

}  // namespace
}  // namespace holon::tests
