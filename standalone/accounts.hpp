// accounts.hpp - users and groups as getpwnam(3) and its relatives find them, without modules of
// the C library: first /etc/passwd and /etc/group, then getent, where nsswitch.conf names other
// services.
//
// Files are read at each call; what getent says is remembered where Sources has a place for it. A
// user of a service stands behind one of the same name in a file, whatever the order in
// nsswitch.conf.
//
// Errors of all of these: it could not be asked (GetentAnswer), or a file could not be read.
#pragma once
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "standalone/getent.hpp"

namespace holon::standalone {

// A line of passwd(5).
struct User {
  std::string name, password, comment, home, shell;
  uid_t uid = 0;
  gid_t gid = 0;
};

// A line of group(5).
struct Group {
  std::string name, password;
  gid_t gid = 0;
  std::vector<std::string> members;
};

// nullopt: the line has not all fields, or a number that is none.
std::optional<User> read_user(const std::string& line);
std::optional<Group> read_group(const std::string& line);

// nullopt: there is none.
using FoundUser = Result<std::optional<User>>;
using FoundGroup = Result<std::optional<Group>>;
FoundUser user_named(const Sources& sources, const std::string& name);
FoundUser user_numbered(const Sources& sources, uid_t uid);
FoundGroup group_named(const Sources& sources, const std::string& name);
FoundGroup group_numbered(const Sources& sources, gid_t gid);

// `primary`, and then the groups that the user is a member of, each once.
Result<std::vector<gid_t>> groups_of(const Sources& sources, const std::string& user,
                                     gid_t primary);

// The users of the file passwd, in its order.
Result<std::vector<User>> users_of_file(const Sources& sources);

}  // namespace holon::standalone
