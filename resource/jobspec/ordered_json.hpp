// ordered_json.hpp - JSON whose members keep their order, read in a time that grows as the text
// does: nlohmann's own looks for each member among all before it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace holon::resource {

// Parses the text; discarded (as by json::parse without exceptions) if it is not JSON. A member
// that is given twice is there twice.
nlohmann::ordered_json parse_ordered(std::string_view text);

// Appends `value` as the last member. REQUIRES: an object without such a member.
inline void add_member(nlohmann::ordered_json& object, std::string name,
                       nlohmann::ordered_json value) {
  object.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(std::move(name),
                                                                   std::move(value));
}

}  // namespace holon::resource
