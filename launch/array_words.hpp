// array_words.hpp - {{array.id}}, {{array.index}}, {{entry}} and {{entry.FIELD}} in words and
// names.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holon::launch {

// Lists and objects in each other in an entry that is JSON, at most; a deeper one is mere text.
inline constexpr std::size_t kMostEntryNesting = 256;

// What they stand for in a task of an array.
struct ArrayWords {
  std::string id;  // of the array
  std::string index;
  std::optional<std::string> entry;  // nullopt: it has none
};

// `text` with all that stands for something replaced; all else stays, in entries too. {{entry.a.b}}
// is the member b of the member a of an entry that is a JSON object, of a list the element of that
// number; text without its quotes, anything else as JSON.
std::string with_array_words(const std::string& text, const ArrayWords& words);

// The FIELDs of the {{entry.FIELD}} in a text, as they stand there.
std::vector<std::string> entry_fields_in(std::string_view text);
// What {{entry.FIELD}} stands for; nullopt: the entry is no JSON, or has no such member.
std::optional<std::string> entry_field(const std::string& entry, const std::string& field);

}  // namespace holon::launch
