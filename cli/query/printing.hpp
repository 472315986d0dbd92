// printing.hpp - how answers look: resource-query's lines to the byte, or one JSON object.
#pragma once
#include <string>
#include <string_view>

#include "cli/query/reply.hpp"
#include "cli/query/session.hpp"

namespace holon::cli::query {

// The line of '=' above and below a block of INFO lines, newline included.
inline constexpr std::string_view kRule = "INFO: =============================\n";

// The outcome of a match or an update.
struct MatchReport {
  enum class Outcome {
    held,     // R is allocated or reserved
    matched,  // R could be had; nothing is held
    not_now,
    never,
    broken,  // the request or the state was wrong; `problem` says how
  };
  std::string_view command;  // "match", "update"
  std::string operation;     // "allocate"
  JobId job;
  Outcome outcome = Outcome::broken;
  Time at = 0;
  std::string r;  // in the session's match format; "" if there is none
  std::string file;
  std::string problem;  // a reason for not_now, never and broken
  double seconds = 0;
  resource::TraversalCounts counts;
};

void print_match(const Session& session, const MatchReport& report, Reply& reply);

// Prints the answer to `match satisfiability`.
void print_satisfiability(const Session& session, const MatchReport& report, Reply& reply);

// Prints found vertices, in the session's match format.
void print_found(const Session& session, std::string_view expression, const std::string& found,
                 Reply& reply);

// Reports that the command `name` failed; nothing was changed.
void complain(const Session& session, std::string_view name, const Error& error, Reply& reply);
void complain(const Session& session, std::string_view name, std::string_view what, Reply& reply);

// Prints, with --json, that a command without another answer has worked.
void print_done(const Session& session, std::string_view name, Reply& reply);

// R in `format` as a JSON value: unchanged if it is JSON, else a string; null if empty.
std::string as_json_value(const std::string& r);

}  // namespace holon::cli::query
