// a_jobspec.hpp - what a job of one core was submitted as, for journals that a test writes itself.
#pragma once
#include <string>

#include "resource/jobspec/jobspec.hpp"

namespace holon::instance::testing {

inline std::string a_jobspec(const std::string& name = "") {
  resource::JobShape shape;
  shape.command = {"/bin/true"};
  shape.cwd = "/";
  auto spec = *resource::jobspec_for(shape);
  spec.name = name;
  return resource::write_jobspec(spec);
}

}  // namespace holon::instance::testing
