// added_files.hpp - the option --add-file, and the files that its values name.
#pragma once
#include <string>

#include "base/result.hpp"
#include "cli/options/job_options.hpp"
#include "cli/parser/parser.hpp"
#include "resource/jobspec/file_archive.hpp"

namespace holon::cli {

void add_file_option(Parser& parser, JobOptions& options, Unit unit);

// Reads "FILE", "NAME=FILE" or "NAME:PERMISSIONS=FILE"; with a line break behind '=' the contents
// follow themselves. NAME defaults to the last part of FILE's path; PERMISSIONS to the file's, or
// to 0600 for what is no file on a disk. Errors: invalid_argument (also if the file cannot be read,
// or is too large).
Result<resource::AddedFile> read_added_file(const std::string& word);

}  // namespace holon::cli
