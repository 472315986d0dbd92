// records.hpp - jobs from what `holon history --json` prints (docs/protocol.md, record).
//
// {"jobs": [...], "cores": 16}, a list of records, or a record a line, as jq makes them. A job has
// the cores it held, its limit, and ran from its start to its end; one that never ran, or is not
// over, is left out. Tasks of arrays are jobs; an array whose tasks are not there is as many equal
// ones. A child instance whose own jobs are there, too, is left out: they are in its cores.
#pragma once
#include <string_view>

#include "base/result.hpp"
#include "sim/swf.hpp"

namespace holon::sim {

// Is this the text of such records, and not of jobs of a trace?
bool is_records(std::string_view bytes);

// Reads records. Errors: invalid_argument with line and column for what is no JSON or no records;
// those of SwfTrace::add_issue(). O(bytes).
Result<SwfTrace> read_records(std::string_view bytes, const SwfOptions& options);

}  // namespace holon::sim
