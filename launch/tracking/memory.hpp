// memory.hpp - how much memory the processes of a job use, looked at again and again, and what to
// do where that is more than the job asked for.
//
// For nodes on which no cgroup can keep the bound (tracking.hpp): what is used between two looks
// nobody sees.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "transport/reactor.hpp"

namespace holon::launch {

// Bytes in memory, summed up; pages that several of them share count once for each. Those that have
// ended, or may not be looked at, count nothing.
std::int64_t resident_bytes(const std::vector<pid_t>& processes);
// The same, but of a shared page each has its share. Costs the kernel a walk over all pages.
std::int64_t proportional_bytes(const std::vector<pid_t>& processes);

// "1.50 GiB", "300 MiB".
std::string memory_text(std::int64_t bytes);

class MemoryWatch {
 public:
  // `over` is called once, with what is used. It may destroy the watch.
  MemoryWatch(transport::Reactor& reactor, std::int64_t bound,
              std::function<std::vector<pid_t>()> processes,
              std::function<void(std::int64_t used)> over);

  std::int64_t peak() const { return peak_; }  // that was seen, in bytes
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
