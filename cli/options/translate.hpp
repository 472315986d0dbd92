// translate.hpp - the lines that scripts have for Slurm and Flux ("#SBATCH -n 4", "# flux: -n 4")
// as options of holon.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "cli/options/parser.hpp"

namespace holon::cli {

struct Translated {
  Parser::Layer lines;                // with the places of the lines they come from
  std::vector<std::string> no_equal;  // "fit.sh:4: --mail-type END"
  bool many_tasks = false;            // more than one task, or an unknown number of them
};

// `knows`: does the verb have this option? An option of Slurm's or Flux's whose equal the verb
// lacks is one without an equal. Values are checked by whoever reads the options.
using Knows = std::function<bool(const std::string& option)>;
Translated translate_slurm(const Parser::Layer& lines, const Knows& knows);
Translated translate_flux(const Parser::Layer& lines, const Knows& knows);

}  // namespace holon::cli
