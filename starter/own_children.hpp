// own_children.hpp - which processes there are below this one; files of /proc.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace holon::starter {

// The children. One started meanwhile may be missing: look again until waitpid(2) knows of none.
std::vector<pid_t> own_children();
// The parent; 0: there is no such process.
pid_t parent_of(pid_t pid);
// At most `most` bytes of a file; nullopt if it cannot be opened.
std::optional<std::string> read_all(const std::string& path, std::size_t most);

}  // namespace holon::starter
