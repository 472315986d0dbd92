// resource_service.hpp - the requests about resources (msg/resource.hpp).
#pragma once
#include "instance/basics/clock.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/resources/drains.hpp"
#include "instance/tree/children.hpp"
#include "msg/resource.hpp"
#include "resource/store.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class ResourceService {
 public:
  struct Uses {
    InstanceClock& clock;
    resource::ResourceStore& store;
    JobManager& jobs;
    Drains& drains;
    Children& children;
    AfterCommit& after_commit;
  };
  ResourceService(transport::Reactor& reactor, transport::Server& server, Uses uses);
  void add_to(transport::Dispatcher& dispatcher);
  // Tells a child that has just connected what is drained here.
  void tell_drains(JobId child);

 private:
  void list(const transport::Request& request);
  void drain(const transport::Request& request);
  void follow(const transport::Request& request);
  void tell_drains_after_commit();
  void send_drains(JobId child);

  transport::Reactor& reactor_;
  transport::Server& server_;
  const Uses uses_;
  bool tells_drains_ = false;  // after the next commit
};

}  // namespace holon::instance
