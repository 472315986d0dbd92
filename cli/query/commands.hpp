// commands.hpp - the commands of a session, a table of functions.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/query/reply.hpp"
#include "cli/query/session.hpp"

namespace holon::cli::query {

using Words = std::vector<std::string>;  // the command's own name comes first

struct Command {
  std::string_view name;
  std::string_view abbreviation;
  std::string_view syntax;  // what follows the name
  std::string_view summary;
  void (*run)(Session& session, const Words& words, Reply& reply);
  // Words that are possible after the name, for completion; "@file" is any file.
  std::vector<std::string_view> completions;
};

std::span<const Command> commands();

// The command by name, or by abbreviation where no earlier command has that; nullptr: none.
const Command* find_command(std::string_view word);

// Splits the line at blanks and runs the command. An empty line does nothing.
Reply run_line(Session& session, std::string_view line);

// One file a group; the table is in commands.cpp.
void run_match(Session&, const Words&, Reply&);
void run_multi_match(Session&, const Words&, Reply&);
void run_update(Session&, const Words&, Reply&);
void run_attach(Session&, const Words&, Reply&);
void run_remove(Session&, const Words&, Reply&);
void run_find(Session&, const Words&, Reply&);
void run_cancel(Session&, const Words&, Reply&);
void run_partial_cancel(Session&, const Words&, Reply&);
void run_set_property(Session&, const Words&, Reply&);
void run_get_property(Session&, const Words&, Reply&);
void run_set_status(Session&, const Words&, Reply&);
void run_get_status(Session&, const Words&, Reply&);
void run_list(Session&, const Words&, Reply&);
void run_info(Session&, const Words&, Reply&);
void run_stat(Session&, const Words&, Reply&);
void run_cat(Session&, const Words&, Reply&);
void run_help(Session&, const Words&, Reply&);
void run_quit(Session&, const Words&, Reply&);

}  // namespace holon::cli::query
