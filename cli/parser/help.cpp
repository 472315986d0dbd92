#include "cli/parser/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace holon::cli {
namespace {

constexpr int kDefaultWidth = 80;
constexpr int kLeastWidth = 40;
constexpr int kMostWidth = 90;  // longer lines are hard to read

std::size_t page_width(const Io& io) {
  return static_cast<std::size_t>(
      std::clamp(io.width > 0 ? io.width : kDefaultWidth, kLeastWidth, kMostWidth));
}

// The column where the explanation of an option begins.
std::size_t help_column(std::size_t width) {
  constexpr std::size_t kNarrow = 60;
  return width < kNarrow ? 10 : 26;
}

// "-n, --ntasks N"
std::string label_of(const HelpPage::Option& option) {
  std::string label = fmt::format("{}", fmt::join(split_names(option.names), ", "));
  if (label.starts_with("--")) label = "    " + label;  // long names stand under each other
  return option.value.empty() ? label : label + " " + option.value;
}

std::string entry(const std::string& label, const std::string& help, std::size_t width,
                  std::size_t column) {
  std::string text = "  " + label;
  const std::string indent(column, ' ');
  bool first = true;
  for (const auto& line : wrap(help, width - column)) {
    if (first && text.size() + 2 <= column)
      text.resize(column, ' ');
    else
      text += "\n" + indent;
    text += line;
    first = false;
  }
  return text + "\n";
}

std::string entry(const std::string& label, const std::string& help, std::size_t width) {
  return entry(label, help, width, help_column(width));
}

// A row of a table of verbs: the verb and what it does.
std::string verb_row(const Verb& verb, std::size_t width) {
  return entry(std::string(verb.name), std::string(verb.summary), width, 14);
}

// An example; the command stays on one line, to be copied.
std::string example_text(std::string_view command, std::string_view what, std::size_t width) {
  const std::string indent(6, ' ');
  std::string text = fmt::format("  {}\n", command);
  for (const auto& line : wrap(std::string(what), width - indent.size()))
    text += indent + line + "\n";
  return text;
}

// "holon VERB: what it does" and how it is called. The name is painted.
std::string head_of(const Io& io, const std::string& name, const std::string& summary,
                    const std::string& usage, std::size_t width) {
  const std::string title = "holon " + name;
  const auto said = fmt::format("{}", fmt::join(wrap(title + ": " + summary, width), "\n"));
  return paint(io, Colour::bold, title) + said.substr(title.size()) +
         fmt::format("\n\nusage: {}\n", fmt::join(wrap(usage, width - 7), "\n       "));
}

const char* heading_of(Group group) {
  switch (group) {
    case Group::work:
      return "Give work";
    case Group::look:
      return "Look";
    case Group::instance:
      return "Instances";
    case Group::tools:
      return "Tools";
    case Group::hidden:
      return "";
  }
  return "";
}

constexpr const char* kAbout =
    "A hierarchical, recursive scheduler: an instance schedules its own resources with its own "
    "policy, and is itself one job of the instance above it.";

// Escapes backslashes and leading dots or quotes for roff.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  if (!escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string roff_options(const HelpPage& page) {
  std::string text;
  std::string group;
  for (const auto& option : page.options) {
    if (option.group != group) {
      group = option.group;
      text += ".SS " + roff(group) + "\n";
    }
    std::string names = fmt::format("{}", fmt::join(split_names(option.names), ", "));
    text += fmt::format(".TP\n\\fB{}\\fR", roff(names));
    if (!option.value.empty()) text += fmt::format(" \\fI{}\\fR", roff(option.value));
    text += "\n" + roff(option.help) + "\n";
  }
  return text;
}

}  // namespace

std::vector<std::string> split_names(const std::string& names) {
  std::vector<std::string> list;
  std::istringstream words(names);
  for (std::string word; std::getline(words, word, ',');) list.push_back(word);
  return list;
}

std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (lines.empty() || lines.back().size() + 1 + word.size() > width)
      lines.push_back(word);
    else
      lines.back() += " " + word;
  }
  return lines;
}

std::string synopsis(const HelpPage& page) {
  std::string line = "holon " + page.name;
  if (!page.options.empty()) line += " [OPTIONS]";
  for (const auto& positional : page.positionals) {
    const std::string name = positional.name + (positional.many ? "..." : "");
    line += positional.required ? " " + name : " [" + name + "]";
  }
  if (page.command)
    line += page.command->required ? " " + page.command->name : " [" + page.command->name + "]";
  return line;
}

std::string render_help(const Io& io, const HelpPage& page) {
  const std::size_t width = page_width(io);
  std::string text = head_of(io, page.name, page.summary, synopsis(page), width);
  if (!page.positionals.empty() || page.command) text += "\n";
  for (const auto& positional : page.positionals)
    text += entry(positional.name, positional.help, width);
  if (page.command) text += entry(page.command->name, page.command->help, width);

  std::string group;
  for (const auto& option : page.options) {
    if (option.group != group) {
      group = option.group;
      text += "\n" + paint(io, Colour::bold, group) + "\n";
    }
    text += entry(label_of(option), option.help, width);
  }
  for (const auto& note : page.notes)
    text += fmt::format("\n{}\n", fmt::join(wrap(note, width), "\n"));
  if (!page.examples.empty()) text += "\n" + paint(io, Colour::bold, "Examples") + "\n";
  for (const auto& example : page.examples)
    text += example_text(example.command, example.what, width);
  return text;
}

std::string render_man(const HelpPage& page) {
  const std::string title = "holon-" + dashed(page.name);
  std::string text = fmt::format(".TH {} 1 \"\" \"holon\" \"holon manual\"\n", roff(title));
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(title), roff(page.summary));
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR\n", roff(synopsis(page)));
  if (!page.positionals.empty() || page.command || !page.notes.empty()) text += ".SH DESCRIPTION\n";
  for (const auto& positional : page.positionals)
    text += fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff(positional.name), roff(positional.help));
  if (page.command)
    text +=
        fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff(page.command->name), roff(page.command->help));
  for (const auto& note : page.notes) text += ".PP\n" + roff(note) + "\n";
  if (!page.options.empty()) text += ".SH OPTIONS\n" + roff_options(page);
  if (!page.examples.empty()) text += ".SH EXAMPLES\n";
  for (const auto& example : page.examples)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(example.command), roff(example.what));
  text += ".SH SEE ALSO\n\\fBholon\\fR(1)\n";
  return text;
}

std::string render_group(const Io& io, const VerbGroup& group) {
  const std::size_t width = page_width(io);
  const std::string name(group.name);
  std::string text = head_of(io, name, std::string(group.summary),
                             "holon " + name + " VERB [OPTIONS] ...", width) +
                     "\n";
  for (const auto& verb : group.verbs) text += verb_row(verb, width);
  text += "\n" + paint(io, Colour::bold, "Examples") + "\n";
  for (const auto& example : group.examples)
    text += example_text(example.command, example.what, width);
  return text;
}

std::string render_overview(const Io& io, std::span<const Verb> table) {
  const std::size_t width = page_width(io);
  std::string text = fmt::format("{}\n\nusage: holon [-i PATH] VERB [OPTIONS] ...\n",
                                 fmt::join(wrap(kAbout, width), "\n"));
  for (const Group group : {Group::instance, Group::work, Group::look, Group::tools}) {
    text += "\n" + paint(io, Colour::bold, heading_of(group)) + "\n";
    for (const auto& verb : table)
      if (verb.group == group) text += verb_row(verb, width);
  }
  text +=
      "\nholon VERB --help explains a verb. Start with:\n"
      "  holon start            an instance of this machine, with a shell in it\n"
      "  holon submit hostname  a job; `holon jobs -a` shows it\n";
  return text;
}

std::string render_overview_man(std::span<const Verb> table) {
  std::string text = ".TH HOLON 1 \"\" \"holon\" \"holon manual\"\n";
  text += ".SH NAME\nholon \\- hierarchical, recursive scheduler\n";
  text +=
      ".SH SYNOPSIS\n\\fBholon\\fR [\\fB\\-i\\fR \\fIPATH\\fR] \\fIVERB\\fR [\\fIOPTIONS\\fR] "
      "...\n";
  text += ".SH DESCRIPTION\n" + roff(kAbout) + "\n.SH VERBS\n";
  for (const auto& verb : table)
    if (verb.group != Group::hidden)
      text += fmt::format(".TP\n\\fBholon {}\\fR\n{}\n", roff(std::string(verb.name)),
                          roff(std::string(verb.summary)));
  text +=
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBHOLON_URI\\fR\nThe instance to talk to; set in every job and in the shell of "
      "\\fBholon start\\fR. Without it the user's running root instance is used.\n"
      ".TP\n\\fBHOLON_CONF\\fR\nFiles of configuration, with : between them, that "
      "\\fBholon start\\fR reads before those of \\fB--conf\\fR.\n"
      ".TP\n\\fBNO_COLOR\\fR\nNo colours, even on a terminal.\n"
      ".TP\n\\fBTERM\\fR\nWith dumb, or without a value, no colours, and progress line by line.\n";
  return text;
}

}  // namespace holon::cli
