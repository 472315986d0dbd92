// json_object.hpp - one JSON object, written member by member; what is JSON already goes in as it
// is.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace holon::cli::query {

class JsonObject {
 public:
  JsonObject& text(std::string_view key, std::string_view value);
  JsonObject& number(std::string_view key, std::int64_t value);
  JsonObject& real(std::string_view key, double value);
  JsonObject& boolean(std::string_view key, bool value);
  JsonObject& raw(std::string_view key, std::string_view json);

  std::string str() const { return text_ + "}"; }

 private:
  void key(std::string_view name);
  std::string text_ = "{";
};

// `text` in quotes, with bytes that are not UTF-8 replaced.
std::string json_string(std::string_view text);

}  // namespace holon::cli::query
