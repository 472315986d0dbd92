// priority.hpp - a job's priority as the sum of weighted factors (Maui's SERV, TARGET, RES, USAGE,
// CRED and FS components).
//
// priority = sum over components of weight(component) x cap(component, sum over its factors of
// weight(factor) x cap(factor, value(factor))). A cap bounds the absolute value, before the weight.
// Nothing is weighted by default: then the priority is the urgency alone.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "qmanager/site/fairshare.hpp"
#include "qmanager/site/limits.hpp"

namespace holon::qmanager {

struct Job;

enum class Component : std::uint8_t { service, target, resource, usage, credential, fairshare };
inline constexpr std::size_t kComponents = 6;
inline constexpr std::array<const char*, kComponents> kComponentNames = {"serv",  "target", "res",
                                                                         "usage", "cred",   "fs"};

enum class Factor : std::uint8_t {
  queue_time,  // minutes that count as waited (Accrual)
  xfactor,     // 1 + waited / limit
  bypass,      // jobs behind it that were started before it
  urgency,     // the user's wish, less the default
  // 1 / d^2, where d is the distance from the QOS's target: of the wait, in seconds, or of the
  // xfactor; at least 0.0001
  target_queue_time,
  target_xfactor,
  procs,   // processors
  nodes,   // nodes the request names
  memory,  // units of memory, of swap, of disk
  swap,
  disk,
  proc_seconds,  // processors x limit in seconds
  equivalents,   // processor equivalents (Demand)
  wall_time,     // the limit in seconds
  // Factors of running jobs only, which play no part in any order:
  consumed,        // processors x seconds since the start
  remaining,       // processors x seconds to the limit
  percent,         // of the limit that is over
  execution_time,  // seconds since the start
  user,            // the priority that the configuration gives the job's user, ...
  group,
  account,
  qos,
  queue,
  fs_user,  // percent by which the user is below its fairshare target, ...
  fs_group,
  fs_account,
  fs_qos,
  fs_queue,
};
inline constexpr std::size_t kFactors = 28;
// As the configuration names factors: "queuetime-weight", "xfactor-cap". Maui's, in lower case.
inline constexpr std::array<const char*, kFactors> kFactorNames = {"queuetime",
                                                                   "xfactor",
                                                                   "bypass",
                                                                   "userprio",
                                                                   "targetqueuetime",
                                                                   "targetxfactor",
                                                                   "proc",
                                                                   "node",
                                                                   "mem",
                                                                   "swap",
                                                                   "disk",
                                                                   "ps",
                                                                   "pe",
                                                                   "walltime",
                                                                   "usageconsumed",
                                                                   "usageremaining",
                                                                   "usagepercent",
                                                                   "usageexecutiontime",
                                                                   "user",
                                                                   "group",
                                                                   "account",
                                                                   "qos",
                                                                   "class",
                                                                   "fsuser",
                                                                   "fsgroup",
                                                                   "fsaccount",
                                                                   "fsqos",
                                                                   "fsclass"};
Component component_of(Factor factor);

// Does waiting count while a limit keeps a job back (Maui's JOBPRIOACCRUALPOLICY)?
enum class Accrual : std::uint8_t {
  always,        // all of it, held or not
  queue_policy,  // not while it is held or left out by an idle limit
  full_policy,   // nor while any other limit keeps it back
};

struct Weight {
  double weight = 0;
  double cap = 0;  // 0: none

  bool operator==(const Weight&) const = default;
};

struct PriorityConfig {
  std::array<Weight, kFactors> factors{};
  std::array<Weight, kComponents> components{{{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}}};
  std::map<std::pair<Credential, std::string>, double> of;  // "default" is for every other name
  std::map<std::string, double> qos_queue_time;  // added to the factor's weight (QTWEIGHT) ...
  std::map<std::string, double> qos_xfactor;     // ... XFWEIGHT
  std::map<std::string, double> qos_queue_time_target;  // seconds (QTTARGET) ...
  std::map<std::string, double> qos_xfactor_target;     // ... XFTARGET
  Duration least_limit = 0;  // a shorter limit counts as this in the xfactor (XFMINWCLIMIT)
  Accrual accrual = Accrual::queue_policy;
  Duration interval = 60'000;  // ticks between two computations (Maui's iteration)
  std::int64_t ticks_per_second = 1000;
  FairshareConfig fairshare;

  // Is anything weighted?
  bool active() const;
  // Do priorities change with time alone?
  bool ages() const;
  // "queuetime-weight" = 2, "fs-cap" = 100, "user.ann.priority" = 50, "qos.hi.qtweight" = 5,
  // "qos.hi.qttarget" = 7200 (seconds), "qos.hi.xftarget" = 5,
  // "user.ann.fstarget" = "20", "20+" (a floor) or "20-" (a ceiling). Errors: invalid_argument with
  // what is accepted.
  Status set(const std::string& key, const std::string& value);

  bool operator==(const PriorityConfig&) const = default;
};

// One line of the sum: points = what it adds to the priority.
struct PriorityPart {
  std::string factor;
  double value = 0;   // after its cap
  double weight = 0;  // factor times component
  double points = 0;

  bool operator==(const PriorityPart&) const = default;
};

// A job's place in its queue, and why.
struct PriorityBreakdown {
  std::int64_t priority = 0;
  bool fixed =
      false;  // set by hand (set_priority), expedited or next-to-run: the parts play no part
  Time computed = 0;                // parts change with time
  std::vector<PriorityPart> parts;  // without those of weight 0
};

// The breakdown of the job's priority. O(factors). Deterministic.
PriorityBreakdown priority_of(const PriorityConfig& config, const Fairshare& fairshare,
                              const Job& job, Duration length, Time now);

}  // namespace holon::qmanager
