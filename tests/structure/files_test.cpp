// The shape of the tree: sizes, read-me files, and nothing that belongs to one machine.
#include <gtest/gtest.h>

#include <regex>

#include "tests/structure/source_tree.hpp"

namespace holon::structure {
namespace {

constexpr std::size_t kMaxLines = 600;

TEST(Files, AreShortEnoughToRead) {
  for (const auto& file : files_in("", {".hpp", ".cpp", ".cmake", ".py"}))
    EXPECT_LE(file.lines.size(), kMaxLines) << file.path << ": look for the second idea in it";
}

TEST(Files, TheLicenceIsApache2) {
  const auto lines = read_lines(root() / "LICENSE");
  ASSERT_GE(lines.size(), 3u);
  bool found = false;
  for (std::size_t i = 0; i < 5 && i < lines.size(); ++i)
    found = found || lines[i].find("Apache License") != std::string::npos;
  EXPECT_TRUE(found);
}

// Links from one page to another lead somewhere.
TEST(Files, LinksBetweenPagesWork) {
  const std::regex link(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  for (const auto& file : files_in("", {".md"})) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto& line = file.lines[i];
      for (std::sregex_iterator match(line.begin(), line.end(), link), end; match != end; ++match) {
        const std::string target = (*match)[1];
        const auto path = (root() / file.path).parent_path() / target;
        EXPECT_TRUE(std::filesystem::exists(path)) << place(file, i) << ": " << target;
      }
    }
  }
}

// A path of somebody's home or scratch folder works on one machine only.
TEST(Files, NameNoMachine) {
  const std::regex machine_path(R"((/root/|/home/[a-z]+/|/work/|/Users/)[\w.])");
  for (const auto& file :
       files_in("", {".hpp", ".cpp", ".cmake", ".txt", ".md", ".json", ".py", ".in", ".toml"})) {
    if (file.path == "tests/structure/files_test.cpp") continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i)
      EXPECT_FALSE(std::regex_search(file.lines[i], machine_path))
          << place(file, i) << ": " << file.lines[i];
  }
}

TEST(Files, ShellScriptsStopAtTheFirstError) {
  for (const auto& entry : std::filesystem::directory_iterator(root() / "scripts")) {
    if (entry.path().extension() == ".md" || !entry.is_regular_file()) continue;
    const auto lines = read_lines(entry.path());
    ASSERT_FALSE(lines.empty()) << entry.path();
    if (lines[0].find("bash") == std::string::npos) continue;
    bool strict = false;
    for (const auto& line : lines)
      strict = strict || line.starts_with("set -") || line.find("exec ") == 0;
    EXPECT_TRUE(strict) << entry.path();
    const auto mode = entry.status().permissions();
    EXPECT_NE(mode & std::filesystem::perms::owner_exec, std::filesystem::perms::none)
        << entry.path();
  }
}

}  // namespace
}  // namespace holon::structure
