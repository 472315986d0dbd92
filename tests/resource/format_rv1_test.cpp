// Rv1 as a value, as text, and against a graph.
#include "resource/formats/rv1.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource {
namespace {

const char* const kText =
    R"({"version": 1, "execution": {"R_lite": [{"rank": "0-1", "children": {"core": "0-3", "gpu": "0"}}, )"
    R"({"rank": "3", "children": {"core": "1"}}], "nodelist": ["fluke[7-8],login"], "nslots": 3, )"
    R"("properties": {"amd": "0-1", "class=2": "3"}, "x-memory": {"0-1": 16}, )"
    R"("starttime": 10, "expiration": 20.5}})";

TEST(Rv1, ReadsHostsInTheOrderOfRanks) {
  const auto r = parse_rv1(kText);
  ASSERT_TRUE(r) << to_string(r.error());
  ASSERT_EQ(r->hosts.size(), 3u);
  EXPECT_EQ(r->hosts[2].name, "login");
  EXPECT_EQ(r->hosts[2].rank, 3);
  EXPECT_EQ(r->hosts[1].cores.str(), "0-3");
  EXPECT_EQ(r->hosts[1].memory, 16);
  EXPECT_EQ(r->nslots, 3);
  EXPECT_EQ(r->expiration, 20.5);
  EXPECT_EQ(write_rv1(*r), kText);
}

TEST(Rv1, TheNodelistFollowsSortedRanksWhateverTheOrderOfEntries) {
  const auto r = parse_rv1(
      R"({"version": 1, "execution": {"R_lite": [{"rank": "5", "children": {}},
         {"rank": "2", "children": {}}], "nodelist": ["a", "b"]}})");
  ASSERT_TRUE(r) << to_string(r.error());
  EXPECT_EQ(r->hosts[0].name, "a");
  EXPECT_EQ(r->hosts[0].rank, 2);
}

TEST(Rv1, SaysWhereItIsWrong) {
  struct Bad {
    const char* from;
    const char* to;
    const char* where;
    const char* what;
  };
  const Bad cases[] = {
      {"\"version\": 1", "\"version\": 2", "/version", "from 1 to 1"},
      {"\"version\": 1", "\"x\": 1", "/", "'version' is missing"},
      {"\"R_lite\"", "\"R_light\"", "/execution", "'R_lite' is missing"},
      {"\"0-1\"", "\"1-0\"", "/execution/R_lite/0/rank", "ascend"},
      {"\"rank\": \"3\"", "\"rank\": \"1\"", "/execution/R_lite/1/rank", "twice"},
      {"\"rank\": \"3\"", "\"rank\": 3", "/execution/R_lite/1/rank", "string"},
      {"\"rank\": \"3\"", "\"rank\": \"99999999999\"", "/execution/R_lite/1/rank", "above"},
      {"\"rank\": \"3\"", "\"rank\": \"3-2000000000\"", "/execution/R_lite/1/rank", "more than"},
      {"\"0-3\"", "\"0-1000000000000\"", "/execution/R_lite/0/children/core", "more than"},
      {"\"0-3\"", "\"0-8000000\", \"x\": \"0-8000000\"", "/execution/R_lite/0", "vertices"},
      {"fluke[7-8]", "fluke7", "/execution/nodelist", "2 hosts for 3 ranks"},
      {"fluke[7-8]", "fluke[7-", "/execution/nodelist/0", "bracket"},
      {"\"amd\": \"0-1\"", "\"amd\": [0]", "/execution/properties/amd", "string"},
      {"20.5", "-1", "/execution/expiration", "negative"},
      {"20.5", "\"x\"", "/execution/expiration", "number"},
      {"\"nslots\": 3", "\"nslots\": 0", "/execution/nslots", "whole number"},
      {"\"0-1\": 16", "\"0-1\": -16", "/execution/x-memory/0-1", "whole number"},
  };
  for (const auto& bad : cases) {
    std::string text = kText;
    const auto at = text.find(bad.from);
    ASSERT_NE(at, text.npos) << bad.from;
    text.replace(at, std::string_view(bad.from).size(), bad.to);
    const auto r = parse_rv1(text);
    ASSERT_FALSE(r) << bad.to;
    EXPECT_EQ(r.error().where, bad.where) << to_string(r.error());
    EXPECT_NE(r.error().what.find(bad.what), std::string::npos) << to_string(r.error());
  }
}

TEST(Rv1, MakesAGraphOfHostsCoresAndGpus) {
  const auto spec = read_rv1(kText, Rv1Use::scheduling_first);
  ASSERT_TRUE(spec) << to_string(spec.error());
  const auto graph = ResourceGraph::build(*spec);
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_TRUE(graph->find_path("/cluster0/fluke8/gpu0"));
  EXPECT_TRUE(graph->find_path("/cluster0/login/core1", 3));
  EXPECT_EQ((*graph)[*graph->find_path("/cluster0/fluke7")].id, 7);
  EXPECT_EQ(graph->property(*graph->find_path("/cluster0/login"), "class"), "2");
  auto r = *parse_rv1(kText);
  r.nslots = 0;
  r.starttime = r.expiration = 0;
  EXPECT_EQ(to_rv1(*graph), r);
}

TEST(Rv1, PrefersTheGraphUnderSchedulingUnlessForced) {
  const auto graph = *ResourceGraph::build(*read_shape("node=2/socket=1/core=2"));
  auto r = to_rv1(graph);
  r.scheduling = write_jgf(graph);
  const auto text = write_rv1(r);
  const auto first = ResourceGraph::build(*read_rv1(text, Rv1Use::scheduling_first));
  const auto forced = ResourceGraph::build(*read_rv1(text, Rv1Use::execution_only));
  EXPECT_TRUE(first->find_path("/cluster0/node1/socket0/core1"));
  EXPECT_TRUE(forced->find_path("/cluster0/node1/core1"));
}

TEST(Rv1, TimesThatNoIntegerHoldsAreWrittenAsTheyAre) {
  Rv1 r;
  r.starttime = 0.25;
  r.expiration = 1e300;
  const auto again = parse_rv1(write_rv1(r));
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(*again, r);
}

// What a property claims is no measure of the work: only the hosts that there are count.
TEST(Rv1, PropertiesOfRanksThatAreNotThereCostNothing) {
  std::string properties;
  for (int i = 0; i < 2000; ++i)
    properties += (i == 0 ? "\"p" : ", \"p") + std::to_string(i) + "\": \"0-16777215\"";
  const auto spec = read_rv1(
      R"({"version": 1, "execution": {"R_lite": [{"rank": "7", "children": {"core": "0"}}],
         "nodelist": ["a"], "properties": {)" +
          properties + "}}}",
      Rv1Use::execution_only);
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_EQ(spec->properties.size(), 2000u);
}

TEST(Rv1Allocation, AHostOfWhichAllIsListedIsHeldExclusively) {
  const auto graph = *ResourceGraph::build(*read_shape("node=2/core=2"));
  const auto all = read_allocation_rv1(
      graph, R"({"version": 1, "execution": {"R_lite": [{"rank": "1", "children": {"core": "0-1"}}],
                "nodelist": ["node1"]}})");
  ASSERT_TRUE(all) << to_string(all.error());
  EXPECT_EQ(write_allocation(WriteFormat::simple, graph, *all).value(),
            "      ---------core0[1:x]\n      ---------core1[1:x]\n"
            "      ------node1[1:x]\n      ---cluster0[1:s]\n");
  const auto part = read_allocation_rv1(
      graph, R"({"version": 1, "execution": {"R_lite": [{"rank": "1", "children": {"core": "0"}}],
                "nodelist": ["node1"]}})");
  EXPECT_FALSE(part->shares[1].exclusive);
  const auto none = read_allocation_rv1(
      graph, R"({"version": 1, "execution": {"R_lite": [{"rank": "1", "children": {"core": "7"}}],
                "nodelist": ["node1"]}})");
  EXPECT_EQ(none.error().code, Errc::not_found);
}

TEST(Rv1Allocation, WritesWhatIsHeldOfEachRank) {
  const auto graph = *ResourceGraph::build(*read_shape("node=3{amd}/core=4,gpu=2"));
  const auto all = read_allocation_rv1(
      graph,
      R"({"version": 1, "execution": {"R_lite": [{"rank": "0,2", "children": {"core": "0-1", "gpu": "1"}}],
          "nodelist": ["node0", "node2"]}})");
  ASSERT_TRUE(all);
  const char* const lite = R"([{"rank": "0,2", "children": {"core": "0-1", "gpu": "1"}}])";
  EXPECT_EQ(write_allocation(WriteFormat::rlite, graph, *all).value(), lite + std::string("\n"));
  EXPECT_EQ(write_allocation(WriteFormat::rv1_nosched, graph, *all).value(),
            R"({"version": 1, "execution": {"R_lite": )" + std::string(lite) +
                R"(, "nodelist": ["node[0,2]"], "properties": {"amd": "0,2"}, "starttime": 0, )"
                R"("expiration": 0}})"
                "\n");
  const auto r = to_rv1(graph, *all);
  EXPECT_EQ(r->hosts[1].gpus.str(), "1");
  EXPECT_EQ(rv1_ranks(write_rv1(*r))->str(), "0,2");
}

RC_GTEST_PROP(Rv1Property, TextRoundTrips, ()) {
  Rv1 r;
  std::int32_t rank = 0;
  for (int i = 0, n = *rc::gen::inRange(1, 6); i < n; ++i) {
    rank += *rc::gen::inRange(1, 3);
    Rv1::Host host;
    host.rank = rank;
    host.name = *rc::gen::element<std::string>("a", "n1", "n2", "n03");
    for (const auto id :
         *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 9))) {
      host.cores.insert(id);
    }
    if (*rc::gen::arbitrary<bool>()) host.gpus.insert(0, 3);
    host.memory = *rc::gen::inRange(0, 3);
    if (*rc::gen::arbitrary<bool>()) r.properties["p"].insert(static_cast<std::uint64_t>(rank));
    r.hosts.push_back(host);
  }
  r.starttime = *rc::gen::inRange(0, 1000);
  r.expiration = r.starttime + 0.25;
  r.nslots = *rc::gen::inRange(0, 5);
  RC_ASSERT(parse_rv1(write_rv1(r)) == r);
}

TEST(Rv1, HostsOfDigitsAreCalledWhatTheyAre) {
  const auto read = [](const std::string& host, bool as_fluxion) {
    return read_rv1(R"({"version": 1, "execution": {"R_lite": [{"rank": "0", "children": {}}],
                       "nodelist": [")" +
                        host + R"("]}})",
                    Rv1Use::execution_only, {.as_fluxion = as_fluxion});
  };
  for (const std::string host : {"123", "007", "9223372036854775808", "a9223372036854775808"}) {
    const auto graph = ResourceGraph::build(read(host, false).value());
    EXPECT_EQ(graph->name(graph->by_type("node")[0]), host);
  }
  EXPECT_FALSE(read("a9223372036854775808", true));  // an id cannot be so large
}

}  // namespace
}  // namespace holon::resource
