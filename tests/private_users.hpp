// private_users.hpp - users that exist for this process and what it starts, and for nobody else on
// the machine: /etc/passwd and /etc/group are files of the test's own, in a mount namespace of its
// own.
#pragma once
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace holon::testing_users {

inline constexpr unsigned kInstance = 61'000, kAnn = 61'001, kBob = 61'002, kEve = 61'003;
inline constexpr unsigned kTeam = 61'050;  // ann's and bob's group beside their own

// "": it can be done. Needs root, and a kernel that lets root mount.
inline std::string no_private_users() {
  if (geteuid() != 0) return "this test runs as root only: it starts processes as several users";
  static const std::string why = [] {
    if (unshare(CLONE_NEWNS) != 0) return std::string("no mount namespace: ") + strerror(errno);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return std::string("no private mounts: ") + strerror(errno);
    return std::string();
  }();
  return why;
}

class PrivateUsers {
 public:
  // `folder` is the test's, for the two files. REQUIRES: no_private_users() is "".
  explicit PrivateUsers(const std::string& folder) {
    std::string users, groups = "team:x:" + std::to_string(kTeam) + ":ann,bob\n";
    for (const auto& [name, number] : {std::pair("holon", kInstance), std::pair("ann", kAnn),
                                       std::pair("bob", kBob), std::pair("eve", kEve)}) {
      const std::string id = std::to_string(number);
      users += std::string(name) + ":x:" + id + ":" + id + "::" + folder + "/home-" + name +
               ":/bin/sh\n";
      groups += std::string(name) + ":x:" + id + ":\n";
    }
    is_there_ = put(folder, "/etc/passwd", users) && put(folder, "/etc/group", groups);
  }
  ~PrivateUsers() {
    for (const char* file : {"/etc/passwd", "/etc/group"}) umount2(file, MNT_DETACH);
  }
  PrivateUsers(const PrivateUsers&) = delete;
  PrivateUsers& operator=(const PrivateUsers&) = delete;

  bool is_there() const { return is_there_; }

 private:
  static bool put(const std::string& folder, const std::string& file, const std::string& more) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf() << more;
    const std::string own = folder + file.substr(file.rfind('/'));
    std::ofstream(own) << text.str();
    return mount(own.c_str(), file.c_str(), nullptr, MS_BIND, nullptr) == 0;
  }

  bool is_there_ = false;
};

// Other tests run at the same time and have users with the same numbers: what this test has started
// is in its mount namespace. REQUIRES: PrivateUsers has been made.
inline bool is_of_this_test(const std::string& pid) {
  const auto namespace_of = [](const std::string& process) {
    std::error_code none;
    return std::filesystem::read_symlink("/proc/" + process + "/ns/mnt", none);
  };
  return namespace_of(pid) == namespace_of("self");
}

}  // namespace holon::testing_users
