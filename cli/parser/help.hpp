// help.hpp - the description of one verb, and its two faces: `--help` on a terminal and a man page.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/io.hpp"
#include "cli/verb.hpp"

namespace holon::cli {

struct HelpPage {
  struct Option {
    std::string group;
    std::string names;  // "-n,--ntasks"
    std::string value;  // "N"; empty for a flag
    std::string help;
  };
  struct Positional {
    std::string name;
    std::string help;
    bool many = false;
    bool required = false;
  };
  struct Command {
    std::string name;
    std::string help;
    bool required = false;
  };
  struct Example {
    std::string command;
    std::string what;
  };

  std::string name;  // as typed after "holon"
  std::string summary;
  std::vector<Option> options;
  std::vector<Positional> positionals;
  std::optional<Command> command;
  std::vector<std::string> notes;
  std::vector<Example> examples;
};

// Splits "-n,--ntasks" into {"-n", "--ntasks"}.
std::vector<std::string> split_names(const std::string& names);

// "holon submit [OPTIONS] COMMAND [ARGS...]"
std::string synopsis(const HelpPage& page);

std::string render_help(const Io& io, const HelpPage& page);

// A page of section 1 in man(7) macros.
std::string render_man(const HelpPage& page);

// The page of a verb that is a table of verbs.
std::string render_group(const Io& io, const VerbGroup& group);

// The page of `holon` itself: what it is, and all verbs.
std::string render_overview(const Io& io, std::span<const Verb> table);
std::string render_overview_man(std::span<const Verb> table);

// `text` broken between words into lines of at most `width` columns; a longer word has its own
// line.
std::vector<std::string> wrap(const std::string& text, std::size_t width);

}  // namespace holon::cli
