#include "cli/slurm/tools.hpp"

#include <fmt/core.h>

#include <array>
#include <ostream>

#include "base/text/printable.hpp"
#include "cli/options/srun.hpp"

namespace holon::cli::slurm {
namespace {

int srun(Call& call) {
  return run_srun(call.io, call.words);
}

struct NamedCommand {
  std::string_view name;
  Command run;
};

constexpr std::array kCommands = {
    NamedCommand{"sbatch", sbatch}, NamedCommand{"srun", srun},
    NamedCommand{"squeue", squeue}, NamedCommand{"scancel", scancel},
    NamedCommand{"sacct", sacct},   NamedCommand{"sinfo", sinfo},
    NamedCommand{"salloc", salloc}, NamedCommand{"scontrol", scontrol},
};

}  // namespace

std::string name_called(std::string_view argv0) {
  return std::string(argv0.substr(argv0.rfind('/') + 1));
}

Command command_called(std::string_view argv0) {
  const std::string name = name_called(argv0);
  for (const NamedCommand& command : kCommands)
    if (command.name == name) return command.run;
  return nullptr;
}

std::vector<std::string_view> names_of_commands() {
  std::vector<std::string_view> names;
  for (const NamedCommand& command : kCommands) names.push_back(command.name);
  return names;
}

int refuse(Call& call, std::string_view what) {
  call.io.err << fmt::format("{}: error: {}\n", call.name, printable(what)) << std::flush;
  return kFailed;
}

int refuse(Call& call, const Error& error) {
  return refuse(call, to_string(error));
}

}  // namespace holon::cli::slurm
