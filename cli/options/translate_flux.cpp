// Options of Flux as flux-batch(1) and flux-submit(1) document them.
#include "cli/options/translation.hpp"

namespace holon::cli {
namespace {

// {{id}}, {{name}} and {{taskid}} mean the same; {{id.words}} and others are Flux's own.
Text flux_file(const std::string& value) {
  for (auto at = value.find("{{"); at != std::string::npos; at = value.find("{{", at + 1)) {
    const std::string rest = value.substr(at);
    if (!rest.starts_with("{{id}}") && !rest.starts_with("{{name}}") &&
        !rest.starts_with("{{taskid}}"))
      return std::nullopt;
  }
  return value;
}

// Files of rules, regular expressions and substitutions are Flux's own.
Text flux_rule(const std::string& value) {
  const bool takes_out = value.starts_with('-');
  const bool is_pattern = !takes_out && value.find('=') == std::string::npos &&
                          value.find_first_of("*?[") != std::string::npos;
  const bool is_expression = value.starts_with('^') || value.starts_with("-/");
  if (is_pattern || is_expression || value.find('$') != std::string::npos) return std::nullopt;
  return value;
}

Text removed(const std::string& value) {
  return flux_rule("-" + value);
}

Text flux_dependency(const std::string& value) {
  return value.find('?') == std::string::npos ? Text(value) : std::nullopt;
}

Text a_user_attribute(const std::string& value) {
  const bool is_users = value.starts_with("user.") && value.find('=') != std::string::npos;
  return is_users ? Text(value.substr(5)) : std::nullopt;
}

Text a_taskmap(const std::string& value) {
  return value == "block" || value == "cyclic" ? Text(value) : std::nullopt;
}

constexpr Equal kFlux[] = {
    {"-n", "--nslots", Takes::value, "-n"},
    {"", "--ntasks", Takes::value, "-n"},
    {"-N", "--nodes", Takes::value, "-N", a_number},
    {"-c", "--cores-per-slot", Takes::value, "-c"},
    {"", "--cores-per-task", Takes::value, "-c"},
    {"-g", "--gpus-per-slot", Takes::value, "-g"},
    {"", "--gpus-per-task", Takes::value, "-g"},
    {"-t", "--time-limit", Takes::value, "-t"},
    {"-q", "--queue", Takes::value, "-q"},
    {"-B", "--bank", Takes::value, "-A"},
    {"-x", "--exclusive", Takes::nothing, "-x"},
    {"", "--job-name", Takes::value, "-J"},
    {"", "--output", Takes::value, "-o", flux_file},
    {"", "--error", Takes::value, "-e", flux_file},
    {"", "--input", Takes::value, "--input", flux_file},
    {"", "--add-file", Takes::value, "--add-file"},
    {"", "--taskmap", Takes::value, "--distribution", a_taskmap},
    {"-l", "--label-io", Takes::nothing, "-l"},
    {"", "--cwd", Takes::value, "-D"},
    {"", "--env", Takes::value, "--env", flux_rule},
    {"", "--env-remove", Takes::value, "--env", removed},
    {"", "--urgency", Takes::value, "--urgency"},
    {"", "--dependency", Takes::value, "-d", flux_dependency},
    {"", "--begin-time", Takes::value, "--begin-time"},
    {"", "--requires", Takes::value, "--requires"},
    {"-S", "--setattr", Takes::value, "--attr", a_user_attribute},
    {"", "--tasks-per-node", Takes::value, ""},  // looked at together with others
    {"-o", "--setopt", Takes::value, ""},
    {"", "--wait", Takes::nothing, ""},
    {"-u", "--unbuffered", Takes::nothing, ""},
    {"", "--quiet", Takes::nothing, ""},
};

}  // namespace

Result<Translated> translate_flux(const Parser::Layer& lines, const Around& around) {
  Translation of(kFlux, around);
  of.read(lines);
  of.count_tasks({"--tasks-per-node"});
  return std::move(of).finish();
}

}  // namespace holon::cli
