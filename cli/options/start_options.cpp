#include "cli/options/start_options.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "config/config.hpp"
#include "config/policies.hpp"
#include "instance/shape/tree_shape.hpp"

namespace holon::cli {
namespace {

// Keeps KEY=VALUE as it is; makes a file's name mean the same file elsewhere.
std::string portable_conf(const std::string& item) {
  if (!config::is_conf_file(item)) return item;
  std::error_code error;
  const auto absolute = std::filesystem::absolute(item, error);
  return error ? item : absolute.string();
}

// Words of --conf that mean the same in a child. The error is told now: the child would tell it
// in its job's output, once it has resources.
Result<std::vector<std::string>> portable_words(const std::vector<std::string>& words) {
  for (const auto& item : words)
    if (config::is_conf_file(item) && std::filesystem::is_fifo(item))
      return fail(Errc::invalid_argument,
                  "a pipe, which the child could not read again; name a file", "--conf " + item);
  auto conf = config::with_policy_texts(words);
  if (!conf) return conf;
  if (const auto config = config::load_config(*conf); !config)
    return tl::unexpected(config.error());
  for (auto& item : *conf) item = portable_conf(item);
  return conf;
}

// Reported here, where it is known that nobody typed --conf.
Status check_file_of_environment(const std::string& word) {
  const auto wrong = [&word](std::string what) {
    return fail(Errc::invalid_argument,
                std::move(what) + "; accepted are names of TOML files, with : between them",
                "HOLON_CONF: " + word);
  };
  if (!config::is_conf_file(word)) return wrong("is KEY=VALUE, as --conf takes it");
  std::error_code error;
  if (!std::filesystem::exists(word, error)) return wrong(error ? error.message() : "no such file");
  if (std::filesystem::is_directory(word, error)) return wrong("a folder");
  if (access(word.c_str(), R_OK) != 0) return wrong(std::strerror(errno));
  return {};
}

// The same error, with the option that was typed for this level.
Error of_level(Error error, std::size_t level) {
  constexpr std::string_view kConf = "--conf ";
  if (error.where.starts_with(kConf))
    error.where = fmt::format("--conf-level {}:{}", level, error.where.substr(kConf.size()));
  return error;
}

constexpr std::int64_t kMostCores = 1'000'000'000;

tl::unexpected<Error> clashes(const ElasticOption& option, const std::string& what) {
  return fail(Errc::invalid_argument, what, "--elastic " + option.word);
}

}  // namespace

Status read_elastic(const std::string& word, ElasticOption& option) {
  const auto dash = word.find('-');
  const bool has_least = dash != std::string::npos;
  const Status least =
      has_least ? number_up_to(kMostCores, option.least)(word.substr(0, dash)) : Status();
  const Status most =
      number_up_to(kMostCores, option.most)(has_least ? word.substr(dash + 1) : word);
  const bool fits = least && most && option.most > 0 && (!has_least || option.least > 0) &&
                    option.least <= option.most;
  if (!fits)
    return fail(Errc::invalid_argument,
                fmt::format("'{}' is not accepted; 8 (at most eight cores) and 2-8 (it begins with "
                            "two) are",
                            word));
  option.word = word;
  return {};
}

void add_configuration_option(Parser& parser, instance::StartOptions& options) {
  parser.group("Instance")
      .option(
          "--conf", options.conf, "KEY=VALUE|FILE",
          "its configuration, later ones win: queue.policy=easy, or a TOML file; may be repeated; "
          "files that HOLON_CONF names, with : between them, go before")
      .adds_up();
}

Status add_configuration_of_environment(std::vector<std::string>& conf) {
  const char* const files = std::getenv("HOLON_CONF");
  if (files == nullptr) return {};
  std::vector<std::string> all;
  std::istringstream list(files);
  for (std::string file; std::getline(list, file, ':');) {
    if (file.empty()) continue;
    if (auto good = check_file_of_environment(file); !good) return good;
    all.push_back(std::move(file));
  }
  conf.insert(conf.begin(), all.begin(), all.end());
  return {};
}

void add_instance_options(Parser& parser, instance::StartOptions& options) {
  add_configuration_option(parser, options);
  parser.flag("--exit-on-loss", options.exit_on_loss,
              "end it when a node has been away for instance.rejoin-timeout; it goes on without "
              "that node otherwise");
}

void add_tree_options(Parser& parser, instance::StartOptions& options) {
  parser.group("Instance")
      .option("--tree", options.tree, "SHAPE",
              "make a tree of instances that divide its resources: 8 are eight children, 4x4 four "
              "with four each")
      .option("--conf-level", options.level_conf, "LEVEL:KEY=VALUE|LEVEL:FILE",
              "with --tree: the configuration of the instances of a level, as --conf has it; 1 are "
              "the children, 0 is the instance itself; may be repeated")
      .adds_up();
}

Status take_tree(instance::StartOptions& options) {
  instance::TreeShape shape;
  if (!options.tree.empty()) {
    auto parsed = instance::parse_tree_shape(options.tree);
    if (!parsed) return tl::unexpected(parsed.error());
    shape = std::move(*parsed);
    options.tree = instance::to_text(shape);
  }
  std::vector<std::vector<std::string>> items(shape.size() + 1);
  for (const std::string& word : options.level_conf) {
    auto its = instance::parse_level_conf(word, shape);
    if (!its) return tl::unexpected(its.error());
    items[its->level].push_back(std::move(its->item));
  }
  options.conf.insert(options.conf.end(), items[0].begin(), items[0].end());
  options.level_conf.clear();
  for (std::size_t level = 1; level < items.size(); ++level) {
    auto portable = portable_words(items[level]);
    if (!portable) return tl::unexpected(of_level(portable.error(), level));
    for (const std::string& word : *portable)
      options.level_conf.push_back(fmt::format("{}:{}", level, word));
  }
  return {};
}

void add_elastic_option(Parser& parser, ElasticOption& option) {
  parser.option(
      "--elastic", [&option](const std::string& word) { return read_elastic(word, option); },
      "[MIN-]MAX",
      "cores: it asks for more by itself when jobs wait in it, up to MAX, of its own nodes or on "
      "whole nodes more, and gives back what is idle (grant.max, grant.idle); it begins with MIN, "
      "or with what -n and -N say");
}

Status take_elastic(const ElasticOption& option, JobOptions& job,
                    instance::StartOptions& instance) {
  if (option.word.empty()) return {};
  const auto& shape = job.shape;
  const std::int64_t slots = job.tasks_given ? shape.tasks : std::max<std::int64_t>(1, shape.nodes);
  if (shape.exclusive) {
    if (option.least > 0)
      return clashes(option,
                     "with -x it begins with whole nodes, as many as -N says: name MAX only");
    if (option.most <= slots * shape.cores_per_task)
      return clashes(option, fmt::format("it begins with {} cores at least, which is not less",
                                         slots * shape.cores_per_task));
    instance.conf.push_back(fmt::format("grant.max={}", option.most));
    return {};
  }
  const bool is_told = job.tasks_given || shape.nodes > 0;
  const std::int64_t begins_with =
      option.least > 0 && !is_told ? option.least : slots * shape.cores_per_task;
  if (option.least > 0 && option.least != begins_with)
    return clashes(option, fmt::format("it begins with {} cores by -n, -N and -c", begins_with));
  if (option.least > 0 && !is_told && shape.cores_per_task != 1)
    return clashes(option, "with -c the number of slots is what -n says");
  if (option.most <= begins_with)
    return clashes(option, fmt::format("it begins with {} cores, which is not less", begins_with));
  if (option.least > 0 && !is_told) {
    job.tasks_given = true;
    job.shape.tasks = option.least;
  }
  instance.conf.push_back(fmt::format("grant.max={}", option.most));
  return {};
}

Result<std::string> own_binary() {
  std::error_code error;
  const auto binary = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(Errc::system, error.message(), "/proc/self/exe");
  return binary.string();
}

Result<std::vector<std::string>> child_command(const instance::StartOptions& options) {
  const auto conf = portable_words(options.conf);
  if (!conf) return tl::unexpected(conf.error());
  const auto binary = own_binary();
  if (!binary) return tl::unexpected(binary.error());
  std::vector<std::string> command = {*binary, "start", "--grant"};
  for (const auto& item : *conf) {
    command.emplace_back("--conf");
    command.push_back(item);
  }
  if (!options.tree.empty()) command.insert(command.end(), {"--tree", options.tree});
  for (const auto& item : options.level_conf) command.insert(command.end(), {"--conf-level", item});
  if (options.exit_on_loss) command.emplace_back("--exit-on-loss");
  if (options.background) command.emplace_back("--bg");
  if (!options.command.empty()) {
    command.emplace_back("--");
    command.insert(command.end(), options.command.begin(), options.command.end());
  }
  return command;
}

Result<std::vector<std::string>> script_by_name(std::vector<std::string> program,
                                                const std::string& otherwise) {
  namespace fs = std::filesystem;
  const auto wrong = [&](const std::string& what) {
    return fail(Errc::invalid_argument, what, program.front());
  };
  std::error_code error;
  const fs::path script = fs::absolute(program.front(), error);
  if (!error && fs::is_directory(script, error))
    return wrong("a folder; accepted is a script, and " + otherwise + " takes a command instead");
  if (error || !fs::is_regular_file(script, error))
    return wrong("there is no such script; " + otherwise + " takes a command instead");
  if (access(script.c_str(), X_OK) != 0)
    return wrong("the script may not be executed; `chmod +x` helps, or " + otherwise + " sh");
  program.front() = script.string();
  return program;
}

void put_own_folder_in_path() {
  const auto binary = own_binary();
  if (!binary) return;
  const std::string folder = std::filesystem::path(*binary).parent_path();
  const char* path = std::getenv("PATH");
  const std::string rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  if ((":" + rest + ":").find(":" + folder + ":") == std::string::npos)
    setenv("PATH", (folder + ":" + rest).c_str(), 1);
}

}  // namespace holon::cli
