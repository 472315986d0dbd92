// sliced_work.hpp - work that is too long for one turn of the broker's loop, done a portion at a
// time: users take turns, and so do the clients of one user.
#pragma once
#include <unistd.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <utility>

#include "instance/basics/clock.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

// Users share the time equally, so that a user gets no more of it with many connections.
class SlicedWork {
 public:
  // The client for whom the work is done.
  struct Client {
    Client() = default;  // the instance itself
    Client(std::uint32_t uid, transport::PeerId who) : user(uid), peer(who) {}
    // Senders without a user id (agents, parents) count as the instance's own user.
    Client(const transport::Request& request)  // NOLINT(google-explicit-constructor): who asks
        : user(user_of(request.principal())), peer(request.peer()) {}

    std::uint32_t user = geteuid();
    transport::PeerId peer;
  };
  // Does one portion, of a millisecond or so; returns false if that was the last one.
  using Work = std::function<bool()>;

  // Work of one client is done in the order in which it was added. O(1).
  void add(const Client& client, Work work) {
    User& user = by_user_[client.user];
    auto& works = user.by_peer[client.peer];
    if (user.order.empty()) order_.push_back(client.user);
    if (works.empty()) user.order.push_back(client.peer);
    works.push_back(std::move(work));
  }
  bool empty() const { return order_.empty(); }

  // Does a portion of each user in turn, for `budget` microseconds and one portion at least.
  void turn(std::int64_t budget) {
    const std::int64_t until = monotonic_us() + budget;
    do {
      if (order_.empty()) return;
      do_next();
    } while (monotonic_us() < until);
  }
  // Does all that is left, at once.
  void finish() {
    while (!order_.empty()) turn(0);
  }

 private:
  using Works = std::deque<Work>;
  struct User {
    std::unordered_map<transport::PeerId, Works> by_peer;
    std::deque<transport::PeerId> order;  // peers with work, the next one first
  };

  static std::uint32_t user_of(const transport::Principal& who) {
    using Kind = transport::Principal::Kind;
    return who.kind == Kind::ipc || who.kind == Kind::munge ? who.uid : geteuid();
  }

  // Does a portion of the next client, which is last then. The work may add more; until it is done
  // its client and user stay first.
  void do_next() {
    const std::uint32_t id = order_.front();
    User& user = by_user_.at(id);  // stays in place, as do its works, whatever is added
    const transport::PeerId peer = user.order.front();
    Works& works = user.by_peer.at(peer);
    const Work work = std::move(works.front());
    if (work())
      works.front() = work;
    else
      works.pop_front();
    user.order.pop_front();
    if (works.empty())
      user.by_peer.erase(peer);
    else
      user.order.push_back(peer);
    order_.pop_front();
    if (user.order.empty())
      by_user_.erase(id);
    else
      order_.push_back(id);
  }

  std::unordered_map<std::uint32_t, User> by_user_;  // users with work
  std::deque<std::uint32_t> order_;                  // the same users, the next one first
};

}  // namespace holon::instance
