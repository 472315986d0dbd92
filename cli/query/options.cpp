#include "cli/query/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ostream>
#include <string_view>

#include "cli/parser/parser.hpp"

namespace holon::cli::query {
namespace {

struct Matcher {
  std::string_view name;
  std::vector<std::string> subsystems;
};

const std::array<Matcher, 14>& matchers() {
  static const std::array<Matcher, 14> kMatchers{{
      {"CA", {"containment"}},
      {"IBA", {"ibnet"}},
      {"IBBA", {"ibnetbw"}},
      {"PFS1BA", {"pfs1bw"}},
      {"PA", {"power"}},
      {"C+IBA", {"containment", "ibnet"}},
      {"C+IBBA", {"containment", "ibnetbw"}},
      {"C+PFS1BA", {"containment", "pfs1bw"}},
      {"C+PA", {"containment", "power"}},
      {"IB+IBBA", {"ibnet", "ibnetbw"}},
      {"C+P+IBA", {"containment", "power", "ibnet"}},
      {"VA", {"virtual1"}},
      {"V+PFS1BA", {"virtual1", "pfs1bw"}},
      {"ALL", {"containment", "ibnet", "ibnetbw", "pfs1bw", "power"}},
  }};
  return kMatchers;
}

constexpr std::array<std::string_view, 17> kLongNames{"--load-file",
                                                      "--load-format",
                                                      "--load-allowlist",
                                                      "--match-subsystems",
                                                      "--match-policy",
                                                      "--match-format",
                                                      "--traverser-policy",
                                                      "--graph-format",
                                                      "--graph-output",
                                                      "--prune-filters",
                                                      "--test-output",
                                                      "--reserve-vtx-vec",
                                                      "--elapse-time",
                                                      "--disable-prompt",
                                                      "--help",
                                                      "--json",
                                                      "--instance"};

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

bool blank(std::string_view text) {
  return text.find_first_not_of(' ') == text.npos;
}

// The one long name that `word` begins; `word` itself if there is none, or more than one.
std::string complete_options(const std::string& word) {
  std::string_view found;
  for (const auto name : kLongNames) {
    if (name == word) return word;
    if (!name.starts_with(word)) continue;
    if (!found.empty()) return word;
    found = name;
  }
  return found.empty() ? word : std::string{found};
}

void append_list(std::string& list, const std::string& more, bool& given) {
  if (blank(more)) return;
  list = given ? list + "," + more : more;
  given = true;
}

std::function<Status(const std::string&)> one_of(std::string& target,
                                                 std::vector<std::string> known) {
  return [&target, known = std::move(known)](const std::string& word) -> Status {
    if (std::find(known.begin(), known.end(), word) == known.end())
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' is unknown; there are {}", word, fmt::join(known, ", ")));
    target = word;
    return {};
  };
}

Status read_reserve(const std::string& word) {
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (error != std::errc{} || end != word.data() + word.size() || size < 0 || size > 2000000)
    return fail(Errc::invalid_argument,
                fmt::format("'{}' is not a number of vertices from 0 to 2000000", word));
  return {};
}

void describe_input(Parser& parser, Options& options, bool& allowlist_given) {
  parser.group("Resources");
  parser.option("-L,--load-file", options.load_file, "FILE",
                "the resources, as a file (default: conf/default)");
  parser.option("-f,--load-format",
                one_of(options.load_format,
                       {"grug", "hwloc", "jgf", "jgf_shorthand", "rv1exec", "rv1exec_force"}),
                "FORMAT", "what the file is: grug (default), hwloc, jgf, rv1exec, rv1exec_force");
  parser.option(
      "-W,--load-allowlist",
      [&options, &allowlist_given](const std::string& word) -> Status {
        append_list(options.allowlist, word, allowlist_given);
        return {};
      },
      "TYPES", "load only these types, comma separated (hwloc)");
  parser.option("-r,--reserve-vtx-vec", read_reserve, "N",
                "accepted for compatibility: the graph sizes itself");
}

void describe_matching(Parser& parser, Options& options, bool& filters_given) {
  parser.group("Matching");
  parser.option(
      "-S,--match-subsystems",
      [&options](const std::string& word) -> Status {
        if (auto known = matcher_subsystems(word); !known) return tl::unexpected(known.error());
        options.matcher = word;
        return {};
      },
      "NAME",
      "the subsystems to walk: CA containment (default), PA power, C+PA containment with power, "
      "C+PFS1BA, C+IBA, IBA, IBBA, PFS1BA, IB+IBBA, C+P+IBA, VA, V+PFS1BA, ALL");
  parser.option("-P,--match-policy", options.policy, "POLICY",
                "which of the resources that fit are taken: first (default), firstnodex, high, "
                "low, hinode, lonode, hinodex, lonodex, locality, variation, or 'key=value ...'");
  parser.option("-T,--traverser-policy", one_of(options.traverser, {"simple", "flexible"}), "NAME",
                "simple (default), or flexible: alternatives by or-slots and xor_slot");
  parser.option(
      "-p,--prune-filters",
      [&options, &filters_given](const std::string& word) -> Status {
        append_list(options.prune_filters, word, filters_given);
        return {};
      },
      "HIGH:LOW,...",
      "keep the free amount of LOW below each HIGH, to cut the search (default "
      "ALL:core,ALL:node)");
}

void describe_output(Parser& parser, Options& options) {
  parser.group("Output");
  parser.option("-F,--match-format",
                one_of(options.match_format, {"simple", "pretty_simple", "jgf", "jgf_shorthand",
                                              "rlite", "rv1", "rv1_nosched", "rv1_shorthand"}),
                "FORMAT",
                "how R is written: simple (default), pretty_simple, jgf, jgf_shorthand, rlite, "
                "rv1, rv1_nosched, rv1_shorthand");
  parser.option("-t,--test-output", options.test_output, "FILE", "write what is answered to FILE");
  parser.option("-g,--graph-format", one_of(options.graph_format, {"dot", "graphml"}), "FORMAT",
                "of the graph written at the end: dot (default) or graphml");
  parser.option("-o,--graph-output", options.graph_output, "BASE",
                "write the graph to BASE.dot or BASE.graphml at the end");
  parser.flag("-e,--elapse-time", options.elapse, "say how long each operation took");
  parser.flag("-d,--disable-prompt", options.no_prompt, "print no prompt");
  parser.json(options.json);
}

}  // namespace

Result<std::vector<std::string>> matcher_subsystems(const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& matcher : matchers()) {
    if (matcher.name == upper(name)) return matcher.subsystems;
    names.push_back(matcher.name);
  }
  return fail(Errc::invalid_argument,
              fmt::format("'{}' is unknown; there are {}", name, fmt::join(names, ", ")));
}

std::vector<std::string> spell_out(const std::vector<std::string>& args) {
  std::vector<std::string> words;
  for (auto at = args.begin(); at != args.end(); ++at) {
    if (!at->starts_with("--") || at->size() == 2) {
      words.push_back(*at);
      continue;
    }
    const auto equals = at->find('=');
    words.push_back(complete_options(at->substr(0, equals)));
    if (equals != std::string::npos) words.push_back(at->substr(equals + 1));
  }
  return words;
}

std::optional<int> parse_options(Invocation& call, Options& options) {
  bool allowlist_given = false;
  bool filters_given = false;
  Parser parser("query", "ask a resource graph: match, find, allocate, cancel");
  describe_input(parser, options, allowlist_given);
  describe_matching(parser, options, filters_given);
  describe_output(parser, options);
  parser.empty_values().note(
      "Reads commands from standard input, one a line; 'help' lists them. Options, commands and "
      "answers are those of Fluxion's resource-query (docs/query.md, docs/compatibility.md).");
  parser.example("holon query -L cluster.graphml -P low",
                 "a session over a generated cluster; try: match allocate jobspec.yaml");
  parser.example("echo 'find status=down' | holon query -L R.json -f rv1exec -F rlite",
                 "what is down, as R_lite");
  call.args = spell_out(call.args);
  return parser.parse(call);
}

}  // namespace holon::cli::query
