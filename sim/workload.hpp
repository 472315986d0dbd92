// workload.hpp - jobs of a trace, as the simulator runs them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace holon::sim {

inline constexpr std::int64_t kNoJob = -1;
inline constexpr std::int64_t kMsPerSecond = 1000;

// Times are ticks of its workload from the begin of the trace.
struct TraceJob {
  std::int64_t id = 0;
  Time submit = 0;
  std::int64_t procs = 1;
  Duration limit = 0;  // what the user asked for; 0: no limit
  Duration run = 0;    // how long it really runs
  std::string user;    // empty: unknown
  std::string group;
  std::string queue;
  std::string account{};  // these two only in JSON Lines
  std::string qos{};
  bool preemptible = false;  // as JobRequest has them; these, too
  bool checkpoints = false;
  std::size_t line = 0;  // of the trace; 0: not from a file
  // The job after whose end, and `think` seconds more, this one is submitted, whatever `submit`
  // says; kNoJob: `submit` holds.
  std::int64_t preceding = kNoJob;
  Duration think = 0;
};

struct Workload {
  std::vector<TraceJob> jobs;  // sorted by (submit, id)
  std::int64_t max_procs = 0;  // of the machine the trace is from, as its header says; 0: not said
  std::vector<std::string> comments;
  std::int64_t ticks_per_second = 1;  // or 1000: where a time is no whole number of seconds
};

// Makes seconds the ticks of a workload that counts in ms, if no time of a job has a fraction.
void settle_ticks(Workload& workload);

// Ticks as seconds, "12", "12.5", with as many places as there are.
std::string seconds_text(std::int64_t ticks, std::int64_t ticks_per_second);

// Orders jobs by (submit, id), equal ones as they were. Complexity: linear where they are in this
// order already, as most logs are; otherwise n log n moves of a job.
void sort_by_submission(std::vector<TraceJob>& jobs);

// A fault that a reader had to mend or whose job it left out, and its place.
struct TraceIssue {
  std::size_t line = 0;
  std::string field;
  std::string what;
  bool skipped = false;    // the job was left out; else it was mended
  std::size_t column = 0;  // of the line, from 1; 0: all of it
};

}  // namespace holon::sim
