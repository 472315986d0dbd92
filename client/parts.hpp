// parts.hpp - what a Client is made of; for its own .cpp files.
#pragma once
#include <functional>
#include <string>

#include "client/client.hpp"
#include "client/find_instance.hpp"
#include "client/silence.hpp"
#include "transport/blocking_client.hpp"
#include "transport/endpoint.hpp"

namespace holon::client {

// For submitting a million jobs or listing them, which takes longer than a look at the state.
inline constexpr Duration kBulkTimeout = 600'000;
inline constexpr Duration kForEver = 0;

inline constexpr Duration kLookAgain = 50;

// Has the instance of this lost connection ended? Nobody listens there, and no supervisor would
// start a broker again. The socket of processes that were killed is still there. An address on
// another machine tells nothing.
inline bool has_ended(const std::string& uri) {
  if (!uri.starts_with("ipc://")) return false;
  const auto socket = transport::probe_ipc(uri);
  const bool listens = socket && *socket == transport::IpcState::alive;
  return !listens && !may_come_back(uri);
}

// A connection to the instance of an address.
struct Reached {
  transport::BlockingClient client;
  std::string path;  // that of the address, absolute; "": it has none
  // No instance was named, and the one connected to is another user's, which may have made one of
  // this user's own.
  bool may_have_own = false;
};
// Errors: those of Client::connect().
Result<Reached> reach_instance(const Address& address);

struct Client::Parts {
  transport::BlockingClient client;
  std::string path;
  std::function<void(const std::string&)> on_wait;  // may be empty
  // No instance was named, and the one connected to is another user's, which may have made one of
  // this user's own.
  bool may_have_own = false;
  Patience patience = {};

  // Returns once there is a connection. A request made without one would wait until its timeout for
  // a broker that may never come. Errors: disconnected, when the instance has ended, or there is no
  // connection for Patience::restart.
  Status reach();
  // Sends requests from here on to the user's own instance, if there is one, or, with `make`, if
  // one can be made.
  Status go_to_own(bool make);
  // Waits for an own instance that can be made, as long as that waits for its resources.
  Status await_own();
  // Sends a submission to the user's own instance; to the next one if that one ends before it has
  // taken it.
  template <class Reply, class Ask>
  Result<Reply> submit(const std::string& topic, const Ask& ask);
  // Has the instance at path() since taken a job of which it could not tell any more?
  bool has_taken_one(std::int64_t since);

  template <class Reply, class Ask>
  Result<Reply> call(const std::string& topic, const Ask& ask) {
    return call<Reply>(topic, ask, patience.answer);
  }
  template <class Reply, class Ask>
  Result<Reply> call(const std::string& topic, const Ask& ask, Duration timeout) {
    if (const auto there = reach(); !there) return tl::unexpected<Error>(there.error());
    const auto watch = silence_watched(timeout);
    return client.call<Reply>(topic, ask, path, timeout);
  }
  template <class Chunk, class Ask>
  Status stream(const std::string& topic, const Ask& ask,
                const std::function<bool(const Chunk&)>& on_chunk, Duration timeout) {
    if (const auto there = reach(); !there) return there;
    const auto watch = silence_watched(timeout);
    return client.stream<Chunk>(topic, ask, path, on_chunk, timeout);
  }

  // Watches for silence while an instance is waited for without a limit.
  transport::Subscription silence_watched(Duration timeout) {
    if (timeout != kForEver || !on_wait) return {};
    return watch_silence(client, path, patience, on_wait);
  }
};

// Repeats `ask`, which returns a Result, when the connection was lost. Gives up when the instance
// has ended, when there is no connection for Patience::restart, or `patience` after the first loss.
template <class Parts, class Ask>
auto across_restarts(Parts& parts, const Ask& ask, Duration patience = kTimeMax) {
  auto& reactor = parts.client.reactor();
  auto answer = ask();
  const Time last = saturating_add(reactor.now(), patience);
  while (!answer && answer.error().code == Errc::disconnected && reactor.now() <= last) {
    reactor.turn(kLookAgain);
    if (!parts.reach()) return answer;
    answer = ask();
  }
  return answer;
}

}  // namespace holon::client
