#include "cli/options/script_options.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "base/whole_file.hpp"
#include "cli/options/directives.hpp"
#include "cli/options/srun.hpp"
#include "cli/options/translate.hpp"
#include "cli/show/table.hpp"

namespace holon::cli {
namespace {

namespace fs = std::filesystem;

class Script {
 public:
  Script(Parser& parser, Invocation& call, std::string verb, LookedFor looked_for,
         ScriptOptions& options)
      : parser_(parser),
        call_(call),
        verb_(std::move(verb)),
        looked_for_(looked_for),
        options_(options) {}

  Result<std::vector<Parser::Layer>> read(const std::string& command) const {
    if (call_.slurm != nullptr) return read_of_slurm();
    std::vector<Parser::Layer> layers;
    if (command == "-" && !options_.takes_input)
      return fail(Errc::invalid_argument,
                  "a script on standard input is for `holon submit` and `holon batch`", "-");
    if (command == "-") return read_input();
    if (looked_for_ == LookedFor::in_path && command.find('/') == std::string::npos) return layers;
    std::error_code error;
    const fs::path file = fs::absolute(folder() / command, error).lexically_normal();
    if (error) return layers;
    auto read = layers_of(directives_of_file(file.string()), command);
    if (!read) return read;
    for (const auto& layer : *read)
      if (!layer.empty()) options_.file = file.string();
    return read;
  }

 private:
  Result<std::vector<Parser::Layer>> read_of_slurm() const {
    const SlurmCall& slurm = *call_.slurm;
    if (!slurm.script.empty()) options_.text = slurm.script;
    options_.translate = true;
    return layers_of(directives_in(slurm.script), slurm.name);
  }

  Result<std::vector<Parser::Layer>> read_input() const {
    const std::string name = "standard input";
    auto text = read_whole_file("/dev/stdin", resource::kMostAddedBytes);
    if (!text) return fail(text.error().code, text.error().what, name);
    if (text->empty()) return fail(Errc::invalid_argument, "there is no script on it", name);
    if (!text->starts_with("#!"))
      return fail(Errc::invalid_argument,
                  "a script begins with #! and what runs it, such as #!/bin/sh", name + ":1");
    options_.text = std::move(*text);
    return layers_of(directives_in(*options_.text), name);
  }

  Result<std::vector<Parser::Layer>> layers_of(const Directives& found,
                                               const std::string& command) const {
    std::vector<Parser::Layer> layers;
    tell_unread(command, found);
    auto ours = words_of(found.holon, command);
    if (!ours) return tl::unexpected(ours.error());
    if (options_.translate) {
      const auto slurm = words_for_slurm(found, command);
      if (!slurm) return tl::unexpected(slurm.error());
      if (auto good = add(layers, *slurm, command, translate_slurm, *ours); !good)
        return tl::unexpected(good.error());
      const auto flux = words_of(found.flux, command);
      if (!flux) return tl::unexpected(flux.error());
      if (auto good = add(layers, *flux, command, translate_flux, *ours); !good)
        return tl::unexpected(good.error());
      if (!slurm->empty()) layers.push_back(names_of_slurm(command));
    }
    layers.push_back(std::move(*ours));
    return layers;
  }

  // The lines of the script, between what a call of Slurm's has as defaults and what was typed.
  Result<Parser::Layer> words_for_slurm(const Directives& found, const std::string& name) const {
    auto lines = words_of(found.slurm, name);
    if (!lines || call_.slurm == nullptr) return lines;
    Parser::Layer all = call_.slurm->before;
    all.insert(all.end(), lines->begin(), lines->end());
    all.insert(all.end(), call_.slurm->typed.begin(), call_.slurm->typed.end());
    return all;
  }

  // The folder where a command is looked for: the job's; for a child's script, this one.
  fs::path folder() const {
    return looked_for_ == LookedFor::here ? fs::path() : fs::path(parser_.typed("--cwd"));
  }

  using Translator = Result<Translated> (*)(const Parser::Layer&, const Around&);
  Status add(std::vector<Parser::Layer>& layers, const Parser::Layer& lines,
             const std::string& name, Translator translate, const Parser::Layer& ours) const {
    if (lines.empty()) return {};
    const Around around{[this](const std::string& option) { return parser_.knows(option); },
                        [this, &ours](const std::string& option) {
                          const auto typed = parser_.typed(option);
                          return typed.empty() ? parser_.said_in(ours, option) : typed;
                        }};
    auto made = translate(lines, around);
    if (!made) return tl::unexpected(made.error());
    for (const auto& text : made->no_equal) tell(text);
    if (made->many_tasks && looked_for_ == LookedFor::in_path && runs_elsewhere())
      tell(name + ": each task runs the script; `holon batch` runs it once");
    for (const auto& variable : made->environment)
      if (runs_elsewhere())
        made->lines.push_back({name, {"--env=" + variable}});
      else
        put_here(variable);
    layers.push_back(std::move(made->lines));
    return {};
  }

  // False: the command runs in this process, as that of `holon alloc`, and finds its variables.
  bool runs_elsewhere() const { return parser_.knows("--env"); }
  static void put_here(const std::string& variable) {
    const auto equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }

  // Variables that sbatch sets for each script; `--export` takes none of them away.
  Parser::Layer names_of_slurm(const std::string& name) const {
    std::error_code error;
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    std::vector<std::string> variables;
    for (const auto& [variable, value] :
         {std::pair("SLURM_SUBMIT_DIR", fs::current_path(error).string()),
          {"SLURM_SUBMIT_HOST", std::string(host.data())},
          {"SLURM_JOB_USER", user_name()}})
      variables.push_back(std::string(variable) + "=" + value);
    const bool has_folder = call_.slurm != nullptr && !call_.slurm->folder.empty();
    if (const std::string folder = folder_of_srun(); !folder.empty())
      variables.push_back("PATH=" + folder + ":" + (has_folder ? call_.slurm->folder + ":" : "") +
                          path_of_job());
    else
      tell(name +
           ": beside this holon stands no libexec/holon/slurm/srun; an srun in the script "
           "is that of the machine, if it has one");
    if (!runs_elsewhere()) {
      for (const auto& variable : variables) put_here(variable);
      return {};
    }
    Parser::Line line{name, {kNamesOfSlurm}};
    for (const auto& variable : variables) line.words.push_back("--env=" + variable);
    return {line};
  }

  std::string path_of_job() const {
    const char* const path = parser_.typed("--for").empty() ? std::getenv("PATH") : nullptr;
    return path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  }

  void tell(const std::string& text) const {
    call_.io.err << fmt::format("holon {}: {}\n", verb_, printable(text));
  }

  void tell_unread(const std::string& name, const Directives& found) const {
    if (found.late_holon > 0)
      tell(fmt::format("{}:{}: not read: options stand before the first command", name,
                       found.late_holon));
    if (!found.foreign.empty())
      tell(
          fmt::format("{}:{}: {} lines are not read; `#HOLON -n 4 -t 1h` lines are, and #SBATCH "
                      "and flux: lines with --translate",
                      name, found.foreign.front().line, found.foreign.front().text));
    if (!found.holon.empty() || options_.translate) return;
    if (!found.slurm.empty())
      tell(fmt::format("{}:{}: #SBATCH lines are not read; --translate reads them", name,
                       found.slurm.front().line));
    if (!found.flux.empty())
      tell(fmt::format("{}:{}: flux: lines are not read; --translate reads them", name,
                       found.flux.front().line));
  }

  Parser& parser_;
  Invocation& call_;
  std::string verb_;
  LookedFor looked_for_;
  ScriptOptions& options_;
};

}  // namespace

void add_script_of_input(const ScriptOptions& script, JobOptions& job,
                         std::vector<std::string>& command) {
  if (!script.text) return;
  const std::string name = "script";
  job.files.push_back({name, 0700, *script.text});
  command.front() = "{{tmpdir}}/" + name;
  if (job.shape.name.empty()) job.shape.name = name;
}

void add_script_options(Parser& parser, Invocation& call, const std::string& verb,
                        LookedFor looked_for, ScriptOptions& options) {
  const Script script(parser, call, verb, looked_for, options);
  parser.group("Submission")
      .flag("--translate", options.translate,
            "read the script's #SBATCH and flux: lines, too; what has no equal is named")
      .script([script](const std::string& command) { return script.read(command); })
      .note(
          "A script, #! on its first line, may have options in lines '#HOLON -n 4 -t 1h' before "
          "its first command. An option of the command line is taken instead of the script's; "
          "those of --env, --attr and --conf are added behind the script's.");
}

}  // namespace holon::cli
