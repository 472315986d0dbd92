#include "cli/query/json_object.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace holon::cli::query {

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void JsonObject::key(std::string_view name) {
  if (text_.size() > 1) text_ += ", ";
  text_ += json_string(name);
  text_ += ": ";
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
  return raw(name, json_string(value));
}

JsonObject& JsonObject::number(std::string_view name, std::int64_t value) {
  return raw(name, fmt::to_string(value));
}

JsonObject& JsonObject::real(std::string_view name, double value) {
  return raw(name, fmt::format("{:.6g}", value));
}

JsonObject& JsonObject::boolean(std::string_view name, bool value) {
  return raw(name, value ? "true" : "false");
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view json) {
  key(name);
  text_ += json;
  return *this;
}

}  // namespace holon::cli::query
