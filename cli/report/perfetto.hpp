// perfetto.hpp - what instances did as trace events, which ui.perfetto.dev and chrome://tracing
// open: instances are processes, nodes are threads (one for each lane of jobs that ran there at
// once), jobs are slices, waiting jobs and cores in use are counters.
// Format: "Trace Event Format", JSON object form.
#pragma once
#include <string>
#include <vector>

#include "cli/report/page.hpp"

namespace holon::cli {

// `now`: until which running jobs are drawn, ms since the epoch. O(jobs log jobs).
std::string trace_events(const std::vector<ReportPart>& parts, Time now);

}  // namespace holon::cli
