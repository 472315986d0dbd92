// grant_verbs.hpp - the verbs about grants that move.
#pragma once
#include "cli/verb.hpp"

namespace holon::cli {

int verb_grant(Invocation& call);
int verb_grant_lend(Invocation& call);

// What has moved, and what could.
int verb_grant_show(Invocation& call);
int verb_grant_wait(Invocation& call);
int verb_grant_explain(Invocation& call);
int verb_grant_history(Invocation& call);

}  // namespace holon::cli
