// trace_file.hpp - a trace from a file, plain or gzipped: SWF, JSON Lines, or what `holon history
// --json` and Slurm's `sacct -P` print (formats/).
//
// A JSON line is {"id": 1, "submit": 0, "procs": 4, "limit": 3600, "run": 100, "user": "ann",
// "group": "g", "queue": "q", "preceding": 7, "think": 60}; submit, procs and run are needed, an id
// is the line number where it is missing. Times are seconds, and may have fractions.
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "sim/swf.hpp"

namespace holon::sim {

// Reads JSON lines. Errors: those of read_swf.
Result<SwfTrace> read_json_lines(std::string_view bytes, const SwfOptions& options);

// Reads a trace in the format that its content shows.
Result<SwfTrace> read_trace(std::string_view bytes, const SwfOptions& options);

// Reads a trace from a file; gzip has a magic number. Errors: not_found, system, those of read_swf.
Result<SwfTrace> read_trace_file(const std::string& path, const SwfOptions& options);

// Why a trace without jobs has none. REQUIRES: it has none.
std::string why_no_jobs(const SwfTrace& trace);

// The bytes of a file, uncompressed, at most `kMaxTraceBytes`. Errors: not_found, system,
// out_of_range, invalid_argument (a broken gzip).
inline constexpr std::size_t kMaxTraceBytes = std::size_t{1} << 32;
Result<std::string> read_maybe_gzipped(const std::string& path);

}  // namespace holon::sim
