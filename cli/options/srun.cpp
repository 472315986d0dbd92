#include "cli/options/srun.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>

#include "base/idset.hpp"
#include "base/text/printable.hpp"
#include "cli/cli.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/start_options.hpp"
#include "cli/options/translate.hpp"
#include "cli/verb.hpp"
#include "launch/tasks/environment.hpp"

namespace holon::cli {
namespace {

constexpr const char* kHelp =
    "usage: srun [OPTIONS] PROGRAM [ARGS...]\n\n"
    "A step of the job around, run by holon: `holon run --help` has its own options, and\n"
    "docs/coming-from/slurm.md which of srun's have an equal.\n";

std::string variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

int refuse(Io& io, const std::string& what) {
  io.err << "srun: " << printable(what) << "\n" << std::flush;
  return kUsage;
}

// The job whose step this becomes: its number in the instance around that of the script.
std::string job_around() {
  if (const auto job = variable("SLURM_JOB_ID"); !job.empty()) return job;
  const std::string path = variable("HOLON_JOB_PATH");
  return path.substr(path.rfind('/') + 1);
}

// What a task finds: of the job what this process does, of the step its own.
std::vector<std::string> words_of_run(const Srun& step) {
  std::vector<std::string> words = {"run", kNamesOfSlurm};
  for (const auto& option : step.options) words.insert(words.end(), option.begin(), option.end());
  words.emplace_back("--env=SLURM_*");
  words.push_back(fmt::format("--env={}={}", launch::kStepOf, job_around()));
  for (const auto& entry : step.environment) words.push_back("--env=" + entry);
  words.emplace_back("--");
  words.insert(words.end(), step.command.begin(), step.command.end());
  return words;
}

std::size_t count_at(const char* name) {
  const auto ids = Idset::parse(variable(name));
  return ids ? ids->count() : 0;
}

// In a job without an instance there is nobody to wait for cores, or to start another task.
Status check_in_place(const Srun& step) {
  const auto misfit = [](std::string what) {
    return fail(Errc::unsupported,
                std::move(what) +
                    "; `holon batch --translate` runs the script in an instance, "
                    "which has steps of every size");
  };
  if (const auto tasks = variable("HOLON_NTASKS"); tasks != "1")
    return misfit(fmt::format("each of the {} tasks of this job runs the script", tasks));
  if (step.tasks != 1)
    return misfit(fmt::format("this job has one task, and the step {}", step.tasks));
  const auto cores = static_cast<std::int64_t>(count_at("HOLON_CORES"));
  if (cores > 0 && step.cores > cores)
    return misfit(fmt::format("this job has {} cores, and the step {}", cores, step.cores));
  for (const auto& option : step.options) {
    const std::string name = option.front().substr(0, option.front().find('='));
    static constexpr std::string_view kAsTheJob[] = {
        "-n", "-N", "-c", "-g", "-J", "-m", "-D", "--mpi", "--kill-on-bad-exit", "--distribution"};
    if (std::find(std::begin(kAsTheJob), std::end(kAsTheJob), name) == std::end(kAsTheJob))
      return misfit(
          fmt::format("{}: a step of this job is the program alone", fmt::join(option, " ")));
  }
  return {};
}

int run_in_place(Io& io, const Srun& step) {
  if (const auto good = check_in_place(step); !good) return refuse(io, good.error().what);
  for (const auto& option : step.options)
    if (option.front() == "-D" && chdir(option.back().c_str()) != 0)
      return refuse(io, fmt::format("-D {}: {}", option.back(), std::strerror(errno)));
  for (const auto& entry : step.environment) {
    const auto equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
  const std::string nodes = variable("SLURM_JOB_NODELIST");
  for (const auto& [name, value] : {std::pair("SLURM_STEP_ID", std::string("0")),
                                    {"SLURM_STEPID", "0"},
                                    {"SLURM_STEP_NUM_TASKS", "1"},
                                    {"SLURM_STEP_NUM_NODES", "1"},
                                    {"SLURM_STEP_NODELIST", nodes}})
    setenv(name, value.c_str(), 1);
  std::vector<std::string> words = step.command;
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  io.out << std::flush;
  execvp(argv[0], argv.data());
  const int why = errno;
  io.err << fmt::format("srun: {}: {}\n", printable(words.front()), std::strerror(why));
  return why == ENOENT ? 127 : 126;
}

}  // namespace

int run_srun(Io& io, const std::vector<std::string>& words) {
  const auto step = translate_srun(words, variable);
  if (!step) return refuse(io, to_string(step.error()));
  if (step->is_help) {
    io.out << kHelp;
    return kOk;
  }
  for (const auto& note : step->notes) io.err << "srun: " << printable(note) << "\n";
  if (variable("HOLON_URI").empty())
    return refuse(io, "there is no job around; `holon batch --translate SCRIPT` makes one");
  const bool has_instance = variable("HOLON_JOB_ID").empty() || !variable(launch::kStepOf).empty();
  return has_instance ? run(io, words_of_run(*step)) : run_in_place(io, *step);
}

std::string folder_of_srun() {
  const auto binary = own_binary();
  if (!binary) return "";
  const auto folder =
      (std::filesystem::path(*binary).parent_path().parent_path() / "libexec" / "holon" / "slurm");
  return access((folder / "srun").c_str(), X_OK) == 0 ? folder.string() : "";
}

}  // namespace holon::cli
