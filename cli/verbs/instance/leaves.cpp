// holon leaves: the initial program of an instance with a tree (holon start --tree): it waits until
// the leaves are up and becomes the program that was asked for.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ostream>

#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"
#include "cli/verbs/instance/await_tree.hpp"

namespace holon::cli {
namespace {

constexpr int kNotFound = 127, kNotRunnable = 126;  // as a shell has them

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

int verb_leaves(Invocation& call) {
  std::string shape;
  std::vector<std::string> command;
  Parser parser("leaves", "waits for a tree, then runs a program in it; made by start");
  parser.option("--shape", shape, "SHAPE", "of the tree: 4x4")
      .command("PROGRAM [ARGS...]", command, "what it becomes; a shell without one", false)
      .example("holon leaves --shape 4x4 -- ./campaign.sh", "as holon start does it");
  if (const auto code = parser.parse(call)) return *code;
  if (auto up = await_tree(call, variable("HOLON_URI"), shape); !up)
    return report(call, "start", up.error());
  if (command.empty()) {
    const std::string shell = variable("SHELL");
    command = {shell.empty() ? "/bin/sh" : shell};
    call.io.err << "holon start: leaving this shell ends the instance and its jobs\n" << std::flush;
  }
  std::vector<char*> words;
  for (auto& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  const int error = errno;
  report(call, "start", {Errc::system, std::strerror(error), command.front()});
  return error == ENOENT ? kNotFound : kNotRunnable;
}

}  // namespace holon::cli
