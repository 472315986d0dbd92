// access.hpp - who may use a queue, a parallel environment, a QOS or an account: Grid Engine's
// user_lists and xuser_lists (queue_conf(5), sge_pe(5), project(5), access_list(5)).
#pragma once
#include <string>
#include <vector>

namespace holon::qmanager {

// Users by name, and "@GROUP" for the jobs that count for a group (JobRequest::group).
struct AccessList {
  std::vector<std::string> users;   // empty: everybody
  std::vector<std::string> xusers;  // none of these, even if `users` has them

  bool admits(const std::string& user, const std::string& group) const;
  bool operator==(const AccessList&) const = default;
};

}  // namespace holon::qmanager
