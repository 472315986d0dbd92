#include "instance/tree/waiting_for_child.hpp"

#include <iterator>
#include <utility>

namespace holon::instance {

void WaitingForChild::wait(JobId child, Duration patience, Then then) {
  waiting_.push_back({child, std::move(then), {}});
  const auto at = std::prev(waiting_.end());
  at->timeout = reactor_.after(patience, [this, at] {
    const Waiting silent = std::move(*at);  // with the timer that calls this
    waiting_.erase(at);
    silent.then(Outcome::silent);
  });
}

// Moves the requests out first: a callback may wait for another child, which changes the list.
void WaitingForChild::settle(JobId child, Outcome outcome) {
  std::list<Waiting> settled;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto next = std::next(at);
    if (at->child == child) settled.splice(settled.end(), waiting_, at);
    at = next;
  }
  for (auto& one : settled) {
    one.timeout.cancel();
    one.then(outcome);
  }
}

void WaitingForChild::close(const Error& why) {
  for (auto& one : std::exchange(waiting_, {})) {
    one.timeout.cancel();
    one.then(tl::unexpected(why));
  }
}

}  // namespace holon::instance
