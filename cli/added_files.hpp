// added_files.hpp - the option --add-file, and the files that its values name.
#pragma once
#include <string>

#include "base/result.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/parser.hpp"
#include "resource/jobspec/file_archive.hpp"

namespace holon::cli {

void add_file_option(Parser& parser, JobOptions& options, Unit unit);

// "FILE", "NAME=FILE", "NAME:PERMISSIONS=FILE"; with a line break behind the '=' it is the contents
// themselves. Of a FILE without a NAME it is the last part of its path; its permissions are the
// file's unless given, and 0600 of what is none on a disk. Errors: invalid_argument (also
// of what cannot be read, or is too large).
Result<resource::AddedFile> read_added_file(const std::string& word);

}  // namespace holon::cli
