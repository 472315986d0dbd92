// array_words.hpp - {{array.id}}, {{array.index}}, {{entry}} and {{entry.FIELD}} in words and
// names.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holon::launch {

// The deepest nesting of lists and objects in a JSON entry; a deeper entry is mere text.
inline constexpr std::size_t kMostEntryNesting = 256;

// The values of these words in a task of an array.
struct ArrayWords {
  std::string id;  // the array's
  std::string index;
  std::optional<std::string> entry;  // nullopt: the task has none
};

// `text` with all known words replaced; everything else stays, even in entries. {{entry.a.b}} is
// the member b of the member a of an entry that is a JSON object, or the element of that number of
// a list; text without its quotes, other values as JSON.
std::string with_array_words(const std::string& text, const ArrayWords& words);

// The FIELDs of the {{entry.FIELD}} in a text, as written.
std::vector<std::string> entry_fields_in(std::string_view text);
// The value of {{entry.FIELD}}; nullopt: the entry is no JSON, or has no such member.
std::optional<std::string> entry_field(const std::string& entry, const std::string& field);

}  // namespace holon::launch
