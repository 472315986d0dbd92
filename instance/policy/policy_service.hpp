// policy_service.hpp - the requests about the policies of queues (msg/policy.hpp).
#pragma once
#include "instance/basics/clock.hpp"
#include "instance/basics/sliced_work.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/policy/policies.hpp"
#include "msg/policy.hpp"
#include "qmanager/scheduler.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class PolicyService {
 public:
  struct Uses {
    InstanceClock& clock;
    qmanager::Scheduler& scheduler;
    Policies& policies;
    JobManager& jobs;
    SlicedWork& portions;
    AfterCommit& after_commit;
  };
  PolicyService(transport::Reactor& reactor, Uses uses) : reactor_(reactor), uses_(uses) {}
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
  const Uses uses_;
};

}  // namespace holon::instance
