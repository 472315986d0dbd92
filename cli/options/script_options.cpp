#include "cli/options/script_options.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "cli/options/directives.hpp"
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
    auto ours = words_of(found.holon, command);
    if (!ours) return tl::unexpected(ours.error());
    layers.push_back(std::move(*ours));
    if (!layers.back().empty()) options_.file = file.string();
    return layers;
  }

 private:
  // A job's command is looked for in the job's folder, a child's script here.
  fs::path folder() const {
    return looked_for_ == LookedFor::here ? fs::path() : fs::path(parser_.typed("--cwd"));
  }

  void tell(const std::string& text) const {
    call_.io.err << fmt::format("holon {}: {}\n", verb_, printable(text));
  }

  void tell_unread(const std::string& name, const Directives& found) const {
    if (found.late_holon > 0)
      tell(fmt::format("{}:{}: not read: options stand before the first command", name,
                       found.late_holon));
    if (!found.holon.empty()) return;
    if (!found.slurm.empty())
      tell(fmt::format("{}:{}: #SBATCH lines are not read", name, found.slurm.front().line));
    if (!found.flux.empty())
      tell(fmt::format("{}:{}: flux: lines are not read", name, found.flux.front().line));
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
  parser.script([script](const std::string& command) { return script.read(command); })
      .note(
          "A script, #! on its first line, may have options in lines '#HOLON -n 4 -t 1h' before "
          "its first command. An option of the command line is taken instead of the script's; "
          "those of --env, --attr and --conf are added behind the script's.");
}

}  // namespace holon::cli
