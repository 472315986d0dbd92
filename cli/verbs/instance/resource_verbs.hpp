// resource_verbs.hpp - the verbs of `holon resource`.
#pragma once
#include "cli/verb.hpp"

namespace holon::cli {

int verb_resource_list(Invocation& call);
int verb_resource_r(Invocation& call);
int verb_resource_drain(Invocation& call);
int verb_resource_undrain(Invocation& call);
int verb_resource_save(Invocation& call);
int verb_resource_load(Invocation& call);
int verb_resource_discover(Invocation& call);

}  // namespace holon::cli
