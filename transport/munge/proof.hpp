// proof.hpp - how a client with an unknown key proves over tcp which user it is: by a MUNGE
// credential that is good for one connection only, since it names the keys of both ends.
#pragma once
#include <optional>
#include <string>

#include "base/result.hpp"
#include "transport/codec/fields.hpp"

namespace holon::transport {

// The first request of such a client, "user.prove".
struct ProveRequest {
  std::string credential;  // of MUNGE, over text_to_prove()
  HOLON_FIELDS(credential)
};

// The text of a credential; keys are public, Z85 text. A thief of one connection's credential has
// neither its client's secret key nor another connection that it is good for.
std::string text_to_prove(const std::string& server_key, const std::string& client_key);

// "tcp://HOST:PORT?key=HEX": the address of a server and its public key, by which a client
// recognises it.
struct KeyedAddress {
  std::string uri;         // "tcp://HOST:PORT"
  std::string server_key;  // Z85 text
};
std::string keyed_uri(const KeyedAddress& address);
// Parses an address; nullopt: it has no key. Errors: invalid_argument (a key that is none).
Result<std::optional<KeyedAddress>> parse_keyed_uri(const std::string& uri);

}  // namespace holon::transport
