// memory.hpp - checks again and again how much memory the processes of a job use, and acts if that
// is more than the job asked for.
//
// For nodes on which no cgroup can keep the bound (tracking.hpp): nobody sees what is used between
// two looks.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "transport/reactor.hpp"

namespace holon::launch {

// Bytes in memory, summed up; pages shared by several processes count once for each. Processes that
// have ended, or may not be looked at, count nothing.
std::int64_t resident_bytes(const std::vector<pid_t>& processes);
// Likewise, but each process counts its share of shared pages. The kernel walks over all pages.
std::int64_t proportional_bytes(const std::vector<pid_t>& processes);

// "1.50 GiB", "300 MiB".
std::string memory_text(std::int64_t bytes);

class MemoryWatch {
 public:
  // `over` is called once, with the bytes used. It may destroy the watch.
  MemoryWatch(transport::Reactor& reactor, std::int64_t bound,
              std::function<std::vector<pid_t>()> processes,
              std::function<void(std::int64_t used)> over);

  std::int64_t peak() const { return peak_; }  // the largest seen, in bytes
  void stop() { timer_.cancel(); }

 private:
  void look();
  void look_later();

  transport::Reactor& reactor_;
  std::int64_t bound_, peak_ = 0;
  std::function<std::vector<pid_t>()> processes_;
  std::function<void(std::int64_t)> over_;
  transport::Subscription timer_;
};

}  // namespace holon::launch
