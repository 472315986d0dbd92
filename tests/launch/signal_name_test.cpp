#include "launch/signal_name.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace holon::launch {
namespace {

TEST(SignalName, IsReadAsKillReadsIt) {
  EXPECT_EQ(parse_signal("USR1"), SIGUSR1);
  EXPECT_EQ(parse_signal("SIGUSR1"), SIGUSR1);
  EXPECT_EQ(parse_signal("sigterm"), SIGTERM);
  EXPECT_EQ(parse_signal("9"), SIGKILL);
  EXPECT_EQ(parse_signal("RTMIN+3"), SIGRTMIN + 3);
  EXPECT_EQ(parse_signal("rtmin"), SIGRTMIN);
}

TEST(SignalName, OfNoSignalIsRefused) {
  for (const char* text : {"", "SIG", "USR", "0", "-1", "65", "999999999999", "9x", "RTMIN+99"}) {
    const auto signal = parse_signal(text);
    ASSERT_FALSE(signal) << text;
    EXPECT_EQ(signal.error().code, Errc::invalid_argument);
  }
}

TEST(SignalName, OfEverySignalIsReadAgain) {
  for (int signal = 1; signal <= SIGRTMAX; ++signal)
    EXPECT_EQ(parse_signal(signal_name(signal)), signal);
}

}  // namespace
}  // namespace holon::launch
