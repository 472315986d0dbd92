// queue_service.hpp - the requests about queues (msg/queue.hpp), answered from the Core.
#pragma once
#include "instance/core.hpp"
#include "msg/queue.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class QueueService {
 public:
  QueueService(transport::Reactor& reactor, Core& core) : reactor_(reactor), core_(core) {}
  void add_to(transport::Dispatcher& dispatcher);

 private:
  void urgency(const transport::Request& request);
  void gate(const transport::Request& request);
  void stats(const transport::Request& request);
  msg::QueueInfo info_of(const qmanager::QueueStatus& queue) const;

  transport::Reactor& reactor_;
  Core& core_;
};

}  // namespace holon::instance
