// rlimits.hpp - limits of a task's process (setrlimit(2)) by their names in Flux and the shell:
// "nofile", "core", "stack".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::launch {

struct ProcessLimit {
  int resource = 0;         // RLIMIT_NOFILE, ...
  std::uint64_t value = 0;  // RLIM_INFINITY: none
  bool operator==(const ProcessLimit&) const = default;
};

inline constexpr std::int64_t kUnlimited = -1;

// By name. Errors: invalid_argument (an unknown name, with the known ones; a number that is none).
Result<ProcessLimit> process_limit(std::string_view name, std::int64_t value);
// "nofile=4096", "core=unlimited", "fsize=2G" (a size; as many bytes). Errors: invalid_argument.
struct NamedLimit {
  std::string name;
  std::int64_t value = 0;
};
Result<NamedLimit> parse_process_limit(std::string_view text);

// For a process that is about to become the task; allocates no memory. Sets the soft limit, and the
// hard one only if it is lower. Returns 0 or an errno.
int apply_process_limit(const ProcessLimit& limit);
// "nofile".
std::string_view name_of_limit(int resource);

}  // namespace holon::launch
