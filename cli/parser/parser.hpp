// parser.hpp - one verb's command line: options, their help, examples, and the man page from the
// same text.
//
// CLI11 does the parsing; it is kept out of the verbs because its headers cost seconds per file,
// and so that every verb says the same thing in the same way when something is wrong.
//
//   Args args;
//   Parser parser("cancel", "end jobs, pending or running");
//   parser.flag("-a,--all", args.all, "every job of the instance");
//   parser.positional("ID", args.ids, "jobs to cancel");
//   parser.example("holon cancel 3 4", "cancel two jobs");
//   if (auto code = parser.parse(call)) return *code;
//
// Bound variables must outlive parse(); they keep their value where the option is not given. A
// value that is empty is refused for every option.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/verb.hpp"

namespace holon::cli {

class Parser {
 public:
  // `name` as typed after "holon": "submit", "job wait".
  Parser(std::string name, std::string summary);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // Options added from here on stand under this heading in the help.
  Parser& group(std::string heading);

  // `names` as CLI11 takes them: "-n,--ntasks". Behind a '|' stand names that are taken too and
  // that only the help mentions: "-J,--name|--job-name". `value` stands for the value in the help:
  // "N".
  Parser& flag(const std::string& names, bool& target, std::string help);
  // Adds a flag for the program itself, which the help does not show.
  Parser& hidden_flag(const std::string& names, bool& target);
  Parser& option(const std::string& names, std::string& target, std::string value,
                 std::string help);
  Parser& option(const std::string& names, std::optional<std::string>& target, std::string value,
                 std::string help);
  Parser& option(const std::string& names, std::int64_t& target, std::string value,
                 std::string help);
  Parser& option(const std::string& names, std::optional<std::int64_t>& target, std::string value,
                 std::string help);
  // Adds an option that may be given several times; each takes one value.
  Parser& option(const std::string& names, std::vector<std::string>& target, std::string value,
                 std::string help);
  // Adds an option with its own notation: `read` takes the value or says what is wrong.
  Parser& option(const std::string& names, std::function<Status(const std::string&)> read,
                 std::string value, std::string help);

  Parser& positional(const std::string& name, std::string& target, std::string help);
  // Adds a positional; parse() fails without it.
  Parser& required(const std::string& name, std::string& target, std::string help);
  Parser& positional(const std::string& name, std::vector<std::string>& target, std::string help);
  // Everything from the first word that is not an option on is a command and its arguments, options
  // of its own included. `required`: parse() fails without one.
  Parser& command(std::string name, std::vector<std::string>& target, std::string help,
                  bool required);
  // Takes "-" as a missing COMMAND, unless input is a terminal. REQUIRES: command() before.
  Parser& or_standard_input();
  // --wrap: the command is one line for the shell, as --wrap "a; b" or --wrap="a; b". Several words
  // are refused, unless they may be a command and its arguments all the same (`or_command`).
  // REQUIRES: after command().
  Parser& wrap(bool& given, std::string help, bool or_command = false);

  // Options that stand elsewhere than on the command line, one layer of them.
  struct Line {
    std::string place;               // "fit.sh:3"
    std::vector<std::string> words;  // as on a command line
  };
  using Layer = std::vector<Line>;
  using ScriptReader = std::function<Result<std::vector<Layer>>(const std::string& command)>;
  // `read` is called once the command line is split and its flags are set, unless there is no
  // COMMAND, or --wrap or --help is given. The value of an option is that of the last layer that
  // has the option; the command line stands behind all layers. Flags of all layers count.
  // REQUIRES: after command().
  Parser& script(ScriptReader read);
  // Gives the option declared last the values of all layers, in their order.
  Parser& adds_up();
  bool knows(const std::string& name) const;  // "-n", "--ntasks"
  std::vector<std::string> names() const;     // of all options that the help shows
  // The last value that the command line gives for this option; empty: none.
  std::string typed(const std::string& name) const;
  // The last value that the lines of a layer give for the option by one of its names; empty: none.
  std::string said_in(const Layer& layer, const std::string& name) const;
  // The error with the line of the script in front, if it is about an option that came from there.
  Error located(Error error) const;

  // The standard pairs: -i PATH into call.instance, and --json.
  Parser& instance(Invocation& call);
  Parser& json(bool& target);

  // Allows empty values of options, which are refused elsewhere.
  Parser& empty_values();
  Parser& note(std::string paragraph);
  Parser& example(std::string command, std::string what);

  // nullopt: go on. Otherwise the exit code: the help (kOk) or an error (kUsage) has been written.
  [[nodiscard]] std::optional<int> parse(Invocation& call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads a whole number into `target`; one above `most` is refused as too large.
std::function<Status(const std::string&)> number_up_to(std::int64_t most, std::int64_t& target);

}  // namespace holon::cli
