// Jobs of one submission that differ by an index or an entry, run by a real instance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kNode = {"--resources", "node=1/core=4"};

TEST(Arrays, EachJobHasItsIndex) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  EXPECT_EQ(sandbox.ok({"submit", "--array", "0-4:2", "-o", "out-{{array.index}}.txt", "sh", "-c",
                        "echo $HOLON_ARRAY_ID $HOLON_ARRAY_INDEX $HOLON_ARRAY_COUNT $0",
                        "i{{array.index}}"}),
            "1\n2\n3\n");
  sandbox.ok({"job", "wait", "1", "2", "3"});
  EXPECT_EQ(sandbox.read_file("out-0.txt"), "1 0 3 i0\n");
  EXPECT_EQ(sandbox.read_file("out-2.txt"), "1 2 3 i2\n");
  EXPECT_EQ(sandbox.read_file("out-4.txt"), "1 4 3 i4\n");
}

TEST(Arrays, EachJobHasItsEntryAsTheLastArgument) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.ok({"submit", "-o", "out-{{id}}.txt", "sh", "-c", "echo \"$HOLON_ENTRY|$1\"", "sh",
              ":::", "two words", "{{entry}}"});
  sandbox.ok({"job", "wait", "1", "2"});
  EXPECT_EQ(sandbox.read_file("out-1.txt"), "two words|two words\n");
  EXPECT_EQ(sandbox.read_file("out-2.txt"), "{{entry}}|{{entry}}\n");
}

TEST(Arrays, AJobWithoutAnIndexKeepsItsWords) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  EXPECT_EQ(sandbox.ok({"run", "echo", "{{entry}} {{array.index}}"}),
            "{{entry}} {{array.index}}\n");
  const Ran ran = sandbox.run({"submit", "-o", "{{array.index}}", "true"});
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("stands for nothing"));
}

}  // namespace
}  // namespace holon::system_test
