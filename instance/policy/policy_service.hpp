// policy_service.hpp - the requests about the policies of queues (msg/policy.hpp), answered from
// the Core.
#pragma once
#include "instance/core.hpp"
#include "msg/policy.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class PolicyService {
 public:
  PolicyService(transport::Reactor& reactor, Core& core) : reactor_(reactor), core_(core) {}
  void add_to(transport::Dispatcher& dispatcher);

 private:
  void load(const transport::Request& request);
  void disable(const transport::Request& request);
  void show(const transport::Request& request);
  void what_if(const transport::Request& request);
  void answer_what_if(const transport::Request& request, const msg::WhatIfRequest& ask) const;
  msg::WhatIfStart about(JobId id, Time as_it_is, Time then) const;
  Result<qmanager::QueueStatus> queue_named(const std::string& name) const;

  transport::Reactor& reactor_;
  Core& core_;
};

}  // namespace holon::instance
