#include <gtest/gtest.h>

#include <sstream>

#include "cli/query/options.hpp"

namespace holon::cli::query {
namespace {

struct Parsed {
  Options options;
  std::optional<int> code;
  std::string err;
};

Parsed parse(std::vector<std::string> args) {
  std::ostringstream out;
  std::ostringstream err;
  Io io{out, err};
  Invocation call{io, std::move(args), "", false};
  Parsed parsed;
  parsed.code = parse_options(call, parsed.options);
  parsed.err = err.str();
  return parsed;
}

TEST(QueryOptions, AreThoseOfResourceQuery) {
  const auto parsed =
      parse({"-L", "g.json",   "-f", "jgf",      "-S", "C+PA",    "-P", "low",       "-F",    "rv1",
             "-T", "flexible", "-p", "ALL:core", "-p", "ALL:gpu", "-W", "node,core", "-t",    "out",
             "-g", "graphml",  "-o", "base",     "-r", "400000",  "-e", "-d",        "--json"});
  ASSERT_FALSE(parsed.code) << parsed.err;
  const Options& options = parsed.options;
  EXPECT_EQ(options.load_file, "g.json");
  EXPECT_EQ(options.load_format, "jgf");
  EXPECT_EQ(options.matcher, "C+PA");
  EXPECT_EQ(options.policy, "low");
  EXPECT_EQ(options.match_format, "rv1");
  EXPECT_EQ(options.traverser, "flexible");
  EXPECT_EQ(options.prune_filters, "ALL:core,ALL:gpu");
  EXPECT_EQ(options.allowlist, "node,core");
  EXPECT_EQ(options.test_output, "out");
  EXPECT_EQ(options.graph_format, "graphml");
  EXPECT_EQ(options.graph_output, "base");
  EXPECT_TRUE(options.elapse && options.no_prompt && options.json);
}

TEST(QueryOptions, LongNamesMayBeCutShortAndValuesEmpty) {
  const auto parsed = parse({"--load-fi=g.json", "--load-fo=hwloc", "--match-p", "high",
                             "--prune-filters=", "--disable"});
  ASSERT_FALSE(parsed.code) << parsed.err;
  EXPECT_EQ(parsed.options.load_file, "g.json");
  EXPECT_EQ(parsed.options.load_format, "hwloc");
  EXPECT_EQ(parsed.options.policy, "high");
  EXPECT_EQ(parsed.options.prune_filters, "ALL:core,ALL:node");
  EXPECT_TRUE(parsed.options.no_prompt);
}

TEST(QueryOptions, WhatIsWrongIsNamedWithWhatIsAccepted) {
  for (const auto& [args, said] :
       {std::pair<std::vector<std::string>, std::string>{{"-f", "xml"}, "grug, hwloc"},
        {{"-F", "yaml"}, "pretty_simple"},
        {{"-S", "CAT"}, "C+PA"},
        {{"-T", "fast"}, "flexible"},
        {{"-g", "png"}, "graphml"},
        {{"-r", "3000000"}, "2000000"},
        {{"--load", "x"}, "--load"},
        {{"--colour"}, "--colour"},
        {{"extra"}, "extra"}}) {
    const auto parsed = parse(args);
    EXPECT_EQ(parsed.code, kUsage) << args[0];
    EXPECT_NE(parsed.err.find(said), std::string::npos) << parsed.err;
  }
}

TEST(QueryOptions, AMatcherNamesItsSubsystemsDominantFirst) {
  EXPECT_EQ(matcher_subsystems("C+PA").value(), (std::vector<std::string>{"containment", "power"}));
  EXPECT_EQ(matcher_subsystems("pa").value(), std::vector<std::string>{"power"});
  EXPECT_FALSE(matcher_subsystems(""));
}

}  // namespace
}  // namespace holon::cli::query
