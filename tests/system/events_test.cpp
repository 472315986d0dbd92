// holon events: one stream of what happens in an instance, or in a tree, that goes on from a
// cursor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<json> lines_in(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

std::string name_at(const json& line) {
  return line.value("path", "") + " " + line.value("name", "");
}

TEST(Events, AreToldOnceFromACursorOn) {
  Sandbox sandbox;
  Instance root(sandbox, kTwoCores);
  sandbox.ok({"run", "true"});
  const auto first = lines_in(sandbox.ok({"events", "--json"}));
  ASSERT_GT(first.size(), 3u);
  EXPECT_EQ(name_at(first.front()), "/1 submit");
  EXPECT_EQ(name_at(first[first.size() - 2]), "/1 clean");
  const std::string cursor = first.back()["cursor"];
  EXPECT_EQ(first[first.size() - 2]["cursor"], cursor);

  sandbox.ok({"run", "true"});
  const auto second = lines_in(sandbox.ok({"events", "--json", "--after", cursor}));
  ASSERT_EQ(second.size(), first.size());
  EXPECT_EQ(name_at(second.front()), "/2 submit");
  EXPECT_EQ(name_at(second[second.size() - 2]), "/2 clean");
  EXPECT_EQ(lines_in(sandbox.ok({"events", "--json", "--after", second.back()["cursor"]})).size(),
            1u)
      << "nothing but where the stream is";
  EXPECT_THAT(sandbox.ok({"events"}), HasSubstr("  /2          clean\n"));
  EXPECT_EQ(sandbox.ok({"events", "--since", "-2h"}), sandbox.ok({"events"}));
}

TEST(Events, OfATreeComeInOrderAndGoOnWhereTheyWere) {
  Sandbox sandbox;
  Instance root(sandbox, kTwoCores);
  const auto follow = [&](const std::string& cursor) {
    std::vector<std::string> words = {"events", "-f", "-R", "--json"};
    if (!cursor.empty()) words.insert(words.end(), {"--after", cursor});
    return sandbox.start(words);
  };
  std::string cursor;
  std::vector<std::string> told;
  double last = 0;
  const auto hear_until = [&](Process& events, const std::string& wanted) {
    for (std::string line; told.empty() || told.back() != wanted;) {
      line = events.read_line();
      if (line.empty()) return false;
      const json event = json::parse(line);
      EXPECT_GE(event["timestamp"].get<double>(), last) << line;
      last = event["timestamp"];
      told.push_back(name_at(event));
      if (event.contains("cursor")) cursor = event["cursor"];
    }
    // The cursor comes with the last event of a bundle.
    return true;
  };
  const std::string before = lines_in(sandbox.ok({"events", "-R", "--json"})).back()["cursor"];
  Process first = follow(before);
  sandbox.ok({"alloc", "--bg", "-n", "1"});
  sandbox.ok({"-i", "/1", "run", "true"});
  ASSERT_TRUE(hear_until(first, "/1/1 clean"));
  first.signal(SIGTERM);
  first.finish();

  told.clear();
  last = 0;
  sandbox.ok({"-i", "/1", "run", "true"});
  Process second = follow(cursor);
  ASSERT_TRUE(hear_until(second, "/1/2 clean"));
  EXPECT_EQ(std::count(told.begin(), told.end(), "/1/2 submit"), 1);
  EXPECT_EQ(std::count(told.begin(), told.end(), "/1/1 submit"), 0) << "it was told before";
  second.signal(SIGTERM);
  second.finish();
}

TEST(Events, AWrongCursorIsNamed) {
  Sandbox sandbox;
  Instance root(sandbox, kTwoCores);
  const Ran ran = sandbox.run({"events", "--after", "yesterday"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("'yesterday' is no cursor"));
  EXPECT_THAT(sandbox.run({"events", "--after", "/=7"}).err, HasSubstr("cursor"));
}

}  // namespace
}  // namespace holon::system_test
