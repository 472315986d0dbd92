// account.hpp - users that the starter serves: by name, from the system's databases.
#pragma once
#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::starter {

// Settings that root makes as the instance starts; no message changes them.
struct Settings {
  uid_t instance = 0;  // the account that supervisor, broker and agent have: for nobody else's use
  uid_t least = 1000;  // accounts of the system have lower numbers
  bool everybody = true;
  std::set<uid_t> users = {};  // used if not `everybody`
  bool no_new_privileges = true;
  mode_t mask = 022;  // umask of the programs
};

struct Account {
  std::string name, home, shell;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // `gid` among them
};

// Looks a name up. Errors: not_found (nobody has this name), denied (root, the instance's own
// account, one of the system's, one that is not among the users), system.
Result<Account> find_account(const std::string& name, const Settings& settings);

// Checks that the starter serves this user. `name`: for the answer. Errors: denied, as above.
Status may_be_user(uid_t uid, const std::string& name, const Settings& settings);

}  // namespace holon::starter
