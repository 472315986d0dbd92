// options.hpp - what `holon query` is started with.
//
// The options are resource-query's, so that its users change a name and nothing else.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/verb.hpp"

namespace holon::cli::query {

struct Options {
  std::string load_file = "conf/default";
  std::string load_format = "grug";
  std::string allowlist;         // types to load, comma separated; empty: all
  std::string matcher = "CA";    // one of matchers()
  std::string policy = "first";  // a name, or "key=value key=value"
  std::string match_format = "simple";
  std::string traverser = "simple";
  std::string prune_filters = "ALL:core,ALL:node";
  std::string graph_format = "dot";  // or "graphml"
  std::string graph_output;          // base name of the graph's file; empty: none is written
  std::string test_output;           // file for the answers; empty: standard output
  bool elapse = false;               // how long each operation took, and how much it visited
  bool no_prompt = false;
  bool json = false;  // one JSON object a command
};

// The subsystems a matcher of that name walks, the dominant one first. Upper or lower case.
// Errors: invalid_argument with the names there are.
Result<std::vector<std::string>> matcher_subsystems(const std::string& name);

// Fills `options` from the words of the call. An exit code: the help or an error has been written.
[[nodiscard]] std::optional<int> parse_options(Invocation& call, Options& options);

// `args` as getopt_long would take them: abbreviated long names spelt out where that is
// unambiguous, and `--name=` as an empty value.
std::vector<std::string> spell_out(const std::vector<std::string>& args);

}  // namespace holon::cli::query
