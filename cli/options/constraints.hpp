// constraints.hpp - which nodes a job may run on: --requires, --nodelist, --exclude.
#pragma once
#include <string>

#include "base/result.hpp"
#include "cli/parser/parser.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::cli {

// Parses "fast and not gpu", "a,b", "a&b|c", "host:n[1-4]", "rank:0-3", "^gpu", "-host:n7",
// parentheses; terms side by side must all hold, "and" binds closer than "or" (Flux's RFC 35).
// Errors: invalid_argument with what was found and its place.
Result<resource::Constraint> parse_constraint_words(const std::string& text);

// --requires, -w, --exclude: each narrows `into` further.
void add_constraint_options(Parser& parser, resource::Constraint& into);

}  // namespace holon::cli
