// Jobs of one submission that differ by an index or an entry, run by a real instance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kNode = {"--resources", "node=1/core=4"};

TEST(Arrays, EachTaskHasItsIndex) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  EXPECT_EQ(sandbox.ok({"submit", "--array", "0-4:2", "-o", "out-{{array.index}}.txt", "sh", "-c",
                        "echo $HOLON_ARRAY_ID $HOLON_ARRAY_INDEX $HOLON_ARRAY_COUNT $0",
                        "i{{array.index}}"}),
            "1\n");
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.read_file("out-0.txt"), "1 0 3 i0\n");
  EXPECT_EQ(sandbox.read_file("out-2.txt"), "1 2 3 i2\n");
  EXPECT_EQ(sandbox.read_file("out-4.txt"), "1 4 3 i4\n");
}

TEST(Arrays, EachTaskHasItsEntryAsTheLastArgument) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.ok(
      {"submit", "sh", "-c", "echo \"$HOLON_ENTRY|$1\"", "sh", ":::", "two words", "{{entry}}"});
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.ok({"job", "output", "1.1"}), "two words|two words\n");
  EXPECT_EQ(sandbox.ok({"job", "output", "1.2"}), "{{entry}}|{{entry}}\n");
  EXPECT_EQ(sandbox.ok({"job", "output", "1"}), "two words|two words\n{{entry}}|{{entry}}\n");
  EXPECT_EQ(sandbox.ok({"output", "1.1-2"}), "two words|two words\n{{entry}}|{{entry}}\n");
  EXPECT_EQ(sandbox.ok({"output", "1.1-2", "--failed"}), "");
  EXPECT_EQ(sandbox.ok({"output", "1.2", "1.1"}),
            "==> 1.2 <==\n{{entry}}|{{entry}}\n==> 1.1 <==\ntwo words|two words\n");
  const Ran one_of_two = sandbox.run({"output", "1.1", "99"});
  EXPECT_EQ(one_of_two.code, 1);
  EXPECT_THAT(one_of_two.out, HasSubstr("two words|two words\n"));
  EXPECT_THAT(one_of_two.err, HasSubstr("no job /99"));
  EXPECT_THAT(sandbox.run({"output", "1.1-3"}).err, HasSubstr("its indices are 1 to 2"));
}

TEST(Arrays, AnOpenOneIsGivenMoreTasksAndClosed) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.ok({"submit", "--open", "echo", ":::", "a", "b"});
  EXPECT_EQ(sandbox.ok({"submit", "--into", "1", ":::", "c", "d e"}), "1.3-4\n");
  EXPECT_THAT(sandbox.ok({"jobs"}), HasSubstr("open"));
  EXPECT_THAT(sandbox.ok({"job", "info", "1"}), HasSubstr("open"));
  sandbox.ok({"job", "wait", "1.1-4"});
  EXPECT_THAT(sandbox.ok({"jobs"}), HasSubstr("4 completed, open"));
  sandbox.ok({"close", "1"});
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.ok({"output", "1"}), "a\nb\nc\nd e\n");
  EXPECT_THAT(sandbox.ok({"history", "--tasks"}), HasSubstr("1.4"));
  EXPECT_THAT(sandbox.run({"submit", "--into", "1", ":::", "x"}).err,
              HasSubstr("--into 1: array /1 is over: COMPLETED"));
  EXPECT_THAT(sandbox.run({"submit", "--into", "1", "echo"}).err,
              HasSubstr("the tasks of an open array run its command"));
  EXPECT_THAT(sandbox.run({"submit", "--into", "1", "-n", "3"}).err, HasSubstr("not with --into"));
  const std::string second = sandbox.ok({"submit", "--open", "true"});
  const std::string id = second.substr(0, second.find('\n'));
  EXPECT_EQ(sandbox.ok({"submit", "--into", id, "--array", "5-7"}), id + ".5-7\n");
  EXPECT_EQ(sandbox.ok({"submit", "--into", id, "--count", "2"}), id + ".8-9\n");
  sandbox.ok({"close", id});
  sandbox.ok({"job", "wait", id});
  EXPECT_NE(sandbox.ok({"retry", id}), "");
}

TEST(Arrays, IsOneLineAndItsTasksAreNamedByTheirIndices) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.ok({"submit", "--array", "1-9", "sh", "-c", "exit $((HOLON_ARRAY_INDEX == 4))"});
  const Ran waited = sandbox.run({"job", "wait", "1.3-5"});
  EXPECT_EQ(waited.code, 1);
  EXPECT_THAT(waited.err, HasSubstr("job 1.4 (sh): FAILED: exit code 1"));
  EXPECT_EQ(sandbox.run({"job", "wait", "1"}).code, 1);
  EXPECT_THAT(sandbox.ok({"jobs", "-a"}), HasSubstr("8 completed, 1 failed"));
  EXPECT_EQ(sandbox.ok({"jobs", "-a", "--format", "id,code"}), "ID  CODE\n 1     1\n");
  const std::string tasks = sandbox.ok({"jobs", "-a", "--tasks", "--format", "id,state"});
  EXPECT_THAT(tasks, HasSubstr("1.4  FAILED"));
  EXPECT_THAT(tasks, HasSubstr("1.9  COMPLETED"));
  EXPECT_EQ(sandbox.ok({"jobs", "1.4", "--format", "id,state"}), " ID  STATE\n1.4  FAILED\n");
  EXPECT_EQ(sandbox.ok({"jobs", "--tasks", "1", "--filter", "failed", "--format", "id,state"}),
            " ID  STATE\n  1  FAILED\n1.4  FAILED\n");
  EXPECT_THAT(sandbox.ok({"job", "info", "1.4"}), HasSubstr("/1.4  sh\n"));
  EXPECT_THAT(sandbox.ok({"job", "eventlog", "1.4"}), HasSubstr("finish"));
  const Ran none = sandbox.run({"job", "info", "1.12"});
  EXPECT_NE(none.code, 0);
  EXPECT_THAT(none.err, HasSubstr("array 1 has no task 1.12; its indices are 1 to 9"));
  EXPECT_THAT(sandbox.run({"cancel", "1.x"}).err, HasSubstr("accepted are 7.12, 7.3-9"));
}

TEST(Arrays, WhatFailedIsRetriedWithItsIndicesAndEntries) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.ok({"submit", "--max-running", "2", "sh", "-c", "[ -e good ] || [ $1 != b ]", "sh",
              ":::", "a", "b", "c"});
  EXPECT_EQ(sandbox.run({"job", "wait", "1", "--quiet"}).code, 1);
  sandbox.write_file("good", "");
  EXPECT_EQ(sandbox.ok({"retry", "1", "--failed"}), "5\n");
  sandbox.ok({"job", "wait", "5"});
  EXPECT_EQ(sandbox.ok({"jobs", "-a", "--tasks", "--format", "id,state"}),
            " ID  STATE\n  1  FAILED\n1.1  COMPLETED\n1.2  FAILED\n1.3  COMPLETED\n"
            "  5  COMPLETED\n5.2  COMPLETED\n");
  const Ran none = sandbox.run({"retry", "5", "--failed"});
  EXPECT_NE(none.code, 0);
  EXPECT_THAT(none.err, HasSubstr("none of these tasks has failed"));
}

// As `parallel --resume-failed`: what failed, and what never ran because of that.
TEST(Arrays, WhatMaxFailsCancelledIsRetriedWithWhatFailed) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.ok({"submit", "--max-fails", "0", "--max-running", "1", "--array", "1-6", "sh", "-c",
              "until [ -e go ]; do sleep 0.05; done; [ -e good ] || [ $HOLON_ARRAY_INDEX != 2 ]"});
  sandbox.ok({"cancel", "1.6"});  // somebody did not want it
  sandbox.write_file("go", "");
  EXPECT_EQ(sandbox.run({"job", "wait", "1", "--quiet"}).code, 1);
  sandbox.write_file("good", "");
  const std::string again = sandbox.ok({"retry", "1", "--failed"});
  const std::string id = again.substr(0, again.find('\n'));
  sandbox.ok({"job", "wait", id});
  EXPECT_EQ(sandbox.ok({"jobs", id, "--tasks", "--format", "id,state"}),
            " ID  STATE\n  8  COMPLETED\n8.2  COMPLETED\n8.3  COMPLETED\n8.4  COMPLETED\n"
            "8.5  COMPLETED\n");
}

TEST(Arrays, TasksAreRetriedByTheirIndices) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.ok({"submit", "sh", "-c", "echo $HOLON_ARRAY_INDEX $1; [ -e good ] || [ $1 != b ]", "sh",
              ":::", "a", "b", "c"});
  EXPECT_EQ(sandbox.run({"job", "wait", "1", "--quiet"}).code, 1);
  sandbox.write_file("good", "");
  EXPECT_EQ(sandbox.ok({"retry", "1.2-3"}), "5\n");
  sandbox.ok({"job", "wait", "5"});
  EXPECT_EQ(sandbox.ok({"output", "5"}), "2 b\n3 c\n");
  EXPECT_EQ(sandbox.ok({"retry", "/1.3"}), "8\n");
  EXPECT_EQ(sandbox.ok({"retry", "3"}), "10\n") << "1.2, by the number that it has";
  EXPECT_EQ(sandbox.ok({"retry", "1.1-3", "--failed"}), "12\n");
  sandbox.ok({"job", "wait", "8", "10", "12"});
  EXPECT_EQ(sandbox.ok({"output", "8"}), "3 c\n");
  EXPECT_EQ(sandbox.ok({"output", "10"}), "2 b\n");
  EXPECT_EQ(sandbox.ok({"output", "12"}), "2 b\n");
  EXPECT_THAT(sandbox.run({"retry", "1.3", "--failed"}).err,
              HasSubstr("none of these tasks has failed"));
  EXPECT_THAT(sandbox.run({"retry", "1.4"}).err, HasSubstr("array 1 has no task 1.4"));
  const std::string plain = sandbox.ok({"submit", "true"});
  EXPECT_THAT(sandbox.run({"retry", plain.substr(0, plain.find('\n')) + ".1"}).err,
              HasSubstr("is no array"));
  EXPECT_THAT(sandbox.run({"retry", "1-2"}).err, HasSubstr("one job at a time"));
}

TEST(Arrays, FieldsOfJsonStandInWordsNamesAndFiles) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.write_file("runs.json", R"([{"m": "a/b", "r": [1, 2]}, {"m": "c", "r": [3, 4]}])");
  sandbox.ok({"submit", "--each-json", "runs.json", "--name", "fit-{{entry.m}}", "-o",
              "{{entry.m}}-{{array.index}}.log", "echo", "{{entry.r.1}}", "{{entry.m}}"});
  sandbox.ok({"job", "wait", "1"});
  EXPECT_EQ(sandbox.read_file("a_b-1.log"), "2 a/b\n");
  EXPECT_EQ(sandbox.read_file("c-2.log"), "4 c\n");
  EXPECT_EQ(sandbox.ok({"jobs", "1.2", "--format", "name"}), "NAME\nfit-c\n");
}

TEST(Graphs, TasksOfOneFileRunInTheirOrder) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.write_file("g.toml", R"(
[defaults]
time = "1m"
[[task]]
name = "report"
shell = "cat part-* | wc -l > report"
afterok = "score"
[[task]]
name = "fit"
array = "1-20"
shell = "echo $HOLON_ARRAY_INDEX > part-$HOLON_ARRAY_INDEX"
[[task]]
name = "score"
array = "1-20"
command = ["sh", "-c", "grep -q $0 part-$0", "{{array.index}}"]
aftercorr = "fit"
variants = [{ ntasks = 500 }, { ntasks = 1 }]
)");
  EXPECT_EQ(sandbox.ok({"submit", "--file", "g.toml"}), "fit 1\nscore 22\nreport 43\n");
  sandbox.ok({"job", "wait", "43"});
  EXPECT_EQ(sandbox.read_file("report"), "20\n");
  EXPECT_EQ(sandbox.ok({"jobs", "-a", "--format", "id,name,state"}),
            "ID  NAME    STATE\n 1  fit     COMPLETED\n22  score   COMPLETED\n"
            "43  report  COMPLETED\n");
  EXPECT_EQ(sandbox.ok({"jobs", "22.7", "--format", "name,state"}),
            "NAME   STATE\nscore  COMPLETED\n");
}

TEST(Graphs, NothingIsLeftOfAFileWithATaskThatIsRefused) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.write_file("g.toml",
                     "[[task]]\nname = 'a'\nshell = 'sleep 1000'\n"
                     "[[task]]\nname = 'b'\nshell = 'true'\nntasks = 500\nafterok = 'a'\n");
  const Ran ran = sandbox.run({"submit", "--file", "g.toml"});
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("g.toml:4, task b"));
  EXPECT_EQ(sandbox.ok({"jobs", "-a", "--format", "id"}), "ID\n");
  sandbox.write_file("bad.toml", "[[task]]\nname = 'a'\nshell = 'x'\ntime = 'soon'\n");
  const Ran bad = sandbox.run({"submit", "--file", "bad.toml"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, testing::AllOf(HasSubstr("bad.toml:4, task a"), HasSubstr("soon")));
}

TEST(Arrays, AJobWithoutAnIndexKeepsItsWords) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  EXPECT_EQ(sandbox.ok({"run", "echo", "{{entry}} {{array.index}}"}),
            "{{entry}} {{array.index}}\n");
  const Ran ran = sandbox.run({"submit", "-o", "{{array.index}}", "true"});
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("stands for nothing"));
}

// Which parameters failed?
TEST(Arrays, WhatATaskWasGivenIsShownBesideIt) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.ok({"submit", "sh", "-c", "echo \"rate was $1\" >&2; test \"$1\" != beta", "sh",
              ":::", "alpha", "beta"});
  EXPECT_EQ(sandbox.run({"job", "wait", "--quiet", "1"}).code, 1);
  EXPECT_EQ(sandbox.ok({"output", "1", "--failed"}), "==> 1.2: beta <==\nrate was beta\n");
  EXPECT_THAT(sandbox.ok({"jobs", "-a", "--tasks", "--format", "id,code,entry"}),
              testing::ContainsRegex("1.2 +1 +beta"));
  EXPECT_THAT(sandbox.ok({"job", "info", "1.2"}), HasSubstr("beta"));
  EXPECT_EQ(sandbox.json({"job", "info", "1.2"})["entry"], "beta");
  EXPECT_THAT(sandbox.ok({"history", "--tasks", "--csv"}), HasSubstr("/1.2,"));
}

// What people read of a page: its text, a bar for each tag.
std::string text_of(const std::string& page) {
  std::string text;
  bool inside = false;
  for (const char c : page) {
    if (c == '<') text += std::exchange(inside, true) ? "" : "|";
    if (!inside && c != '\n') text += c;
    if (c == '>') inside = false;
  }
  return text;
}

// Forty tasks that fill four cores are not one job.
TEST(Arrays, AreDrawnByTheirTasksInAReport) {
  Sandbox sandbox;
  Instance instance(sandbox, kNode);
  sandbox.ok({"submit", "--array", "1-12", "sleep", "0.2"});
  sandbox.ok({"job", "wait", "1"});
  const std::string text = text_of(sandbox.ok({"report", "-o", "-"}));
  EXPECT_THAT(text, testing::ContainsRegex("\\|jobs\\|+12\\|"));
}

}  // namespace
}  // namespace holon::system_test
