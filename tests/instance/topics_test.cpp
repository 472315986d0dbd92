// Whatever may be asked of a broker is described, and what is described once has one row.
#include <gtest/gtest.h>

#include <set>

#include "instance/users/rights.hpp"
#include "launch/topics.hpp"
#include "msg/topics.hpp"

namespace holon::instance {
namespace {

TEST(Topics, HaveOneRowEach) {
  std::set<std::string_view> names;
  for (const auto rows : {msg::table(), launch::table()})
    for (const auto& row : rows) {
      EXPECT_TRUE(names.insert(row.shape.name).second) << row.shape.name;
      // What only agents answer does not exist for a broker.
      EXPECT_EQ(may_ask(row.shape.name, ~0U, false).has_value(), row.rights.askers != 0)
          << row.shape.name;
    }
  EXPECT_TRUE(names.contains("submit") && names.contains("agent.hello"));
}

TEST(Topics, OfPeopleAreNeverForAgentsAlone) {
  for (const auto& row : msg::table()) EXPECT_NE(row.rights.askers, 0u) << row.shape.name;
}

}  // namespace
}  // namespace holon::instance
