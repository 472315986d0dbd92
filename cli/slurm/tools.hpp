// tools.hpp - Slurm's commands, which holon answers where it is called by their names.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/verb.hpp"

namespace holon::cli::slurm {

// One call of a command.
struct Call {
  std::string program;             // argv[0]
  std::string name;                // "squeue"
  std::vector<std::string> words;  // behind it
  Io& io;
};

using Command = int (*)(Call& call);

// The command that a program of this name (argv[0]) is; nullptr: none.
Command command_called(std::string_view argv0);
// The part of the name behind the last slash.
std::string name_called(std::string_view argv0);
// The names of all, in the order of their help.
std::vector<std::string_view> names_of_commands();

// Says "squeue: error: WHAT" and returns 1, Slurm's code of a failure.
int refuse(Call& call, std::string_view what);
int refuse(Call& call, const Error& error);

// Slurm's text of --version, by which programs tell what they may use.
inline constexpr std::string_view kVersion = "slurm 22.05.8";

int sacct(Call& call);
int salloc(Call& call);
int sbatch(Call& call);
int scancel(Call& call);
int scontrol(Call& call);
int sinfo(Call& call);
int squeue(Call& call);

}  // namespace holon::cli::slurm
