// holon slurm-tools: Slurm's commands as links to holon.
#include <fmt/core.h>

#include <filesystem>
#include <ostream>

#include "cli/options/start_options.hpp"
#include "cli/parser/parser.hpp"
#include "cli/slurm/tools.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

namespace fs = std::filesystem;

bool is_link_to_us(const fs::path& link, const fs::path& binary) {
  std::error_code none;
  return fs::is_symlink(link, none) && fs::equivalent(link, binary, none);
}

// All or none: a file of one of the names that is not ours stops it before the first.
Status make_links(const fs::path& folder, const fs::path& binary) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(Errc::system, error.message(), folder.string());
  for (const auto name : slurm::names_of_commands()) {
    const fs::path link = folder / name;
    if (fs::exists(fs::symlink_status(link, error)) && !is_link_to_us(link, binary))
      return fail(Errc::exists, "there is such a file, and it is no link to this holon",
                  link.string());
  }
  for (const auto name : slurm::names_of_commands()) {
    const fs::path link = folder / name;
    if (is_link_to_us(link, binary)) continue;
    fs::create_symlink(binary, link, error);
    if (error) return fail(Errc::system, error.message(), link.string());
  }
  return {};
}

}  // namespace

int verb_slurm_tools(Invocation& call) {
  std::string folder;
  Parser parser("slurm-tools", "put Slurm's commands into a folder, as links to holon");
  parser.required("DIR", folder, "the folder; it is made where there is none")
      .note(
          "The links are sbatch, srun, squeue, scancel, sacct, sinfo, salloc and scontrol. "
          "Scripts, "
          "and programs that drive Slurm by its commands, find them where DIR stands first on "
          "PATH, "
          "and then run on the instance around: docs/coming-from/slurm-tools.md says what they "
          "take. Nothing else on the machine changes.")
      .example("holon slurm-tools ~/slurm-on-holon", "eight links")
      .example("PATH=~/slurm-on-holon:$PATH snakemake --cluster sbatch -j 50",
               "a program that knows Slurm alone");
  if (const auto code = parser.parse(call)) return *code;
  const auto binary = own_binary();
  if (!binary) return report(call, "slurm-tools", binary.error());
  if (auto made = make_links(folder, *binary); !made)
    return report(call, "slurm-tools", made.error());
  call.io.out << fmt::format("PATH={}:$PATH has Slurm's commands answered by holon\n",
                             fs::absolute(folder).lexically_normal().string());
  return kOk;
}

}  // namespace holon::cli
