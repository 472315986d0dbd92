// srun.hpp - the srun(1) of translated scripts: their steps run as jobs of the instance that the
// script runs in, on any machine, with Slurm or without.
//
// The folder libexec/holon/slurm beside holon's own has a link of that name to holon itself, and
// stands first on the PATH of a script whose #SBATCH lines are translated.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/io.hpp"

namespace holon::cli {

// Runs a step; `words` are those behind the name. Within a batch script, or a task of one of its
// steps, it is a job of that instance; within a job that has no instance and one task, a step of
// one task is the program itself, in the place of this process. The exit code is the step's; kUsage
// where an option has no equal.
int run_srun(Io& io, const std::vector<std::string>& words);

// The folder with that link; "": this holon has none.
std::string folder_of_srun();

}  // namespace holon::cli
