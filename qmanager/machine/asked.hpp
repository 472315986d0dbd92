// asked.hpp - what the engine asks of a machine. Every question is const: it changes neither what
// is held nor whether and when a job fits. A machine may remember what it has found out, as long as
// that stays so.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "qmanager/machine/values.hpp"
#include "qmanager/request.hpp"
#include "qmanager/windows.hpp"
#include "resource/allocation.hpp"

namespace holon::qmanager {

class AskedOfMachine {
 public:
  virtual ~AskedOfMachine() = default;

  // ---- of a job

  // Could the job run on the idle machine? nullopt: yes; else why not. Errors: a request that makes
  // no sense.
  virtual Result<std::optional<std::string>> refuses(const JobRequest& job, Time now,
                                                     Duration length) const = 0;
  // The number of the job's shape. A shape gets its number when first asked for; none is reused.
  virtual ShapeId shape_of(const JobRequest& job) const = 0;
  // Processors the job counts for in limits, priorities and metrics, >= 1.
  virtual std::int64_t procs_of(const JobRequest& job) const = 0;
  // Could the job run on what is up if idle? If not, it stands aside until resources change.
  virtual bool placeable(const JobRequest& job) const = 0;
  // True: the job certainly cannot start at `now`. A cheap look: false proves nothing.
  virtual bool hopeless(const JobRequest& job, Time now) const = 0;
  // What the job lacks over `when`, which begins at `now`. nullopt: nothing, it fits. The text may
  // count what is free for a shorter time, if it does not fit for that either.
  virtual std::optional<Shortage> shortage(const JobRequest& job, Interval when) const = 0;
  // The start that HeldOnMachine::reserve() would give.
  virtual std::optional<Time> earliest(const JobRequest& job, const Wish& wish) const = 0;
  // Were the job's reservation given back, reserve() could make it anew at this time >= now or
  // later, not before. nullopt: certainly not before the time it has. REQUIRES: it holds one.
  virtual std::optional<Time> earlier_start(const JobRequest& job, Time now) const = 0;

  // ---- of what a job holds

  // Is the job's reservation one of particular units? False: of a number of them, so that two over
  // the same time leave the same to others.
  virtual bool reserves_units(const JobRequest& job) const = 0;
  // Are all units that the job holds up, and there to the end of its span? True also where it is
  // not decided yet which units the job gets. REQUIRES: the job holds something.
  virtual bool intact(JobId job) const = 0;
  // The time when the first of the job's nodes is gone; kTimeMax: they stay.
  virtual Time end_of_nodes(JobId job) const = 0;
  virtual resource::Allocation holding(JobId job) const = 0;
  // What the job holds, with its consumables.
  virtual Units units_of(JobId job) const = 0;
  // Processors the job holds, now or later. REQUIRES: it holds something.
  virtual std::int64_t procs_held(JobId job) const = 0;
  // The nodes that the job holds something on, each once.
  virtual std::vector<NodeId> nodes_of(JobId job) const = 0;
  // The names of the nodes that the job holds something on.
  virtual std::vector<std::string> hosts_of(JobId job) const = 0;
  // The request with its environment resolved to the one that the job was placed in. REQUIRES: the
  // job holds something.
  virtual JobRequest settled(const JobRequest& job) const = 0;

  // ---- of the machine

  // True: certainly no job can start at `now`, whatever it asks for.
  virtual bool exhausted(Time now) const = 0;
  // Windows of what is free from `now` on beside all reservations, widest first.
  virtual std::vector<Window> windows(Time now) const = 0;
  // Processors in all, and free in the plan at `now`.
  virtual std::int64_t procs() const = 0;
  virtual std::int64_t free_procs(Time now) const = 0;
  // Units of another type in all; 0 on a machine that counts processors only.
  virtual resource::Amount total(std::string_view type) const = 0;
  virtual Interval horizon() const = 0;
  // How many nodes are down or drained, as a clause: "all 4 nodes are drained"; "": none.
  virtual std::string outage() const = 0;
  // The nodes that will be gone at a time after `now` that is known, soonest first.
  virtual std::vector<Leaving> leaving(Time now) const = 0;
};

}  // namespace holon::qmanager
