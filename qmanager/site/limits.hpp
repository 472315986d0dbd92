// limits.hpp - throttling: how much of a user, group, account, QOS, queue or the whole machine may
// run at a time (Maui's MAXJOB, MAXPROC, MAXPS, ..., their idle forms and overrides).
//
// All credentials of a job must allow it; the strictest wins. A soft limit holds for the priority
// order and the first round of backfill; between soft and hard a job may only use what is left over
// in a last round of backfill.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "qmanager/site/qos.hpp"

namespace holon::qmanager {

struct Job;

inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// A hard limit below the soft one is raised to it, as Maui does.
struct SoftHard {
  std::int64_t soft = kNoLimit;
  std::int64_t hard = kNoLimit;

  bool operator==(const SoftHard&) const = default;
};

// The quantities summed over jobs.
enum class Measure : std::uint8_t {
  jobs,
  procs,
  nodes,
  proc_ticks,   // processors x remaining limit; falls as jobs age
  ticks,        // remaining limits; falls as jobs age
  equivalents,  // processor equivalents (Demand)
  memory,
};
inline constexpr std::size_t kMeasures = 7;
// Measures as the configuration names them: "max-job", "max-ijob", "omax-job", "omax-ijob".
inline constexpr std::array<const char*, kMeasures> kMeasureNames = {"job", "proc", "node", "ps",
                                                                     "wc",  "pe",   "mem"};

// The limits of one credential, by measure.
struct Limits {
  std::array<SoftHard, kMeasures> active{};  // over what runs
  // Over jobs that are considered while they wait; the hard value alone counts.
  std::array<SoftHard, kMeasures> idle{};
  // Limits of a QOS in place of those of its jobs' other credentials, where these have one (Maui's
  // OMAXJOB, OMAXIJOB, ...).
  std::array<std::optional<SoftHard>, kMeasures> instead_of_active{};
  std::array<std::optional<SoftHard>, kMeasures> instead_of_idle{};

  bool operator==(const Limits&) const = default;
};

enum class Credential : std::uint8_t { user, group, account, qos, queue };
inline constexpr std::size_t kCredentials = 5;
inline constexpr std::array<const char*, kCredentials> kCredentialNames = {
    "user", "group", "account", "qos", "queue"};

// The jobs that are summed. Without a credential: all jobs; with a queue as well: the credential's
// jobs in that queue.
struct Scope {
  std::optional<Credential> kind;
  std::string name;
  std::string queue;

  auto operator<=>(const Scope&) const = default;
};

struct LimitsConfig {
  // Limits by name; "default" gives every limit that a name lacks, and all limits of a name not
  // listed.
  std::map<std::pair<Credential, std::string>, Limits> of;
  std::map<Scope, Limits> within_queue;  // of a credential in a queue; either may be "default"
  Limits system;                         // of everything together
  // Limits on any single job: a larger one is refused at submission (Maui's SYSTEMMAXPROCPERJOB,
  // SYSTEMMAXPROCSECONDPERJOB, SYSTEMMAXJOBWALLTIME).
  std::int64_t job_procs = kNoLimit;
  std::int64_t job_proc_ticks = kNoLimit;
  std::int64_t job_ticks = kNoLimit;

  bool empty() const { return of.empty() && within_queue.empty() && system == Limits{}; }
  // `whose`: "user.ann", "user.default", "system", "queue.fast.user.ann". `key`: "max-job", ...
  // `value`: "2,8" (soft,hard; one number is both), processor-seconds and times in seconds, in
  // ticks of `ticks_per_second`. Of system also max-proc-per-job, max-procsecond-per-job,
  // max-job-walltime. Errors: invalid_argument with what is accepted.
  Status set(const std::string& whose, const std::string& key, const std::string& value,
             std::int64_t ticks_per_second);
  // Adjusts everything counted in ticks for ticks that are `by` times as long.
  void lengthen_ticks(std::int64_t by);
  // Why a single job of this size can never run.
  std::optional<std::string> refuses(std::int64_t procs, Duration length) const;

  bool operator==(const LimitsConfig&) const = default;
};

// A limit that keeps a job back.
struct Throttle {
  std::string reason;
  std::optional<Time> until;  // as known now: running jobs age, and then there is room
};

// Counts what runs and says who is over.
class Limiter {
 public:
  explicit Limiter(LimitsConfig config = {}, std::map<std::string, QosConfig> qos = {});

  bool active() const { return active_; }
  bool counts_idle() const { return counts_idle_; }  // some limit is over jobs that wait
  void started(const Job& job) { count(job, 1); }
  void ended(const Job& job) { count(job, -1); }

  // Which limit keeps the job from starting at `now`; nullopt: none.
  std::optional<Throttle> over(const Job& job, Time now, Duration length, bool hard) const;

  // Processors that the limits leave for the job, were it to start at `now`; may be negative.
  std::int64_t procs_left(const Job& job, Time now, Duration length, bool hard) const;

  // Idle limits are counted in queue order, from the top of each walk.
  void begin_idle() {
    idle_.clear();
    full_.clear();
    eased_.clear();
  }
  // Takes the job into the sums, or says which idle limit leaves it out.
  std::optional<std::string> over_idle(const Job& job, Duration length);
  // Notes that the job waits no more.
  void idle_no_more(const Job& job);
  // Was somebody left out who may be let in when the next walk begins?
  bool idle_eased() const;
  // Do the sums count a job that waits no more?
  bool idle_outdated() const { return !eased_.empty(); }

 private:
  using Amounts = std::array<double, kMeasures>;
  __extension__ using Wide = __int128;  // sums of processors x times are exact in it
  // Sums over jobs. Times are summed as ends, from which what remains at any time follows. A job
  // without an end exceeds any limit; the other sums are known again when it is over.
  struct Sums {
    Amounts amounts{};  // without the times
    std::int64_t endless = 0;
    std::int64_t jobs = 0;  // jobs that end, and their processors
    std::int64_t procs = 0;
    Wide ends = 0;
    Wide proc_ends = 0;

    void count(const Job& job, int sign);
    Amounts held_at(Time now) const;
  };
  // The limits of one of the job's scopes; for each measure the first that sets it counts.
  struct Holding {
    Scope scope;
    std::vector<const Limits*> named;
    const Limits* instead = nullptr;  // the limits of its QOS
    const QosConfig* flags = nullptr;

    SoftHard bound(Measure measure, bool idle) const;
  };

  std::vector<Holding> that_hold(const Job& job) const;
  void add_credential(std::vector<Holding>& all, const Job& job, Credential kind) const;
  void add_within_queue(std::vector<Holding>& all, const Job& job, Credential kind) const;
  Sums running(const Scope& scope) const;
  static std::optional<Time> gives_way(const Sums& sums, Measure measure, Time now, double by);
  void count(const Job& job, int sign);

  LimitsConfig config_;
  std::map<std::string, QosConfig> qos_;
  bool active_;  // there are limits
  bool counts_idle_;
  std::array<bool, kCredentials> limited_{};         // some credential of this kind has limits ...
  std::array<bool, kCredentials> limited_within_{};  // ... within a queue
  std::map<Scope, Sums> running_;
  std::map<Scope, Amounts> idle_;
  std::set<Scope> full_;   // scopes that left a job out of idle_
  std::set<Scope> eased_;  // scopes of which a job waits no more
};

}  // namespace holon::qmanager
