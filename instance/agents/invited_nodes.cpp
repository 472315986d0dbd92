#include "instance/agents/invited_nodes.hpp"

#include <nlohmann/json.hpp>

namespace holon::instance {
namespace {

using nlohmann::json;

json json_of(const transport::KeyPair& key) {
  return {{"public", key.public_key}, {"secret", key.secret_key}};
}
transport::KeyPair key_of(const json& key) {
  return {key.at("public"), key.at("secret")};
}

}  // namespace

std::string write_invited_nodes(const InvitedNodes& guests) {
  json invitations = json::array(), nodes = json::array();
  for (const auto& one : guests.invitations)
    invitations.push_back({{"number", one.number},
                           {"key", json_of(one.key)},
                           {"until", one.until},
                           {"left", one.left}});
  for (const auto& one : guests.nodes)
    nodes.push_back({{"host", one.host}, {"key", json_of(one.key)}, {"secret", one.secret}});
  return json{{"invitations", invitations}, {"nodes", nodes}}.dump(-1, ' ', false,
                                                                   json::error_handler_t::replace);
}

Result<InvitedNodes> parse_invited_nodes(std::string_view text) {
  try {
    const json document = json::parse(text);
    InvitedNodes guests;
    for (const json& one : document.at("invitations"))
      guests.invitations.push_back(
          {one.at("number"), key_of(one.at("key")), one.at("until"), one.at("left")});
    for (const json& one : document.at("nodes"))
      guests.nodes.push_back({one.at("host"), key_of(one.at("key")), one.at("secret")});
    return guests;
  } catch (const json::exception&) {  // its text may hold a part of a secret
    return fail(Errc::invalid_argument, "these are no guests of an instance", "journal");
  }
}

}  // namespace holon::instance
