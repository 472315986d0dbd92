// Tasks in one file: how it is read, in which order they come, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/workflow/file_claims.hpp"
#include "cli/workflow/graph_file.hpp"
#include "msg/graph.hpp"
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

std::vector<std::string> names_of(const std::vector<GraphTask>& tasks) {
  std::vector<std::string> names;
  for (const auto& task : tasks) names.push_back(task.name);
  return names;
}

std::string refusal_of(const std::string& text, const std::string& file = "g.toml") {
  const auto read = parse_graph(text, file);
  return read ? "accepted" : to_string(read.error());
}

constexpr const char* kDiamond = R"(
[defaults]
time = "10m"
ntasks = 2
[[task]]
name = "last"
command = ["c"]
afterok = ["left", "right"]
[[task]]
name = "left"
shell = "b 1"
afterany = "first"
time = "5m"
kill-on-bad-exit = true
attr = ["a=1", "b=2"]
[[task]]
name = "right"
command = ["b", "2"]
aftercorr = "first"
variants = [{ ntasks = 8, queue = "big" }, { mpi = "none" }]
[[task]]
name = "first"
command = ["a"]
)";

// Output would be lost: each job begins its file anew.
TEST(FileClaims, TwoTasksDoNotWriteIntoOneFile) {
  JobOptions job;
  job.output = "run.log";
  FileClaims claims;
  const auto files = FileClaims::files_of(job);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_TRUE(claims.claim(files, "a"));
  EXPECT_TRUE(claims.claim(files, "a")) << "another way to run the same task";
  EXPECT_THAT(to_string(claims.claim(files, "b").error()), HasSubstr("task a writes into it, too"));
  for (const char* own : {"run-{{name}}.log", "run-{{id}}.log", "/dev/null"}) {
    job.output = own;
    EXPECT_TRUE(FileClaims::files_of(job).empty()) << own;
  }
}

TEST(GraphFile, TasksStandBehindWhatTheyWaitFor) {
  const auto tasks = parse_graph(kDiamond, "g.toml");
  ASSERT_TRUE(tasks) << to_string(tasks.error());
  EXPECT_THAT(names_of(*tasks), ElementsAre("first", "left", "right", "last"));
  const auto& left = (*tasks)[1];
  EXPECT_EQ(left.place, "g.toml:9");
  EXPECT_THAT(left.after, ElementsAre(GraphTask::After{"afterany", 0}));
  EXPECT_EQ(left.command, (Words{"/bin/sh", "-c", "b 1"}));
  ASSERT_EQ(left.ways.size(), 1u);
  EXPECT_THAT(left.ways[0],
              testing::UnorderedElementsAre("--ntasks=2", "--time=5m", "--kill-on-bad-exit",
                                            "--attr=a=1", "--attr=b=2"));
  const auto& right = (*tasks)[2];
  ASSERT_EQ(right.ways.size(), 2u);
  EXPECT_THAT(right.ways[0],
              testing::UnorderedElementsAre("--ntasks=8", "--time=10m", "--queue=big"));
  EXPECT_THAT((*tasks)[3].after,
              ElementsAre(GraphTask::After{"afterok", 1}, GraphTask::After{"afterok", 2}));
}

TEST(GraphFile, TasksOfAnArrayAreNamedByTheirIndices) {
  const auto tasks = parse_graph(R"(
[[task]]
name = "b.1"
command = ["x"]
[[task]]
name = "a"
command = ["x", ":::", "1", "2"]
[[task]]
name = "b"
command = ["y"]
afterok = ["b.1", "a.2", "a"]
)",
                                 "g.toml");
  ASSERT_TRUE(tasks) << to_string(tasks.error());
  EXPECT_THAT((*tasks)[2].after,
              ElementsAre(GraphTask::After{"afterok", 0}, GraphTask::After{"afterok", 1, "2"},
                          GraphTask::After{"afterok", 1}));
}

// A task, or one of an array: nobody knows which is meant. Where nobody asks it does not matter.
TEST(GraphFile, ANameThatMayMeanTwoThingsIsRefused) {
  const auto waits = [](const std::string& array, const std::string& name) {
    return "[[task]]\nname = \"fit\"\ncommand = [\"x\"]\n" + array +
           "[[task]]\nname = \"fit.3\"\ncommand = [\"x\"]\n" +
           "[[task]]\nname = \"b\"\ncommand = [\"y\"]\nafterok = \"" + name + "\"\n";
  };
  for (const char* array : {"array = \"1-3\"\n", "a = \"1-3\"\n", "each-line = \"list\"\n",
                            "variants = [{ ntasks = 2 }, { array = \"1-3\" }]\n"})
    EXPECT_EQ(refusal_of(waits(array, "fit.3")),
              "g.toml:11, task b: afterok = 'fit.3' is the task at g.toml:5, and 3 of the array at "
              "g.toml:1; one of the two needs another name");
  EXPECT_EQ(refusal_of(waits("array = \"1-3\"\n", "fit.2")), "accepted");
  EXPECT_EQ(refusal_of(waits("time = \"1m\"\n", "fit.3")), "accepted");
}

TEST(GraphFile, WhatBeginsWithABraceIsJson) {
  EXPECT_TRUE(parse_graph(R"( {"task": [{"name": "a", "command": ["x"]}]})", "standard input"));
  EXPECT_TRUE(parse_graph("[[task]]\nname = \"a\"\ncommand = [\"x\"]\n", "standard input"));
}

TEST(GraphFile, JsonSaysTheSame) {
  const auto tasks = parse_graph(
      R"({"defaults": {"time": "1m"}, "task": [{"name": "b", "command": ["y"], "afterok": "a"},
          {"name": "a", "command": ["x"]}]})",
      "g.json");
  ASSERT_TRUE(tasks) << to_string(tasks.error());
  EXPECT_THAT(names_of(*tasks), ElementsAre("a", "b"));
  EXPECT_EQ((*tasks)[0].place, "g.json/task/1");
}

TEST(GraphFile, WhatIsWrongIsSaidWithItsPlace) {
  const std::string a = "[[task]]\nname = \"a\"\ncommand = [\"x\"]\n";
  EXPECT_THAT(refusal_of(a + "afterok = \"b\"\n"),
              testing::AllOf(HasSubstr("g.toml:4, task a"), HasSubstr("there is no task of that")));
  EXPECT_THAT(refusal_of(a + a),
              testing::AllOf(HasSubstr("g.toml:5"), HasSubstr("stands at g.toml:1")));
  EXPECT_THAT(refusal_of("[[task]]\ncommand = [\"x\"]\n"), HasSubstr("g.toml:1: has no 'name'"));
  EXPECT_THAT(refusal_of("[[task]]\nname = \"a\"\n"), HasSubstr("has no 'command'"));
  EXPECT_THAT(refusal_of(a + "shell = \"y\"\n"), HasSubstr("both 'command' and 'shell'"));
  EXPECT_THAT(refusal_of("[[task]]\nname = \"a\"\ncommand = \"x y\"\n"), HasSubstr("'shell'"));
  EXPECT_THAT(refusal_of(a + "after = \"b\"\n"), HasSubstr("'after' says too little"));
  EXPECT_THAT(refusal_of(a + "count = 3\n"), HasSubstr("'count' is no key of a task"));
  EXPECT_THAT(refusal_of(a + "into = 7\n"), HasSubstr("'into' is no key of a task"));
  EXPECT_THAT(refusal_of(a + "open = true\n"),
              HasSubstr("g.toml:4, task a: 'open' is no key of a task"));
  EXPECT_THAT(refusal_of(a + "ntasks = -1\n"),
              HasSubstr("g.toml:4, task a: 'ntasks' is -1; a number that is not negative"));
  EXPECT_THAT(refusal_of(a + "time = -0.5\n"), HasSubstr("'time' is -0.5;"));
  EXPECT_EQ(refusal_of(a + "ntasks = \"-4\"\n"), "accepted");
  EXPECT_THAT(refusal_of(a + "time = { a = 1 }\n"), HasSubstr("'time' is a text, a number"));
  EXPECT_THAT(refusal_of(a + "variants = []\n"), HasSubstr("'variants' is a list"));
  EXPECT_THAT(refusal_of("oops = 1\n" + a), HasSubstr("accepted are defaults and task"));
  EXPECT_THAT(refusal_of(""), HasSubstr("has no tasks"));
  EXPECT_THAT(refusal_of(a + "x = [\n"), HasSubstr("g.toml:"));
  EXPECT_THAT(refusal_of("{\n", "g.json"), HasSubstr("g.json:2: syntax error"));
  EXPECT_THAT(refusal_of("[]", "g.json"), HasSubstr("is no object"));
}

TEST(GraphFile, TheLineIsThatOfTheKey) {
  const std::string a = "[defaults]\ntime = \"1m\"\n[[task]]\nname = \"a\"\ncommand = [\"x\"]\n";
  EXPECT_THAT(refusal_of(a + "into = 7\n"), HasSubstr("g.toml:6, task a: 'into'"));
  EXPECT_THAT(refusal_of(a + "shell = \"y\"\n"), HasSubstr("g.toml:6, task a: has both"));
  EXPECT_THAT(refusal_of(a + "variants = [\n{ ntasks = 1 },\n{ into = 7 }]\n"),
              HasSubstr("g.toml:8, task a: 'into'"));
  EXPECT_THAT(refusal_of("[defaults]\ninto = 1\n" + a.substr(a.find("[[task"))),
              HasSubstr("g.toml:2, defaults: 'into'"));
  EXPECT_THAT(refusal_of("[defaults]\nshell = \"x\"\n" + a.substr(a.find("[[task"))),
              HasSubstr("g.toml:2, defaults: 'shell' belongs to a task"));
  EXPECT_THAT(refusal_of("[default]\ntime = 1\n" + a.substr(a.find("[[task"))),
              HasSubstr("g.toml:1: 'default' is no key here"));
  EXPECT_THAT(refusal_of(R"({"task": [{"name": "a", "command": ["x"], "into": 7}]})", "g.json"),
              HasSubstr("g.json/task/0/into, task a: 'into'"));
  const auto tasks = parse_graph(a + "variants = [{ ntasks = 1 },\n{ queue = \"q\" }]\n", "g.toml");
  ASSERT_TRUE(tasks) << to_string(tasks.error());
  EXPECT_EQ(tasks->front().place_of("queue", 1), "g.toml:7");
  EXPECT_EQ(tasks->front().place_of("time", 1), "g.toml:2");
  EXPECT_EQ(tasks->front().place_of("gpus", 1), "g.toml:3");
}

TEST(GraphFile, OfAMisspeltKeyTheNearestOneIsNamed) {
  EXPECT_THAT(
      refusal_of("[[task]]\nname = \"a\"\ncomand = [\"x\"]\n"),
      HasSubstr("g.toml:3, task a: has no 'command' and no 'shell'; is 'comand' meant to be "
                "'command'?"));
  EXPECT_THAT(refusal_of("[[task]]\nnam = \"a\"\ncommand = [\"x\"]\n"),
              HasSubstr("g.toml:2: has no 'name'; is 'nam' meant to be it?"));
  EXPECT_EQ(about_unknown_key("varients", {"time"}, false),
            "'varients' is no key of a task; did you mean variants?");
  EXPECT_THAT(about_unknown_key("afterokk", {}, false), HasSubstr("; did you mean afterok"));
  EXPECT_THAT(about_unknown_key("zzzzzzzz", {"time"}, false),
              HasSubstr("accepted are name, command"));
}

// With the options of holon batch; what its command is, is its initial program.
TEST(GraphFile, ATaskMayBeAnInstance) {
  const std::string file = testing::TempDir() + "holon-graph-" + std::to_string(getpid()) + ".toml";
  std::ofstream(file) << R"([defaults]
time = "10m"
[[task]]
name = "campaign"
batch = true
command = ["/bin/sh", "x y"]
conf = ["queue.policy=easy", "queue.depth=7"]
array = "0-2"
[[task]]
name = "collect"
shell = "c"
afterok = "campaign"
[[task]]
name = "line"
batch = true
shell = "holon submit ./w; holon job wait --all"
)";
  FakeBroker broker;
  broker.answer("submit.graph", msg::GraphReply{{1, 5, 6}});
  broker.start();
  const Ran ran = run_cli({"submit", "--file", file});
  EXPECT_EQ(ran.out, "campaign 1\ncollect 5\nline 6\n") << ran.err;
  const auto asked = broker.last<msg::GraphRequest>("submit.graph");
  ASSERT_EQ(asked.tasks.size(), 3u);
  const auto& spec_of = [&](std::size_t task) { return asked.specs[asked.tasks[task].ways[0]]; };
  EXPECT_TRUE(spec_of(0).is_instance);
  EXPECT_EQ(spec_of(0).count, 3u);
  EXPECT_FALSE(spec_of(1).is_instance);
  EXPECT_EQ(asked.tasks[1].after.front().task, 0u);
  Words command = asked.tasks[0].command;
  EXPECT_TRUE(command[0].starts_with("/")) << command[0];
  command.erase(command.begin());
  EXPECT_EQ(command, (Words{"start", "--grant", "--conf", "queue.policy=easy", "--conf",
                            "queue.depth=7", "--", "/bin/sh", "x y"}));
  EXPECT_TRUE(spec_of(2).is_instance);
  EXPECT_EQ(asked.tasks[2].command.back(), "holon submit ./w; holon job wait --all");
  std::filesystem::remove(file);
}

TEST(GraphFile, WhatAnInstanceCannotHaveIsRefusedInItsPlace) {
  const std::string file = testing::TempDir() + "holon-graph-" + std::to_string(getpid()) + ".toml";
  const auto said_of = [&](const std::string& lines) {
    std::ofstream(file) << "[[task]]\nname = \"a\"\nbatch = true\n" << lines;
    return run_cli({"submit", "--file", file}).err;
  };
  const std::string place = "holon submit: " + file;
  EXPECT_EQ(
      said_of("shell = \"x\"\nkill-on-bad-exit = true\n").substr(0, place.size() + 90),
      (place + ":5, task a: 'kill-on-bad-exit' is no option of holon batch, which a task with "
               "'batch' takes; accepted")
          .substr(0, place.size() + 90));
  EXPECT_EQ(said_of("command = [\"/no/such/script\"]\n"),
            place +
                ":4, task a: /no/such/script: there is no such script; 'shell' takes a command "
                "instead\n");
  EXPECT_THAT(refusal_of("[[task]]\nname = \"a\"\nshell = \"x\"\nbatch = \"yes\"\n"),
              HasSubstr("g.toml:4, task a: 'batch' is true or false"));
  EXPECT_THAT(refusal_of("[defaults]\nbatch = true\n[[task]]\nname = \"a\"\nshell = \"x\"\n"),
              HasSubstr("'batch' belongs to a task"));
  std::filesystem::remove(file);
}

// Said by `holon submit` itself, which knows the options.
TEST(GraphFile, AnOptionThatIsWrongIsFoundInTheFile) {
  const std::string file = testing::TempDir() + "holon-graph-" + std::to_string(getpid()) + ".toml";
  const auto said_of = [&](const std::string& lines) {
    std::ofstream(file) << "[defaults]\nntasks = 2\n\n[[task]]\nname = \"a\"\nshell = \"x\"\n"
                        << lines;
    const Ran ran = run_cli({"submit", "--file", file});
    EXPECT_EQ(ran.code, kUsage);
    return ran.err;
  };
  const std::string place = "holon submit: " + file;
  EXPECT_EQ(said_of("cores-per-task = 1\ntiem = \"10m\"\n"),
            place + ":8, task a: 'tiem' is no key of a task; did you mean time?\n");
  EXPECT_THAT(said_of("cores-per-task = 1\n\ntime = \"soon\"\n"),
              testing::AllOf(testing::StartsWith(place + ":9, task a: "), HasSubstr("'soon'")));
  EXPECT_THAT(said_of("c = \"many\"\n"),
              testing::AllOf(testing::StartsWith(place + ":7, task a: "), HasSubstr("'many'")));
  EXPECT_THAT(said_of("output = \"run-{{array.foo}}.log\"\narray = \"1-3\"\n"),
              testing::AllOf(testing::StartsWith(place + ":7, task a: "),
                             HasSubstr("'{{array.foo}}' stands for nothing")));
  EXPECT_THAT(said_of("[[task]]\nname = \"b\"\ncommand = [\"x\", \"\\u0000\"]\n"),
              testing::AllOf(testing::StartsWith(place + ":9, task b: "),
                             HasSubstr("has a zero byte; a jobspec cannot hold it")));
  const auto said_of_defaults = [&](const std::string& line) {
    std::ofstream(file) << "[defaults]\n" << line << "[[task]]\nname = \"a\"\ncommand = [\"x\"]\n";
    return run_cli({"submit", "--file", file}).err;
  };
  // Keys of tasks are refused there, and not offered.
  EXPECT_EQ(said_of_defaults("foo = 1\n"),
            place + ":2, defaults: 'foo' is no option of holon submit; did you mean for?\n");
  EXPECT_EQ(said_of_defaults("variant = 1\n").find("variants"), std::string::npos);
  EXPECT_EQ(said_of_defaults("tiem = \"1m\"\n"),
            place + ":2, defaults: 'tiem' is no option of holon submit; did you mean time?\n");
  EXPECT_THAT(said_of_defaults("time = \"soon\"\n"),
              testing::StartsWith(place + ":2, defaults: -t,--time-limit: 'soon'"));
  std::filesystem::remove(file);
  const Ran gone = run_cli({"submit", "--file", file});
  EXPECT_EQ(gone.code, kUsage);
  EXPECT_EQ(gone.err, "holon submit: --file " + file + ": No such file or directory\n");
  EXPECT_EQ(run_cli({"submit", "--jobspec", file}).code, kUsage);
}

TEST(GraphFile, CirclesAreNamed) {
  const auto task = [](const std::string& name, const std::string& after) {
    return "[[task]]\nname = \"" + name + "\"\ncommand = [\"x\"]\nafterok = " + after + "\n";
  };
  EXPECT_THAT(refusal_of(task("a", "\"b\"") + task("b", "\"c\"") + task("c", "\"b\"")),
              testing::AllOf(HasSubstr("in a circle: "), HasSubstr("b waits for c waits for b")));
  EXPECT_THAT(refusal_of(task("a", "\"a\"")), HasSubstr("a waits for a"));
  EXPECT_THAT(refusal_of("[[task]]\nname = \"z\"\ncommand = [\"x\"]\n" +
                         task("a", "[\"z\", \"b\"]") + task("b", "\"a\"")),
              HasSubstr("a waits for b waits for a"));
}

// Random graphs without circles: each task once, behind all that it waits for.
TEST(GraphFile, AnyGraphWithoutCirclesIsPutInOrder) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    const std::size_t n = 1 + random() % 60;
    std::vector<std::size_t> at(n);
    for (std::size_t i = 0; i < n; ++i) at[i] = i;
    std::shuffle(at.begin(), at.end(), random);
    nlohmann::json file = {{"task", nlohmann::json::array()}};
    for (std::size_t i = 0; i < n; ++i) {
      nlohmann::json task = {{"name", std::to_string(i)}, {"command", {"x"}}};
      auto after = nlohmann::json::array();
      for (std::size_t j = 0; j < n; ++j)
        if (at[j] < at[i] && random() % 5 == 0) after.push_back(std::to_string(j));
      task["afterok"] = after;
      file["task"].push_back(task);
    }
    const auto tasks = parse_graph(file.dump(), "g.json");
    ASSERT_TRUE(tasks) << to_string(tasks.error());
    ASSERT_EQ(tasks->size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto& wanted = file["task"][std::stoul((*tasks)[i].name)]["afterok"];
      ASSERT_EQ((*tasks)[i].after.size(), wanted.size());
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        ASSERT_LT((*tasks)[i].after[k].task, i);
        ASSERT_EQ((*tasks)[(*tasks)[i].after[k].task].name, wanted[k]);
      }
    }
  }
}

TEST(GraphFile, AHundredThousandTasksAreReadAtOnce) {
  std::string text = R"({"task": [)";
  for (int i = 0; i < 100'000; ++i)
    text += (i > 0 ? "," : "") + std::string(R"({"name":"t)") + std::to_string(i) +
            R"(","command":["x"],"afterok":[)" +
            (i > 0 ? "\"t" + std::to_string(i / 2) + "\"" : "") + "]}";
  const auto tasks = parse_graph(text + "]}", "g.json");
  ASSERT_TRUE(tasks) << to_string(tasks.error());
  EXPECT_EQ(tasks->size(), 100'000u);
}

}  // namespace
}  // namespace holon::cli
