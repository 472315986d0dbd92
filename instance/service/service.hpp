// service.hpp - the requests of clients, agents and children (msg/instance.hpp), answered from the
// Core.
//
// Requests for another instance are passed down to the child they are for or up to the parent; a
// child that is gone is answered for from its records. Answers leave after the commit of the turn.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "instance/agents/job_changes.hpp"
#include "instance/agents/signals.hpp"
#include "instance/array/array_service.hpp"
#include "instance/config/config_service.hpp"
#include "instance/core.hpp"
#include "instance/policy/policy_service.hpp"
#include "instance/provision/provision_service.hpp"
#include "instance/service/followers.hpp"
#include "instance/service/job_pages.hpp"
#include "instance/service/queue_service.hpp"
#include "instance/service/reservation_service.hpp"
#include "instance/service/resource_service.hpp"
#include "instance/service/schedule_service.hpp"
#include "instance/tree/gone_jobs.hpp"
#include "instance/users/own_instances.hpp"
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
    // To the parent; empty at the root.
    std::function<void(const transport::Request&, const std::string& path)> forward_up;
    std::function<void()> agent_up;  // it said hello
    // A new invitation for nodes. Errors: unsupported (nobody could reach this instance), busy.
    std::function<Result<std::string>(const msg::InviteRequest&)> invite;
    std::vector<std::string> conf;      // the words of --conf, as this broker was told them
    std::function<void()> begin_again;  // another broker takes this one's place
  };
  Service(transport::Reactor& reactor, transport::Server& server, Core& core, Hooks hooks);

  // Any request, from a client of this broker, from below or from above.
  void handle(const transport::Request& request);
  // The instance ends: requests that wait for something are told so.
  void close(const Error& why);

 private:
  using Request = transport::Request;
  void add_client_requests();
  void add_instance_requests();
  unsigned kinds_of(const Request& request);
  std::optional<std::string> viewer_of(const Request& request);
  void refuse(const Request& request, const Error& why);
  bool is_of_own_child(const Request& request, const std::string& path);
  void route(const Request& request, const std::string& path, unsigned kinds);
  void to_child(JobId child, const Request& request, const std::string& path);
  void answer_for_gone(const Request& request, const std::string& path);
  void answer_for_gone_jobs(const Request& request, const std::string& path);
  void child_connected(JobId child);
  Time now() const { return reactor_.now(); }

  void submit(const Request& request);
  void own_instance(const Request& request);
  void submit_graph(const Request& request);
  void job_info(const Request& request);
  void cancel(const Request& request);
  std::vector<std::uint64_t> waiting_first(std::vector<std::uint64_t> ids) const;
  Status sort_by_life(const std::vector<std::uint64_t>& ids, msg::CancelReply& reply) const;
  void tree(const Request& request);
  void invite(const Request& request);
  void compact(const Request& request);
  void status(const Request& request);
  void lease(const Request& request);
  template <class Reply>
  void reply_later(const Request& request, Reply reply);

  transport::Reactor& reactor_;
  transport::Server& server_;
  Core& core_;
  Hooks hooks_;
  const std::uint32_t owner_;  // user of this process
  GoneJobs gone_jobs_;
  transport::Dispatcher dispatcher_;
  JobPages pages_;
  ArrayService arrays_;
  Signals signals_;
  JobChanges job_changes_;
  Followers followers_;
  ScheduleService schedule_;
  QueueService queues_;
  PolicyService policies_;
  ConfigService config_;
  ReservationService reservations_;
  ResourceService resources_;
  ProvisionService provisions_;
  OwnInstances own_instances_;
  const std::set<std::string> of_single_jobs_ = {"job.info", "job.wait", "job.watch", "job.attach"};
};

}  // namespace holon::instance
