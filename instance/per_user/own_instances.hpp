// own_instances.hpp - an instance of their own for each user, where the configuration says so
// ([per-user]) or an operator has made one: a user's requests without a path go there.
//
// Such an instance is a job of its user's like any other child, marked in its jobspec. It is made
// when its user submits for the first time, and ends by itself when it has been idle for a while.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "instance/manager/manager.hpp"
#include "instance/tree/children.hpp"
#include "instance/tree/identity.hpp"
#include "instance/tree/node_view.hpp"
#include "instance/tree/waiting_for_child.hpp"
#include "msg/users.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class OwnInstances {
 public:
  struct Uses {
    const config::Config& config;
    const Identity& identity;
    JobManager& jobs;
    Children& children;
    WaitingForChild& awaited;
    const NodeView& node;
  };
  OwnInstances(transport::Reactor& reactor, Uses uses) : reactor_(reactor), uses_(uses) {}

  // Answers "user.instance". `user`: the sender; nullopt: a sender who sees the whole instance.
  void answer(const transport::Request& request, const std::optional<std::string>& user);
  // A job was submitted that may be a user's own instance, made by an operator.
  void submitted(JobId id);

 private:
  std::optional<JobId> find(const std::string& user);
  bool is_waiting(JobId id) const;
  bool can_be_asked(JobId id) const;
  std::string path_of(JobId id) const { return uses_.jobs.path_of(id); }
  Result<unsigned> failures_before(const std::string& user) const;
  Result<JobId> make(const std::string& user);
  Result<std::string> jobspec_for(const std::string& user) const;
  void reply_with(const transport::Request& request, const std::string& path) const;
  void when_up(JobId id, const transport::Request& request, Duration patience);
  Error why_not_up(JobId id, bool is_over) const;

  transport::Reactor& reactor_;
  const Uses uses_;
  // The newest instance of a user.
  struct Own {
    JobId id;
    unsigned failures = 0;  // how many before it in a row ended before they were up
  };
  std::optional<std::map<std::string, Own>> known_;
};

}  // namespace holon::instance
