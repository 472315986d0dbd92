// parts.hpp - what a Client is made of; for its own .cpp files.
#pragma once
#include <string>

#include "client/client.hpp"
#include "client/find_instance.hpp"
#include "transport/blocking_client.hpp"
#include "transport/endpoint.hpp"

namespace holon::client {

struct Client::Parts {
  transport::BlockingClient client;
  std::string path;
};

// Submitting a million jobs or listing them takes longer than a look at the state does.
inline constexpr Duration kBulkTimeout = 600'000;
inline constexpr Duration kForEver = 0;

// A broker that crashed is back within a second; one that keeps crashing is given up by its
// supervisor after some more.
inline constexpr Duration kRestartPatience = 30'000;
inline constexpr Duration kLookAgain = 50;

// Has the instance of this lost connection ended? Nobody listens there, and there is no supervisor
// that would start a broker again. The socket of processes that were killed is still there. Of an
// address on another machine nothing can be seen.
inline bool has_ended(const std::string& uri) {
  if (!uri.starts_with("ipc://")) return false;
  const auto socket = transport::probe_ipc(uri);
  const bool listens = socket && *socket == transport::IpcState::alive;
  return !listens && !may_come_back(uri);
}

// Asks again whoever can be asked again, when the connection was lost: `ask` returns a Result.
// Gives up when the instance has ended, when there is no connection for kRestartPatience, or
// `patience` after the first loss.
template <class Ask>
auto across_restarts(transport::BlockingClient& client, const Ask& ask,
                     Duration patience = kTimeMax) {
  auto& reactor = client.reactor();
  auto answer = ask();
  const Time last = saturating_add(reactor.now(), patience);
  while (!answer && answer.error().code == Errc::disconnected && reactor.now() <= last) {
    reactor.turn(kLookAgain);
    const Time give_up = saturating_add(reactor.now(), kRestartPatience);
    while (!client.client().connected()) {
      if (has_ended(client.client().uri()) || reactor.now() > give_up) return answer;
      reactor.turn(kLookAgain);
    }
    answer = ask();
  }
  return answer;
}

}  // namespace holon::client
