#include "tests/system/sandbox.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "places.hpp"  // written by CMake
#include "tests/support/guardian.hpp"

namespace holon::system_test {
namespace {

namespace fs = std::filesystem;

// Far beyond what anything here takes on a loaded machine of two cores; reached only by a hang.
constexpr int kPatienceMs = 90'000;

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) abort();
    read = ends[0];
    write = ends[1];
  }
};

std::vector<std::string> as_entries(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> as_pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string name_of_test() {
  static std::atomic<int> number{0};
  return std::to_string(getpid()) + "-" + std::to_string(++number);
}

}  // namespace

Process::Process(std::vector<std::string> command,
                 const std::map<std::string, std::string>& environment, const std::string& folder) {
  Pipe input, output, errors;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.read, 0);
  posix_spawn_file_actions_adddup2(&actions, output.write, 1);
  posix_spawn_file_actions_adddup2(&actions, errors.write, 2);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  // Where the tests are run by nohup(1), or in the background of a script, signals are ignored.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) sigaddset(&usual, signal);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  auto entries = as_entries(environment);
  const int failed = posix_spawnp(&pid_, command.front().c_str(), &actions, &attributes,
                                  as_pointers(command).data(), as_pointers(entries).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  EXPECT_EQ(failed, 0) << command.front();
  for (const int unused : {input.read, output.write, errors.write}) close(unused);
  in_ = input.write;
  out_ = output.read;
  err_ = errors.read;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      out_text_(std::move(other.out_text_)),
      err_text_(std::move(other.err_text_)) {}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (const int fd : {in_, out_, err_})
    if (fd >= 0) close(fd);
}

// Takes what there is to read; false at the end of both streams or after the time.
bool Process::fill(int timeout_ms) {
  pollfd fds[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  if (out_ < 0 && err_ < 0) return false;
  const int ready = poll(fds, 2, timeout_ms);
  if (ready < 0 && errno == EINTR) return true;
  if (ready <= 0) return false;
  const auto take = [](const pollfd& at, int& fd, std::string& text) {
    if (at.revents == 0 || fd < 0) return;
    char buffer[65536];
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      close(fd);
      fd = -1;
    }
  };
  take(fds[0], out_, out_text_);
  take(fds[1], err_, err_text_);
  return true;
}

std::string Process::take_line(std::string& text, const int& fd) {
  while (text.find('\n') == std::string::npos && fd >= 0)
    if (!fill(kPatienceMs)) break;
  const auto end = std::min(text.find('\n'), text.size());
  std::string line = text.substr(0, end);
  text.erase(0, std::min(end + 1, text.size()));
  return line;
}

std::string Process::read_line() {
  return take_line(out_text_, out_);
}

std::string Process::read_error_line() {
  return take_line(err_text_, err_);
}

void Process::close_input() {
  if (in_ >= 0) close(std::exchange(in_, -1));
}

void Process::signal(int number) const {
  kill(pid_, number);
}

Ran Process::finish() {
  close_input();
  while ((out_ >= 0 || err_ >= 0) && fill(kPatienceMs)) {
  }
  if (out_ >= 0 || err_ >= 0) {
    ADD_FAILURE() << "still running, killed: " << command_line(pid_);
    kill(pid_, SIGKILL);
  }
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, std::move(out_text_), std::move(err_text_)};
}

Sandbox::Sandbox() : mark_(name_of_test()) {
  // TMPDIR may be too long a path for a socket.
  const char* const folder = std::getenv("TEST_TMPDIR");
  std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/hs-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) abort();
  folder_ = path;
  fs::create_directory(folder_ + "/run");
  fs::create_directory(folder_ + "/tmp");
  fs::permissions(folder_ + "/run", fs::perms::owner_all);
  const char* path_variable = std::getenv("PATH");
  environment_ = {{"HOME", folder_},
                  {"XDG_RUNTIME_DIR", folder_ + "/run"},
                  {"XDG_STATE_HOME", folder_ + "/state"},
                  {"TMPDIR", folder_ + "/tmp"},
                  {"PATH", path_variable != nullptr ? path_variable : "/usr/bin:/bin"},
                  {"LC_ALL", "C.UTF-8"},
                  {"SYSTEM_TEST_MARK", mark_}};
  tests::end_with_this_process("SYSTEM_TEST_MARK=" + mark_, folder_);
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS",
                           "HWLOC_PLUGINS_PATH", "HWLOC_COMPONENTS"})
    if (const char* value = std::getenv(name); value != nullptr) environment_[name] = value;
}

Sandbox::~Sandbox() {
  for (const pid_t pid : processes()) {
    ADD_FAILURE() << "left behind: " << pid << " " << command_line(pid);
    kill(pid, SIGKILL);
  }
  for (const auto& entry : fs::directory_iterator(folder_ + "/run"))
    ADD_FAILURE() << "left behind: " << entry.path();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Sandbox::write_file(const std::string& name, const std::string& text, bool executable) {
  const std::string path = folder_ + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  if (executable) fs::permissions(path, fs::perms::owner_all);
  return path;
}

std::string Sandbox::read_file(const std::string& name) const {
  return slurp(folder_ + "/" + name);
}

Process Sandbox::start(const std::vector<std::string>& words) {
  std::vector<std::string> command = {HOLON_BINARY};
  command.insert(command.end(), words.begin(), words.end());
  return Process(std::move(command), environment_, folder_);
}

Ran Sandbox::run(const std::vector<std::string>& words) {
  return start(words).finish();
}

std::string Sandbox::ok(const std::vector<std::string>& words) {
  Ran ran = run(words);
  EXPECT_EQ(ran.code, 0) << ::testing::PrintToString(words) << "\n" << ran.out << ran.err;
  return std::move(ran.out);
}

nlohmann::json Sandbox::json(std::vector<std::string> words) {
  words.emplace_back("--json");
  return nlohmann::json::parse(ok(words), nullptr, false);
}

std::vector<pid_t> Sandbox::processes(const std::vector<std::string>& words) const {
  std::vector<pid_t> found;
  const std::string mark = "SYSTEM_TEST_MARK=" + mark_;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::istringstream variables(slurp(entry.path() / "environ"));
    bool marked = false;
    for (std::string variable; !marked && std::getline(variables, variable, '\0');)
      marked = variable == mark;
    const pid_t pid = std::stoi(name);
    const std::string line = marked ? command_line(pid) : "";
    bool matches = marked && !line.empty();
    for (const auto& word : words) matches = matches && line.find(word) != std::string::npos;
    if (matches) found.push_back(pid);
  }
  return found;
}

std::set<std::string> Sandbox::names() const {
  std::set<std::string> found;
  for (const std::string folder : {"/", "/run/"})
    for (const auto& entry : fs::directory_iterator(folder_ + folder))
      found.insert(folder + entry.path().filename().string());
  return found;
}

void Sandbox::keep() {
  kept_environment_ = environment_;
  kept_names_ = names();
  const auto now = processes();
  kept_processes_ = {now.begin(), now.end()};
}

void Sandbox::go_back(const std::string& passing) {
  const auto has_passed = [&] {
    const auto left = processes({passing});
    return std::all_of(left.begin(), left.end(),
                       [&](pid_t pid) { return kept_processes_.count(pid) != 0; });
  };
  EXPECT_TRUE(passing.empty() || eventually(has_passed)) << passing << " does not end";
  for (const pid_t pid : processes()) {
    if (kept_processes_.count(pid) != 0) continue;
    ADD_FAILURE() << "left behind: " << pid << " " << command_line(pid);
    kill(pid, SIGKILL);
  }
  for (const auto& name : names()) {
    if (kept_names_.count(name) != 0) continue;
    if (name.starts_with("/run/")) ADD_FAILURE() << "left behind: " << name;
    std::error_code ignored;
    fs::remove_all(folder_ + name, ignored);
  }
  environment_ = kept_environment_;
}

Instance::Instance(Sandbox& sandbox, std::vector<std::string> options)
    : sandbox_(sandbox), process_([&] {
        std::vector<std::string> words = {"start"};
        words.insert(words.end(), options.begin(), options.end());
        for (const char* word : {"--", "sh", "-c", "echo $HOLON_URI; exec cat >/dev/null"})
          words.emplace_back(word);
        return sandbox.start(words);
      }()) {
  uri_ = process_.read_line();
  if (uri_.empty()) ADD_FAILURE() << "the instance did not start: " << end().err;
}

Instance::~Instance() {
  if (ended_) return;
  EXPECT_EQ(end().code, 0);
}

Ran Instance::end() {
  ended_ = true;
  return process_.finish();
}

std::string command_line(pid_t pid) {
  std::string line = slurp("/proc/" + std::to_string(pid) + "/cmdline");
  for (char& c : line)
    if (c == '\0') c = ' ';
  return line;
}

pid_t child_of(pid_t pid) {
  const std::string own = std::to_string(pid);
  pid_t child = 0;
  std::istringstream(slurp("/proc/" + own + "/task/" + own + "/children")) >> child;
  return child;
}

bool alive(pid_t pid) {
  const std::string stat = slurp("/proc/" + std::to_string(pid) + "/stat");
  const auto after_name = stat.rfind(')');
  return after_name != std::string::npos && stat.size() > after_name + 2 &&
         stat[after_name + 2] != 'Z';
}

bool eventually(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int pause = 1; !is_so(); pause = std::min(2 * pause, 30)) {
    if (std::chrono::steady_clock::now() > end) return false;
    poll(nullptr, 0, pause);
  }
  return true;
}

}  // namespace holon::system_test
