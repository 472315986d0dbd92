// The frame of the command line: help, unknown verbs and options, man pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(CommandLine, NearestPrefersAPrefix) {
  const std::vector<std::string> known = {"resource", "run", "jobs", "job"};
  EXPECT_THAT(nearest("res", known), testing::ElementsAre("resource"));
  EXPECT_THAT(nearest("jbs", known), testing::Contains("jobs"));
  EXPECT_THAT(nearest("zzzzzz", known), testing::IsEmpty());
}

}  // namespace
}  // namespace holon::cli
