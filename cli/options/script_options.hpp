// script_options.hpp - options that a script has in lines of its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/options/job_options.hpp"
#include "cli/parser/parser.hpp"

namespace holon::cli {

struct ScriptOptions {
  bool translate = false;  // #SBATCH and flux: lines, too
  // The absolute name of the script, if options were taken from it; else empty. The script is found
  // by that name even if it chooses another folder to run in.
  std::string file;
  // Set by the verb: COMMAND "-" is a script on standard input. Otherwise it is refused.
  bool takes_input = false;
  // The script on standard input.
  std::optional<std::string> text;
};

// A call of sbatch or salloc that a verb answers: its options in Slurm's words, and the script.
struct SlurmCall {
  std::string name;      // of the script, for messages
  std::string script;    // its text; "": there is none, and the verb has a command
  Parser::Layer before;  // what its options stand in for: defaults
  Parser::Layer typed;   // what stands in for its options
  std::string folder;    // where the command was found; "": on PATH
};

// Makes the script of standard input one of the job's files, and `command` the word by which it is
// found there. Does nothing if there is none.
void add_script_of_input(const ScriptOptions& script, JobOptions& job,
                         std::vector<std::string>& command);

// The place where a command without '/' is looked for.
enum class LookedFor { in_path, here };

// Adds --translate. Has the parser take "#HOLON" lines of the script that COMMAND names, and says
// on call.io.err what was found and is not read. REQUIRES: after Parser::command(); both outlive
// parse().
void add_script_options(Parser& parser, Invocation& call, const std::string& verb,
                        LookedFor looked_for, ScriptOptions& options);

}  // namespace holon::cli
