// policy_verbs.hpp - `holon policy ...`: one verb's sources are two files.
#pragma once
#include "cli/verb.hpp"
#include "policy/program.hpp"

namespace holon::cli {

// The text of a policy in Lua, and its definition.
struct PolicyFile {
  std::string name;  // without its folders
  std::string text;
  policy::Description description;
};
// Reads a policy. Errors: invalid_argument with the place.
Result<PolicyFile> read_policy(const std::string& file);
// Warns on stderr of what is allowed but hardly meant.
void tell_near_misses(Io& io, const std::string& file, const policy::Description& description);

// Verbs for a running instance.
int verb_policy_load(Invocation& call);
int verb_policy_show(Invocation& call);
int verb_policy_disable(Invocation& call);
int verb_policy_what_if(Invocation& call);

}  // namespace holon::cli
