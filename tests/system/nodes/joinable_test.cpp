// An instance that others are to join, and cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

TEST(Joinable, IsRefusedWithDeclaredResources) {
  Sandbox sandbox;
  const Ran ran = sandbox.run({"start", "--joinable", "--resources", "node=1/core=2", "true"});
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("no node can join an instance whose resources are declared"));
  EXPECT_THAT(ran.err, HasSubstr("--resources node=1/core=2"));
}

}  // namespace
}  // namespace holon::system_test
