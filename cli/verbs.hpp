// verbs.hpp - all verbs, one declaration each; the table is in verbs.cpp.
#pragma once
#include <span>

#include "cli/verb.hpp"

namespace holon::cli {

std::span<const Verb> verbs();

int verb_version(Invocation& call);
int verb_man(Invocation& call);

}  // namespace holon::cli
