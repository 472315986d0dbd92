// Whatever may be asked of a broker is described, and whatever is described may be asked.
#include "msg/topics.hpp"

#include <gtest/gtest.h>

#include <set>

#include "instance/users/rights.hpp"
#include "launch/topics.hpp"

namespace holon::instance {
namespace {

TEST(Topics, AreThoseThatSomebodyHasARightTo) {
  std::set<std::string_view> known, described;
  for (const auto& right : rights()) known.insert(right.topic);
  for (const auto& topic : msg::topics().topics) described.insert(topic.name);
  // The others are what a broker asks of its agents.
  described.insert({"agent.join", "agent.hello", "agent.report", "agent.fence", "agent.files",
                    "agent.keep", "agent.refused", "agent.vouch"});
  EXPECT_EQ(described, known);
  std::set<std::string_view> of_agents;
  for (const auto& topic : launch::topics().topics) of_agents.insert(topic.name);
  EXPECT_TRUE(of_agents.contains("agent.hello") && of_agents.contains("agent.report"));
}

}  // namespace
}  // namespace holon::instance
