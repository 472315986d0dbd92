// entries.hpp - what the tasks of an array are given: lines, rows of a table, JSON values, words
// behind ":::".
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::cli {

inline constexpr std::string_view kMark = ":::";

// The lines of `file`; "-": standard input. Errors name the file and the line, or `option`:
// invalid_argument (it cannot be read, has no lines, or one is not text).
Result<std::vector<std::string>> lines_of_file(const std::string& file, const char* option);
// The elements of a JSON list, or one JSON value a line. Errors: as above.
Result<std::vector<std::string>> entries_of_json(const std::string& file);
// A JSON object for each line but the first, which names the members. Errors: as above.
Result<std::vector<std::string>> entries_of_csv(const std::string& file);

struct Words {
  std::vector<std::string> entries;  // of several lists: each combination, as a JSON list
  std::size_t lists = 1;
};
// Takes the words behind ":::" out of the command; nullopt: there are none. Errors:
// invalid_argument, out_of_range (more than `most` combinations).
Result<std::optional<Words>> take_words(std::vector<std::string>& command, std::size_t most);
// Refuses ":::" for verbs that make no arrays. Errors: invalid_argument.
Status refuse_words(const std::vector<std::string>& command, std::string_view verb);

}  // namespace holon::cli
