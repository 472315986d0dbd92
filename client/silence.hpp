// silence.hpp - whoever waits for what may take for ever is told when nobody is there who could
// answer.
//
// The broker connected to is known by its signs of life. An instance further down may be stopped,
// or its host gone, and a request that was passed on to it waits all the same: it is asked now and
// then how it stands.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "client/client.hpp"
#include "transport/blocking_client.hpp"

namespace holon::client {

// Calls `say` with a sentence each time the instance at `path` falls silent, or cannot write its
// journal any more, until the subscription ends. "": the instance at hand, of which only the latter
// is told. REQUIRES: `client` outlives the subscription, and is not moved meanwhile.
transport::Subscription watch_silence(transport::BlockingClient& client, const std::string& path,
                                      const Patience& patience,
                                      std::function<void(const std::string&)> say);

}  // namespace holon::client
