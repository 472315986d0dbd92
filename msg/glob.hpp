// glob.hpp - patterns of names, as a shell has them: "sweep-*", "[ab]?".
#pragma once
#include <string_view>

#include "base/result.hpp"

namespace holon::msg {

// fnmatch(3) takes each text: a "[" that nothing closes is a letter to it, and behind a "\" at the
// end nothing matches. Both are slips of the one who writes them. Errors: invalid_argument, without
// a place.
Status check_glob(std::string_view pattern);

}  // namespace holon::msg
