#include "cli/job_options.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/units.hpp"

extern char** environ;

namespace holon::cli {
namespace {

constexpr std::int64_t kMaxUrgency = 31;

std::string user_name() {
  const passwd* entry = getpwuid(getuid());
  return entry != nullptr ? entry->pw_name : std::to_string(getuid());
}

// Where the tasks' output goes, in the place RFC 25 gives it.
std::string shell_attributes(const JobOptions& options, const std::string& cwd) {
  nlohmann::ordered_json shell = nlohmann::ordered_json::object();
  const auto file = [&cwd](const std::string& name) {
    return nlohmann::ordered_json{{"type", "file"},
                                  {"path", (std::filesystem::path(cwd) / name).string()}};
  };
  if (options.output) shell["output"]["stdout"] = file(*options.output);
  if (options.error) shell["output"]["stderr"] = file(*options.error);
  if (options.label_io) shell["label-io"] = true;
  if (shell.empty()) return "";
  const nlohmann::ordered_json attributes = {{"system", {{"shell", {{"options", shell}}}}}};
  return attributes.dump();
}

std::string name_of_command(const std::vector<std::string>& command) {
  return command.empty() ? "" : std::filesystem::path(command.front()).filename().string();
}

Status bad_shape(const Error& error) {
  // The builder speaks of its own fields; a person typed options.
  static const std::map<std::string, std::string> kOption = {
      {"nodes", "-N,--nodes"},
      {"tasks", "-n"},
      {"cores_per_task", "-c"},
      {"gpus_per_task", "-g"},
      {"memory_per_task", "-m,--mem"},
      {"exclusive", "-x,--exclusive"},
      {"duration_seconds", "-t,--time-limit"}};
  const auto found = kOption.find(error.where);
  return fail(error.code, error.what, found == kOption.end() ? error.where : found->second);
}

}  // namespace

void add_resource_options(Parser& parser, JobOptions& options, Unit unit) {
  const bool task = unit == Unit::task;
  auto& shape = options.shape;
  parser.group("Resources");
  if (task)
    parser.option("-n,--ntasks", shape.tasks, "N", "number of tasks, 1 unless given");
  else
    parser.option("-n,--nslots", shape.tasks, "N", "number of slots, 1 unless given");
  const std::string per = task ? "per task" : "per slot";
  parser
      .option(task ? "-c,--cores-per-task" : "-c,--cores-per-slot", shape.cores_per_task, "N",
              "cores " + per + ", 1 unless given")
      .option(task ? "-g,--gpus-per-task" : "-g,--gpus-per-slot", shape.gpus_per_task, "N",
              "GPUs " + per)
      .option(
          "-m,--mem",
          [&shape](const std::string& word) -> Status {
            const auto size = parse_memory(word);
            if (!size) return tl::unexpected(size.error());
            shape.memory_per_task = *size;
            return {};
          },
          "SIZE", "memory " + per + ": 512M, 4G; whole GiB are reserved")
      .option("-N,--nodes", shape.nodes, "N",
              "spread over N nodes; without it, wherever there is room")
      .flag("-x,--exclusive", shape.exclusive, "the whole of each node; needs -N")
      .option(
          "-t,--time-limit",
          [&options](const std::string& word) -> Status {
            const auto limit = parse_limit(word);
            if (!limit) return tl::unexpected(limit.error());
            options.limit = *limit;
            return {};
          },
          "TIME", "end it after 30s, 5m, 2h, 1.5d; a bare number is minutes");
  parser.group("Job")
      .option("-q,--queue", shape.queue, "NAME", "the queue it waits in")
      .option("--name", shape.name, "NAME", "how listings call it; the command's name unless given")
      .option(
          "--urgency",
          [&options](const std::string& word) -> Status {
            const bool digits = !word.empty() && word.size() <= 2 &&
                                word.find_first_not_of("0123456789") == std::string::npos;
            if (!digits || std::stoi(word) > kMaxUrgency)
              return fail(Errc::invalid_argument,
                          fmt::format("'{}' is not accepted; 0 (held) to 31 (at once) are", word));
            options.urgency = std::stoi(word);
            return {};
          },
          "0-31", "0 holds it, 16 is usual, 31 puts it first");
}

void add_job_options(Parser& parser, JobOptions& options) {
  parser.group("Job")
      .option(
          "--env", options.environment, "RULE",
          "NAME=VALUE sets, NAME passes on, -PATTERN takes out (-* everything); may be repeated")
      .option("--cwd", options.shape.cwd, "DIR", "where it runs; here unless given")
      .option("--output", options.output, "FILE",
              "standard output; {{id}}, {{name}} and {{taskid}} stand for the job's")
      .option("--error", options.error, "FILE", "standard error; with the output unless given")
      .flag("--label-io", options.label_io, "begin each line of output with the task's number")
      .flag("--dry-run", options.dry_run, "print the jobspec, submit nothing");
}

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

Result<instance::msg::SubmitRequest> make_request(const JobOptions& options,
                                                  std::vector<std::string> command) {
  const Environment process = process_environment();
  auto environment =
      apply_environment(without_own_variables(process), process, options.environment);
  if (!environment) return tl::unexpected(environment.error());

  resource::JobShape shape = options.shape;
  if (shape.name.empty()) shape.name = name_of_command(command);
  std::error_code error;
  const auto cwd = std::filesystem::absolute(shape.cwd.empty() ? "." : shape.cwd, error);
  if (error) return fail(Errc::system, error.message(), "--cwd");
  shape.cwd = cwd.lexically_normal().string();
  if (shape.cwd.size() > 1 && shape.cwd.ends_with('/')) shape.cwd.pop_back();
  shape.duration_seconds = static_cast<double>(options.limit) / 1000;
  shape.environment = std::move(*environment);
  shape.command = std::move(command);

  auto jobspec = resource::jobspec_for(std::move(shape));
  if (!jobspec) return tl::unexpected(bad_shape(jobspec.error()).error());
  jobspec->other_attributes = shell_attributes(options, jobspec->cwd);

  instance::msg::SubmitRequest request;
  request.jobspec = resource::write_jobspec(*jobspec);
  request.urgency = static_cast<std::uint32_t>(options.urgency);
  request.user = user_name();
  return request;
}

}  // namespace holon::cli
