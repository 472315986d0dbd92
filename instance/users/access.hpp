// access.hpp - who may ask what in an instance that serves several users. An instance of one user
// has none of this: all that reach it are its owner.
//
// Roles, by the kernel's word on a connection: an operator (access.operators), a user
// (access.users), a guest (everybody else). msg/topic.hpp has the topics of each role; this file
// has the part of a topic: users see and change their own jobs, and are who the kernel says.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "config/config.hpp"
#include "instance/manager/manager.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Access {
 public:
  // `serves_users`: false for an instance of one user. The other arguments must outlive it.
  Access(bool serves_users, const config::Config& config, const JobManager& jobs);

  bool serves_users() const { return serves_users_; }
  // The sender's kinds of msg/topic.hpp beside owner; 0 in an instance of one user.
  unsigned kinds_of(const transport::Principal& who, Time now);
  // The user's name; "": no user has this number, or the name could not be asked for just now.
  const std::string& name_of(std::uint32_t uid, Time now);
  // The user's groups in this machine's databases, the primary one first; empty: there is no such
  // user, or they could not be asked for just now. Valid until the next call.
  const std::vector<std::string>& groups_of(const std::string& user, Time now);

  // Restricts a request to this instance to what its sender may ask: nothing changes, or its
  // payload is replaced by the rest. False: nothing is left, and the request has been answered.
  // `kinds`: all kinds of the sender. Errors: denied (it names another user's jobs, or another
  // user), and those of payloads that cannot be read.
  Result<bool> narrow(const transport::Request& request, unsigned kinds, Time now);

  // May the sender reach the child that is this job? Errors: denied.
  Status may_reach(const std::string& user_of_child, const transport::Request& request,
                   unsigned kinds, Time now);
  // The only user whose jobs and children the sender sees; nullopt: all users.
  std::optional<std::string> sees_only(const transport::Principal& who, unsigned kinds, Time now);

 private:
  struct Known {
    std::string name;
    Time holds_until = 0;
  };
  bool is_restricted(unsigned kinds) const;
  Status settle_user(std::string& user, unsigned kinds, const std::string& name) const;
  Status narrow_submit(const transport::Request& request, unsigned kinds, const std::string& name);
  Status narrow_graph(const transport::Request& request, unsigned kinds, const std::string& name);
  Status narrow_list(const transport::Request& request, const std::string& name);
  Status narrow_cancel(const transport::Request& request, const std::string& name);
  Status narrow_urgency(const transport::Request& request, const std::string& name);
  Status narrow_update(const transport::Request& request, const std::string& name);
  Status narrow_tasks(const transport::Request& request, const std::string& name);
  Status as_own_records(const transport::Request& request, const std::string& name, Time now);
  Status narrow_restricted(const transport::Request& request, const std::string& name);
  Status only_own(const transport::Request& request, const std::string& name);
  std::vector<std::uint64_t> own_jobs(const std::string& name) const;
  Status are_own(const std::vector<std::uint64_t>& ids, const std::string& name) const;

  const bool serves_users_;
  const config::AccessConfig& config_;
  const config::PerUserConfig& per_user_;
  const JobManager& jobs_;
  const std::uint32_t owner_;
  std::set<std::string> operators_, users_;
  bool everybody_ = false;
  std::map<std::uint32_t, Known> names_;
  struct KnownGroups {
    std::vector<std::string> names;
    Time holds_until = 0;
  };
  std::map<std::string, KnownGroups> groups_;  // by user
};

}  // namespace holon::instance
