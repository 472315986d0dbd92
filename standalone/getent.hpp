// getent.hpp - names from wherever a machine keeps them (LDAP, sssd, DNS), by the program getent of
// its C library.
//
// A static program cannot load the machine's modules for that: they belong to another C library.
// Its own program can.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::standalone {

class RememberedAnswers;

// What getent prints; nullopt: there is no such key. Errors say why it could not be asked, and
// nothing about the key: timed_out, out_of_range (more is printed than anybody needs), system (it
// could not be started, or was ended by a signal).
using GetentAnswer = Result<std::optional<std::string>>;

// Where names are looked for.
struct Sources {
  std::string etc = "/etc";  // the folder of passwd, group, hosts and nsswitch.conf
  // getent: the first that is there, never one of PATH, which is the caller's. None: files alone.
  std::vector<std::string> getent = {"/usr/bin/getent", "/bin/getent",
                                     "/run/current-system/sw/bin/getent"};
  // ms for one answer of getent. A broker waits for it, and so does whoever has typed a command.
  Duration patience = 5'000;
  // Where answers about users and groups are remembered; null: each question is asked.
  RememberedAnswers* remembered = nullptr;
};

// Asks `getent DATABASE KEY`. nullopt also where no getent is installed, or it does not know the
// database: files are all there is then.
GetentAnswer ask_getent(const Sources& sources, const std::string& database,
                        const std::string& key);

// True if nsswitch.conf names other services than files for `database`; false without the file.
// Errors: the file could not be read.
Result<bool> has_services(const Sources& sources, const std::string& database);

// The text of a file of /etc; empty: there is none. Errors: it could not be read.
Result<std::string> text_of_file(const Sources& sources, const std::string& name, std::size_t most);

}  // namespace holon::standalone
