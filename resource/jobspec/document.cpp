// document.cpp - what YAML and JSON documents have in common.
#include "resource/jobspec/document.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

namespace holon::resource::jobspec {
namespace {

template <class T>
bool fits_whole(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end;
}

nlohmann::json scalar_value(const Document& document) {
  const std::string& text = document.text;
  if (document.quoted) return text;
  if (text == "true") return true;
  if (text == "false") return false;
  std::int64_t integer = 0;
  if (fits_whole(text, integer)) return integer;
  std::uint64_t natural = 0;
  if (fits_whole(text, natural)) return natural;
  double real = 0;
  if (fits_whole(text, real) && real - real == 0) return real;
  return text;
}

nlohmann::json value_of(const Document& document) {
  switch (document.kind) {
    case Document::Kind::null:
      return nullptr;
    case Document::Kind::scalar:
      return scalar_value(document);
    case Document::Kind::list: {
      auto list = nlohmann::json::array();
      for (const Document& item : document.items) list.push_back(value_of(item));
      return list;
    }
    case Document::Kind::map:
      break;
  }
  auto map = nlohmann::json::object();
  for (std::size_t i = 0; i < document.items.size(); ++i)
    map[document.keys[i]] = value_of(document.items[i]);
  return map;
}

}  // namespace

const Document* Document::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key) return &items[i];
  return nullptr;
}

std::string to_json(const Document& document) {
  return value_of(document).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace holon::resource::jobspec
