// The end of a child's time, moved while real tasks run two levels below it.
#include <gmock/gmock.h>

#include "instance/basics/clock.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using testing::JobOptions;
using testing::Live;
using testing::read_file;

// So that so much of it is left from now on, in ms.
void leave(const Live& live, std::uint64_t id, Duration left) {
  msg::UpdateRequest ask;
  ask.ids = {id};
  ask.limit = wall_clock_ms() - live.record(id).t_alloc + left;
  const auto done = live.call<msg::Empty>("job.update", ask);
  EXPECT_TRUE(done) << done.error().what;
}

TEST(Leases, AShorterOneWarnsTheLeavesAtOnceWhereTheWarningIsDue) {
  const Live live({"--resources", "node=1/core=4"});
  const auto child = live.child({3, 3600});
  live.child({2}, "/1");
  const std::string told = live.dir() + "/told", ready = live.dir() + "/ready";
  JobOptions options;
  options.system = R"({"shell":{"options":{"signal":{"signum":10,"timeleft":600}}}})";
  const auto leaf = live.job({"/bin/sh", "-c",
                              "trap 'echo warned >> " + told + "' USR1; echo > " + ready +
                                  "; while :; do sleep 0.05; done"},
                             options, "/1/1");
  live.when_running(leaf, "/1/1");
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(ready); }));
  EXPECT_EQ(read_file(told), "");
  leave(live, child, 500'000);
  EXPECT_TRUE(eventually([&] { return read_file(told) == "warned\n"; })) << read_file(told);
  EXPECT_EQ(live.record(leaf, "/1/1").state, "RUN");
  // With more time it is due again, later.
  leave(live, child, 3'600'000);
  ASSERT_TRUE(eventually(
      [&] { return live.record(leaf, "/1/1").expiration > wall_clock_ms() + 3'000'000; }));
  leave(live, child, 500'000);
  EXPECT_TRUE(eventually([&] { return read_file(told) == "warned\nwarned\n"; })) << read_file(told);
  live.cancel(leaf, "/1/1");
}

}  // namespace
}  // namespace holon::instance
