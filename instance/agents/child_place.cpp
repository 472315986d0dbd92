#include "instance/agents/child_place.hpp"

#include <nlohmann/json.hpp>

namespace holon::instance {
namespace {

constexpr const char* kPlace = "HOLON_CHILD_PLACE";

}  // namespace

std::map<std::string, std::string> secrets_of(const ChildPlace& place) {
  if (place.hosts.empty()) return {};
  const nlohmann::json json{{"index", place.index},
                            {"hosts", place.hosts},
                            {"one_machine", place.is_one_machine},
                            {"by_name", place.is_by_name}};
  return {{kPlace, json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)}};
}

Result<ChildPlace> parse_child_place(const std::map<std::string, std::string>& secrets) {
  const auto text = secrets.find(kPlace);
  if (text == secrets.end()) return ChildPlace();
  try {
    const auto json = nlohmann::json::parse(text->second);
    ChildPlace place{json.at("index"), json.at("hosts"), json.at("one_machine"),
                     json.value("by_name", false)};
    if (place.index < place.hosts.size()) return place;
  } catch (const nlohmann::json::exception&) {
    // told below
  }
  return fail(Errc::invalid_argument, "its parent has told it no place that can be read", kPlace);
}

}  // namespace holon::instance
