// lost_tasks.hpp - the supervisor's part in ending what nobody watches any more: of earlier runs of
// the instance before it begins, and of an agent that died before the next one starts.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "launch/tracking/remains.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class LostTasks {
 public:
  // `tell`: gets a message when it takes long.
  LostTasks(transport::Reactor& reactor, std::function<void(const std::string&)> tell)
      : reactor_(reactor), tell_(std::move(tell)) {}

  // Begins to end them; what was begun before is done with.
  void end(launch::Remains::What what);
  // Calls `then` when none is left; at once if that is so already. One at a time.
  void when_gone(std::function<void()> then);

 private:
  void look();

  transport::Reactor& reactor_;
  std::function<void(const std::string&)> tell_;
  std::unique_ptr<launch::Remains> remains_;  // nullptr: none are left
  std::function<void()> then_;
  int looks_ = 0;
  transport::Subscription timer_;
};

}  // namespace holon::instance
