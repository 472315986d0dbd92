// fairshare.hpp - who has used how much lately: processor-time by credential in windows of equal
// length, the older the less it counts (Maui's fairshare).
//
// usage of a credential = sum over windows of decay^age x what it used there, in percent of the
// same sum over everybody. What is running counts as it runs.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "base/time.hpp"
#include "qmanager/site/limits.hpp"

namespace holon::qmanager {

struct JobRequest;

// The share that a credential is to have, in percent.
struct FairshareTarget {
  enum class Kind : std::uint8_t { target, floor, ceiling };
  double percent = 0;
  Kind kind = Kind::target;  // a floor counts only from below, a ceiling only from above

  bool operator==(const FairshareTarget&) const = default;
};

struct FairshareConfig {
  Duration interval = 86'400'000;  // ticks of a window (FSINTERVAL)
  std::int64_t depth = 7;          // windows that count (FSDEPTH), 1 to 1000
  double decay = 1.0;              // weight of a window against the next younger one (FSDECAY)
  std::map<std::pair<Credential, std::string>, FairshareTarget> targets;

  bool operator==(const FairshareConfig&) const = default;
};

class Fairshare {
 public:
  explicit Fairshare(FairshareConfig config = {}) : config_(std::move(config)) {}

  // Counts what runs up to `now`. Earlier than the last time: nothing. O(credentials that run x
  // windows passed, at most depth).
  void advance(Time now);
  // `procs` processors of the job run from `since` on, until ended() at the time last advanced to.
  void started(const JobRequest& job, std::int64_t procs, Time since);
  void ended(const JobRequest& job, std::int64_t procs);
  // Charges past use, as of a job of an earlier run of the instance. Use before the windows that
  // count is left out.
  void charge(const JobRequest& job, std::int64_t procs, Interval ran);

  // Processor-ticks that the credential used, each window weighted.
  double used(Credential kind, const std::string& name) const;
  // Percent of all use; 0 when nobody has used anything.
  double usage(Credential kind, const std::string& name) const;
  // Percent that the credential is below (or, negative, above) its target; 0 without one.
  double below_target(Credential kind, const std::string& name) const;

 private:
  using Key = std::pair<Credential, std::string>;
  struct Window {
    double total = 0;
    std::map<Key, double> by;
  };

  std::int64_t index_of(Time t) const { return t / config_.interval; }
  // The end of the window of `t`: later than `t`, except at the last instant there is.
  Time window_end(Time t) const {
    return saturating_add(index_of(t) * config_.interval, config_.interval);
  }
  Window* window_at(Time t);
  void roll_to(Time t);

  FairshareConfig config_;
  std::deque<Window> windows_{1};  // the present one first
  std::map<Key, std::int64_t> running_;
  std::int64_t all_running_ = 0;
  Time counted_to_ = 0;
};

}  // namespace holon::qmanager
