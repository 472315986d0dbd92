// queue_service.hpp - the requests about queues (msg/queue.hpp).
#pragma once
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/manager/queue_gates.hpp"
#include "msg/queue.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/store.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class QueueService {
 public:
  struct Uses {
    resource::ResourceStore& store;
    qmanager::Scheduler& scheduler;
    QueueGates& gates;
    JobManager& jobs;
    AfterCommit& after_commit;
  };
  QueueService(transport::Reactor& reactor, Uses uses) : reactor_(reactor), uses_(uses) {}
  void add_to(transport::Dispatcher& dispatcher);

 private:
  void urgency(const transport::Request& request);
  void gate(const transport::Request& request);
  void stats(const transport::Request& request);
  msg::QueueInfo info_of(const qmanager::QueueStatus& queue) const;

  transport::Reactor& reactor_;
  const Uses uses_;
};

}  // namespace holon::instance
