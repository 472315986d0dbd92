// endpoint.hpp - where processes listen: runtime directories and ipc:// addresses.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::transport {

// The place for new runtime directories: $XDG_RUNTIME_DIR, else $TMPDIR, else /run/user/UID, else
// /tmp: the first that may be written to and is short enough for a socket's path below it.
std::string runtime_base();
// Places where runtime directories of a process with another environment may be: runtime_base(),
// and /tmp beside /run/user/UID.
std::vector<std::string> runtime_bases();

// Makes (or accepts) a directory only its owner can enter. Empty `path`: a new one, holon-XXXXXX
// below runtime_base(), short whatever the nesting; the caller removes it. Errors: denied (it
// belongs to somebody else or others may enter), system.
Result<std::string> make_runtime_dir(const std::string& path = "");

// Is the name one that make_runtime_dir() gives to a new directory?
bool is_runtime_dir_name(const std::string& name);

// The uri "ipc://DIR/NAME". Errors: out_of_range when DIR/NAME is longer than the 107 bytes a
// socket address holds; the message says by how much.
Result<std::string> ipc_uri(const std::string& dir, const std::string& name);

// The state of an ipc:// address. A restarting server passes through `stale` or `absent`.
enum class IpcState { absent, stale, alive };
// Looks at the address. Errors: invalid_argument (not an ipc address, too long), denied, system.
Result<IpcState> probe_ipc(const std::string& uri);

}  // namespace holon::transport
