// Messages as JSON, and as a JSON schema.
#include "transport/codec/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "transport/codec/fields.hpp"
#include "transport/codec/shape.hpp"

namespace holon::transport {
namespace {

using ::testing::HasSubstr;

struct Leaf {
  std::string name = "none";
  double share = 1;
  bool good = true;
  HOLON_FIELDS_WITHOUT_DEFAULTS(name, share, good)
};
struct Branch {
  std::int32_t small = -1;
  std::uint64_t large = 0;
  std::map<std::string, std::int64_t> units;
  std::set<std::int64_t> numbers;
  std::pair<std::string, std::int64_t> both;
  std::vector<Leaf> leaves;
  std::vector<Branch> branches;
  HOLON_FIELDS(small, large, units, numbers, both, leaves, branches)
};

Branch example() {
  Branch b;
  b.large = UINT64_MAX;
  b.units = {{"core", -4}};
  b.numbers = {3, 1};
  b.both = {"a", 2};
  b.leaves.resize(2);
  b.leaves[1].share = 0.5;
  b.branches.resize(1);
  return b;
}

TEST(Json, HasAllFieldsInTheirOrder) {
  EXPECT_EQ(to_json(example()),
            R"({"small":-1,"large":18446744073709551615,"units":{"core":-4},"numbers":[1,3],)"
            R"("both":["a",2],"leaves":[{"name":"none","share":1.0,"good":true},)"
            R"({"name":"none","share":0.5,"good":true}],"branches":[{"small":-1,"large":0,)"
            R"("units":{},"numbers":[],"both":["",0],"leaves":[],"branches":[]}]})");
  EXPECT_EQ(to_json(Leaf{}, 2), "{\n  \"name\": \"none\",\n  \"share\": 1.0,\n  \"good\": true\n}");
}

TEST(Json, IsReadAsItIsWritten) {
  const auto back = from_json<Branch>(to_json(example()));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(pack(*back), pack(example()));
  EXPECT_EQ(from_json<Leaf>(R"({"share": 2, "colour": "red"})")->share, 2);
  EXPECT_EQ(from_json<Leaf>(R"({"share")").error().code, Errc::invalid_argument);
  const auto wrong = from_json<Leaf>(R"({"share": "much"})");
  EXPECT_EQ(wrong.error().code, Errc::protocol);
  EXPECT_THAT(to_string(wrong.error()), HasSubstr("share"));
}

TEST(Json, ReplacesWhatIsNotUtf8) {
  Leaf leaf;
  leaf.name = "a\xff";
  EXPECT_THAT(to_json(leaf), HasSubstr("a\xef\xbf\xbd"));
}

TEST(JsonSchema, DescribesEveryFieldOfAStruct) {
  const TopicGroup group{"My", {topic<Branch, Leaf>("ask"), stream<Leaf, Branch>("follow")}};
  const auto schema = nlohmann::json::parse(json_schema(std::span(&group, 1)));
  EXPECT_EQ(schema["x-topics"]["ask"]["request"]["$ref"], "#/$defs/MyBranch");
  EXPECT_EQ(schema["x-topics"]["follow"]["stream"]["$ref"], "#/$defs/MyBranch");
  const auto& branch = schema["$defs"]["MyBranch"]["properties"];
  EXPECT_EQ(branch.size(), 7u);
  EXPECT_EQ(branch["small"]["minimum"], INT32_MIN);
  EXPECT_EQ(branch["small"]["default"], -1);
  EXPECT_EQ(branch["large"]["maximum"], UINT64_MAX);
  EXPECT_EQ(branch["units"]["additionalProperties"]["type"], "integer");
  EXPECT_EQ(branch["numbers"]["uniqueItems"], true);
  EXPECT_EQ(branch["both"]["prefixItems"].size(), 2u);
  EXPECT_EQ(branch["branches"]["items"]["$ref"], "#/$defs/MyBranch") << "it holds itself";
  EXPECT_EQ(schema["$defs"]["MyLeaf"]["properties"]["share"],
            nlohmann::json({{"type", "number"}, {"default", 1.0}}));
}

}  // namespace
}  // namespace holon::transport
