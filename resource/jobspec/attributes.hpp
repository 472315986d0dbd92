// attributes.hpp - the attributes section of a jobspec and the constraints in it. A private header.
#pragma once
#include "resource/jobspec/decode.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource::jobspec {

// Fills the fields of `into` that come from attributes.system, and other_attributes from the rest.
Status parse_attributes(const DocumentPlace& place, Jobspec& into);

// Reads a constraint (RFC 31).
Result<Constraint> parse_constraint(const DocumentPlace& place);

}  // namespace holon::resource::jobspec
