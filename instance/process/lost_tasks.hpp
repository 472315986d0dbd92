// lost_tasks.hpp - the supervisor ends processes that nobody watches any more: those of earlier
// runs before the instance begins, and those of an agent that died before the next agent starts.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launch/tracking/leftovers.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class LostTasks {
 public:
  // `tell` gets a message when the processes take long to end.
  LostTasks(transport::Reactor& reactor, std::function<void(const std::string&)> tell)
      : reactor_(reactor), tell_(std::move(tell)) {}

  // Begins to end these processes; they replace those of an earlier call.
  void end(launch::Leftovers::What what);
  // Likewise for all processes that an agent has left to this process, but `spare`.
  void end_adopted(std::string prefix, std::string cgroup,
                   std::function<std::vector<pid_t>()> spare);
  // Calls `then` when none of the processes is left; at once if none is left now. One call at a
  // time.
  void when_gone(std::function<void()> then);

 private:
  void look();

  transport::Reactor& reactor_;
  std::function<void(const std::string&)> tell_;
  std::unique_ptr<launch::Leftovers> leftovers_;  // nullptr: no processes are left
  std::function<void()> then_;
  int looks_ = 0;
  transport::Subscription timer_;
};

}  // namespace holon::instance
