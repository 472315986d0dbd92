#include "launch/array_words.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/nesting.hpp"

namespace holon::launch {
namespace {

using nlohmann::json;

constexpr std::string_view kField = "entry.";

// nullptr: there is no such member.
const json* member_of(const json& whole, const std::string& name) {
  if (whole.is_object()) {
    const auto found = whole.find(name);
    return found == whole.end() ? nullptr : &*found;
  }
  const bool is_number = !name.empty() && name.size() < 10 &&
                         name.find_first_not_of("0123456789") == std::string::npos;
  if (!whole.is_array() || !is_number || std::stoul(name) >= whole.size()) return nullptr;
  return &whole[std::stoul(name)];
}

std::optional<std::string> meaning_of(std::string_view word, const ArrayWords& words) {
  if (word == "array.id") return words.id;
  if (word == "array.index") return words.index;
  if (!words.entry) return std::nullopt;
  if (word == "entry") return *words.entry;
  if (!word.starts_with(kField)) return std::nullopt;
  return entry_field(*words.entry, std::string(word.substr(kField.size())));
}

// Calls take(begin, end, WORD) for each {{WORD}}.
template <class Take>
void each_word(std::string_view text, const Take& take) {
  for (auto at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at + 1)) {
    const auto end = text.find("}}", at);
    if (end == std::string_view::npos) return;
    take(at, end + 2, text.substr(at + 2, end - at - 2));
  }
}

}  // namespace

std::optional<std::string> entry_field(const std::string& entry, const std::string& field) {
  if (json_nesting(entry) > kMostEntryNesting) return std::nullopt;
  const json whole = json::parse(entry, nullptr, false);
  const json* at = whole.is_discarded() ? nullptr : &whole;
  for (std::size_t begin = 0; at != nullptr && begin <= field.size();) {
    const std::size_t end = std::min(field.find('.', begin), field.size());
    at = member_of(*at, field.substr(begin, end - begin));
    begin = end + 1;
  }
  if (at == nullptr) return std::nullopt;
  return at->is_string() ? at->get<std::string>() : at->dump();
}

std::vector<std::string> entry_fields_in(std::string_view text) {
  std::vector<std::string> fields;
  each_word(text, [&](std::size_t, std::size_t, std::string_view word) {
    if (word.starts_with(kField)) fields.emplace_back(word.substr(kField.size()));
  });
  return fields;
}

std::string with_array_words(const std::string& text, const ArrayWords& words) {
  std::string made;
  std::size_t done = 0;
  each_word(text, [&](std::size_t begin, std::size_t end, std::string_view word) {
    if (begin < done) return;
    const auto meaning = meaning_of(word, words);
    if (!meaning) return;
    made.append(text, done, begin - done) += *meaning;
    done = end;
  });
  return done == 0 ? text : made.append(text, done);
}

}  // namespace holon::launch
