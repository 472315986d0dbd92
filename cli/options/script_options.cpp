#include "cli/options/script_options.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "cli/options/directives.hpp"
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
    std::vector<Parser::Layer> layers;
    if (looked_for_ == LookedFor::in_path && command.find('/') == std::string::npos) return layers;
    std::error_code error;
    const fs::path file = fs::absolute(folder() / command, error).lexically_normal();
    if (error) return layers;
    const Directives found = directives_of_file(file.string());
    tell_unread(command, found);
    if (options_.translate) {
      if (auto good = add(layers, found.slurm, command, translate_slurm); !good)
        return tl::unexpected(good.error());
      if (auto good = add(layers, found.flux, command, translate_flux); !good)
        return tl::unexpected(good.error());
    }
    auto ours = words_of(found.holon, command);
    if (!ours) return tl::unexpected(ours.error());
    layers.push_back(std::move(*ours));
    for (const auto& layer : layers)
      if (!layer.empty()) options_.file = file.string();
    return layers;
  }

 private:
  // A job's command is looked for in the job's folder, a child's script here.
  fs::path folder() const {
    return looked_for_ == LookedFor::here ? fs::path() : fs::path(parser_.typed("--cwd"));
  }

  using Translator = Translated (*)(const Parser::Layer&, const Knows&);
  Status add(std::vector<Parser::Layer>& layers, const std::vector<Directive>& directives,
             const std::string& name, Translator translate) const {
    const auto lines = words_of(directives, name);
    if (!lines) return tl::unexpected(lines.error());
    Translated made =
        translate(*lines, [this](const std::string& option) { return parser_.knows(option); });
    for (const auto& text : made.no_equal) tell(text + ": this has no equal");
    if (made.many_tasks && looked_for_ == LookedFor::in_path)
      tell(name + ": each task runs the script; `holon batch` runs it once");
    layers.push_back(std::move(made.lines));
    return {};
  }

  void tell(const std::string& text) const {
    call_.io.err << fmt::format("holon {}: {}\n", verb_, printable(text));
  }

  void tell_unread(const std::string& name, const Directives& found) const {
    if (found.late_holon > 0)
      tell(fmt::format("{}:{}: not read: options stand before the first command", name,
                       found.late_holon));
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
