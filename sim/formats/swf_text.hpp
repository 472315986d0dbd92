// swf_text.hpp - jobs as text in the Standard Workload Format, which read_swf() takes back as the
// same jobs.
//
// Times have their milliseconds; a requested time of 0 is none, as a note in the header says. Names
// stand behind the fields' numbers in the header, as
// "; Note: user 3 is ann".
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace holon::sim {

// One line. All times in ms; -1 is not known, which is so for a job that never ran.
struct SwfJob {
  std::int64_t id = 0;
  Time submit = 0;  // since 1970
  Duration wait = -1, run = -1;
  std::int64_t procs = 0;
  Duration cpu = -1;            // of each processor
  std::int64_t memory_kb = -1;  // of each processor
  Duration limit = -1;          // 0: none
  int status = -1;              // 0 failed, 1 completed, 5 cancelled
  std::string user, group, queue;
};

struct SwfHeader {
  std::string computer, note;
  std::int64_t procs = 0, nodes = 0;  // 0: not known
};

// Jobs in order of submission; times from the second of the first one, which is UnixStartTime.
std::string swf_text(std::vector<SwfJob> jobs, const SwfHeader& header);

}  // namespace holon::sim
