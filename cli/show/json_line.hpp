// json_line.hpp - JSON of one line each, for programs that read what is written as it comes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/show/progress.hpp"

namespace holon::cli {

// {"error": {"verb": "cancel", "code": "not_found", "where": "7", "what": "there is no such job"}}
std::string error_line(std::string_view verb, const Error& error);

// {"waiting": 3, "running": 1, "ended": 4, "failed": 1}; at the end with "over": true.
std::string counts_line(const ProgressCounts& counts, bool over);

// {"id": 7, "trouble": "exit code 1"}
std::string trouble_line(std::uint64_t id, const std::string& why);

}  // namespace holon::cli
