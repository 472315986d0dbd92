// holon completion SHELL: what the shell needs to complete holon's words. The build calls it; see
// cmake/Man.cmake.
#include <fstream>
#include <ostream>

#include "cli/parser/completion.hpp"
#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {
namespace {

std::vector<CompletedVerb> completed_verbs(Io& io) {
  std::vector<CompletedVerb> all;
  for (const auto& verb : verbs()) {
    if (verb.group == Group::hidden) continue;
    CompletedVerb one{std::string(verb.name), std::string(verb.summary), {}, false};
    Invocation call{io, {}, "", false, &one.pages};
    verb.run(call);
    one.is_group = !one.pages.empty() && one.pages.front().name != one.name;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

int verb_completion(Invocation& call) {
  std::string shell, file;
  Parser parser("completion", "write what a shell needs to complete holon's words");
  parser.required("SHELL", shell, "bash, zsh or fish")
      .positional("FILE", file, "where to; standard output unless given")
      .note(
          "An installed holon has these files where the shells look for them. Verbs, options and "
          "the "
          "ids of jobs are completed.")
      .example("source <(holon completion bash)", "for this shell")
      .example("holon completion fish > ~/.config/fish/completions/holon.fish", "for all to come");
  if (const auto code = parser.parse(call)) return *code;
  const auto all = completed_verbs(call.io);
  std::string text;
  if (shell == "bash")
    text = bash_completion(all);
  else if (shell == "zsh")
    text = zsh_completion(all);
  else if (shell == "fish")
    text = fish_completion(all);
  else
    return report(call, "completion",
                  {Errc::invalid_argument,
                   "'" + shell + "' is not accepted; bash, zsh and fish are", "SHELL"});
  if (file.empty()) {
    call.io.out << text;
    return kOk;
  }
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (out) return kOk;
  return report(call, "completion", {Errc::system, "cannot be written", file});
}

}  // namespace holon::cli
