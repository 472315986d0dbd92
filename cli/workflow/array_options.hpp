// array_options.hpp - the options that say in what the jobs of one submission differ.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/options/job_options.hpp"
#include "cli/parser/parser.hpp"

namespace holon::cli {

struct ArrayOptions {
  std::optional<IndexRange> indices;           // --array
  std::string each_line, each_csv, each_json;  // files; "-": standard input; empty: not given
  std::optional<std::int64_t> max_running, max_fails;
  bool open = false;
};

// Adds --array, --each-line, --each-csv, --each-json, --max-running, --max-fails, --open.
void add_array_options(Parser& parser, ArrayOptions& options);

// The array that the options or a ":::" in the command ask for; nullopt: neither does. The words
// behind ":::" are taken out of the command; an entry becomes its last word, unless a word holds
// {{entry}} or the command is a line for the shell (`wrapped`). Errors: invalid_argument (two of
// them at once, no entries), not_found and system (the file).
Result<std::optional<ArrayRequest>> take_array(const ArrayOptions& options,
                                               std::vector<std::string>& command, bool wrapped);

}  // namespace holon::cli
