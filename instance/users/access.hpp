// access.hpp - who may ask what in an instance that serves several users. An instance of one user
// has none of this: all that reach it are its owner.
//
// Roles, from the kernel's word on a connection: an operator (access.operators), a user
// (access.users), a guest (everybody else). rights.hpp says which topics are whose; here is what of
// a topic: a user sees and changes their own jobs, and is the one the kernel says.
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
  // `serves_users`: false: of one user. All must outlive it.
  Access(bool serves_users, const config::Config& config, const JobManager& jobs);

  bool serves_users() const { return serves_users_; }
  // Of rights.hpp: what somebody is beside the owner. 0 in an instance of one user.
  unsigned kinds_of(const transport::Principal& who, Time now);
  // The user's name; "": nobody has this number.
  const std::string& name_of(std::uint32_t uid, Time now);
  // The groups that a user is in by this machine's databases, the primary one first; none: there is
  // no such user. Until the next call.
  const std::vector<std::string>& groups_of(const std::string& user, Time now);

  // What of a request to this instance its asker may ask: all of it, or what is left in the payload
  // that is put in place of it. False: nothing is left, and it has been answered so. `kinds`: all
  // that the asker is. Errors: denied (it names another user's jobs, or another user), and of what
  // cannot be read.
  Result<bool> narrow(const transport::Request& request, unsigned kinds, Time now);

  // May the asker reach the child that this job is? Errors: denied.
  Status may_reach(const std::string& user_of_child, const transport::Request& request,
                   unsigned kinds, Time now);
  // Whose jobs and children alone the asker sees; nullopt: all.
  std::optional<std::string> sees_only(const transport::Principal& who, unsigned kinds, Time now);

 private:
  struct Known {
    std::string name;
    Time looked_up = 0;
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
    Time looked_up = 0;
  };
  std::map<std::string, KnownGroups> groups_;  // by user
};

}  // namespace holon::instance
