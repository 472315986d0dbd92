// In what the jobs of one submission differ: how it is read, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/options/indices.hpp"
#include "cli/workflow/array_options.hpp"
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(ArrayOptions, IndicesAreANumberARangeOrStepsThroughOne) {
  EXPECT_EQ(*parse_indices("7"), (IndexRange{7, 1, 1}));
  EXPECT_EQ(*parse_indices("1-10"), (IndexRange{1, 1, 10}));
  EXPECT_EQ(*parse_indices("0-9:3"), (IndexRange{0, 3, 4}));
  EXPECT_EQ(*parse_indices("0-10:3"), (IndexRange{0, 3, 4}));
  for (const char* bad : {"", "-", "1-", "-3", "3-1", "1-3:0", "1-3:", "a", "1-2000000000", "1:10"})
    EXPECT_FALSE(parse_indices(bad)) << bad;
  EXPECT_EQ(*parse_indices("1,3,5-7"), (IndexRange{1, 1, 5, 0, "1,3,5-7"}));
  EXPECT_EQ(*parse_indices("0,9%2"), (IndexRange{1, 1, 2, 2, "0,9"}));
  for (const char* bad : {"1,1", "3,2", "1,", ",1", "1-3,7:2", "1,2%0"})
    EXPECT_FALSE(parse_indices(bad)) << bad;
  EXPECT_EQ(*parse_indices("1-9%2"), (IndexRange{1, 1, 9, 2}));
  EXPECT_EQ(*parse_indices("0-9:3%1"), (IndexRange{0, 3, 4, 1}));
  for (const char* bad : {"1-9%", "1-9%0", "1-9%x", "%2", "1-9%2:3"})
    EXPECT_THAT(to_string(parse_indices(bad).error()), HasSubstr("1-10%4 (four at a time)"));
}

class TableFile {
 public:
  explicit TableFile(const std::string& text)
      : name_(testing::TempDir() + "table-" + std::to_string(getpid()) + ".csv") {
    std::ofstream(name_) << text;
  }
  ~TableFile() { std::filesystem::remove(name_); }
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

json array_spec(std::vector<std::string> args) {
  args.insert(args.begin(), {"submit", "--dry-run"});
  const Ran ran = run_cli(args);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out, nullptr, false);
}

TEST(ArrayOptions, EntriesAreTheLastArgumentUnlessTheCommandSaysWhere) {
  const json last = array_spec({"echo", "-n", ":::", "a", "b c"});
  EXPECT_EQ(last["tasks"][0]["command"], (json{"echo", "-n", "{{entry}}"}));
  EXPECT_EQ(last["attributes"]["system"]["holon"]["array"],
            (json{{"first", 1}, {"step", 1}, {"entries", {"a", "b c"}}}));
  const json within = array_spec({"cp", "{{entry}}.in", "out", ":::", "a"});
  EXPECT_EQ(within["tasks"][0]["command"], (json{"cp", "{{entry}}.in", "out"}));
}

json array_of(const json& spec) {
  return spec["attributes"]["system"]["holon"]["array"];
}

// As GNU parallel has them: the words of the last list change fastest.
TEST(ArrayOptions, SeveralListsOfWordsAreTheirCombinations) {
  const json got = array_spec({"echo", ":::", "a", "b", ":::", "1", "2"});
  EXPECT_EQ(got["tasks"][0]["command"], (json{"echo", "{{entry.0}}", "{{entry.1}}"}));
  EXPECT_EQ(array_of(got)["entries"],
            (json{R"(["a","1"])", R"(["a","2"])", R"(["b","1"])", R"(["b","2"])"}));
  const json placed = array_spec({"echo", "{{entry.1}}-{{entry.0}}", ":::", "a", ":::", "1"});
  EXPECT_EQ(placed["tasks"][0]["command"], (json{"echo", "{{entry.1}}-{{entry.0}}"}));
}

TEST(ArrayOptions, ALineForTheShellTakesWordsToo) {
  const json got = array_spec({"--wrap", "echo \"<$HOLON_ENTRY>\"", ":::", "a", "b"});
  EXPECT_EQ(got["tasks"][0]["command"], (json{"/bin/sh", "-c", "echo \"<$HOLON_ENTRY>\""}));
  EXPECT_EQ(array_of(got)["entries"], (json{"a", "b"}));
}

TEST(ArrayOptions, ATableNamesItsColumnsInItsFirstLine) {
  const TableFile table("name,rate\nalpha,0.1\n\"b, \"\"two\"\"\",\r\n");
  const json got = array_spec({"--each-csv", table.name(), "fit", "{{entry.name}}"});
  EXPECT_EQ(array_of(got)["entries"],
            (json{R"({"name":"alpha","rate":"0.1"})", R"({"name":"b, \"two\"","rate":""})"}));
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"a,b\n1\n", ":2: 1 fields, and 2 columns: a, b"},
      {"a,a\n1,2\n", ":1: 'a': each column has a name of its own"},
      {"a\n\"x\n", ":2: a quotation mark has no end in this line"},
      {"a,b\n", "has no lines behind the one that names its columns"}};
  for (const auto& [text, said] : bad) {
    const TableFile file(text);
    const Ran ran = run_cli({"submit", "--dry-run", "--each-csv", file.name(), "fit"});
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_THAT(ran.err, HasSubstr(said));
  }
}

// Not of `alloc`, whose command may be one that knows ":::" itself, such as GNU parallel.
TEST(ArrayOptions, ARunIsNoArrayOfWords) {
  const std::string said = "`holon submit` makes a task for each word behind it";
  EXPECT_THAT(run_cli({"run", "echo", ":::", "a", "b"}).err, HasSubstr(said));
}

// A script of one's own, which may be executed.
class ScriptFile {
 public:
  ScriptFile() : name_(testing::TempDir() + "holon-script-" + std::to_string(getpid())) {
    std::ofstream(name_) << "#!/bin/sh\n";
    std::filesystem::permissions(name_, std::filesystem::perms::owner_all);
  }
  ~ScriptFile() { std::filesystem::remove(name_); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

TEST(ArrayOptions, OfBatchMakeAnArrayOfInstances) {
  const ScriptFile script;
  FakeBroker broker;
  msg::SubmitReply reply{7, 1, 10};
  broker.answer("submit", reply);
  broker.start();
  const Ran ran =
      run_cli({"batch", "-n", "2", "--array", "0-9", "--json", script.name(), "{{array.index}}"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(json::parse(ran.out), (json{{"id", 7}, {"count", 1}, {"tasks", 10}}));
  const auto asked = broker.last<msg::SubmitRequest>("submit");
  EXPECT_TRUE(asked.is_instance);
  EXPECT_EQ(asked.count, 10u);
  const json spec = json::parse(asked.jobspec);
  EXPECT_EQ(array_of(spec), (json{{"first", 0}, {"step", 1}}));
  const auto command = spec["tasks"][0]["command"].get<std::vector<std::string>>();
  EXPECT_EQ(command[2], "--grant");
  EXPECT_EQ(command.back(), "{{array.index}}");
  EXPECT_EQ(run_cli({"batch", script.name(), ":::", "a", "b"}).code, kOk);
  EXPECT_EQ(array_of(json::parse(broker.last<msg::SubmitRequest>("submit").jobspec))["entries"],
            (json{"a", "b"}));
}

TEST(ArrayOptions, OfBatchAreRefusedWhereInstancesCannotHaveThem) {
  const ScriptFile script;
  EXPECT_THAT(run_cli({"batch", "--max-running", "2", script.name()}).err,
              HasSubstr("--max-running: is about arrays"));
  EXPECT_THAT(run_cli({"batch", "--array", "1-2", "-o", "run.log", script.name()}).err,
              HasSubstr("run-{{id}}.log gives each a file of its own"));
}

TEST(ArrayOptions, IndicesLeaveTheCommandAsItIs) {
  const json got = array_spec({"--array", "2-8:2", "-o", "{{array.index}}.log", "./a.sh"});
  EXPECT_EQ(got["tasks"][0]["command"], json{"./a.sh"});
  EXPECT_EQ(got["attributes"]["system"]["holon"]["array"], (json{{"first", 2}, {"step", 2}}));
}

TEST(ArrayOptions, AListOfIndicesStaysAList) {
  const json got = array_spec({"--array", "1,3,5-7%2", "./a.sh"});
  EXPECT_EQ(got["attributes"]["system"]["holon"]["array"],
            (json{{"indices", "1,3,5-7"}, {"max_running", 2}}));
}

TEST(ArrayOptions, LinesOfAFileAreEntries) {
  const std::string file = testing::TempDir() + "holon-each-line-" + std::to_string(getpid());
  std::ofstream(file) << "one\n\ntwo words";
  const json got = array_spec({"--each-line", file, "echo"});
  EXPECT_EQ(got["attributes"]["system"]["holon"]["array"]["entries"],
            (json{"one", "", "two words"}));
  const json wrapped = array_spec({"--each-line", file, "--wrap", "echo $HOLON_ENTRY"});
  EXPECT_EQ(wrapped["tasks"][0]["command"].back(), "echo $HOLON_ENTRY");
  std::ofstream(file) << "one\n\xff\n";
  EXPECT_THAT(run_cli({"submit", "--dry-run", "--each-line", file, "echo"}).err,
              HasSubstr(file + ":2: not UTF-8"));
  std::ofstream(file) << "";
  EXPECT_THAT(run_cli({"submit", "--dry-run", "--each-line", file, "echo"}).err,
              HasSubstr("has no lines"));
  std::ofstream(file) << std::string(2 * 200'000, '\n');
  EXPECT_THAT(run_cli({"submit", "--dry-run", "--each-line", file, "echo"}).err,
              HasSubstr("--each-line: 400000 entries of 1200000 bytes in all; at most 130000 of "
                        "7340032 bytes are accepted; more go as indices: --array 1-400000 "));
  std::filesystem::remove(file);
  EXPECT_THAT(run_cli({"submit", "--dry-run", "--each-line", file, "echo"}).err,
              HasSubstr("No such file"));
}

TEST(ArrayOptions, ValuesOfAJsonFileAreEntries) {
  const std::string file = testing::TempDir() + "holon-each-json-" + std::to_string(getpid());
  std::ofstream(file) << "[{\"a\": 1, \"b\": [true, \"x\"]},\n {\"a\": \"y z\", \"b\": [0, 1]}]";
  const json list = array_spec({"--each-json", file, "echo", "{{entry.a}}", "{{entry.b.1}}"});
  EXPECT_EQ(list["attributes"]["system"]["holon"]["array"]["entries"],
            (json{R"({"a":1,"b":[true,"x"]})", R"({"a":"y z","b":[0,1]})"}));
  EXPECT_EQ(list["tasks"][0]["command"], (json{"echo", "{{entry.a}}", "{{entry.b.1}}"}));
  EXPECT_THAT(run_cli({"submit", "--dry-run", "--each-json", file, "echo", "{{entry.b.7}}"}).err,
              HasSubstr("{{entry.b.7}}: entry 1 has no member 'b.7'"));
  std::ofstream(file) << "{\"a\": 1}\n\n7\n";
  const json lines = array_spec({"--each-json", file, "echo"});
  EXPECT_EQ(lines["attributes"]["system"]["holon"]["array"]["entries"], (json{R"({"a":1})", "7"}));
  std::ofstream(file) << "{\"a\": 1}\n{oops}\n";
  EXPECT_THAT(run_cli({"submit", "--dry-run", "--each-json", file, "echo"}).err,
              HasSubstr(file + ":2: is no JSON"));
  std::ofstream(file) << "[]";
  EXPECT_THAT(run_cli({"submit", "--dry-run", "--each-json", file, "echo"}).err,
              HasSubstr("a list without elements"));
  std::filesystem::remove(file);
}

// Only where two tasks would write the same file is it refused.
TEST(ArrayOptions, EntriesMayTellTheFilesApart) {
  const std::string file = testing::TempDir() + "holon-entries-" + std::to_string(getpid());
  std::ofstream(file) << R"([{"model": "a", "rate": 1}, {"model": "b", "rate": 1}])";
  const auto said = [&](const std::string& output) {
    return run_cli({"submit", "--dry-run", "--each-json", file, "--output", output, "echo"}).err;
  };
  EXPECT_EQ(said("{{entry.model}}.out"), "");
  EXPECT_THAT(said("{{entry.rate}}.out"), HasSubstr("would write over the others' output"));
  EXPECT_THAT(run_cli({"submit", "--dry-run", "--open", "--each-json", file, "--output",
                       "{{entry.model}}.out", "echo"})
                  .err,
              HasSubstr("would write over the others' output"))
      << "an entry to come may be equal";
  std::filesystem::remove(file);
  const auto of_words = [](std::vector<std::string> words) {
    std::vector<std::string> all = {"submit",        "--dry-run", "--output",
                                    "{{entry}}.out", "echo",      ":::"};
    all.insert(all.end(), words.begin(), words.end());
    return run_cli(all).err;
  };
  EXPECT_EQ(of_words({"x y", "q/r"}), "");
  EXPECT_THAT(of_words({"q/r", "q_r"}), HasSubstr("would write over the others' output"));
}

TEST(ArrayOptions, BoundsOfAnArray) {
  const json got = array_spec({"--array", "1-9%3", "--max-fails", "0", "echo"});
  EXPECT_EQ(got["attributes"]["system"]["holon"]["array"],
            (json{{"first", 1}, {"step", 1}, {"max_running", 3}, {"max_fails", 0}}));
  const json words = array_spec({"--max-running", "2", "echo", ":::", "a", "b"});
  EXPECT_EQ(words["attributes"]["system"]["holon"]["array"]["max_running"], 2);
}

TEST(ArrayOptions, WhatDoesNotGoTogetherIsRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--array", "1-2", "echo", ":::", "a"}, "not several of them"},
      {{"--array", "1-2", "--count", "2", "echo"}, "--count: is not accepted with --array"},
      {{"echo", ":::"}, "':::': there is nothing behind it"},
      {{":::", "a"}, "':::': there is no command before it"},
      {{"--array", "1-2", "-o", "same.log", "echo"}, "{{id}}"},
      {{"--open", "-o", "same.log", "echo", ":::", "a"}, "each of the tasks to come would write"},
      {{"--array", "2-1", "echo"}, "'2-1' is no range of indices"},
      {{"--max-running", "2", "echo"}, "--max-running: is about arrays"},
      {{"--max-fails", "1", "echo"}, "--max-fails: is about arrays"},
      {{"--array", "1-2", "--max-running", "0", "echo"}, "0 is not accepted; 1 to"}};
  for (const auto& [args, said] : cases) {
    std::vector<std::string> words = {"submit", "--dry-run"};
    words.insert(words.end(), args.begin(), args.end());
    const Ran ran = run_cli(words);
    EXPECT_EQ(ran.code, 2) << said;
    EXPECT_THAT(ran.err, HasSubstr(said));
  }
}

}  // namespace
}  // namespace holon::cli
