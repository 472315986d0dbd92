// Whole nodes that a child out of reach does not give back are taken from it.
#include <gmock/gmock.h>

#include "tests/instance/tree/whole_nodes.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using ::testing::HasSubstr;

class WholeNodesThatAreFenced : public testing::WholeNodes {
 protected:
  WholeNodesThatAreFenced() : WholeNodes({"--conf", "grant.fence-timeout=1s"}) {}
};

TEST_F(WholeNodesThatAreFenced, GoWithTheChildsAgentThereAndItKeepsItsOwn) {
  get(1);
  const auto hosts = extra_hosts();
  ASSERT_EQ(hosts.size(), 1U);
  const std::string own = live.record(1).nodelist;
  const auto there = hold_on(hosts.front(), "there"), here = hold_on(own, "here");
  live.when_running(there, "/1");
  live.when_running(here, "/1");
  const pid_t broker = testing::processes_of(live, "/1").broker;
  testing::signal_process(broker, SIGSTOP);
  recall(false);
  EXPECT_TRUE(eventually([&] { return free_of("/") == 2 * cores_; })) << free_of("/");
  EXPECT_TRUE(agents_of_child().empty());
  testing::signal_process(broker, SIGCONT);
  EXPECT_EQ(live.wait_one(there, "/1").exception, "node-failure");
  EXPECT_THAT(live.record(there, "/1").reason, HasSubstr("back to the instance above"));
  EXPECT_EQ(live.record(here, "/1").state, "RUN");
  live.release("here");
  EXPECT_EQ(live.wait_one(here, "/1").result, "COMPLETED");
  expect_all_back();
  get(1);
  release();
  expect_all_back();
}

}  // namespace
}  // namespace holon::instance
