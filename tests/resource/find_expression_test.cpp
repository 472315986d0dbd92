// The language of `find`, against a vertex made up here.
#include "resource/find/find_expression.hpp"

#include <gtest/gtest.h>

#include <map>

namespace holon::resource {
namespace {

struct FakeVertex : FindSubject {
  bool is_down = false;
  bool is_drained = false;
  bool is_allocated = false;
  bool is_reserved = false;
  std::map<JobId, Mark> marks;
  std::string its_name = "node3";
  std::map<std::string, std::string, std::less<>> properties;
  std::int64_t its_size = 16;

  bool down() const override { return is_down; }
  bool drained() const override { return is_drained; }
  bool allocated() const override { return is_allocated; }
  bool reserved() const override { return is_reserved; }
  Mark mark(JobId job) const override {
    const auto found = marks.find(job);
    return found == marks.end() ? Mark{} : found->second;
  }
  std::string name() const override { return its_name; }
  std::string_view type() const override { return "node"; }
  std::int64_t id() const override { return 3; }
  std::int64_t uniq_id() const override { return 42; }
  std::int64_t rank() const override { return 3; }
  std::int64_t size() const override { return its_size; }
  std::optional<std::string_view> property(std::string_view key) const override {
    const auto found = properties.find(key);
    if (found == properties.end()) return std::nullopt;
    return found->second;
  }
};

bool matches(const FakeVertex& vertex, std::string_view text) {
  const auto expression = FindExpression::parse(text);
  EXPECT_TRUE(expression) << text << ": " << (expression ? "" : to_string(expression.error()));
  return expression && expression->matches(vertex);
}

TEST(Find, StatesOfAVertex) {
  FakeVertex vertex;
  EXPECT_TRUE(matches(vertex, "status=up"));
  EXPECT_TRUE(matches(vertex, "status=UP"));
  EXPECT_TRUE(matches(vertex, "sched-now=free"));
  EXPECT_TRUE(matches(vertex, "sched-future=free"));
  EXPECT_FALSE(matches(vertex, "status=drained"));
  vertex.is_drained = true;
  EXPECT_TRUE(matches(vertex, "status=Drained and status=up"));
  EXPECT_FALSE(matches(vertex, "status!=drained"));
  vertex.is_down = vertex.is_allocated = vertex.is_reserved = true;
  EXPECT_TRUE(matches(vertex, "status=down"));
  EXPECT_TRUE(matches(vertex, "sched-now=allocated"));
  EXPECT_TRUE(matches(vertex, "sched-future=reserved"));
  EXPECT_FALSE(matches(vertex, "status=up"));
}

TEST(Find, AndAndOrBindAlikeFromLeftToRight) {
  FakeVertex vertex;  // up, free
  EXPECT_TRUE(matches(vertex, "status=up and sched-now=free"));
  EXPECT_FALSE(matches(vertex, "status=up or status=up and status=down"));
  EXPECT_TRUE(matches(vertex, "status=up or (status=up and status=down)"));
  EXPECT_FALSE(matches(vertex, "status=up status=down"));  // side by side: and
  EXPECT_TRUE(matches(vertex, "status=down and status=down or status=up"));
  EXPECT_TRUE(matches(vertex, " ( status=up )\tand\t(sched-now=free) "));
}

TEST(Find, NotBindsToWhatFollows) {
  FakeVertex vertex;
  EXPECT_TRUE(matches(vertex, "not status=down"));
  EXPECT_TRUE(matches(vertex, "not not status=up"));
  EXPECT_TRUE(matches(vertex, "not status=down and status=up"));
  EXPECT_FALSE(matches(vertex, "not (status=up or status=down)"));
  EXPECT_TRUE(matches(vertex, "status!=down"));
}

TEST(Find, JobsByWhatTheyHaveToDoWithIt) {
  FakeVertex vertex;
  vertex.marks[JobId{7}] = {.allocated = true, .counted = true, .tagged = true};
  vertex.marks[JobId{8}] = {.reserved = true};
  EXPECT_TRUE(matches(vertex, "jobid-alloc=7"));
  EXPECT_TRUE(matches(vertex, "jobid-span=7 jobid-tag=0x7"));
  EXPECT_FALSE(matches(vertex, "jobid-reserved=7"));
  EXPECT_TRUE(matches(vertex, "jobid-reserved=8"));
  EXPECT_FALSE(matches(vertex, "jobid-alloc=9"));
}

TEST(Find, NamesPropertiesAndNumbers) {
  FakeVertex vertex;
  vertex.properties = {{"amd", ""}, {"perf_class", "3"}};
  EXPECT_TRUE(matches(vertex, "names=node[0-3]"));
  EXPECT_FALSE(matches(vertex, "names=node[0-2],rack3"));
  EXPECT_TRUE(matches(vertex, "property=AMD"));  // written in any case, kept in lower case
  EXPECT_FALSE(matches(vertex, "property=intel"));
  EXPECT_TRUE(matches(vertex, "size>=16 size<=16 size=16 size<17 size>15 size!=3"));
  EXPECT_TRUE(matches(vertex, "property.perf_class<4 property.perf_class>2"));
  EXPECT_FALSE(matches(vertex, "property.other<4"));
  EXPECT_TRUE(matches(vertex, "type=node rank=3 id=3 uniq_id=42"));
}

TEST(Find, AsksForAggregatesOfAJob) {
  const auto expression = FindExpression::parse("jobid-alloc=12 and agfilter=t").value();
  EXPECT_TRUE(expression.wants_aggregates());
  EXPECT_EQ(expression.job(), JobId{12});
  EXPECT_FALSE(FindExpression::parse("agfilter=false").value().wants_aggregates());
}

TEST(Find, SaysWhereItIsWrong) {
  for (const auto& [text, where] : {std::pair{"", "character 1"},
                                    {"   ", "character 1"},
                                    {"status", "character 1"},
                                    {"status=sideways", "character 8"},
                                    {"status=up and", "character 14"},
                                    {"status=up and (status=down", "character 15"},
                                    {"(status=up)and status=up", "character 12"},
                                    {"colour=red", "character 1"},
                                    {"jobid-alloc=x", "character 13"},
                                    {"names=n[", "character 7"},
                                    {"property=", "character 10"},
                                    {"size>big", "character 6"},
                                    {"status<up", "character 1"},
                                    {"status!up", "character 7"},
                                    {"not", "character 1"}}) {
    const auto expression = FindExpression::parse(text);
    ASSERT_FALSE(expression) << text;
    EXPECT_EQ(expression.error().where, where) << text;
    EXPECT_FALSE(expression.error().what.empty());
  }
}

TEST(Find, NeitherDepthNorLengthBreaksIt) {
  std::string deep(100000, '(');
  EXPECT_FALSE(FindExpression::parse(deep + "status=up" + std::string(100000, ')')));
  std::string nots;
  std::string chain = "status=up";
  for (int i = 0; i < 100000; ++i) {
    nots += "not ";
    chain += " and status=up";
  }
  EXPECT_TRUE(matches(FakeVertex{}, nots + "status=up"));
  EXPECT_TRUE(matches(FakeVertex{}, chain));
}

TEST(JobIds, InEverySpelling) {
  EXPECT_EQ(parse_job_id("255").value(), JobId{255});
  EXPECT_EQ(parse_job_id("0xff").value(), JobId{255});
  EXPECT_EQ(parse_job_id("0000.0000.0000.00ff").value(), JobId{255});
  EXPECT_EQ(parse_job_id("ffff.0000.0000.00ff").value(), JobId{0xffff0000000000ffU});
  EXPECT_EQ(parse_job_id("f5Q").value(), JobId{255});
  EXPECT_EQ(parse_job_id("\xc6\x92"
                         "5Q")
                .value(),
            JobId{255});
  for (const auto* text : {"", "-1", "0x", "f", "12a", "0000.00ff", "99999999999999999999", "f0"})
    EXPECT_FALSE(parse_job_id(text)) << text;
}

}  // namespace
}  // namespace holon::resource
