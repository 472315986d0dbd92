// cat, help, quit.
#include <fmt/format.h>

#include "base/whole_file.hpp"
#include "cli/query/commands.hpp"
#include "cli/query/json_object.hpp"
#include "cli/query/printing.hpp"

namespace holon::cli::query {
namespace {

void print_help(const Session& session, const Command& command, Reply& reply) {
  if (session.options().json) {
    JsonObject object;
    object.text("command", "help").text("name", command.name);
    object.text("abbreviation", command.abbreviation).text("syntax", command.syntax);
    reply.add_json(object.text("summary", command.summary).str());
    return;
  }
  reply.console += fmt::format("INFO: {} ({}) {}{}-- {}\n", command.name, command.abbreviation,
                               command.syntax, command.syntax.empty() ? "" : " ", command.summary);
}

}  // namespace

void run_cat(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 2) return complain(session, "cat", "FILE is expected", reply);
  const auto bytes = read_whole_file(words[1]);
  if (!bytes) return complain(session, "cat", bytes.error(), reply);
  if (session.options().json) {
    JsonObject object;
    reply.add_json(object.text("command", "cat").text("text", *bytes).str());
    return;
  }
  reply.console += *bytes;
  if (!bytes->empty() && bytes->back() != '\n') reply.console += '\n';
  reply.console += fmt::format("INFO: Jobspec in {}\n", words[1]);
}

void run_help(Session& session, const Words& words, Reply& reply) {
  if (words.size() != 2) {
    for (const auto& command : commands()) print_help(session, command, reply);
    return;
  }
  if (const Command* command = find_command(words[1]))
    print_help(session, *command, reply);
  else
    complain(session, "help", "there is no command " + words[1], reply);
}

void run_quit(Session&, const Words&, Reply& reply) {
  reply.quit = true;
}

}  // namespace holon::cli::query
