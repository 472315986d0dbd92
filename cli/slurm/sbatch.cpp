// sbatch and salloc: a script, or a command, with the options of both.
//
// A script whose tasks are one is a job; one with more is the script of an instance of its own, in
// which its steps (srun) run. The script is kept as it is now, as Slurm's controller keeps it.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <sstream>

#include "base/whole_file.hpp"
#include "cli/options/directives.hpp"
#include "cli/options/script_options.hpp"
#include "cli/options/translate_slurm.hpp"
#include "cli/slurm/job_ids.hpp"
#include "cli/slurm/listing.hpp"
#include "cli/verbs.hpp"
#include "resource/jobspec/file_archive.hpp"

namespace holon::cli::slurm {
namespace {

namespace fs = std::filesystem;
using Takes = Option::Takes;

// What concerns the call alone.
constexpr std::array kOwn = {
    Option{'h', "help"},    Option{0, "usage"},
    Option{'V', "version"}, Option{0, "wrap", Takes::value},
    Option{'W', "wait"},    Option{0, "parsable"},
    Option{0, "test-only"}, Option{'Q', "quiet"},
    Option{'v', "verbose"}, Option{0, "ignore-pbs"},
    Option{0, "no-shell"},  Option{'I', "immediate", Takes::joined_value},
};

// Variables that stand in for options which are not typed.
constexpr std::pair<const char*, const char*> kVariables[] = {
    {"ACCOUNT", "--account"},  {"PARTITION", "--partition"}, {"TIMELIMIT", "--time"},
    {"QOS", "--qos"},          {"JOB_NAME", "--job-name"},   {"CONSTRAINT", "--constraint"},
    {"EXPORT", "--export"},    {"OUTPUT", "--output"},       {"ERROR", "--error"},
    {"MEM_PER_NODE", "--mem"},
};

constexpr const char* kHelpOfSbatch =
    "Usage: sbatch [OPTIONS...] [SCRIPT [ARGS...]] | --wrap COMMAND\n"
    "docs/coming-from/slurm.md has the options that have an equal.\n";
constexpr const char* kHelpOfSalloc =
    "Usage: salloc [OPTIONS...] [COMMAND [ARGS...]]\n"
    "docs/coming-from/slurm.md has the options that have an equal.\n";

// All options of sbatch, with the names that their rows have behind "--".
std::vector<Option> known_options() {
  std::vector<Option> known(kOwn.begin(), kOwn.end());
  for (const Equal& row : rows_of_sbatch()) {
    const char* const name = row.name.data() + 2;  // a literal: it ends with a zero
    if (std::any_of(kOwn.begin(), kOwn.end(),
                    [name](const Option& own) { return std::string_view(own.name) == name; }))
      continue;
    const Takes takes = row.takes == cli::Takes::nothing ? Takes::nothing
                        : row.takes == cli::Takes::value ? Takes::value
                                                         : Takes::joined_value;
    known.push_back({row.letter.empty() ? '\0' : row.letter[1], name, takes});
  }
  return known;
}

bool is_own(std::string_view name) {
  return std::any_of(kOwn.begin(), kOwn.end(),
                     [name](const Option& own) { return own.name == name; });
}

// What was typed, and behind it what stands for it, as lines of a script would have it.
Parser::Layer layer_of(const std::string& command, const Options& options) {
  Parser::Layer layer;
  std::string prefix = command;
  for (char& c : prefix) c = static_cast<char>(c - 'a' + 'A');
  for (const auto& [name, option] : kVariables)
    if (const char* const value = std::getenv((prefix + "_" + name).c_str()); value != nullptr)
      layer.push_back({prefix + "_" + name, {std::string(option) + "=" + value}});
  for (const auto& [name, value] : options.given())
    if (!is_own(name))
      layer.push_back({"command line", {"--" + name + (value.empty() ? "" : "=" + value)}});
  return layer;
}

std::string folder_of(const Call& call) {
  std::error_code none;
  if (call.program.find('/') == std::string::npos) return "";
  return fs::absolute(call.program, none).parent_path().lexically_normal().string();
}

struct Submission {
  SlurmCall slurm;
  std::vector<std::string> words;  // of the script
};

// Errors: invalid_argument (no script, or one that cannot be read).
Result<Submission> submission_of(Call& call, const Options& options) {
  Submission made;
  const auto& rest = options.rest();
  std::string name;
  if (const auto line = options.value("wrap")) {
    if (!rest.empty())
      return fail(Errc::invalid_argument, "Script arguments not permitted with --wrap option");
    made.slurm.script = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n" + *line + "\n";
    name = "wrap";
  } else {
    const std::string file = rest.empty() ? "/dev/stdin" : rest.front();
    auto text = read_whole_file(file, resource::kMostAddedBytes);
    if (!text)
      return fail(Errc::invalid_argument,
                  fmt::format("Unable to open file {}: {}", file, text.error().what));
    made.slurm.script = std::move(*text);
    name = rest.empty() ? "sbatch" : fs::path(file).filename().string();
    if (!rest.empty()) made.words.assign(rest.begin() + 1, rest.end());
  }
  if (!made.slurm.script.starts_with("#!"))
    return fail(Errc::invalid_argument,
                "This does not look like a batch script.  The first line must start with #! "
                "followed by the path to an interpreter.  For instance: #!/bin/sh");
  made.slurm.name = rest.empty() ? name : rest.front();
  made.slurm.typed = layer_of("sbatch", options);
  made.slurm.folder = folder_of(call);
  made.slurm.before.push_back({"sbatch", {"--job-name=" + name}});
  return made;
}

// What the lines and the options mean together, with what is asked for of a default.
Result<Translated> translated(const SlurmCall& slurm, bool& is_array) {
  auto lines = words_of(directives_in(slurm.script).slurm, slurm.name);
  if (!lines) return tl::unexpected(lines.error());
  lines->insert(lines->end(), slurm.typed.begin(), slurm.typed.end());
  for (const auto& line : *lines)
    for (const auto& word : line.words)
      is_array = is_array || word.starts_with("--array") || word.starts_with("-a");
  return translate_slurm(*lines, {[](const std::string&) { return true; },
                                  [](const std::string&) { return std::string(); }});
}

// The messages of a verb of holon in the command's name.
std::string in_name_of(const std::string& command, const std::string& said) {
  std::istringstream lines(said);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    for (const std::string_view verb : {"submit", "batch", "alloc"}) {
      const std::string prefix = fmt::format("holon {}: ", verb);
      if (line.starts_with(prefix)) line.replace(0, prefix.size(), command + ": ");
    }
    text += line + "\n";
  }
  return text;
}

// The exit code of the job, or of the worst task of an array.
int wait_for(Call& call, std::uint64_t id) {
  auto client = connect(call);
  if (!client) return refuse(call, client.error());
  const auto over = client->wait({{id}});
  if (!over) return refuse(call, over.error());
  int code = kOk;
  for (const auto& job : over->jobs)
    code = std::max(code, job.result == "COMPLETED" ? 0 : std::max(1, job.exit_code));
  return code;
}

int submit(Call& call, const Options& options, Submission& made) {
  bool is_array = false;
  const auto meant = translated(made.slurm, is_array);
  if (!meant) return refuse(call, meant.error());
  made.slurm.before.push_back(
      {"sbatch", {is_array ? "--output=slurm-%A_%a.out" : "--output=slurm-%j.out"}});
  std::ostringstream out, err;
  Io io{out, err};
  Invocation inner{io, {"--translate"}, path_of_jobs(), false, nullptr, false, &made.slurm};
  if (options.has("test-only")) inner.args.emplace_back("--dry-run");
  inner.args.emplace_back("-");
  inner.args.insert(inner.args.end(), made.words.begin(), made.words.end());
  const int code = meant->many_tasks ? verb_batch(inner) : verb_submit(inner);
  if (code != kOk || !options.has("quiet"))
    call.io.err << in_name_of(code == kOk ? call.name : call.name + ": error", err.str())
                << std::flush;
  if (code != kOk) return kFailed;
  if (options.has("test-only")) {
    call.io.err << "sbatch: The job would be accepted\n";
    return kOk;
  }
  std::string id = out.str();
  id.erase(std::min(id.find('\n'), id.size()));
  if (options.has("parsable"))
    call.io.out << id << "\n" << std::flush;
  else if (!options.has("quiet"))
    call.io.out << "Submitted batch job " << id << "\n" << std::flush;
  return options.has("wait") ? wait_for(call, std::strtoull(id.c_str(), nullptr, 10))
                             : static_cast<int>(kOk);
}

// True: it was asked for, and is printed.
bool tell_about(Call& call, const Options& options, const char* help) {
  if (options.has("help") || options.has("usage"))
    call.io.out << help;
  else if (options.has("version"))
    call.io.out << kVersion << "\n";
  else
    return false;
  return true;
}

}  // namespace

int sbatch(Call& call) {
  const auto known = known_options();
  const auto options = Options::read(call.words, known, true);
  if (!options) return refuse(call, options.error());
  if (tell_about(call, *options, kHelpOfSbatch)) return kOk;
  auto made = submission_of(call, *options);
  return made ? submit(call, *options, *made) : refuse(call, made.error());
}

int salloc(Call& call) {
  const auto known = known_options();
  const auto options = Options::read(call.words, known, true);
  if (!options) return refuse(call, options.error());
  if (tell_about(call, *options, kHelpOfSalloc)) return kOk;
  SlurmCall slurm{"salloc", "", {}, layer_of("salloc", *options), folder_of(call)};
  slurm.before.push_back({"salloc", {"--job-name=interactive"}});
  std::vector<std::string> words = options->rest();
  if (words.empty()) {
    const char* const shell = std::getenv("SHELL");
    words = {shell == nullptr ? "/bin/sh" : shell};
  }
  Invocation inner{call.io, {"--translate"}, path_of_jobs(), false, nullptr, false, &slurm};
  inner.args.insert(inner.args.end(), words.begin(), words.end());
  return verb_alloc(inner);
}

}  // namespace holon::cli::slurm
