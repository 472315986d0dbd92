// A child that is ended as soon as it answers, as by `holon alloc true`: its agent may not even
// have said that it is there.
#include "tests/instance/live.hpp"
#include "tests/instance/process/tampered_clock.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using testing::Live;
using testing::TamperedClock;

TEST(ShortChild, IsCompletedAlsoWhereItsAgentHadNoTimeToComeUp) {
  if (!TamperedClock::kAvailable) GTEST_SKIP() << "a sanitizer has to be loaded first";
  TamperedClock clock;
  const Live live({"--resources", "node=1/core=1"});
  clock.hold_agents(true);
  // A job runs without the environment of its instance.
  testing::JobOptions options;
  for (const char* name : {"LD_PRELOAD", holon::testing::kControlVariable})
    options.environment.emplace(name, std::getenv(name));
  const auto id = live.child(options);
  ASSERT_TRUE(eventually([&] { return !live.record(id).child_uri.empty(); }))
      << live.record(id).reason;
  ASSERT_TRUE(live.call<msg::Empty>("shutdown", msg::ShutdownRequest{}, "/1"));
  clock.hold_agents(false);
  const auto record = live.wait_one(id);
  EXPECT_EQ(record.result, "COMPLETED") << record.reason << testing::read_file(record.error);
  EXPECT_EQ(record.exit_code, 0);
}

}  // namespace
}  // namespace holon::instance
