#include "cli/options/submit_error.hpp"

#include <fmt/format.h>

#include <charconv>

namespace holon::cli {
namespace {

constexpr std::string_view kDependencies = "/attributes/system/dependencies/";

// One row for each place that an option fills, and what was typed there.
struct Typed {
  std::string_view place;
  std::string_view option;
  std::string value;
};

std::vector<Typed> typed(const JobOptions& options) {
  const auto& shape = options.shape;
  return {
      {"/attributes/system/shell/options/output", "--output", options.output.value_or("")},
      {"/attributes/system/shell/options/error", "--error", options.error.value_or("")},
      {"/attributes/system/shell/options/input/stdin", "--input", options.input.value_or("")},
      {"/attributes/system/shell/options/signal", "--signal", ""},
      {"/attributes/system/files", "--add-file", ""},
      {"/attributes/system/queue", "--queue", shape.queue},
      {"queue", "--queue", shape.queue},
      {"/attributes/system/bank", "--account", options.account},
      {"/attributes/system/holon/group", "--group", options.group},
      {"/attributes/system/holon/qos", "--qos", options.qos},
      {"qos", "--qos", options.qos},
      {"license", "--license", ""},
      {"/attributes/system/holon/environment", "--pe", options.parallel},
      {"environment", "--pe", options.parallel},
      {"/attributes/system/holon/slots", "-n", options.slots},
      {"/attributes/system/holon/immediate", "--now", options.immediate ? "y" : ""},
      {"/attributes/system/holon/requeue", "--requeue", std::to_string(options.requeue)},
      {"/attributes/system/holon/retry_on", "--retry-on", options.retry_on},
      {"/attributes/system/job/name", "--name", shape.name},
      {"/tasks/0/command/0", "COMMAND", ""},
      {"/attributes/system/constraints", "", ""},  // -w, --requires: the sentence names the hosts
  };
}

// Longer values are not repeated: the error is about their length, or would be lost in them.
std::string with_value(std::string_view option, const std::string& value) {
  constexpr std::size_t kShown = 200;
  return value.empty() || value.size() > kShown ? std::string(option)
                                                : fmt::format("{} {}", option, value);
}

// "/attributes/system/dependencies/1/value": the second --dependency, or --begin-time after these.
Error about_dependency(Error error, const JobOptions& options) {
  const std::string_view rest = std::string_view(error.where).substr(kDependencies.size());
  std::size_t number = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (number >= options.dependencies.size()) {
    error.where = "--begin-time";
    return error;
  }
  const std::string& word = options.dependencies[number];
  if (error.what.starts_with(word + ": ")) error.what.erase(0, word.size() + 2);
  error.where = with_value("--dependency", word);
  return error;
}

}  // namespace

Error as_typed(Error error, const JobOptions& options) {
  if (error.where.starts_with(kDependencies)) return about_dependency(std::move(error), options);
  if (error.where == "/attributes/system/job/name" && options.shape.name.empty()) {
    error.where = "COMMAND";
    error.what = "the job's name, which is the command's, " + error.what + "; --name gives another";
    return error;
  }
  for (const Typed& known : typed(options)) {
    const bool is_within =
        error.where.starts_with(known.place) &&
        (error.where.size() == known.place.size() || error.where[known.place.size()] == '/');
    if (!is_within) continue;
    // Jobs without a named queue go to the default one, which the error names.
    const bool is_default = known.option == "--queue" && known.value.empty();
    error.where = is_default ? "" : with_value(known.option, known.value);
    return error;
  }
  return error;
}

}  // namespace holon::cli
