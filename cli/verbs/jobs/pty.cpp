// holon pty: the task of `holon run --pty`, started by it and not by people.
#include "launch/tasks/pty.hpp"
#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {

int verb_pty(Invocation& call) {
  launch::PtyOptions options;
  Parser parser("pty", "runs a program at somebody's terminal; made by run --pty");
  parser.option("--socket", options.socket, "NAME", "where that terminal is")
      .command("COMMAND [ARGS...]", options.argv, "what runs there", true)
      .example("holon pty --socket NAME -- bash", "as run --pty does it");
  if (const auto code = parser.parse(call)) return *code;
  return launch::pty_main(options);
}

}  // namespace holon::cli
