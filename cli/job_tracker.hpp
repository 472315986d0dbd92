// job_tracker.hpp - how far jobs that somebody waits for are, from their records and from the
// events that come after these. Of an array each task counts, which are known by its records alone.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/connect.hpp"
#include "cli/show/progress.hpp"
#include "cli/verb.hpp"
#include "msg/events.hpp"

namespace holon::cli {

class JobTracker {
 public:
  explicit JobTracker(std::vector<std::uint64_t> ids);

  // Takes a record of any job, which is as far as its events up to now, or further.
  void take(const msg::JobRecord& record);
  // Arrays and tasks of arrays that are not over: only their records say how far they are.
  std::vector<std::uint64_t> known_by_records() const;
  // Takes an event of any job. False: it is known already, of another job, or of an array.
  bool take(const msg::JobEvent& event);

  const ProgressCounts& counts() const { return counts_; }
  bool all_over() const { return counts_.ended == counts_.total(); }
  // Called for each job that has ended and has not completed.
  std::function<void(const FailedJob&)> on_failure = [](const FailedJob&) {};

 private:
  enum class At : std::uint8_t { waiting, running, over };
  struct Known {
    At at = At::waiting;
    int exit_code = 0;
    std::string trouble;  // of the attempt that runs: "timeout: its time limit was reached"
    bool by_records = false;
    ProgressCounts tasks;  // of an array, which itself counts until they are known
  };
  void take_array(const msg::JobRecord& record, Known& array);
  void move(Known& job, At to);
  // `failed.why` empty: it has not failed.
  void end(Known& job, const FailedJob& failed);

  std::map<std::uint64_t, Known> jobs_;
  ProgressCounts counts_;
};

// The place in the instance's events from which nothing will be missed. Costs the same however many
// jobs there are. Errors: those of Client::follow().
Result<std::string> cursor_of_now(Client& client);

// Jobs whose progress is to be shown.
struct TrackedJobs {
  std::vector<std::uint64_t> ids;
  std::string cursor;  // events are read from here on
  bool known = true;   // were the jobs there when that was taken, or are some of them arrays?
};

// Shows on `progress` how far the jobs are until all are over. Errors: not_found (one of them),
// those of Client::follow().
Result<ProgressCounts> show_progress(Client& client, const TrackedJobs& jobs,
                                     ProgressLine progress);

// Shows all jobs of the instance, until none waits or runs, and then, with `stay`, goes on.
Result<ProgressCounts> show_progress_of_all(Client& client, bool stay, ProgressLine progress);

}  // namespace holon::cli
