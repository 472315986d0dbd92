// glob.hpp - patterns of names, as a shell has them: "sweep-*", "[ab]?".
#pragma once
#include <string_view>

#include "base/result.hpp"

namespace holon::msg {

// Refuses two slips that fnmatch(3) takes: an unclosed "[", which is a letter to it, and a "\" at
// the end, behind which nothing matches. Errors: invalid_argument, without a place.
Status check_glob(std::string_view pattern);

}  // namespace holon::msg
