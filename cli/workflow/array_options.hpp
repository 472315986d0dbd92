// array_options.hpp - the options that say in what the jobs of one submission differ.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/parser.hpp"

namespace holon::cli {

struct ArrayOptions {
  std::optional<IndexRange> indices;           // --array
  std::string each_line, each_csv, each_json;  // files; "-": standard input; empty: not given
  std::optional<std::int64_t> max_running, max_fails;
  bool open = false;
};

// --array, --each-line, --each-csv, --each-json, --max-running, --max-fails, --open.
void add_array_options(Parser& parser, ArrayOptions& options);

// What of the options and of a ":::" in the command its jobs differ in, if in anything. What stands
// behind ":::" is taken out of the command; where there are entries and no word of the command
// holds {{entry}}, it becomes the last one, unless the command is a line for the shell (`wrapped`).
// Errors: invalid_argument (two of them at once, no entries), not_found and system (the file).
Result<std::optional<ArrayRequest>> take_array(const ArrayOptions& options,
                                               std::vector<std::string>& command, bool wrapped);

}  // namespace holon::cli
