// plan.hpp - who holds what, now and later, and what passes have found out about it. Private to
// qmanager/.
//
// Invariant: every running job and every reservation has a span on the machine, and stands in one
// of the two lists.
#pragma once
#include <cstdint>
#include <experimental/propagate_const>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/shared.hpp"
#include "qmanager/machine/machine.hpp"

namespace holon::qmanager {

// The longest-known failure of a shape: a job of it at least this long cannot start either, until
// something is freed.
struct ShapeMemo {
  std::uint64_t epoch = 0;
  Duration length = 0;
};

// The reason why jobs of a shape cannot start; found when a client asks.
struct Obstacle {
  std::uint64_t version = 0;         // of the plan when the obstacle was found
  std::optional<Shortage> shortage;  // the units that the jobs lack now
  // If nothing is short: the time from which units that the jobs would still need are reserved for
  // others; nullopt: none are.
  std::optional<Time> until;
  std::string leaves{};  // what is gone from then on, in words; empty: nothing
};

struct Plan {
  using ByTime = std::set<std::pair<Time, JobId>>;

  // A const plan allows questions to the machine, and no holding on it.
  std::experimental::propagate_const<std::unique_ptr<Machine>> machine;
  Shared<ByTime> running;       // jobs by planned end
  Shared<ByTime> reservations;  // jobs by planned start
  Shared<ByTime> lent;          // running jobs by when they have back what they lend
  // Jobs that are to have a reservation which no pass has needed yet, in the order in which they
  // get them.
  std::vector<JobId> entitled;
  std::uint64_t epoch = 1;    // grows whenever something is freed
  std::uint64_t version = 1;  // grows whenever something changes
  std::vector<ShapeMemo> shapes;
  std::unordered_map<ShapeId, Obstacle> obstacles;

  Plan fork() const {
    return {machine->clone(), running, reservations, lent, entitled, epoch, version, shapes, obstacles};
  }
  // Ticks that a job of this length has from `begin` on; kTimeMax: until the horizon.
  Duration ticks(Duration length, Time begin) const {
    return length == kTimeMax ? distance(begin, machine->horizon().end) : length;
  }
};

}  // namespace holon::qmanager
