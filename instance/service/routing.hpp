// routing.hpp - who sent a request, whether the sender may ask for it, and which instance of the
// tree answers it: this one, one below, one above, or this one for an instance that is gone.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "instance/agents/agents.hpp"
#include "instance/basics/refusals.hpp"
#include "instance/listing/ended_instances.hpp"
#include "instance/manager/manager.hpp"
#include "instance/tree/children.hpp"
#include "instance/tree/identity.hpp"
#include "instance/tree/waiting_for_child.hpp"
#include "instance/users/access.hpp"
#include "instance/users/audit.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class Routing {
 public:
  struct Uses {
    const Identity& identity;
    const JobManager& jobs;
    const Agents& agents;
    Children& children;
    WaitingForChild& awaited;
    Refusals& refusals;
    Audit& audit;
    Access& access;
    EndedInstances& gone;
    const transport::Dispatcher& here;
  };
  // Passes a request to the parent; empty at the root.
  using Upwards = std::function<void(const transport::Request&, const std::string& path)>;
  Routing(transport::Reactor& reactor, transport::Server& server, Uses uses, Upwards up);

  // Takes any request, from a client of this broker, from below or from above.
  void take(const transport::Request& request);
  // What the sender has proved to be (users/rights.hpp).
  unsigned kinds_of(const transport::Request& request) const;
  // The only user whose jobs the sender may see; nullopt: all users.
  std::optional<std::string> viewer_of(const transport::Request& request) const;

 private:
  using Request = transport::Request;
  void refuse(const Request& request, const Error& why);
  bool is_of_own_child(const Request& request, const std::string& path) const;
  void pass_on(const Request& request, const std::string& path, unsigned kinds);
  void to_child(JobId child, const Request& request, const std::string& path);

  transport::Reactor& reactor_;
  transport::Server& server_;
  const Uses uses_;
  const Upwards up_;
  const std::uint32_t owner_;  // user of this process
};

}  // namespace holon::instance
