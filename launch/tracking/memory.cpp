// Resident pages are cheap to count, but counted several times if processes share them (after a
// fork, say); the exact number is asked for only if the cheap one is over the bound.
#include "launch/tracking/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "launch/tracking/process.hpp"

namespace holon::launch {
namespace {

constexpr Duration kLook = 200;  // ms between two looks

std::string file_of(pid_t process, const char* name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

}  // namespace

std::int64_t resident_bytes(const std::vector<pid_t>& processes) {
  static const std::int64_t page = sysconf(_SC_PAGESIZE);
  std::int64_t pages = 0;
  for (const pid_t process : processes) {
    long size = 0, resident = 0;
    if (std::sscanf(text_of_file(file_of(process, "statm")).c_str(), "%ld %ld", &size, &resident) ==
        2)
      pages += resident;
  }
  return pages * page;
}

std::int64_t proportional_bytes(const std::vector<pid_t>& processes) {
  constexpr const char* kKey = "\nPss:";
  constexpr std::int64_t kKib = 1024;
  std::int64_t bytes = 0;
  for (const pid_t process : processes) {
    const std::string text = text_of_file(file_of(process, "smaps_rollup"));
    const auto at = text.find(kKey);
    bytes += at == std::string::npos
                 ? resident_bytes({process})
                 : kKib * std::strtoll(text.c_str() + at + std::char_traits<char>::length(kKey),
                                       nullptr, 10);
  }
  return bytes;
}

std::string memory_text(std::int64_t bytes) {
  constexpr double kMib = 1 << 20, kGib = 1 << 30;
  const auto size = static_cast<double>(bytes);
  char text[32];
  if (size >= kGib)
    std::snprintf(text, sizeof text, "%.2f GiB", size / kGib);
  else
    std::snprintf(text, sizeof text, "%.0f MiB", size / kMib);
  return text;
}

MemoryWatch::MemoryWatch(transport::Reactor& reactor, std::int64_t bound,
                         std::function<std::vector<pid_t>()> processes,
                         std::function<void(std::int64_t used)> over)
    : reactor_(reactor), bound_(bound), processes_(std::move(processes)), over_(std::move(over)) {
  look_later();
}

void MemoryWatch::look_later() {
  timer_ = reactor_.after(kLook, [this] { look(); });
}

void MemoryWatch::look() {
  const std::vector<pid_t> processes = processes_();
  std::int64_t used = resident_bytes(processes);
  if (used > bound_) used = proportional_bytes(processes);
  peak_ = std::max(peak_, used);
  if (used > bound_) return over_(used);
  look_later();
}

}  // namespace holon::launch
