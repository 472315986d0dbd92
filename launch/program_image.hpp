// program_image.hpp - a program ready to be started many times.
#pragma once
#include <string>
#include <vector>

#include "launch/messages.hpp"
#include "launch/tasks/environment.hpp"

namespace holon::launch {

struct ProgramImage {
  std::vector<std::string> argv;
  Environment env;
  std::string cwd;
  std::vector<msg::File> files = {};
};

}  // namespace holon::launch
