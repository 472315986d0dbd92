#include "batch/environment.hpp"

#include <unistd.h>

#include "base/whole_file.hpp"

extern char** environ;  // NOLINT: POSIX names it so

namespace holon::batch {

std::string Environment::at(std::string_view name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

Environment current_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view word = *entry;
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    environment.variables.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  environment.read_file = [](const std::string& file) { return read_whole_file(file); };
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) == 0) environment.host_name = name;
  return environment;
}

}  // namespace holon::batch
