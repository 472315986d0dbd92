// resource_service.hpp - the requests about resources (msg/resource.hpp), answered from the
// Core.
#pragma once
#include "instance/core.hpp"
#include "msg/resource.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class ResourceService {
 public:
  ResourceService(transport::Reactor& reactor, transport::Server& server, Core& core)
      : reactor_(reactor), server_(server), core_(core) {}
  void add_to(transport::Dispatcher& dispatcher);
  // A child that has just connected follows what is drained here.
  void tell_drains(JobId child);

 private:
  void list(const transport::Request& request);
  void drain(const transport::Request& request);
  void follow(const transport::Request& request);
  void tell_drains();

  transport::Reactor& reactor_;
  transport::Server& server_;
  Core& core_;
};

}  // namespace holon::instance
