// csv.hpp - jobs and what they have used as comma-separated lines (RFC 4180), for spreadsheets and
// scripts: times as seconds since the epoch, durations in seconds, memory in KiB.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "msg/instance.hpp"

namespace holon::cli {

// The text, in quotes where it needs them. A text that a spreadsheet would take for a formula gets
// a quote in front.
std::string csv_cell(std::string_view text);

std::string csv_titles();
std::string csv_row(const msg::JobRecord& job);
// The usages under a line of titles, of which the first is `by`.
std::string csv_text(const std::string& by, const std::vector<msg::Usage>& usages);

}  // namespace holon::cli
