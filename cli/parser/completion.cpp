// The scripts hold no logic about single verbs: a table of words, and a function that finds out
// which verb the words before the cursor belong to. Ids of jobs are asked of the instance when they
// are wanted.
#include "cli/parser/completion.hpp"

#include <fmt/format.h>

namespace holon::cli {
namespace {

// 'text' for all three shells.
std::string in_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string last_word(const std::string& name) {
  return name.substr(name.rfind(' ') + 1);
}

// The text up to its first full stop or semicolon, short enough to stand beside the word.
std::string short_text(const std::string& help) {
  constexpr std::size_t kLongest = 60;
  std::string text = help.substr(0, help.find_first_of(";\n"));
  if (text.size() <= kLongest) return text;
  const auto blank = text.rfind(' ', kLongest);
  return text.substr(0, blank == std::string::npos ? kLongest : blank) + " ...";
}

std::string all_options(const HelpPage& page) {
  std::string words = "--help";
  for (const auto& option : page.options)
    for (const auto& name : split_names(option.names)) words += " " + name;
  return words;
}

std::string options_with_values(const HelpPage& page) {
  std::string words;
  for (const auto& option : page.options)
    if (!option.value.empty())
      for (const auto& name : split_names(option.names)) words += " " + name;
  return words;
}

bool takes_jobs(const HelpPage& page) {
  for (const auto& positional : page.positionals)
    if (positional.name.find("ID") != std::string::npos) return page.name != "reservation delete";
  return false;
}

std::string names_in(const CompletedVerb& group) {
  std::string names;
  for (const auto& page : group.pages) names += (names.empty() ? "" : " ") + last_word(page.name);
  return names;
}

template <class Take>
void each_page(std::span<const CompletedVerb> verbs, Take take) {
  for (const auto& verb : verbs)
    for (const auto& page : verb.pages) take(page);
}

}  // namespace

std::string bash_completion(std::span<const CompletedVerb> verbs) {
  std::string text =
      "# bash completion of holon: written by `holon completion bash`\n"
      "_holon() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local verb= sub= word skip= i options= values= jobs=\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    word=${COMP_WORDS[i]}\n"
      "    if [[ $skip ]]; then skip=; continue; fi\n"
      "    case $word in\n"
      "      -i|--instance) skip=1 ;;\n"
      "      -*) ;;\n"
      "      *) if [[ ! $verb ]]; then verb=$word; elif [[ ! $sub ]]; then sub=$word; fi ;;\n"
      "    esac\n"
      "  done\n"
      "  COMPREPLY=()\n";
  std::string names, groups;
  for (const auto& verb : verbs) {
    names += (names.empty() ? "" : " ") + verb.name;
    if (verb.is_group)
      groups += fmt::format(
          "    {0}) if [[ ! $sub || $COMP_CWORD -eq 2 ]]; then\n"
          "      COMPREPLY=($(compgen -W {1} -- \"$cur\")); return; fi\n"
          "      verb=\"$verb $sub\" ;;\n",
          verb.name, in_quotes(names_in(verb)));
  }
  text += fmt::format(
      "  if [[ ! $verb ]]; then\n"
      "    COMPREPLY=($(compgen -W {} -- \"$cur\")); return\n"
      "  fi\n"
      "  case $verb in\n{}  esac\n"
      "  case $verb in\n",
      in_quotes(names + " --help --version -i"), groups);
  each_page(verbs, [&](const HelpPage& page) {
    text += fmt::format("    {}) options={} values={} jobs={} ;;\n", in_quotes(page.name),
                        in_quotes(all_options(page)), in_quotes(options_with_values(page) + " "),
                        takes_jobs(page) ? "1" : "");
  });
  text +=
      "  esac\n"
      "  if [[ $prev == -* && $values == *\" $prev \"* ]]; then\n"
      "    COMPREPLY=($(compgen -f -- \"$cur\")); return\n"
      "  fi\n"
      "  if [[ $cur == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
      "  elif [[ $jobs ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$(holon jobs --format id 2>/dev/null | tail -n +2)\" -- "
      "\"$cur\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _holon holon\n";
  return text;
}

std::string zsh_completion(std::span<const CompletedVerb> verbs) {
  const auto row = [](const std::string& word, const std::string& help) {
    std::string name;
    for (const char c : word) name += c == ':' ? "\\:" : std::string(1, c);
    return fmt::format("      {}\n", in_quotes(name + ":" + short_text(help)));
  };
  std::string text =
      "#compdef holon\n"
      "# zsh completion of holon: written by `holon completion zsh`\n"
      "_holon() {\n"
      "  local verb= sub= word skip= jobs= i\n"
      "  local -a verbs subs options\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    word=${words[i]}\n"
      "    if [[ -n $skip ]]; then skip=; continue; fi\n"
      "    case $word in\n"
      "      -i|--instance) skip=1 ;;\n"
      "      -*) ;;\n"
      "      *) if [[ -z $verb ]]; then verb=$word; elif [[ -z $sub ]]; then sub=$word; fi ;;\n"
      "    esac\n"
      "  done\n"
      "  if [[ -z $verb ]]; then\n"
      "    verbs=(\n";
  for (const auto& verb : verbs) text += row(verb.name, verb.summary);
  text +=
      "    )\n"
      "    _describe 'verb' verbs; return\n"
      "  fi\n"
      "  case $verb in\n";
  for (const auto& verb : verbs) {
    if (!verb.is_group) continue;
    text += fmt::format("    {}) subs=(\n", verb.name);
    for (const auto& page : verb.pages) text += row(last_word(page.name), page.summary);
    text += "      ) ;;\n";
  }
  text +=
      "  esac\n"
      "  if (( ${#subs} )); then\n"
      "    if [[ -z $sub ]]; then _describe 'verb' subs; return; fi\n"
      "    verb=\"$verb $sub\"\n"
      "  fi\n"
      "  case $verb in\n";
  each_page(verbs, [&](const HelpPage& page) {
    text += fmt::format("    {}) jobs={}; options=(\n", in_quotes(page.name),
                        takes_jobs(page) ? "1" : "");
    for (const auto& option : page.options)
      for (const auto& name : split_names(option.names)) text += row(name, option.help);
    text += "      ) ;;\n";
  });
  text +=
      "  esac\n"
      "  if [[ ${words[CURRENT]} == -* ]]; then\n"
      "    _describe -o 'option' options\n"
      "  elif [[ -n $jobs ]]; then\n"
      "    compadd -- ${(f)\"$(holon jobs --format id 2>/dev/null | tail -n +2)\"}\n"
      "  else\n"
      "    _files\n"
      "  fi\n"
      "}\n"
      "_holon \"$@\"\n";
  return text;
}

namespace {

std::string fish_option(const std::string& condition, const HelpPage::Option& option) {
  std::string line = fmt::format("complete -c holon -n {}", in_quotes(condition));
  for (const auto& name : split_names(option.names))
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty()) line += " -r";
  return line + " -d " + in_quotes(short_text(option.help)) + "\n";
}

}  // namespace

std::string fish_completion(std::span<const CompletedVerb> verbs) {
  std::string text =
      "# fish completion of holon: written by `holon completion fish`\n"
      "function __holon_jobs\n"
      "  holon jobs --format id 2>/dev/null | tail -n +2\n"
      "end\n"
      "function __holon_needs_verb\n"
      "  test (count (commandline -opc)) -eq 1\n"
      "end\n"
      "function __holon_is\n"
      "  set -l words (commandline -opc)\n"
      "  set -l last (math (count $argv) + 1)\n"
      "  test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
      "end\n";
  for (const auto& verb : verbs) {
    text += fmt::format("complete -c holon -f -n __holon_needs_verb -a {} -d {}\n", verb.name,
                        in_quotes(short_text(verb.summary)));
    for (const auto& page : verb.pages) {
      const std::string is = "__holon_is " + page.name;
      if (verb.is_group)
        text += fmt::format(
            "complete -c holon -f -n '__holon_is {0}; and test (count (commandline -opc)) -eq 2' "
            "-a {1} -d {2}\n",
            verb.name, last_word(page.name), in_quotes(short_text(page.summary)));
      if (takes_jobs(page))
        text += fmt::format("complete -c holon -f -n {} -a '(__holon_jobs)'\n", in_quotes(is));
      for (const auto& option : page.options) text += fish_option(is, option);
    }
  }
  return text;
}

}  // namespace holon::cli
