// writing.hpp - between the session's files and the resource module's formats.
#pragma once
#include <string>

#include "base/result.hpp"
#include "cli/query/options.hpp"
#include "resource/allocation.hpp"
#include "resource/formats/readers.hpp"
#include "resource/graph/spec.hpp"

namespace holon::cli::query {

class Session;

// The graph that `options` names. Errors: not_found, or the reader's.
Result<resource::GraphSpec> read_graph_file(const Options& options);

// R in the session's match format, with `queue`, if not empty, as an attribute.
Result<std::string> write_allocation(Session& session, const resource::Allocation& allocation,
                                     const std::string& queue);

// The options with which readers take a graph for this session.
resource::GraphOptions graph_options(const Options& options);

// The vertices the expression is true for and those above them, in the session's match format; ""
// where there are none. Errors: invalid_argument for an expression that cannot be understood.
Result<std::string> find_and_write(const Session& session, const std::string& expression);

}  // namespace holon::cli::query
