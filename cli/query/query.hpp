// query.hpp - the loop of `holon query`: lines in, answers out.
#pragma once
#include <iosfwd>

#include "cli/io.hpp"
#include "cli/query/lines.hpp"
#include "cli/query/session.hpp"

namespace holon::cli::query {

// Runs the lines until `quit` or their end. Answers go to `out`; what always belongs on the console
// goes to io.out.
void run_lines(Session& session, LineSource& lines, std::ostream& out, Io& io);

}  // namespace holon::cli::query
