// machine.hpp - what the backfill engine needs to know about resources: the one seam below the
// policies.
//
// A machine keeps a plan: who holds how much, now (allocations) and later (reservations). Both are
// spans of the same plan, so that "does this delay a reservation?" is the same question as "is it
// free?". Calls that fail change nothing. A length of kTimeMax means until the horizon. No clock:
// `now` is an argument. Not thread-safe: one owner.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"
#include "qmanager/request.hpp"
#include "qmanager/windows.hpp"
#include "resource/allocation.hpp"
#include "resource/store.hpp"

namespace holon::qmanager {

// Jobs of one shape ask for the same resources, so that what failed for one fails for all until
// something is freed.
using ShapeId = std::uint32_t;

// When a job is to run: as early as it fits.
struct Wish {
  Time now = 0;
  Time not_before = 0;  // >= now
  Duration length = 0;
};

// What keeps a job from being placed.
struct Shortage {
  std::string text;  // how much it wants of what, and how much is free
  // The jobs that hold the consumable that is short, with the amount each holds, the one that ends
  // soonest first. Empty where no consumable is short.
  std::vector<std::pair<JobId, resource::Amount>> holders;
};

// What a job or a reservation uses: a part of the machine, and amounts of consumables by name.
struct Units {
  resource::Allocation allocation;
  std::map<std::string, resource::Amount> pools;

  bool empty() const { return allocation.shares.empty() && pools.empty(); }
  // Both at once.
  void add(const Units& other) {
    allocation.shares.insert(allocation.shares.end(), other.allocation.shares.begin(),
                             other.allocation.shares.end());
    for (const auto& [name, amount] : other.pools) pools[name] += amount;
  }
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

class Machine {
 public:
  using Outcome = resource::MatchOutcome;

  virtual ~Machine() = default;

  // The same plan once more, for what-if: what happens to one is not seen by the other. It may look
  // at what this one was made over, but for that plan. O(what is planned), on a graph also O(V).
  virtual std::unique_ptr<Machine> clone() const = 0;

  // Could it run on the idle machine? nullopt: yes; else why not. Errors: a request that makes no
  // sense.
  virtual Result<std::optional<std::string>> refuses(const JobRequest& job, Time now,
                                                     Duration length) = 0;
  virtual ShapeId shape_of(const JobRequest& job) = 0;
  // Processors the job counts for in limits, priorities and metrics, >= 1.
  virtual std::int64_t procs_of(const JobRequest& job) const = 0;

  // Jobs may come that refuses() tells against: placeable() keeps them aside until there is more.
  virtual void expect_growth() {}
  // Could it run on what is up now, were it idle? false sends the job aside until resources change.
  virtual bool placeable(const JobRequest& job) = 0;
  // Certainly nothing can start at `now`, whatever it asks for.
  virtual bool exhausted(Time now) = 0;
  // Certainly not startable at `now`; a cheap look that may say false for a job that does not fit,
  // never the reverse.
  virtual bool hopeless(const JobRequest& job, Time now) = 0;
  // What the job lacks over `when`, which begins at `now`. nullopt: nothing, it fits.
  virtual std::optional<Shortage> shortage(const JobRequest& job, Interval when) = 0;
  // Holds [now, now + length) for the job, or NotNow.
  virtual Outcome start(const JobRequest& job, Time now, Duration length) = 0;
  // Holds the earliest [t, t + length) with t >= not_before, or NotNow when there is none before
  // the horizon. One that begins at `now` is an allocation.
  virtual Outcome reserve(const JobRequest& job, const Wish& wish) = 0;
  // The start that reserve() would give, holding nothing.
  virtual std::optional<Time> earliest(const JobRequest& job, const Wish& wish) = 0;
  // Are all units that the job holds up? True also where it is not decided yet which units the job
  // gets. REQUIRES: the job holds something.
  virtual bool intact(JobId) { return true; }
  // How many nodes are down or drained, as a clause: "all 4 nodes are drained"; "": none.
  virtual std::string outage() { return {}; }
  // A reservation that begins at `now` becomes an allocation. NotNow: its units are gone.
  virtual Outcome claim(const JobRequest& job, Time now, Duration length) = 0;
  // Holds exactly `when`, which may begin later, for a holder that stays whatever is planned anew.
  virtual Outcome hold_exactly(const JobRequest& job, Interval when, Time now) = 0;
  // Chooses the units of a job that starts now again: the same amount over the same time, on the
  // places with the best scores. Nothing changes where there are no places, where no place has a
  // score, and for jobs whose slots are spread by other rules. Returns what the job then holds.
  virtual resource::Allocation place_by(const JobRequest& job, Time, const PlaceScore&) {
    return holding(job.id);
  }
  // The nodes that the job holds something on, each once.
  virtual std::vector<NodeId> nodes_of(JobId) const { return {}; }
  // The request with its environment resolved to the one that the job was placed in. REQUIRES: the
  // job holds something.
  virtual JobRequest settled(const JobRequest& job) const { return job; }
  // A new machine over what the holder holds, with the holder's interval as horizon. Allocations of
  // it have the names of this machine. Errors: internal faults of the resources' formats.
  virtual Result<std::unique_ptr<Machine>> part(JobId holder) = 0;
  // The job's span ends now: the job no longer uses what it holds, though release() is still to
  // come (replay of traces).
  virtual void vacate(JobId, Time) {}
  // Were the job's reservation given back, reserve() could make it anew at this time >= now or
  // later, not before. nullopt: certainly not before the time it has. REQUIRES: it holds one.
  virtual std::optional<Time> earlier_start(const JobRequest&, Time now) { return now; }
  // Gives back what the job holds from `now` on. REQUIRES: it holds something.
  virtual void release(JobId job, Time now) = 0;
  // Holds a given allocation (recovery).
  virtual Status impose(const JobRequest& job, const resource::Allocation& allocation) = 0;
  // Moves the end of what the job holds; overcommitted if a later span is in the way.
  virtual Status set_end(JobId job, Time end) = 0;
  // What the job holds.
  virtual resource::Allocation holding(JobId job) const = 0;
  // The same with its consumables.
  virtual Units units_of(JobId job) const = 0;
  // For a job that has used `units` since when.begin and goes on, though others have reserved them:
  // holds until when.end those units that nobody else holds between `now` and then, and returns the
  // rest. REQUIRES: the job holds nothing.
  virtual Units hold_what_is_left(JobId job, const Units& units, Interval when, Time now) = 0;
  // Marks the units that belong to this machine as used by an outsider: no job gets them until the
  // next call. Returns the other units. What is held or planned stays.
  virtual Units occupy(Units units) = 0;

  // Processors the job holds, now or later. REQUIRES: it holds something.
  virtual std::int64_t procs_held(JobId job) const = 0;

  // What is free from `now` on beside all reservations, widest first.
  virtual std::vector<Window> windows(Time now) = 0;
  // Processors in all, and free in the plan at `now`.
  virtual std::int64_t procs() const = 0;
  virtual std::int64_t free_procs(Time now) = 0;
  // Units of another type in all; a machine that counts processors only has none.
  virtual resource::Amount total(std::string_view) const { return 0; }
  virtual Interval horizon() const = 0;

  // What is up, or the horizon, may have changed.
  virtual void resources_changed() = 0;
  // Was the way of planning changed since last asked? Then all reservations must be made again.
  virtual bool must_replan() { return false; }

  // Each host is to have so many of these consumables, by the names in JobRequest::on_hosts. False:
  // this machine has no hosts.
  virtual bool add_host_pools(const std::map<std::string, resource::Amount>&) { return false; }

  // From now on it is to be known which units a reservation has, not only how many. True: all
  // reservations must be made again.
  virtual bool settle() { return false; }

  virtual void check_invariants() const = 0;
};

}  // namespace holon::qmanager
