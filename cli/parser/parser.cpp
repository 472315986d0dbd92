// CLI11 splits the words; the meaning of each value is read here, by one function per option, so
// that a bad value is reported in the same words wherever it appears: "-n,--ntasks: 'x' is not a
// whole number".
#include "cli/parser/parser.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <deque>
#include <limits>
#include <ostream>
#include <utility>

#include "cli/parser/help.hpp"

namespace holon::cli {
namespace {

Result<std::int64_t> whole_number(const std::string& text,
                                  std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_all = end == text.data() + text.size();
  const bool is_above = error == std::errc::result_out_of_range
                            ? text.front() != '-'
                            : error == std::errc{} && number > most;
  if (is_all && is_above)
    return fail(Errc::invalid_argument,
                fmt::format("'{}' is too large; at most {} is accepted", text, most));
  if (error != std::errc{} || end != text.data() + text.size() || text.empty())
    return fail(Errc::invalid_argument, fmt::format("'{}' is not a whole number", text));
  return number;
}

// "-J,--name|--job-name": what CLI11 is to take, and what is said of it.
struct Names {
  std::string taken, shown, also;  // also: "--job-name", empty for none
};

Names names_of(const std::string& text) {
  const auto cut = text.find('|');
  if (cut == std::string::npos) return {text, text, ""};
  const std::string shown = text.substr(0, cut);
  const std::string also = text.substr(cut + 1);
  return {shown + "," + also, shown, also};
}

std::string help_with(std::string help, const Names& names) {
  return names.also.empty() ? std::move(help) : std::move(help) + "; also " + names.also;
}

bool has_name(const std::string& names, const std::string& name) {
  const auto all = split_names(names);
  return std::find(all.begin(), all.end(), name) != all.end();
}

// Often an unset variable of a script, which does not mean to leave the option out.
Status empty_value() {
  return fail(Errc::invalid_argument, "its value is empty");
}

}  // namespace

std::function<Status(const std::string&)> number_up_to(std::int64_t most, std::int64_t& target) {
  return [most, &target](const std::string& word) -> Status {
    const auto number = whole_number(word, most);
    if (!number) return tl::unexpected(number.error());
    target = *number;
    return {};
  };
}

struct Parser::State {
  struct Word {
    std::string text;
    std::string place;  // a line of a script; empty: the command line
  };
  struct Value {
    std::string names;
    std::vector<std::string> words;  // the words that CLI11 has just split
    std::function<Status(const std::string&)> read;
    bool adds_up = false;
    std::vector<Word> typed, layer, taken;  // layer: the words of the layer being read
  };
  struct Flag {
    std::string names;
    bool given = false;  // in the words that CLI11 has just split
    bool* target = nullptr;
    std::string place;
  };

  CLI::App app;
  HelpPage page;
  std::string group = "Options";
  bool wants_help = false;
  bool wants_man = false;
  bool* json = nullptr;      // where --json is taken
  std::deque<Value> values;  // deque: CLI11 keeps pointers to the elements
  std::deque<Flag> flags;
  std::vector<std::pair<std::string, std::string*>> required;
  std::vector<std::string>* command = nullptr;
  bool command_required = false;
  std::string command_name;  // "COMMAND [ARGS...]"
  std::string wrapped;       // the value of --wrap; "true" without one
  bool* wrap_given = nullptr;
  bool wraps_commands = false;
  bool reads_input = false;
  bool takes_empty = false;
  ScriptReader script;

  std::optional<Error> split(const std::vector<std::string>& args);
  std::optional<Error> take_command();
  bool wraps_nothing() const;
  std::optional<Error> take_wrapped();
  void take_flags(const std::string& place);
  void end_layer();
  std::optional<Error> read_script();
  std::optional<Error> read_line(const Line& line);
  std::optional<Error> read_values();
  const Value* find(const std::string& name) const;
  Error unknown_option(const std::string& word) const;
  std::optional<std::string> value_of_flag(const std::string& word) const;
};

Parser::Parser(std::string name, std::string summary) : state_(std::make_unique<State>()) {
  state_->page.name = std::move(name);
  state_->page.summary = std::move(summary);
  state_->app.set_help_flag();  // ours is rendered by help.cpp
  state_->app.add_flag("-h,--help", state_->wants_help);
  state_->app.allow_windows_style_options(false);
}

Parser::~Parser() = default;

Parser& Parser::group(std::string heading) {
  state_->group = std::move(heading);
  return *this;
}

Parser& Parser::hidden_flag(const std::string& names, bool& target) {
  auto& flag = state_->flags.emplace_back();
  flag.names = names;
  flag.target = &target;
  state_->app.add_flag(names, flag.given)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return *this;
}

Parser& Parser::flag(const std::string& names, bool& target, std::string help) {
  const Names all = names_of(names);
  hidden_flag(all.taken, target);
  state_->page.options.push_back({state_->group, all.shown, "", help_with(std::move(help), all)});
  return *this;
}

Parser& Parser::option(const std::string& names, std::function<Status(const std::string&)> read,
                       std::string value, std::string help) {
  auto& slot = state_->values.emplace_back();
  const Names all = names_of(names);
  slot.names = all.shown;
  slot.read = std::move(read);
  state_->app.add_option(all.taken, slot.words)->allow_extra_args(false);
  state_->page.options.push_back(
      {state_->group, all.shown, std::move(value), help_with(std::move(help), all)});
  return *this;
}

Parser& Parser::option(const std::string& names, std::string& target, std::string value,
                       std::string help) {
  const auto read = [&target](const std::string& word) -> Status {
    target = word;
    return {};
  };
  return option(names, read, std::move(value), std::move(help));
}

Parser& Parser::option(const std::string& names, std::optional<std::string>& target,
                       std::string value, std::string help) {
  const auto read = [&target](const std::string& word) -> Status {
    target = word;
    return {};
  };
  return option(names, read, std::move(value), std::move(help));
}

namespace {

// Into a number, or one that is optional.
template <class Target>
auto whole_number_into(Target& target) {
  return [&target](const std::string& word) -> Status {
    const auto number = whole_number(word);
    if (!number) return tl::unexpected(number.error());
    target = *number;
    return {};
  };
}

}  // namespace

Parser& Parser::option(const std::string& names, std::int64_t& target, std::string value,
                       std::string help) {
  return option(names, whole_number_into(target), std::move(value), std::move(help));
}

Parser& Parser::option(const std::string& names, std::optional<std::int64_t>& target,
                       std::string value, std::string help) {
  return option(names, whole_number_into(target), std::move(value), std::move(help));
}

Parser& Parser::option(const std::string& names, std::vector<std::string>& target,
                       std::string value, std::string help) {
  const auto read = [&target](const std::string& word) -> Status {
    target.push_back(word);
    return {};
  };
  return option(names, read, std::move(value), std::move(help));
}

Parser& Parser::positional(const std::string& name, std::string& target, std::string help) {
  state_->app.add_option(name, target);
  state_->page.positionals.push_back({name, std::move(help), false});
  return *this;
}

Parser& Parser::required(const std::string& name, std::string& target, std::string help) {
  state_->required.emplace_back(name, &target);
  positional(name, target, std::move(help));
  state_->page.positionals.back().required = true;
  return *this;
}

Parser& Parser::positional(const std::string& name, std::vector<std::string>& target,
                           std::string help) {
  state_->app.add_option(name, target);
  state_->page.positionals.push_back({name, std::move(help), true});
  return *this;
}

Parser& Parser::command(std::string name, std::vector<std::string>& target, std::string help,
                        bool required) {
  state_->app.prefix_command();
  state_->command = &target;
  state_->command_required = required;
  state_->command_name = name;
  state_->page.command = {std::move(name), std::move(help), required};
  return *this;
}

Parser& Parser::or_standard_input() {
  state_->reads_input = true;
  return *this;
}

Parser& Parser::wrap(bool& given, std::string help, bool or_command) {
  state_->wraps_commands = or_command;
  state_->wrap_given = &given;
  state_->app.add_flag("--wrap", state_->wrapped);
  state_->page.options.push_back({state_->group, "--wrap", "", std::move(help)});
  return *this;
}

Parser& Parser::script(ScriptReader read) {
  state_->script = std::move(read);
  return *this;
}

Parser& Parser::adds_up() {
  state_->values.back().adds_up = true;
  return *this;
}

bool Parser::knows(const std::string& name) const {
  return state_->app.get_option_no_throw(name) != nullptr;
}

std::vector<std::string> Parser::names() const {
  std::vector<std::string> all;
  const CLI::App& app = state_->app;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) all.push_back("--" + name);
    for (const auto& name : option->get_snames()) all.push_back("-" + name);
  }
  return all;
}

std::string Parser::said_in(const Layer& layer, const std::string& name) const {
  const State::Value* value = state_->find(name);
  std::string said;
  if (value == nullptr) return said;
  for (const auto& line : layer) {
    for (std::size_t i = 0; i < line.words.size(); ++i) {
      const std::string& word = line.words[i];
      const bool is_letter = word.size() > 1 && word[0] == '-' && word[1] != '-';
      const auto cut = std::min(is_letter ? 2 : word.find('='), word.size());
      if (!has_name(value->names, word.substr(0, cut))) continue;
      if (cut < word.size())
        said = word.substr(is_letter ? cut : cut + 1);
      else if (i + 1 < line.words.size())
        said = line.words[++i];
    }
  }
  return said;
}

std::string Parser::typed(const std::string& name) const {
  const State::Value* value = state_->find(name);
  return value == nullptr || value->typed.empty() ? "" : value->typed.back().text;
}

Error Parser::located(Error error) const {
  const std::string option = error.where.substr(0, error.where.find_first_of(", "));
  std::string place;
  if (const State::Value* value = state_->find(option); value != nullptr && !value->taken.empty())
    place = value->taken.back().place;
  for (const auto& flag : state_->flags)
    if (has_name(flag.names, option)) place = flag.place;
  if (!place.empty()) error.where = place + ": " + error.where;
  return error;
}

Parser& Parser::instance(Invocation& call) {
  return option(
      "-i,--instance", call.instance, "PATH",
      "the instance to talk to: / is the root, /3/7 the child of job 7 in the child of "
      "job 3, 7.2 that of task 2 of array 7; a path without / at its front starts at this "
      "instance, .. is its parent");
}

Parser& Parser::json(bool& target) {
  state_->json = &target;
  return flag("--json", target, "print JSON, for programs");
}

Parser& Parser::empty_values() {
  state_->takes_empty = true;
  return *this;
}

Parser& Parser::note(std::string paragraph) {
  state_->page.notes.push_back(std::move(paragraph));
  return *this;
}

Parser& Parser::example(std::string command, std::string what) {
  state_->page.examples.push_back({std::move(command), std::move(what)});
  return *this;
}

namespace {

// Options of Slurm, Flux and Grid Engine that people type, and their equals here.
struct Foreign {
  std::string_view theirs, ours, text;
};
constexpr Foreign kForeign[] = {
    {"-p", "-q", "a queue is -q"},
    {"--partition", "-q", "a queue is -q"},
    {"-a", "--count", "so many equal jobs are --count"},
    {"--array", "--count", "so many equal jobs are --count"},
    {"--cpus-per-task", "-c", "cores are -c"},
    {"--gres", "-g", "GPUs are -g"},
    {"--gpus", "-g", "GPUs are -g"},
    {"-H", "--urgency", "a job is held by --urgency hold"},
    {"--hold", "--urgency", "a job is held by --urgency hold"},
    {"--export", "--env", "a variable is --env NAME=VALUE"},
    {"--immediate", "--now", "it is --now y"},
    {"--memory", "--mem", "memory is --mem"},
};

}  // namespace

Error Parser::State::unknown_option(const std::string& word) const {
  std::vector<std::string> known;
  for (const auto& option : page.options)
    for (const auto& name : split_names(option.names)) known.push_back(name);
  const std::string typed = word.substr(0, word.find('='));
  for (const Foreign& foreign : kForeign)
    if (foreign.theirs == typed &&
        std::find(known.begin(), known.end(), foreign.ours) != known.end())
      return {Errc::invalid_argument, "no such option; " + std::string(foreign.text), word};
  std::string what = "there is no such option";
  // Any letter is as near to one letter as any other.
  const auto close = typed.size() > 2 ? nearest(typed, known) : std::vector<std::string>{};
  if (!close.empty()) what += fmt::format("; did you mean {}?", fmt::join(close, " or "));
  return {Errc::invalid_argument, what, word};
}

// The value in "--preemptible=maybe"; nullopt: the word gives no value to a flag.
std::optional<std::string> Parser::State::value_of_flag(const std::string& word) const {
  const auto equals = word.find('=');
  if (equals == std::string::npos || !word.starts_with('-')) return std::nullopt;
  for (const Flag& flag : flags)
    if (has_name(flag.names, word.substr(0, equals))) return word.substr(equals + 1);
  return std::nullopt;
}

std::optional<Error> Parser::State::split(const std::vector<std::string>& args) {
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::ExtrasError&) {
    const auto rest = app.remaining();
    for (const auto& word : rest)
      if (word.size() > 1 && word[0] == '-') return unknown_option(word);
    return Error{Errc::invalid_argument, "not expected here", rest.empty() ? "" : rest.front()};
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();  // "--ntasks: 1 required TEXT missing"
    return Error{Errc::invalid_argument, "a value is missing", text.substr(0, text.find(':'))};
  } catch (const CLI::ParseError& error) {
    for (const auto& word : args)
      if (const auto value = value_of_flag(word))
        return Error{Errc::invalid_argument,
                     fmt::format("'{}' does not fit; true, false and the option alone do", *value),
                     word.substr(0, word.find('='))};
    return Error{Errc::invalid_argument, error.what(), ""};
  }
  return std::nullopt;
}

std::optional<Error> Parser::State::take_command() {
  if (command == nullptr) return std::nullopt;
  *command = app.remaining();
  if (!command->empty() && command->front() == "--")
    command->erase(command->begin());
  else if (!command->empty() && command->front().size() > 1 && command->front()[0] == '-')
    return unknown_option(command->front());
  if (wrap_given != nullptr && wraps_nothing())
    return Error{Errc::invalid_argument, empty_value().error().what, "--wrap"};
  if (auto misfit = take_wrapped()) return misfit;
  if (!command->empty() && command->front().empty() && !wants_help)
    return Error{Errc::invalid_argument, "'' is no command: it is an empty string",
                 command_name.substr(0, command_name.find(' '))};
  if (command->empty() && reads_input && !wants_help && isatty(STDIN_FILENO) == 0)
    command->emplace_back("-");
  if (command->empty() && command_required && !wants_help)
    return Error{Errc::invalid_argument, fmt::format("{} is missing", command_name), ""};
  return std::nullopt;
}

// Is it --wrap ""?
bool Parser::State::wraps_nothing() const {
  const bool is_alone = wrapped == "true" && command->size() == 1;
  return is_alone && command->front().empty();
}

std::optional<Error> Parser::State::take_wrapped() {
  if (wrap_given == nullptr || wrapped.empty()) return std::nullopt;
  *wrap_given = true;
  if (wrapped != "true") command->insert(command->begin(), wrapped);
  // The words behind ":::" tell the tasks of an array apart.
  if (command->size() == 1 || (!command->empty() && (*command)[1] == ":::")) {
    command->insert(command->begin(), {"/bin/sh", "-c"});
    return std::nullopt;
  }
  const bool is_line = !command->empty() && command->front().find(' ') != std::string::npos;
  if (command->empty() || (wraps_commands && !is_line)) return std::nullopt;
  return Error{Errc::invalid_argument,
               "one line for the shell, or a command and its arguments without --wrap; not both",
               fmt::format("--wrap '{}' {}", command->front(), (*command)[1])};
}

const Parser::State::Value* Parser::State::find(const std::string& name) const {
  const auto found = std::find_if(values.begin(), values.end(), [&name](const Value& value) {
    return has_name(value.names, name);
  });
  return found == values.end() ? nullptr : &*found;
}

void Parser::State::take_flags(const std::string& place) {
  for (auto& flag : flags) {
    if (!std::exchange(flag.given, false)) continue;
    *flag.target = true;
    flag.place = place;
  }
}

void Parser::State::end_layer() {
  for (auto& value : values) {
    if (value.layer.empty()) continue;
    if (!value.adds_up) value.taken.clear();
    for (auto& word : value.layer) value.taken.push_back(std::move(word));
    value.layer.clear();
  }
}

std::optional<Error> Parser::State::read_line(const Line& line) {
  const auto at = [&line](Error error) {
    error.where = error.where.empty() ? line.place : line.place + ": " + error.where;
    return error;
  };
  wrapped.clear();
  if (auto misfit = split(line.words)) return at(std::move(*misfit));
  for (const auto& word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-' && word != "--") return at(unknown_option(word));
    return at({Errc::invalid_argument, "not expected here; only options are", word});
  }
  if (wants_help || !wrapped.empty())
    return at({Errc::invalid_argument, "accepted on the command line only",
               wants_help ? "--help" : "--wrap"});
  take_flags(line.place);
  for (auto& value : values)
    for (auto& word : std::exchange(value.words, {}))
      value.layer.push_back({std::move(word), line.place});
  return std::nullopt;
}

std::optional<Error> Parser::State::read_script() {
  const bool has_script = script && wrapped.empty() && command != nullptr && !command->empty();
  if (!has_script) return std::nullopt;
  const auto layers = script(command->front());
  if (!layers) return layers.error();
  for (const auto& layer : *layers) {
    for (const auto& line : layer)
      if (auto misfit = read_line(line)) return misfit;
    end_layer();
  }
  return std::nullopt;
}

std::optional<Error> Parser::State::read_values() {
  for (const auto& [name, target] : required)
    if (target->empty()) return Error{Errc::invalid_argument, name + " is missing", ""};
  take_flags("");
  for (auto& value : values)
    for (const auto& word : std::exchange(value.words, {})) value.typed.push_back({word, ""});
  if (auto misfit = read_script()) return misfit;
  for (auto& value : values) value.layer = value.typed;
  end_layer();
  for (auto& value : values) {
    for (const auto& [word, place] : value.taken) {
      const Status status = word.empty() && !takes_empty ? empty_value() : value.read(word);
      if (!status)
        return Error{status.error().code, status.error().what,
                     place.empty() ? value.names : place + ": " + value.names};
    }
  }
  return std::nullopt;
}

std::optional<int> Parser::parse(Invocation& call) {
  if (call.pages != nullptr) {
    call.pages->push_back(state_->page);
    return kOk;
  }
  if (call.as_man_page) {
    call.io.out << render_man(state_->page);
    return kOk;
  }
  // Looked for even in a command line that cannot be read.
  const auto words_end = std::find(call.args.begin(), call.args.end(), "--");
  call.json =
      state_->json != nullptr && std::find(call.args.begin(), words_end, "--json") != words_end;
  std::optional<Error> error = state_->split(call.args);
  if (state_->wants_help) {
    call.io.out << render_help(call.io, state_->page);
    return kOk;
  }
  if (!error) error = state_->take_command();
  if (!error) error = state_->read_values();
  if (!error) {
    call.json = state_->json != nullptr && *state_->json;
    return std::nullopt;
  }
  const int code = report(call, state_->page.name, *error);
  if (call.json) return code;
  call.io.err << fmt::format("usage: {}\n`holon {} --help` tells more\n", synopsis(state_->page),
                             state_->page.name);
  return code;
}

}  // namespace holon::cli
