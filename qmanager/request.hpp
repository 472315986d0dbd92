// request.hpp - what the scheduler is told about a job, as a plain value.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/boxed.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"
#include "qmanager/site/environment.hpp"
#include "resource/allocation.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::qmanager {

inline constexpr std::uint32_t kUrgencyHold = 0;  // never considered
inline constexpr std::uint32_t kUrgencyDefault = 16;
inline constexpr std::uint32_t kUrgencyExpedite = 31;  // before every job that is not expedited

// Units of a consumable that is not in the resource tree (a licence), held as long as the job.
struct Consumes {
  std::string pool;
  resource::Amount amount = 1;
  bool per_slot = false;  // for each of the job's slots, as Grid Engine counts

  bool operator==(const Consumes&) const = default;
};

struct JobRequest {
  // Members that a pass reads of every waiting job stand together, in the fewest cache lines.
  JobId id;
  Duration limit = 0;  // ticks; 0: until the horizon (or the queue's default_duration)
  // Processors, for limits, priorities and flat machines; 0: counted from `spec`.
  std::int64_t procs = 0;
  Time submitted = 0;
  std::uint32_t urgency = kUrgencyDefault;  // the user's wish, 0 to 31
  bool admitted = false;     // before a restart: its queue's policy is not asked again
  bool reserve = true;       // asks for a reservation when it cannot start (Grid Engine's -R)
  bool immediate = false;    // starts in the first pass that looks at it, or is rejected (-now y)
  bool preemptible = false;  // jobs of a queue that preempts may take its place while it runs
  bool checkpoints = false;  // it is told before that, and may use the queue's grace
  JobId advance;             // it runs within this advance reservation (-ar); 0: none

  std::string queue;  // empty: the default queue
  std::string user;
  std::string group;
  std::string account;
  std::string qos;
  // Shared by the jobs of an array; null on a flat machine.
  std::shared_ptr<const resource::Jobspec> spec;
  std::vector<Consumes> consumes;
  // Consumables of which each host has so many for the jobs of the queue; set by the scheduler.
  std::vector<Consumes> on_hosts;
  // Numbers of slots that suit the job, if several do ("4-16", "2,4,8"): it gets the most that fit
  // when it is started or reserved for. A slot is a processor on a flat machine, the one slot at
  // the top of `spec` on a graph; `procs` and the count in `spec` are then those of the smallest.
  Boxed<resource::Count> slots;
  // Grid Engine's parallel environment, of the configuration; "": none. A pattern ("mpi*") stands
  // for any that matches it and that the user may use ...
  std::string environment;
  std::vector<std::string> environments;  // ... these, if they are several; set by the scheduler
  AllocationRule rule;  // how slots are spread over hosts; the environment's where one is named
  std::vector<std::string> required;  // properties its queue asks of nodes; set by the scheduler
  // Attributes that the submitter gave the job, for policies; null: none.
  std::shared_ptr<const std::map<std::string, std::string>> attributes;
};

}  // namespace holon::qmanager
