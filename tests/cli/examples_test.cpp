// What a reader copies must be understood: every command of the pages and of --help is given to its
// verb, with an instance that refuses all it is asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "cli/verbs.hpp"
#include "places.hpp"  // written by CMake
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

namespace fs = std::filesystem;

// These start an instance, or a part of one, or ask nobody and read files. --pty needs a terminal.
// "instances" would look at those of whoever runs the tests, and clear them up.
const std::set<std::string> kLeftOut = {"start",   "broker", "agent",    "pty",
                                        "join",    "leaves", "query",    "simulate",
                                        "journal", "policy", "instances"};

// "$ " is a prompt, "#" begins a comment; what holds "..." is no whole command, and "holon start: "
// begins a message.
std::optional<std::string> command_of(std::string line) {
  line.erase(0, line.find_first_not_of(" "));
  if (line.starts_with("$ ")) line.erase(0, 2);
  if (!line.starts_with("holon ") || line.find("...") != std::string::npos) return std::nullopt;
  if (line.find(':') < line.find(' ', 6)) return std::nullopt;
  if (line.find(".lua") != std::string::npos) return std::nullopt;  // policy_test.cpp has the file
  for (const char* end : {" #", " | ", " > ", " < ", " && ", "; "})
    if (const auto at = line.find(end); at != std::string::npos) {
      const auto quotes = std::count(line.begin(), line.begin() + std::ptrdiff_t(at), '\'');
      if (quotes % 2 == 0) line.resize(at);
    }
  return line;
}

// As the shell splits it, as far as the examples go: blanks and quotes.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;
  for (const char c : line) {
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? 0 : c;
      if (quote != 0 && !std::exchange(inside, true)) words.emplace_back();
    } else if (quote == 0 && c == ' ') {
      inside = false;
    } else {
      if (!std::exchange(inside, true)) words.emplace_back();
      words.back() += c;
    }
  }
  words.erase(words.begin());  // holon
  return words;
}

// In fences and in blocks that are indented by four.
std::vector<std::string> commands_in(const fs::path& page) {
  std::vector<std::string> commands;
  std::ifstream in(page);
  bool fenced = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      fenced = !fenced;
    } else if (fenced || line.starts_with("    ")) {
      if (auto command = command_of(line)) commands.push_back(std::move(*command));
    }
  }
  return commands;
}

class Examples : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "holon-examples-XXXXXX";
    ASSERT_NE(mkdtemp(dir_.data()), nullptr);
    before_ = fs::current_path();
    fs::current_path(dir_);
    for (const char* script :
         {"campaign.sh", "w", "model", "sweep.sh", "parameters.txt", "fit.toml", "draft.sh"}) {
      std::ofstream(script) << "#!/bin/sh\n";
      fs::permissions(script, fs::perms::owner_all);
    }
    std::ofstream("runs.csv") << "model,rate\na,1\n";
    std::ofstream("runs.json") << R"([{"model": "a", "rate": 1}])";
    std::ofstream("campaign.toml") << "[[task]]\nname = 'fit'\ncommand = ['./fit.sh']\n";
    broker_.start();
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(dir_);
  }

  void check(const std::string& line) {
    auto words = words_of(line);
    ASSERT_FALSE(words.empty()) << line;
    auto verb = words[0] == "-i" && words.size() > 2 ? words[2] : words[0];
    if (kLeftOut.contains(verb) || line.find("--pty") != std::string::npos) return;
    ++checked_;
    const Ran ran = run_cli(words);
    EXPECT_NE(ran.code, kUsage) << line << "\n" << ran.err;
  }

  std::string dir_;
  fs::path before_;
  FakeBroker broker_;
  int checked_ = 0;
};

TEST_F(Examples, OfThePagesAreUnderstood) {
  std::vector<fs::path> pages = {HOLON_SOURCE_DIR "/README.md"};
  for (const auto& page : fs::directory_iterator(HOLON_SOURCE_DIR "/docs"))
    if (page.path().extension() == ".md") pages.push_back(page.path());
  for (const auto& page : pages) {
    SCOPED_TRACE(page);
    for (const auto& command : commands_in(page)) check(command);
  }
  EXPECT_GE(checked_, 40);
}

// The help says them as they are typed; those of a group are in the help of each of its verbs.
TEST_F(Examples, OfTheHelpAreUnderstood) {
  const std::set<std::string> groups = {"job", "queue", "reservation", "resource"};
  std::vector<std::vector<std::string>> pages;
  for (const auto& verb : verbs()) {
    if (verb.group == Group::hidden || kLeftOut.contains(std::string(verb.name))) continue;
    if (!groups.contains(std::string(verb.name)))
      pages.push_back({std::string(verb.name), "--help"});
  }
  for (const auto& page : pages) {
    std::istringstream help(run_cli(page).out);
    SCOPED_TRACE(page[0]);
    for (std::string line; std::getline(help, line);)
      if (auto command = command_of(line); command && line.starts_with("  ")) check(*command);
  }
  EXPECT_GE(checked_, 25);
}

}  // namespace
}  // namespace holon::cli
