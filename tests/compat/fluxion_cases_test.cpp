// The golden cases of resource-query: `holon query` gives the same bytes. One test a suite; the
// cases lie beside the project (../shared/fluxion-cases) and are read where they are.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "places.hpp"  // written by CMake

extern char** environ;

namespace holon {
namespace {

namespace fs = std::filesystem;

const fs::path& cases_folder() {
  static const fs::path kFolder = fs::path(HOLON_SOURCE_DIR) / ".." / "shared" / "fluxion-cases";
  return kFolder;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::istringstream text(contents(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// A folder that is empty at first and gone at the end.
class WorkFolder {
 public:
  WorkFolder() {
    std::string name = (fs::temp_directory_path() / "holon-compat-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw fs::filesystem_error("mkdtemp", std::error_code());
    path_ = name;
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Runs `holon query ARGS < input` in `folder`; its streams go to the files stdout and stderr there.
int run_query(std::vector<std::string> args, const fs::path& input, const fs::path& folder) {
  args.insert(args.begin(), {HOLON_BINARY, "query"});
  std::vector<char*> argv;
  for (auto& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  const std::string in = input.string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "stdout", kCreate, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "stderr", kCreate, 0600);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, HOLON_BINARY, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What differs, in a few lines: whole transcripts are long.
std::string difference(const std::string& want, const std::string& got) {
  const auto at = std::mismatch(want.begin(), want.end(), got.begin(), got.end()).first;
  const auto offset = static_cast<std::size_t>(at - want.begin());
  const auto line = std::count(want.begin(), at, '\n') + 1;
  const std::size_t from = offset > 60 ? offset - 60 : 0;
  return "line " + std::to_string(line) + "\n want: ..." + want.substr(from, 160) + "\n got:  ..." +
         got.substr(std::min(from, got.size()), 160);
}

void check(const fs::path& folder) {
  const WorkFolder work;
  fs::create_directory_symlink(cases_folder() / "data", work.path() / "data");
  if (fs::exists(folder / "files"))
    fs::copy(folder / "files", work.path(), fs::copy_options::recursive);
  auto args = lines_of(folder / "args");
  const bool to_file = fs::exists(folder / "expected.out");
  if (to_file) args.insert(args.end(), {"-t", "OUT"});
  const int code = run_query(args, folder / "commands.in", work.path());
  EXPECT_GE(code, 0) << folder << ": it crashed\n" << contents(work.path() / "stderr");
  const std::string want = contents(folder / (to_file ? "expected.out" : "expected.stdout"));
  const std::string got = contents(work.path() / (to_file ? "OUT" : "stdout"));
  EXPECT_TRUE(want == got) << folder << ": " << difference(want, got) << "\n"
                           << contents(work.path() / "stderr").substr(0, 500);
}

class FluxionCases : public testing::TestWithParam<std::string> {};

TEST_P(FluxionCases, GiveTheSameBytes) {
  if (!fs::exists(cases_folder()))
    GTEST_SKIP() << "NOT TESTED: there are no cases at " << cases_folder();
  const fs::path suite = cases_folder() / "cases" / GetParam();
  for (const auto& name : names_in(suite)) check(suite / name);
}

std::vector<std::string> suites() {
  auto names = names_in(cases_folder() / "cases");
  if (names.empty()) names.emplace_back("absent");
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(ResourceQuery, FluxionCases, testing::ValuesIn(suites()), test_name);

}  // namespace
}  // namespace holon
