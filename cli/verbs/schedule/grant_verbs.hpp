// grant_verbs.hpp - the verbs about grants that move.
#pragma once
#include "cli/verb.hpp"

namespace holon::cli {

int verb_grant(Invocation& call);

}  // namespace holon::cli
