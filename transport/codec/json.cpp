#include "transport/codec/json.hpp"

#include <nlohmann/json.hpp>

namespace holon::transport::detail {

std::string json_of(std::string_view bytes, int indent) {
  using Json = nlohmann::ordered_json;
  return Json::from_msgpack(bytes).dump(indent, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> msgpack_of(std::string_view json) {
  try {
    std::string bytes;
    nlohmann::ordered_json::to_msgpack(nlohmann::ordered_json::parse(json), bytes);
    return bytes;
  } catch (const nlohmann::json::exception& e) {
    return fail(Errc::invalid_argument, e.what());
  }
}

}  // namespace holon::transport::detail
