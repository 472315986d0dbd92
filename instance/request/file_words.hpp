// file_words.hpp - which {{WORD}}s the names of a job's files may have.
#pragma once
#include <string>

#include "base/result.hpp"

namespace holon::instance {

enum class InFileOf { job, array, array_with_entries };

// "{{id}}" and the like stand for the job's; any other word would become part of the file's name.
// Errors: invalid_argument with the word and the accepted ones.
Status check_file_words(const std::string& file, InFileOf whose, const std::string& where);

}  // namespace holon::instance
