// Flux standard durations (RFC 23).
#include "base/duration.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace holon {
namespace {

TEST(Duration, ReadsEveryUnit) {
  EXPECT_EQ(parse_duration("0"), 0);
  EXPECT_EQ(parse_duration("90"), 90);
  EXPECT_EQ(parse_duration("30s"), 30);
  EXPECT_EQ(parse_duration("500ms"), 0.5);
  EXPECT_EQ(parse_duration("5m"), 300);
  EXPECT_EQ(parse_duration("1.5h"), 5400);
  EXPECT_EQ(parse_duration("2d"), 172800);
  EXPECT_EQ(parse_duration("1e3s"), 1000);
  EXPECT_EQ(parse_duration(".5s"), 0.5);
  for (const char* text : {"inf", "INF", "infinity", "Infinity"}) {
    EXPECT_TRUE(std::isinf(parse_duration(text).value())) << text;
  }
}

TEST(Duration, ABareNumberCanMeanMinutes) {
  EXPECT_EQ(parse_minutes("5"), 300);
  EXPECT_EQ(parse_minutes("5s"), 5);
  EXPECT_FALSE(parse_minutes("1e308"));
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text : {"", " ", "-1", "+1", "s", "1 s", "1S", "5M", "1x", "1mm", "nan", "-inf",
                           "infs", "1e999", "0x10", "1h30m", "1e308d"}) {
    const auto seconds = parse_duration(text);
    EXPECT_FALSE(seconds) << text;
  }
}

TEST(Duration, WritesAsFluxDoes) {
  EXPECT_EQ(format_duration(0), "0s");
  EXPECT_EQ(format_duration(0.05), "50ms");
  EXPECT_EQ(format_duration(0.5), "0.5s");
  EXPECT_EQ(format_duration(59), "59s");
  EXPECT_EQ(format_duration(60), "1m");
  EXPECT_EQ(format_duration(90), "1.5m");
  EXPECT_EQ(format_duration(3600), "1h");
  EXPECT_EQ(format_duration(90000), "1.04167d");
  EXPECT_EQ(format_duration(HUGE_VAL), "infinity");
}

RC_GTEST_PROP(DurationProperty, ReadsBackWhatItWrote, ()) {
  const auto milliseconds = *rc::gen::inRange<std::int64_t>(0, 1000000000);
  const double seconds = static_cast<double>(milliseconds) / 1000;
  const auto back = parse_duration(format_duration(seconds));
  RC_ASSERT(back.has_value());
  RC_ASSERT(std::abs(*back - seconds) <= 1e-5 * seconds);
}

}  // namespace
}  // namespace holon
