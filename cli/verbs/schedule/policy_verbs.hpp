// policy_verbs.hpp - `holon policy ...`: one verb's sources are two files.
#pragma once
#include "cli/verb.hpp"
#include "policy/program.hpp"

namespace holon::cli {

// The text of a policy in Lua, and what it says.
struct PolicyFile {
  std::string name;  // without its folders
  std::string text;
  policy::Description description;
};
// Errors: invalid_argument with the place.
Result<PolicyFile> read_policy(const std::string& file);
// What is allowed, and hardly meant: on stderr.
void tell_near_misses(Io& io, const std::string& file, const policy::Description& description);

// Of a running instance.
int verb_policy_load(Invocation& call);
int verb_policy_show(Invocation& call);
int verb_policy_disable(Invocation& call);
int verb_policy_what_if(Invocation& call);

}  // namespace holon::cli
