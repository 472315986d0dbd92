// late_answers.hpp - answers that nobody waits for: they are sent with the next message, or after a
// while. A message of their own would wake the other side once more.
#pragma once
#include <utility>
#include <vector>

#include "launch/messages.hpp"
#include "transport/codec/codec.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"

namespace holon::launch {

class LateAnswers {
 public:
  // `reactor` must outlive it. `wait`: ms after which answers are sent by themselves.
  LateAnswers(transport::Reactor& reactor, Duration wait) : reactor_(reactor), wait_(wait) {}

  // Adds a request that is to be answered with nothing.
  void add(const transport::Request& request) {
    requests_.push_back(request);
    if (requests_.size() == 1) timer_ = reactor_.after(wait_, [this] { give(); });
  }
  // Sends all answers; called when something else is sent anyway.
  void give() {
    timer_.cancel();
    for (const auto& request : std::exchange(requests_, {}))
      request.reply(transport::pack(msg::Empty{}));
  }
  // The connection of the requests is lost: nobody is left to answer.
  void drop() {
    timer_.cancel();
    requests_.clear();
  }

 private:
  transport::Reactor& reactor_;
  Duration wait_;
  std::vector<transport::Request> requests_;
  transport::Subscription timer_;
};

}  // namespace holon::launch
