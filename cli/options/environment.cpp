// The variables of the environment that a job is given: the rules of --env.
#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include "batch/outer_variables.hpp"
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

Environment environment_for_tasks(Environment environment) {
  std::erase_if(environment, [](const auto& item) {
    return item.first.starts_with("HOLON_") || batch::is_kept_from_tasks(item.first);
  });
  return environment;
}

namespace {

Status pass_on(Environment& base, const Environment& process, const std::string& rule) {
  const bool is_pattern = rule.find_first_of("*?[") != std::string::npos;
  if (is_pattern) {
    if (auto good = msg::check_glob(rule); !good)
      return fail(good.error().code, good.error().what, "--env");
    for (const auto& [name, value] : process)
      if (fnmatch(rule.c_str(), name.c_str(), 0) == 0) base[name] = value;
    return {};
  }
  const auto found = process.find(rule);
  if (found == process.end())
    return fail(Errc::invalid_argument, fmt::format("'{}' is not in this environment", rule),
                "--env");
  base[rule] = found->second;
  return {};
}

}  // namespace

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
      return fail(
          Errc::invalid_argument,
          fmt::format("'{}' has no name; accepted are NAME=VALUE, NAME, PATTERN, -PATTERN", rule),
          "--env");
    } else if (equals != std::string::npos) {
      base[rule.substr(0, equals)] = rule.substr(equals + 1);
    } else if (auto passed = pass_on(base, process, rule); !passed) {
      return tl::unexpected(passed.error());
    }
  }
  return base;
}

}  // namespace holon::cli
