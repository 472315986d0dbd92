// getent.hpp - names from wherever a machine keeps them (LDAP, sssd, DNS), by the program getent of
// its C library.
//
// A static program cannot load the machine's modules for that: they belong to another C library.
// Its own program can.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace holon::standalone {

// Where names are looked for.
struct Sources {
  std::string etc = "/etc";  // the folder of passwd, group, hosts and nsswitch.conf
  // getent: the first that is there, never one of PATH, which is the caller's. None: files alone.
  std::vector<std::string> getent = {"/usr/bin/getent", "/bin/getent",
                                     "/run/current-system/sw/bin/getent"};
  Duration patience = 60'000;  // ms for an answer of getent
};

// What `getent DATABASE KEY` prints; nullopt: it is not there, knows no such key, or takes too
// long.
std::optional<std::string> ask_getent(const Sources& sources, const std::string& database,
                                      const std::string& key);

// True if nsswitch.conf names other services than files for `database`; false without the file.
bool has_services(const Sources& sources, const std::string& database);

}  // namespace holon::standalone
