// tampered_clock.hpp - while it lives, instances that are started have a wall clock of their own,
// which the test can set; nothing else of theirs is touched.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tampered_clock_place.hpp"  // written by CMake
#include "tests/preload/control.hpp"

namespace holon::instance::testing {

class TamperedClock {
 public:
  // Not under a sanitizer, which has to be loaded first.
  static constexpr bool kAvailable = sizeof(HOLON_TAMPERED_CLOCK) > 1;

  TamperedClock() : file_(::testing::TempDir() + "holon-clock-XXXXXX") {
    const int fd = mkstemp(file_.data());
    EXPECT_EQ(ftruncate(fd, sizeof(holon::testing::ClockControl)), 0);
    control_ = static_cast<holon::testing::ClockControl*>(mmap(
        nullptr, sizeof(holon::testing::ClockControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
    setenv(holon::testing::kControlVariable, file_.c_str(), 1);
    setenv("LD_PRELOAD", HOLON_TAMPERED_CLOCK, 1);
  }
  ~TamperedClock() {
    unsetenv("LD_PRELOAD");
    unsetenv(holon::testing::kControlVariable);
    munmap(control_, sizeof *control_);
    unlink(file_.c_str());
  }
  TamperedClock(const TamperedClock&) = delete;
  TamperedClock& operator=(const TamperedClock&) = delete;

  // The instances' wall clock shows `ms` more than the machine's.
  void set(std::int64_t ms) { control_->wall_offset_ms = ms; }
  // The process spins from when it next reads a clock until it is ended, or 0 is given.
  void hang(pid_t pid) { control_->spinning_pid = pid; }
  // So many brokers that are started from now on spin before their first turn, until they are
  // ended.
  void hang_brokers(int n) { control_->hanging_brokers = n; }
  // The last of these that does; 0: none did yet.
  pid_t hung_broker() const { return static_cast<pid_t>(control_->hung_broker); }
  // Agents that are started wait before their first turn, until false is given.
  void hold_agents(bool held) { control_->held_agents = held ? 1 : 0; }

 private:
  std::string file_;
  holon::testing::ClockControl* control_ = nullptr;
};

}  // namespace holon::instance::testing
