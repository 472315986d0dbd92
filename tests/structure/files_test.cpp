// The shape of the tree: sizes, read-me files, and nothing that belongs to one machine.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <regex>

#include "tests/structure/source_tree.hpp"

namespace holon::structure {
namespace {

constexpr std::size_t kMaxLines = 600;

// Does the line name a path below `folder`? A relative path through a folder of that name does not.
bool names_absolute(const std::string& line, const std::string& folder) {
  if (folder == "//") return false;  // the tree lies at the root: everything is below it
  for (auto at = line.find(folder); at != std::string::npos; at = line.find(folder, at + 1)) {
    const char before = at == 0 ? ' ' : line[at - 1];
    const bool begins = std::isalnum(static_cast<unsigned char>(before)) == 0 &&
                        std::string_view("_.)}").find(before) == std::string_view::npos;
    if (begins && at + folder.size() < line.size()) return true;
  }
  return false;
}

TEST(Files, AreShortEnoughToRead) {
  for (const auto& file : files_in("", {".hpp", ".cpp", ".cmake", ".py"}))
    EXPECT_LE(file.lines.size(), kMaxLines) << file.path << ": look for the second idea in it";
}

// A folder is read at a glance.
TEST(Files, AFolderHasAFewSideBySide) {
  constexpr std::size_t kMost = 28;
  std::map<std::string, std::size_t> files;
  for (const auto& file : files_in("", {".hpp", ".cpp", ".md", ".txt"}))
    ++files[std::filesystem::path(file.path).parent_path().string()];
  for (const auto& [folder, n] : files)
    EXPECT_LE(n, kMost) << folder << ": look for the rooms in it";
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

// A path of somebody's home works on one machine only; so does the one of the folder this lies in.
TEST(Files, NameNoMachine) {
  const std::string here = root().parent_path().string() + "/";
  const std::regex home(R"(/(root|Users|home/[a-z]+)/[\w.])");
  for (const auto& file :
       files_in("", {".hpp", ".cpp", ".cmake", ".txt", ".md", ".json", ".py", ".in", ".toml"})) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(file.lines[i], home)) << place(file, i) << file.lines[i];
      EXPECT_FALSE(names_absolute(file.lines[i], here)) << place(file, i) << file.lines[i];
    }
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
