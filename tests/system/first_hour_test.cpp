// docs/first-hour.md: every command of it is run, in order, and what it prints is what stands
// there. So are those of docs/elastic.md about what is lent.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

struct Step {
  std::string command, output;
};

// "$ " begins a command, "> " goes on with it; all else in the block is what it prints.
std::vector<Step> steps_of(const std::string& page) {
  std::vector<Step> steps;
  std::ifstream in(page);
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      inside = line == "```console";
    } else if (inside && line.starts_with("$ ")) {
      steps.push_back({line.substr(2) + "\n", ""});
    } else if (inside && line.starts_with("> ")) {
      steps.back().command += line.substr(2) + "\n";
    } else if (inside) {
      steps.back().output += line + "\n";
    }
  }
  return steps;
}

// Durations, rates and times of day differ, and with them the widths of columns; how often progress
// is told depends on how long it takes.
std::string comparable(const std::string& text) {
  static const std::regex time(
      R"((\b\d{4}-\d\d-\d\d[T ])?\b\d\d:\d\d(:\d\d)?\b|\b\d+\.\d+s\b|\b\d+m\d\ds\b|\b\d+ms\b)");
  static const std::regex size(R"(\b\d+(\.\d)? [KMG]iB\b)");
  static const std::regex percent(R"(\b\d+%)");
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" ended, ") != std::string::npos && line.find(" left") != std::string::npos)
      continue;
    if (std::regex_search(line, std::regex(R"(ended, .*(running|waiting))"))) continue;
    line = std::regex_replace(line, time, "TIME");
    line = std::regex_replace(line, size, "SIZE");
    line = std::regex_replace(line, percent, "N%");
    line = std::regex_replace(line, std::regex(" +"), " ");
    out += line + "\n";
  }
  return out;
}

std::string script_of(const std::vector<Step>& steps) {
  std::string script;
  for (std::size_t i = 0; i < steps.size(); ++i)
    script += "code=$?; printf '\\n@@@ %d\\n' " + std::to_string(i) + "; (exit $code)\n" +
              steps[i].command;
  return script;
}

// What each of them printed. The empty line before a mark is the mark's.
std::vector<std::string> outputs_of(const std::string& told, std::size_t count) {
  std::vector<std::string> outputs(count);
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string mark = "\n@@@ " + std::to_string(i) + "\n";
    at = told.find(mark, at);
    if (at == std::string::npos) break;
    at += mark.size();
    const auto next = told.find("\n@@@ " + std::to_string(i + 1) + "\n", at - 1);
    outputs[i] = told.substr(at, next == std::string::npos ? next : next - at);
  }
  return outputs;
}

// Runs the steps in one shell, with this holon in its path, and expects what they print.
void expect_steps(Sandbox& sandbox, const std::vector<Step>& steps) {
  auto& environment = sandbox.environment();
  environment["PATH"] =
      std::filesystem::path(HOLON_BINARY).parent_path().string() + ":" + environment["PATH"];
  const auto script = sandbox.write_file("page.sh", script_of(steps));
  Process process({"/bin/sh", "-c", "exec /bin/sh " + script + " 2>&1"}, environment,
                  sandbox.folder());
  process.close_input();
  const Ran ran = process.finish();
  const auto outputs = outputs_of(ran.out, steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i)
    EXPECT_EQ(comparable(outputs[i]), comparable(steps[i].output))
        << "step " << i << ": " << steps[i].command;
}

TEST(FirstHour, PrintsWhatThePageSays) {
  const auto steps = steps_of(HOLON_SOURCE_DIR "/docs/first-hour.md");
  ASSERT_GE(steps.size(), 30u);
  Sandbox sandbox;
  expect_steps(sandbox, steps);
}

TEST(ANightForAColleague, PrintsWhatThePageSays) {
  const auto steps = steps_of(HOLON_SOURCE_DIR "/docs/elastic.md");
  ASSERT_GE(steps.size(), 7u);
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=8"});
  expect_steps(sandbox, steps);
  EXPECT_EQ(sandbox.json({"doctor", "--tree"})["holds"], true);
}

}  // namespace
}  // namespace holon::system_test
