// The frame of the command line: help, unknown verbs and options, man pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <streambuf>

#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using testing::HasSubstr;

TEST(CommandLine, WithoutAVerbSaysWhatThereIs) {
  const Ran ran = run_cli({});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("usage: holon [-i PATH] VERB"));
}

TEST(CommandLine, UnknownVerbNamesTheNearest) {
  const Ran ran = run_cli({"versoin"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("there is no 'versoin'; did you mean version?"));
}

TEST(CommandLine, UnknownOptionNamesTheNearest) {
  const Ran ran = run_cli({"version", "--hlep"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("--hlep: there is no such option"));
}

TEST(CommandLine, ExtraWordsAreNotSwallowed) {
  const Ran ran = run_cli({"version", "please"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("please: not expected here"));
}

std::vector<std::string> lines_of_help(int width, const std::string& verb) {
  std::ostringstream out, err;
  Io io{out, err};
  io.width = width;
  run(io, {verb, "--help"});
  std::vector<std::string> lines;
  std::istringstream text(out.str());
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::size_t longest_of(const std::vector<std::string>& lines) {
  std::size_t longest = 0;
  for (const auto& line : lines)  // a command to be copied is one line
    if (!line.starts_with("  holon ") && line.find(' ') != std::string::npos)
      longest = std::max(longest, line.size());
  return longest;
}

TEST(CommandLine, HelpIsAsWideAsTheTerminalWithinBounds) {
  for (const auto& verb : verbs()) {
    SCOPED_TRACE(verb.name);
    const std::string name(verb.name);
    EXPECT_LE(longest_of(lines_of_help(0, name)), 80u) << "no terminal";
    EXPECT_LE(longest_of(lines_of_help(80, name)), 80u);
    EXPECT_LE(longest_of(lines_of_help(200, name)), 90u);
  }
  EXPECT_LE(longest_of(lines_of_help(64, "submit")), 64u);
  EXPECT_GT(longest_of(lines_of_help(200, "submit")), 80u) << "there is room";
  EXPECT_EQ(lines_of_help(1, "submit"), lines_of_help(40, "submit"));
  EXPECT_GT(lines_of_help(40, "submit").size(), lines_of_help(80, "submit").size());
}

TEST(CommandLine, DashVIsTheVersion) {
  const Ran ran = run_cli({"-V"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.out, run_cli({"--version"}).out);
}

TEST(CommandLine, EveryVerbHasHelpWithAnExampleAndAManPage) {
  for (const auto& verb : verbs()) {
    SCOPED_TRACE(verb.name);
    const Ran help = run_cli({std::string(verb.name), "--help"});
    EXPECT_EQ(help.code, kOk);
    EXPECT_EQ(help.err, "");
    EXPECT_THAT(help.out, HasSubstr("usage: holon " + std::string(verb.name)));
    EXPECT_THAT(help.out, HasSubstr("Examples\n  "));
  }
}

// Takes nothing, as a full disk or a pipe without a reader.
class Refusing : public std::streambuf {
 public:
  explicit Refusing(int why) : why_(why) {}

 private:
  int overflow(int) override { return refuse(); }
  int sync() override { return refuse(); }
  int refuse() const {
    errno = why_;
    return -1;
  }
  int why_;
};

Ran run_where_nothing_is_written(int why, std::vector<std::string> args) {
  Refusing refusing(why);
  std::ostream out(&refusing);
  std::ostringstream err;
  Io io{out, err};
  Ran ran;
  ran.code = run(io, std::move(args));
  ran.err = err.str();
  return ran;
}

TEST(CommandLine, OutputThatCannotBeWrittenIsAFailure) {
  const Ran full = run_where_nothing_is_written(ENOSPC, {"version"});
  EXPECT_EQ(full.code, kFailed);
  EXPECT_EQ(full.err, "holon version: its output cannot be written: No space left on device\n");
  EXPECT_EQ(run_where_nothing_is_written(ENOSPC, {"--help"}).code, kFailed);
  const Ran left = run_where_nothing_is_written(EPIPE, {"version"});
  EXPECT_EQ(left.code, kOk);
  EXPECT_EQ(left.err, "") << "nobody reads any more";
  EXPECT_EQ(run_where_nothing_is_written(ENOSPC, {"frobnicate"}).code, kUsage)
      << "it has failed already";
}

TEST(CommandLine, NearestPrefersAPrefix) {
  const std::vector<std::string> known = {"resource", "run", "jobs", "job"};
  EXPECT_THAT(nearest("res", known), testing::ElementsAre("resource"));
  EXPECT_THAT(nearest("jbs", known), testing::Contains("jobs"));
  EXPECT_THAT(nearest("zzzzzz", known), testing::IsEmpty());
}

}  // namespace
}  // namespace holon::cli
