// dead_child.hpp - what `holon remains` has read of the journal of an instance that is gone, for
// the instance above it. Conventions as in instance.hpp.
#pragma once
#include <string>
#include <vector>

#include "msg/instance.hpp"

namespace holon::msg {

// A piece of the records of an instance's jobs and of all below.
struct DeadChild {
  std::vector<JobRecord> jobs;
  std::string next;                   // where the next piece begins; "": this was the last one
  std::vector<std::string> problems;  // parts that could not be read, in words
  bool busy = false;                  // a process has a journal open: to be read again later
  bool is_there = false;              // the journal of the instance itself is
  bool claimed = false;               // busy: the instance's supervisor lives still
  HOLON_FIELDS(jobs, next, problems, busy, is_there, claimed)
};

// All that is kept about one job except its record.
struct DeadChildJob {
  std::string jobspec, R;  // as in JobInfoReply
  std::vector<JobEvent> events;
  std::string output, error;  // the job's output, if it is in the log of outputs
  HOLON_FIELDS(jobspec, R, events, output, error)
};

}  // namespace holon::msg
