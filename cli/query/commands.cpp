#include "cli/query/commands.hpp"

#include <fmt/format.h>

#include <vector>

#include "cli/query/printing.hpp"

namespace holon::cli::query {
namespace {

std::vector<Command> make_commands() {
  const std::vector<std::string_view> operations{
      "allocate",       "allocate_with_satisfiability", "allocate_orelse_reserve",
      "satisfiability", "without_allocating",           "without_allocating_future"};
  return {
      {"match", "m", "OPERATION JOBSPEC", "find resources for a jobspec and hold them", run_match,
       operations},
      {"multi-match", "M", "OPERATION JOBSPEC JOBSPEC...",
       "match several jobspecs in turn, up to the first that fails", run_multi_match, operations},
      {"update",
       "u",
       "allocate|reserve jgf|jgf_shorthand|rv1exec FILE JOBID START DURATION",
       "hold the resources that a file names for a job",
       run_update,
       {"allocate", "reserve", "jgf", "jgf_shorthand", "rv1exec", "@file"}},
      {"attach",
       "j",
       "FILE",
       "add a JGF subgraph, given with its path from the root",
       run_attach,
       {"@file"}},
      {"remove",
       "j",
       "PATH true | RANKS false",
       "take a subtree out by its path, or by ranks with what is held on them",
       run_remove,
       {"true", "false"}},
      {"find",
       "f",
       "EXPRESSION",
       "show the vertices an expression is true for: status=up|down|drained "
       "sched-now=allocated|free "
       "sched-future=reserved|free agfilter=true|false names=HOSTLIST jobid-alloc=ID "
       "jobid-span=ID jobid-tag=ID jobid-reserved=ID property=NAME type=NAME id<N size>=N rank=N "
       "property.NAME<=N, joined by and, or, not and parentheses",
       run_find,
       {"status=up", "status=down", "status=drained", "sched-now=allocated", "sched-now=free",
        "sched-future=reserved", "sched-future=free", "agfilter=true", "names=", "jobid-alloc=",
        "jobid-span=", "jobid-tag=", "jobid-reserved=", "property=", "type=", "and", "or", "not"}},
      {"cancel", "c", "JOBID [stats]", "give back all that a job holds", run_cancel, {"stats"}},
      {"partial-cancel",
       "pc",
       "JOBID jgf|rv1exec FILE [stats]",
       "give back the part of an allocation that a file names",
       run_partial_cancel,
       {"jgf", "rv1exec", "stats", "@file"}},
      {"set-property", "p", "PATH KEY=VALUE", "give a vertex a property", run_set_property, {}},
      {"get-property", "g", "PATH", "the properties of a vertex", run_get_property, {}},
      {"set-status",
       "t",
       "PATH up|down|drained",
       "mark a vertex up or down, or drain it: no new work, what runs goes on",
       run_set_status,
       {"up", "down", "drained"}},
      {"get-status", "e", "PATH", "is a vertex up, down or drained?", run_get_status, {}},
      {"list", "l", "", "all jobs of this session", run_list, {}},
      {"info", "i", "JOBID", "one job", run_info, {}},
      {"stat", "s", "", "how long matches took", run_stat, {}},
      {"cat", "a", "FILE", "print a file", run_cat, {"@file"}},
      {"help", "h", "[COMMAND]", "these lines", run_help, {}},
      {"quit", "q", "", "end the session", run_quit, {}},
  };
}

Words split_words(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  Words words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != line.npos;) {
    const auto end = line.find_first_of(kBlank, at);
    words.emplace_back(line.substr(at, end - at));
    at = end == line.npos ? line.npos : line.find_first_not_of(kBlank, end);
  }
  return words;
}

}  // namespace

std::span<const Command> commands() {
  static const std::vector<Command> kCommands = make_commands();
  return kCommands;
}

const Command* find_command(std::string_view word) {
  for (const auto& command : commands())
    if (word == command.name || word == command.abbreviation) return &command;
  return nullptr;
}

Reply run_line(Session& session, std::string_view line) {
  Reply reply;
  const Words words = split_words(line);
  if (words.empty() || words[0].starts_with('#')) return reply;
  if (const Command* command = find_command(words[0]))
    command->run(session, words, reply);
  else
    complain(session, words[0], "there is no such command; 'help' lists them", reply);
  return reply;
}

}  // namespace holon::cli::query
