// portions.hpp - work that is too long for one turn of the broker's loop, done a portion at a time,
// each client's in turn.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "instance/clock.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Portions {
 public:
  // Does one portion, of a millisecond or so; false: that was the last one.
  using Work = std::function<bool()>;

  // Of one client what came first is done first.
  void add(transport::PeerId client, Work work) {
    auto& queue = by_client_[client];
    if (queue.empty()) order_.push_back(client);
    queue.push_back(std::move(work));
  }
  bool empty() const { return order_.empty(); }

  // One portion of each client after the other, for `budget` microseconds and one portion at least.
  void turn(std::int64_t budget) {
    const std::int64_t until = monotonic_us() + budget;
    do {
      if (order_.empty()) return;
      const auto client = order_.front();
      order_.pop_front();
      const auto found = by_client_.find(client);
      const Work work = std::move(found->second.front());
      const bool more = work();  // may add
      auto& queue = by_client_.at(client);
      if (more)
        queue.front() = work;
      else
        queue.pop_front();
      if (queue.empty())
        by_client_.erase(client);
      else
        order_.push_back(client);
    } while (monotonic_us() < until);
  }
  // All that is left, at once.
  void finish() {
    while (!order_.empty()) turn(0);
  }

 private:
  std::map<transport::PeerId, std::deque<Work>> by_client_;
  std::deque<transport::PeerId> order_;
};

}  // namespace holon::instance
