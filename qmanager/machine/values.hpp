// values.hpp - what the engine and a machine tell each other about a job.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strong.hpp"
#include "base/time.hpp"
#include "resource/allocation.hpp"
#include "resource/graph/graph.hpp"

namespace holon::qmanager {

// Jobs of one shape ask for the same resources, so that what failed for one fails for all until
// something is freed.
using ShapeId = std::uint32_t;

// The start of a job: as early as it fits.
struct Wish {
  Time now = 0;
  Time not_before = 0;  // >= now
  Duration length = 0;
};

// The lack that keeps a job from being placed.
struct Shortage {
  std::string text;  // how much it wants of what, and how much is free
  // The jobs that hold the consumable that is short, with the amount each holds, the one that ends
  // soonest first. Empty where no consumable is short.
  std::vector<std::pair<JobId, resource::Amount>> holders;
};

// The use of a job or a reservation: a part of the machine, and amounts of consumables by name.
struct Units {
  resource::Allocation allocation;
  std::map<std::string, resource::Amount> pools;

  bool empty() const { return allocation.shares.empty() && pools.empty(); }
  // Adds both the allocation and the pools.
  void add(const Units& other) {
    allocation.shares.insert(allocation.shares.end(), other.allocation.shares.begin(),
                             other.allocation.shares.end());
    for (const auto& [name, amount] : other.pools) pools[name] += amount;
  }

  bool operator==(const Units&) const = default;
};

// What will be gone from `when` on.
struct Leaving {
  Time when = 0;
  std::string what;  // "n[3-4] of it", "2 cores and 1 gpu of n3"
};

// A node, and the vertex above it.
struct NodeId {
  resource::VertexId node;
  resource::VertexId above;
};

// A node that a job could be placed on.
struct Place {
  NodeId id;
  std::string name;        // "node3"
  std::string within;      // path of the vertex above the node, "/cluster0/rack1"
  std::int64_t procs = 0;  // in it
  std::int64_t free = 0;   // of these, before the job is placed
};
// How well the job is placed there, the largest number best; nullopt: no opinion.
using PlaceScore = std::function<std::optional<double>(const Place&)>;

}  // namespace holon::qmanager
