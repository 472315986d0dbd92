// account.hpp - whom the starter starts something for: a name, looked up in the system's databases.
#pragma once
#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::starter {

// Decided by root as the instance starts; no message changes it.
struct Settings {
  uid_t instance = 0;  // the account that supervisor, broker and agent have: for nobody else's use
  uid_t least = 1000;  // accounts of the system have lower numbers
  bool everybody = true;
  std::set<uid_t> users = {};  // if not everybody
  bool no_new_privileges = true;
  mode_t mask = 022;  // umask of what is started
};

struct Account {
  std::string name, home, shell;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // `gid` among them
};

// Errors: not_found (nobody has this name), denied (root, the instance's own account, one of the
// system's, one that is not among the users), system.
Result<Account> find_account(const std::string& name, const Settings& settings);

// Is something started for this user? `name`: for the answer. Errors: denied, as above.
Status may_be_user(uid_t uid, const std::string& name, const Settings& settings);

}  // namespace holon::starter
