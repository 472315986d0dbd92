// translate.hpp - the lines that scripts have for Slurm and Flux ("#SBATCH -n 4", "# flux: -n 4")
// as options of holon.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/parser/parser.hpp"

namespace holon::cli {

struct Translated {
  Parser::Layer lines;                   // with the places of the lines they come from
  std::vector<std::string> no_equal;     // "fit.sh:4: --mail-type END: ignored; ..."
  bool many_tasks = false;               // more than one task, or an unknown number of them
  std::vector<std::string> environment;  // "SLURM_NTASKS=4": what a script finds of its options
};

// The command line around a script. An option of Slurm or Flux whose equal the verb lacks counts as
// one without an equal. Values made of several options (memory of a node, GPUs of a job) use those
// that hold in the end: an option of the command line stands in for the script's.
struct Around {
  // Does the verb have this option of ours?
  std::function<bool(const std::string& option)> knows;
  // The value that the command line, or a #HOLON line, gives for the option; "": none.
  std::function<std::string(const std::string& option)> typed;
  // What has no equal is refused, and its texts do not say that it is ignored.
  bool refuses = false;
};
// Translates the lines; values are checked by the reader of the options. Errors: invalid_argument
// (what would become another job than was meant: an array where the verb makes none).
Result<Translated> translate_slurm(const Parser::Layer& lines, const Around& around);
Result<Translated> translate_flux(const Parser::Layer& lines, const Around& around);

// An srun(1) within a script.
struct Srun {
  std::vector<std::vector<std::string>> options;  // of `holon run`: {"-n", "4"}, {"--label-io"}
  std::vector<std::string> command;               // the program and its arguments
  std::vector<std::string> notes;                 // "--overlap: ignored; ..."
  std::vector<std::string> environment;           // "SLURM_NTASKS=4": what the step's tasks find
  std::int64_t tasks = 1, cores = 1;              // of the step, and of each task
  bool is_help = false;                           // -h, --help, --usage: nothing is run
};
// The words behind "srun", and what the script's variables (SLURM_NTASKS, ...) say where the words
// do not: `variable` has their values, "" of those that are not set. Errors: invalid_argument, with
// the option as it was typed.
Result<Srun> translate_srun(const std::vector<std::string>& words,
                            const std::function<std::string(const std::string& name)>& variable);

}  // namespace holon::cli
