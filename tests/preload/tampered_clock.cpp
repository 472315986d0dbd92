// Loaded by a test (LD_PRELOAD) into the processes of an instance: their wall clock can be set
// without setting the machine's, and some of them can be made to hang.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string_view>

#include "tests/preload/control.hpp"

namespace {

using holon::testing::ClockControl;

ClockControl* map_control() {
  const char* file = std::getenv(holon::testing::kControlVariable);
  const int fd = file == nullptr ? -1 : open(file, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* page = mmap(nullptr, sizeof(ClockControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return page == MAP_FAILED ? nullptr : static_cast<ClockControl*>(page);
}

bool is_verb(std::string_view verb) {
  char line[4096] = "";
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof line);
  if (fd >= 0) close(fd);
  using std::operator""sv;
  const std::string_view words(line, n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::size_t begin = words.find("\0"sv);  // of what follows the program's name
  return begin != std::string_view::npos && words.substr(begin + 1).starts_with(verb) &&
         words.substr(begin + 1 + verb.size()).starts_with("\0"sv);
}

// At the first look at a clock.
void hang_as_it_begins(ClockControl& control) {
  static const bool looked_before = [&control] {
    if (control.hanging_brokers <= 0 || !is_verb("broker")) return true;
    control.hung_broker = getpid();
    --control.hanging_brokers;
    while (control.hung_broker == getpid()) {
    }
    return true;
  }();
  (void)looked_before;
}

// At the first look at a clock, until the test lets them go on.
void hold_as_it_begins(ClockControl& control) {
  static const bool looked_before = [&control] {
    if (control.held_agents == 0 || !is_verb("agent")) return true;
    while (control.held_agents != 0) sched_yield();
    return true;
  }();
  (void)looked_before;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Real = int (*)(clockid_t, timespec*);
  static const Real real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "clock_gettime"));
  static ClockControl* const control = map_control();
  const int result = real(clock, time);
  if (control == nullptr || result != 0) return result;
  if (clock == CLOCK_BOOTTIME) hang_as_it_begins(*control);
  hold_as_it_begins(*control);
  while (clock == CLOCK_BOOTTIME && control->spinning_pid == getpid()) {
  }
  if (clock != CLOCK_REALTIME) return result;
  constexpr std::int64_t kNsPerMs = 1'000'000, kNsPerS = 1'000'000'000;
  const std::int64_t ns = time->tv_nsec + control->wall_offset_ms % 1000 * kNsPerMs;
  time->tv_sec += control->wall_offset_ms / 1000 + (ns < 0 ? -1 : ns / kNsPerS);
  time->tv_nsec = (ns + kNsPerS) % kNsPerS;
  return result;
}
