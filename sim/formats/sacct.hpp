// sacct.hpp - jobs from what Slurm's `sacct --parsable2` (or -P) prints: a line of names, columns
// with | between them.
//
// JobID (or JobIDRaw), Submit, Start and Elapsed or End are needed, and one of AllocCPUS, NCPUS,
// ReqCPUS, AllocTRES; Timelimit, State, User, Group, Account, Partition (the queue) and QOS are
// taken where they are there; other columns are passed over, and so are steps (12.batch, 12.0).
// Names of columns may be written in any case. A time has no zone: hours are counted as they stand
// there.
#pragma once
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "sim/swf.hpp"

namespace holon::sim {

// Does the text begin as sacct's does, whatever is between its columns?
bool is_sacct(std::string_view bytes);

// Errors: invalid_argument with line and column for a table without a line of names, without |
// between its columns, or without a needed column; those of SwfTrace::add_issue(). O(bytes).
Result<SwfTrace> read_sacct(std::string_view bytes, const SwfOptions& options);

// Reads "2026-01-31T23:59:58" as ms since 1970, as if it were in UTC, or a number of seconds since
// then. nullopt: neither.
std::optional<Time> parse_sacct_time(std::string_view text);
// Reads "1-02:03:04", "02:03:04", "03:04", with a fraction, to ms. nullopt: none of these.
std::optional<Duration> parse_sacct_length(std::string_view text);

}  // namespace holon::sim
