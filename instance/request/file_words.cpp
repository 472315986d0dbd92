#include "instance/request/file_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace holon::instance {
namespace {

bool is_of_entry(std::string_view word) {
  return word == "entry" || word.starts_with("entry.");
}

}  // namespace

Status check_file_words(const std::string& file, InFileOf whose, const std::string& where) {
  constexpr std::array<std::string_view, 4> kWords = {"id", "name", "taskid", "task.id"};
  const bool of_array = whose != InFileOf::job;
  for (auto at = file.find("{{"); at != std::string::npos; at = file.find("{{", at + 2)) {
    const auto end = file.find("}}", at);
    if (end == std::string::npos) return {};
    const auto word = std::string_view(file).substr(at + 2, end - at - 2);
    if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) continue;
    if (of_array && (word == "array.index" || word == "array.id")) continue;
    if (whose == InFileOf::array_with_entries && is_of_entry(word)) continue;
    return fail(
        Errc::invalid_argument,
        fmt::format("'{{{{{}}}}}' stands for nothing; accepted are {{{{id}}}}, {{{{name}}}} "
                    "and {{{{taskid}}}}{}",
                    word, of_array ? ", and {{array.id}} and {{array.index}}" : ""),
        where);
  }
  return {};
}

}  // namespace holon::instance
