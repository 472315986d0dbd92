#include "cli/query/printing.hpp"

#include <fmt/format.h>

#include "cli/query/json_object.hpp"

namespace holon::cli::query {
namespace {

using Outcome = MatchReport::Outcome;

// The three lines that -e adds.
std::string elapse(const MatchReport& report) {
  return fmt::format("INFO: ELAPSE={:.6f}\n", report.seconds);
}

std::string visits(const MatchReport& report) {
  return fmt::format("INFO: PREORDER VISIT COUNT={}\nINFO: POSTORDER VISIT COUNT={}\n",
                     report.counts.preorder, report.counts.postorder);
}

std::string_view state_of(const MatchReport& report) {
  if (report.outcome == Outcome::matched) return "MATCHED";
  return report.at == 0 ? "ALLOCATED" : "RESERVED";
}

bool found_something(const MatchReport& report) {
  return report.outcome == Outcome::held || report.outcome == Outcome::matched;
}

std::string_view json_outcome(const MatchReport& report) {
  switch (report.outcome) {
    case Outcome::held:
      return report.at == 0 ? "allocated" : "reserved";
    case Outcome::matched:
      return "matched";
    case Outcome::not_now:
      return "not_now";
    case Outcome::never:
      return "never";
    case Outcome::broken:
      return "error";
  }
  return "";
}

std::string as_json(const Session& session, const MatchReport& report) {
  JsonObject object;
  object.text("command", report.command).text("operation", report.operation);
  object.boolean("ok", found_something(report)).text("outcome", json_outcome(report));
  object.number("id", static_cast<std::int64_t>(report.job.value()));
  if (found_something(report)) object.number("at", report.at).raw("R", as_json_value(report.r));
  if (!report.problem.empty()) object.text("reason", report.problem);
  object.text("file", report.file);
  if (session.options().elapse) {
    object.real("elapse", report.seconds)
        .number("preorder", static_cast<std::int64_t>(report.counts.preorder))
        .number("postorder", static_cast<std::int64_t>(report.counts.postorder));
  }
  return object.str();
}

void found_block(const Session& session, const MatchReport& report, Reply& reply) {
  reply.out += fmt::format("{}INFO: JOBID={}\nINFO: RESOURCES={}\n", kRule, report.job.value(),
                           state_of(report));
  if (report.at == 0)
    reply.out += "INFO: SCHEDULED AT=Now\n";
  else
    reply.out += fmt::format("INFO: SCHEDULED AT={}\n", report.at);
  // With -t these lines go elsewhere than the rest, as resource-query has it.
  (session.options().test_output.empty() ? reply.out : reply.console) +=
      session.options().elapse ? elapse(report) + visits(report) : "";
  reply.out += kRule;
}

void nothing_found_block(const Session& session, const MatchReport& report, Reply& reply) {
  reply.out += kRule;
  reply.out += "INFO: No matching resources found\n";
  if (report.outcome == Outcome::never) reply.out += "INFO: Unsatisfiable request\n";
  reply.out += fmt::format("INFO: JOBID={}\n", report.job.value());
  if (session.options().elapse) {  // here the time is among the answers, the visits are not
    reply.out += elapse(report);
    (session.options().test_output.empty() ? reply.out : reply.console) += visits(report);
  }
  reply.out += kRule;
}

void explain(const MatchReport& report, Reply& reply) {
  if (report.outcome == Outcome::broken)
    reply.error += fmt::format("ERROR: {}: {}\n", report.file, report.problem);
}

}  // namespace

void print_match(const Session& session, const MatchReport& report, Reply& reply) {
  explain(report, reply);
  if (session.options().json) {
    reply.add_json(as_json(session, report));
    return;
  }
  reply.out += report.r;
  if (found_something(report))
    found_block(session, report, reply);
  else
    nothing_found_block(session, report, reply);
}

void print_satisfiability(const Session& session, const MatchReport& report, Reply& reply) {
  explain(report, reply);
  if (session.options().json) {
    reply.add_json(as_json(session, report));
    return;
  }
  reply.out += kRule;
  reply.out += report.outcome == Outcome::never ? "INFO: Unsatisfiable request\n"
                                                : "INFO: Satisfiable request\n";
  reply.out += kRule;
  if (session.options().elapse) reply.console += elapse(report) + visits(report);
}

void print_found(const Session& session, std::string_view expression, const std::string& found,
                 Reply& reply) {
  if (session.options().json) {
    JsonObject object;
    object.text("command", "find").boolean("ok", true).text("expression", expression);
    reply.add_json(object.raw("found", as_json_value(found)).str());
    return;
  }
  reply.out += found;
  reply.out += fmt::format("{0}INFO: EXPRESSION=\"{1}\"\n{0}", kRule, expression);
}

void complain(const Session& session, std::string_view name, const Error& error, Reply& reply) {
  complain(session, name, to_string(error), reply);
}

void complain(const Session& session, std::string_view name, std::string_view what, Reply& reply) {
  reply.error += fmt::format("ERROR: {}: {}\n", name, what);
  if (session.options().json)
    reply.add_json(
        JsonObject{}.text("command", name).boolean("ok", false).text("reason", what).str());
}

void print_done(const Session& session, std::string_view name, Reply& reply) {
  if (session.options().json)
    reply.add_json(JsonObject{}.text("command", name).boolean("ok", true).str());
}

std::string as_json_value(const std::string& r) {
  if (r.empty()) return "null";
  if (r[0] != '{' && r[0] != '[') return json_string(r);
  return r.back() == '\n' ? r.substr(0, r.size() - 1) : r;
}

}  // namespace holon::cli::query
