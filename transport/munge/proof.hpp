// proof.hpp - by which a client that nobody knows proves over tcp which user it is: a MUNGE
// credential that is good for one connection only, since it names the keys of both ends.
#pragma once
#include <optional>
#include <string>

#include "base/result.hpp"
#include "transport/codec/fields.hpp"

namespace holon::transport {

// "user.prove", the first request of such a client.
struct ProveRequest {
  std::string credential;  // of MUNGE, over text_to_prove()
  HOLON_FIELDS(credential)
};

// Public keys, Z85 text. Somebody who has the credential of one connection has neither the secret
// key of its client nor another connection that it is good for.
std::string text_to_prove(const std::string& server_key, const std::string& client_key);

// "tcp://HOST:PORT?key=HEX": where a server is reached, and its public key, by which a client knows
// that it is that server.
struct KeyedAddress {
  std::string uri;         // "tcp://HOST:PORT"
  std::string server_key;  // Z85 text
};
std::string keyed_uri(const KeyedAddress& address);
// nullopt: an address without a key. Errors: invalid_argument (a key that is none).
Result<std::optional<KeyedAddress>> parse_keyed_uri(const std::string& uri);

}  // namespace holon::transport
