// What of an environment a job is given: the rules of --env.
#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include "cli/options/job_options.hpp"
#include "msg/glob.hpp"

extern char** environ;

namespace holon::cli {

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos) environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

Environment without_own_variables(Environment environment) {
  std::erase_if(environment, [](const auto& item) { return item.first.starts_with("HOLON_"); });
  return environment;
}

Result<Environment> apply_environment(Environment base, const Environment& process,
                                      const std::vector<std::string>& rules) {
  for (const auto& rule : rules) {
    const auto equals = rule.find('=');
    if (rule.starts_with('-')) {
      const std::string pattern = rule.substr(1);
      if (auto good = msg::check_glob(pattern); !good)
        return fail(good.error().code, good.error().what, "--env");
      std::erase_if(base, [&](const auto& item) {
        return fnmatch(pattern.c_str(), item.first.c_str(), 0) == 0;
      });
    } else if (equals == 0 || rule.empty()) {
      return fail(Errc::invalid_argument,
                  fmt::format("'{}' has no name; accepted are NAME=VALUE, NAME, -PATTERN", rule),
                  "--env");
    } else if (equals != std::string::npos) {
      base[rule.substr(0, equals)] = rule.substr(equals + 1);
    } else if (const auto found = process.find(rule); found != process.end()) {
      base[rule] = found->second;
    } else {
      return fail(Errc::invalid_argument, fmt::format("'{}' is not in this environment", rule),
                  "--env");
    }
  }
  return base;
}

}  // namespace holon::cli
