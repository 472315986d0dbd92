// verb.hpp - what a verb of the command line is: a name, a line about it, and a function.
//
// A new verb is a file in cli/verbs/, its declaration in cli/verbs.hpp and its row in
// cli/verbs.cpp. The function builds a Parser (cli/parser/parser.hpp), calls parse(), and does the
// work.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/io.hpp"

namespace holon::cli {

// Exit codes of holon itself; `run`, `alloc` and `start` also pass on those of what they ran.
// docs/exit-codes.md is their description.
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,       // understood, but it did not work
  kUsage = 2,        // the command line or an input file is wrong
  kNoInstance = 3,   // no instance to talk to, or it does not answer
  kTimeLimit = 124,  // run: the job's time limit ended it
  kNotRun = 125,     // run: the job was refused or lost before it could give an exit code
};

struct HelpPage;
struct SlurmCall;

// One call of a verb.
struct Invocation {
  Io& io;
  std::vector<std::string> args;  // what follows the verb's name
  std::string instance;           // -i PATH as given before or after the verb; empty: none
  bool as_man_page = false;       // parse() writes the verb's man page instead of running it
  // Where parse() adds the verb's page instead of running it; null: it runs it.
  std::vector<HelpPage>* pages = nullptr;
  bool json = false;  // the verb prints JSON, and report() does
  // The sbatch or salloc that this call answers (options/script_options.hpp); null: a person's own.
  const SlurmCall* slurm = nullptr;
};

enum class Group { work, look, instance, tools, hidden };

struct Verb {
  std::string_view name;     // "submit"
  std::string_view summary;  // for the list of verbs, lower case, no full stop
  Group group;
  int (*run)(Invocation& call);
};

// A verb that is a table of verbs: `holon job info`.
struct VerbGroup {
  std::string_view name;
  std::string_view summary;
  std::span<const Verb> verbs;
  struct Example {
    std::string_view command, what;
  };
  std::vector<Example> examples;
};
int run_group(const VerbGroup& group, Invocation& call);

// Looks args[0] up in `table` and runs it with the rest. `prefix` is what a person typed so far
// ("holon", "holon job"). An unknown name is answered with the nearest ones and kUsage.
int dispatch(std::span<const Verb> table, std::string_view prefix, Invocation& call);

// Says "holon VERB: where: what" on io.err, to a program an object in one line
// (show/json_line.hpp), and returns the exit code that fits the error's code.
int report(Invocation& call, std::string_view verb, const Error& error);

// Up to three of `known` that `word` may have been meant to be, nearest first.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known);

}  // namespace holon::cli
