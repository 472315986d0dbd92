// grant_command.hpp - how records tell the jobs that hold what a child has beyond its own.
#pragma once
#include <string_view>

namespace holon::msg {

// The command of such a job, before the path of the child.
inline constexpr std::string_view kGrantTo = "grant to ";

}  // namespace holon::msg
