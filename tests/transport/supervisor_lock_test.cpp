// The lock by which others see that a supervisor lives.
#include "transport/supervisor_lock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

namespace holon::transport {
namespace {

// Who looks has the lock for a moment. A supervisor that began in that moment had none from then
// on, and others removed its folder.
TEST(SupervisorLock, IsTakenThoughOthersLookMeanwhile) {
  std::string dir = ::testing::TempDir() + "supervisor-lock-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  std::atomic<bool> over = false;
  std::thread others([&] {
    while (!over) (void)supervisor_lives(dir);
  });
  int taken = 0;
  constexpr int kTimes = 200;
  for (int i = 0; i < kTimes; ++i) {
    SupervisorLock lock(dir);
    lock.take();
    taken += supervisor_lives(dir);
  }
  over = true;
  others.join();
  std::filesystem::remove_all(dir);
  EXPECT_EQ(taken, kTimes);
}

}  // namespace
}  // namespace holon::transport
