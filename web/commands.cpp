#include "web/commands.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hostlist.hpp"
#include "base/instance_path.hpp"

extern char** environ;

namespace holon::web {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kMostCommands = 64, kMostRuns = 4;
constexpr std::size_t kMostSaid = 16'384;

// "/3/7" or "/3/7.1-4": digits, dots, commas and hyphens behind a slash, and so no option.
bool is_job(const std::string& word) {
  const auto begins = [](char c) { return c >= '0' && c <= '9'; };
  return word.size() > 1 && word.size() < 4'096 && word[0] == '/' && begins(word[1]) &&
         word.find_first_not_of("0123456789/.,-") == std::string::npos;
}
bool is_host(const std::string& word) {
  return !word.empty() && std::isalnum(static_cast<unsigned char>(word[0])) != 0 &&
         Hostlist::parse(word).has_value();
}
bool is_instance(const std::string& path) {
  const auto joined = join_path("/", path);
  return path.starts_with('/') && joined && *joined == path;
}

// Tasks of one array are one command: /7.3 and /7.5 become /7.3,5.
Words joined_tasks(const Words& jobs) {
  std::map<std::string, std::string> tasks;
  Words joined;
  for (const auto& job : jobs) {
    const auto dot = job.find('.');
    if (dot == std::string::npos) {
      joined.push_back(job);
      continue;
    }
    std::string& indices = tasks[job.substr(0, dot)];
    indices += (indices.empty() ? "" : ",") + job.substr(dot + 1);
  }
  for (const auto& [array, indices] : tasks) joined.push_back(array + "." + indices);
  return joined;
}

std::string line_of(const Words& words) {
  std::string line = "$ holon";
  for (const auto& word : words) line += " " + word;
  return line + "\n";
}

}  // namespace

Result<std::vector<Words>> read_commands(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto bad = [](const char* what) { return fail(Errc::invalid_argument, what); };
  if (!json.is_object() || !json.contains("what") || !json["what"].is_array())
    return bad("an object with verb, at and what is needed");
  const auto word = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>()
                                                       : std::string();
  };
  const std::string verb = word("verb"), at = word("at");
  Words what;
  for (const auto& one : json["what"])
    if (one.is_string()) what.push_back(one.get<std::string>());
  if (what.empty() || what.size() != json["what"].size()) return bad("what: strings are needed");
  std::vector<Words> commands;
  if (verb == "cancel" || verb == "retry") {
    if (!std::all_of(what.begin(), what.end(), is_job))
      return bad("what: paths of jobs are needed");
    for (const auto& job : verb == "retry" ? joined_tasks(what) : what)
      commands.push_back({verb, job});
  } else if (verb == "drain" || verb == "undrain") {
    if (!is_instance(at) || !std::all_of(what.begin(), what.end(), is_host))
      return bad("what: nodes are needed, and at: the path of an instance");
    for (const auto& host : what) commands.push_back({"resource", verb, "-i", at, host});
  } else {
    return bad("verb: cancel, retry, drain or undrain");
  }
  if (commands.size() > kMostCommands) return bad("what: at most 64 at once");
  return commands;
}

Commands::Commands(transport::Reactor& reactor, std::string program, std::string uri)
    : reactor_(reactor), program_(std::move(program)), uri_(std::move(uri)) {}

Status Commands::run(std::vector<Words> commands, std::function<void(CommandEnd)> on_end) {
  if (runs_.size() >= kMostRuns) return fail(Errc::busy, "other commands are still running");
  const std::uint64_t number = next_++;
  Run& run = runs_[number];
  run.commands = std::move(commands);
  run.on_end = std::move(on_end);
  start_next(number);
  return {};
}

void Commands::start_next(std::uint64_t number) {
  Run& run = runs_[number];
  if (run.at == run.commands.size()) {
    const auto on_end = std::move(run.on_end);
    const CommandEnd end = std::move(run.end);
    runs_.erase(number);
    return on_end(end);
  }
  const Words& words = run.commands[run.at];
  run.end.said += line_of(words);
  // A file in memory takes what it writes: a pipe that is not read would stop it.
  run.output = transport::UniqueFd(::memfd_create("said", MFD_CLOEXEC));
  std::string name = "holon";
  std::vector<char*> argv = {name.data()};
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::string uri = "HOLON_URI=" + uri_;
  std::vector<char*> environment = {uri.data()};
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("HOLON_URI=")) environment.push_back(*entry);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, run.output.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, run.output.get(), 2);
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, program_.c_str(), &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return ended(number, -1);
  auto child = reactor_.on_child(
      pid, [this, number](const transport::ChildExit& exit) { ended(number, exit.status); });
  if (!child) return ended(number, -1);
  run.child = std::move(*child);
}

void Commands::read_output(Run& run) {
  char bytes[kMostSaid / 4];
  const ssize_t n = ::pread(run.output.get(), bytes, sizeof bytes, 0);
  if (n > 0 && run.end.said.size() < kMostSaid)
    run.end.said.append(bytes, static_cast<std::size_t>(n));
  run.output.reset();
}

void Commands::ended(std::uint64_t number, int status) {
  Run& run = runs_[number];
  read_output(run);
  run.end.good = run.end.good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  ++run.at;
  reactor_.defer([this, number] { start_next(number); });
}

}  // namespace holon::web
