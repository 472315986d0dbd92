// Loaded by a test (LD_PRELOAD) into the processes of an instance: their wall clock can be set
// without setting the machine's, and one of them can be made to hang.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

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

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Real = int (*)(clockid_t, timespec*);
  static const Real real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "clock_gettime"));
  static ClockControl* const control = map_control();
  const int result = real(clock, time);
  if (control == nullptr || result != 0) return result;
  while (clock == CLOCK_BOOTTIME && control->spinning_pid == getpid()) {
  }
  if (clock != CLOCK_REALTIME) return result;
  constexpr std::int64_t kNsPerMs = 1'000'000, kNsPerS = 1'000'000'000;
  const std::int64_t ns = time->tv_nsec + control->wall_offset_ms % 1000 * kNsPerMs;
  time->tv_sec += control->wall_offset_ms / 1000 + (ns < 0 ? -1 : ns / kNsPerS);
  time->tv_nsec = (ns + kNsPerS) % kNsPerS;
  return result;
}
