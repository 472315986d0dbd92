// limits.hpp - throttling: how much of a user, group, account, QOS or queue may run at a time
// (Maui's MAXJOB, MAXPROC, MAXPS and their idle forms).
//
// All credentials of a job must allow it; the strictest wins. A soft limit holds for the priority
// order and the first round of backfill; between soft and hard a job may only use what is left over
// in a last round of backfill.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "base/time.hpp"
#include "qmanager/qos.hpp"

namespace holon::qmanager {

struct Job;

inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// A hard limit below the soft one is raised to it, as Maui does.
struct SoftHard {
  std::int64_t soft = kNoLimit;
  std::int64_t hard = kNoLimit;

  bool operator==(const SoftHard&) const = default;
};

// Of one credential.
struct Limits {
  SoftHard jobs;        // that run
  SoftHard procs;       // in use
  SoftHard proc_ticks;  // processors x remaining limit, summed over what runs; falls as jobs age
  std::int64_t idle_jobs = kNoLimit;  // that are considered while they wait
  std::int64_t idle_procs = kNoLimit;
  // Of a QOS only: in place of the soft and hard limits of its jobs' other credentials, where these
  // have one (Maui's OMAXJOB, OMAXPROC, OMAXPS).
  std::optional<SoftHard> instead_of_jobs;
  std::optional<SoftHard> instead_of_procs;
  std::optional<SoftHard> instead_of_proc_ticks;

  bool operator==(const Limits&) const = default;
};

enum class Credential : std::uint8_t { user, group, account, qos, queue };
inline constexpr std::array<const char*, 5> kCredentialNames = {"user", "group", "account", "qos",
                                                                "queue"};

struct LimitsConfig {
  // By name; "default" is for every name that is not there.
  std::map<std::pair<Credential, std::string>, Limits> of;

  bool empty() const { return of.empty(); }
  // "user", "ann" or "default", "max-job", "2,8" (soft,hard; one number is both). Also max-proc,
  // max-ps (seconds, in ticks of `ticks_per_second`), max-ijob, max-iproc; of a qos omax-job,
  // omax-proc, omax-ps. Errors: invalid_argument with what is accepted.
  Status set(const std::string& credential, const std::string& name, const std::string& key,
             const std::string& value, std::int64_t ticks_per_second);
};

// A limit that keeps a job back.
struct Throttle {
  std::string reason;
  std::optional<Time> until;  // as far as is known now: what runs ages, and then there is room
};

// Counts what runs and says who is over.
class Limiter {
 public:
  explicit Limiter(LimitsConfig config = {}, std::map<std::string, QosConfig> qos = {})
      : config_(std::move(config)), qos_(std::move(qos)) {}

  bool active() const { return !config_.empty(); }
  void started(const Job& job) { count(job, 1); }
  void ended(const Job& job) { count(job, -1); }

  // Which limit keeps the job from starting at `now`; nullopt: none.
  std::optional<Throttle> over(const Job& job, Time now, Duration length, bool hard) const;

  // Processors that the limits leave for the job, were it to start at `now`; may be negative.
  std::int64_t procs_left(const Job& job, Time now, Duration length, bool hard) const;

  // Idle limits are counted in queue order, from the top of each walk.
  void begin_idle() { idle_.clear(); }
  // Takes the job into the sums, or says which idle limit leaves it out.
  std::optional<std::string> over_idle(const Job& job);

 private:
  using Key = std::pair<Credential, std::string>;
  struct Usage {
    std::int64_t jobs = 0;
    std::int64_t procs = 0;
    double proc_ends =
        0;  // sum of processors x planned end: the remaining ticks at any time follow
  };

  const Limits* limits_of(const Key& key) const;
  // The limits that hold for the job's credential `key`, after what its QOS changes about them.
  std::optional<Limits> that_hold(const Key& key, const Job& job) const;
  void count(const Job& job, std::int64_t sign);

  LimitsConfig config_;
  std::map<std::string, QosConfig> qos_;
  std::map<Key, Usage> running_;
  std::map<Key, Usage> idle_;
};

}  // namespace holon::qmanager
