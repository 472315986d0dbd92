// service.hpp - the requests of clients, agents and children (msg/instance.hpp): the services that
// answer them, each made of what it uses of the Instance, and the routing to them.
//
// Answers leave after the commit of the turn.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "instance/agents/job_changes.hpp"
#include "instance/agents/signals.hpp"
#include "instance/config/config_service.hpp"
#include "instance/grants/grant_service.hpp"
#include "instance/listing/ended_instances.hpp"
#include "instance/listing/followers.hpp"
#include "instance/listing/job_pages.hpp"
#include "instance/per_user/own_instances.hpp"
#include "instance/policy/policy_service.hpp"
#include "instance/provision/provision_service.hpp"
#include "instance/service/array_service.hpp"
#include "instance/service/instance.hpp"
#include "instance/service/job_service.hpp"
#include "instance/service/resource_service.hpp"
#include "instance/service/routing.hpp"
#include "instance/service/schedule/queue_service.hpp"
#include "instance/service/schedule/reservation_service.hpp"
#include "instance/service/schedule/schedule_service.hpp"
#include "instance/service/tree_service.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Service {
 public:
  struct Hooks {
    std::function<void(const std::string& reason)> shutdown;
    std::function<bool()> ending;
    std::function<void(const msg::Lease&)> lease;  // the parent has moved the instance's end
    Routing::Upwards forward_up;
    std::function<void()> agent_up;  // an agent said hello
    // Makes an invitation for nodes. Errors: unsupported (nobody could reach this instance), busy.
    std::function<Result<std::string>(const msg::InviteRequest&)> invite;
    std::vector<std::string> conf;        // the words of --conf, as given to this broker
    std::vector<config::Effective> told;  // from other options of `holon start`
    std::function<void()> begin_again;    // another broker takes this one's place
  };
  Service(transport::Reactor& reactor, transport::Server& server, Instance& core, Hooks hooks);

  // Takes any request, from a client of this broker, from below or from above.
  void handle(const transport::Request& request) { routing_.take(request); }
  // The instance ends: waiting requests are answered with `why`.
  void close(const Error& why);

 private:
  using Request = transport::Request;
  void add_job_requests();
  void add_agent_requests();
  void add_tree_requests();
  void add_instance_requests();
  void own_instance(const Request& request);
  void invite(const Request& request);
  void compact(const Request& request);
  void shut_down(const Request& request);
  void lease(const Request& request);
  template <class Reply>
  void reply_later(const Request& request, Reply reply);

  transport::Reactor& reactor_;
  Instance& instance_;
  Hooks hooks_;
  transport::Dispatcher dispatcher_;
  JobService jobs_;
  JobPages pages_;
  ArrayService arrays_;
  Signals signals_;
  JobChanges job_changes_;
  Followers followers_;
  TreeService tree_;
  ScheduleService schedule_;
  QueueService queues_;
  PolicyService policies_;
  ConfigService config_;
  ReservationService reservations_;
  ResourceService resources_;
  ProvisionService provisions_;
  GrantService grants_;
  OwnInstances own_instances_;
  EndedInstances gone_;
  Routing routing_;
};

}  // namespace holon::instance
