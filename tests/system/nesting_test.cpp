// Instances in instances: grants, policies of their own, addresses, ends, records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <csignal>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/system/records.hpp"
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

// A child that is up and stays; its path.
std::string child(Sandbox& sandbox, const std::string& parent, int cores,
                  std::vector<std::string> options = {}) {
  std::vector<std::string> words = {"-i", parent, "alloc", "--bg", "-n", std::to_string(cores)};
  words.insert(words.end(), options.begin(), options.end());
  const std::string id = trimmed(sandbox.ok(words));
  return (parent == "/" ? "" : parent) + "/" + id;
}

// The journals of the tree that runs agree about all that was lent; so many entries tell of it.
void expect_sound_tree(Sandbox& sandbox, std::size_t at_least) {
  const auto proof = sandbox.json({"doctor", "--tree"});
  EXPECT_EQ(proof["holds"], true) << proof.dump(1);
  std::size_t looked_at = 0;
  for (const auto& one : proof["instances"]) looked_at += one["looked_at"].get<std::size_t>();
  EXPECT_GE(looked_at, at_least) << proof.dump(1);
}

TEST(Nesting, ChildrenHaveDisjointHalvesAndTheirOwnPolicies) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=8"});
  const std::string a = child(sandbox, "/", 4, {"--conf", "queue.policy=fcfs"});
  const std::string b = child(sandbox, "/", 4, {"--conf", "queue.policy=easy"});
  const std::string deep = child(sandbox, b, 2);

  const auto tree = sandbox.json({"tree"});
  ASSERT_EQ(tree["children"].size(), 2u);
  EXPECT_EQ(tree["cores_free"], 0);
  EXPECT_EQ(tree["children"][0]["policy"], "fcfs");
  EXPECT_EQ(tree["children"][1]["policy"], "easy");
  EXPECT_EQ(tree["children"][1]["children"][0]["path"], deep);
  EXPECT_EQ(tree["children"][1]["cores_free"], 2);

  const auto units_a = units_of(sandbox.json({"job", "info", a})["R"]);
  const auto units_b = units_of(sandbox.json({"job", "info", b})["R"]);
  const auto units_deep = units_of(sandbox.json({"job", "info", deep})["R"]);
  EXPECT_EQ(units_a.size(), 4u);
  EXPECT_EQ(units_b.size(), 4u);
  for (const auto& unit : units_b) EXPECT_FALSE(units_a.contains(unit));
  for (const auto& unit : units_deep) EXPECT_TRUE(units_b.contains(unit));

  EXPECT_EQ(sandbox.ok({"-i", deep, "run", "-n", "2", "sh", "-c", "echo $HOLON_JOB_ID"}), "1\n1\n");
  EXPECT_EQ(sandbox.run({"-i", deep, "submit", "-n", "3", "true"}).code, 1) << "it has two cores";
}

TEST(Nesting, AnyInstanceCanBeAddressedFromAnyOther) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4", "--name", "top"});
  const std::string a = child(sandbox, "/", 2);
  const std::string deep = child(sandbox, a, 1);
  const auto name_at = [&](const std::string& path) {
    return sandbox.json({"-i", path, "uptime"})["path"].get<std::string>();
  };
  EXPECT_EQ(name_at(deep), deep);
  sandbox.environment()["HOLON_URI"] = sandbox.json({"-i", deep, "uptime"})["uri"];
  EXPECT_EQ(name_at("."), deep);
  EXPECT_EQ(name_at(".."), a);
  EXPECT_EQ(name_at("../.."), "/");
  EXPECT_EQ(name_at("/"), "/");
  const Ran ran = sandbox.run({"-i", "/99", "jobs"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("/99"));
}

TEST(Nesting, AnInstanceAboveCanBeShutDownFromBelow) {
  Sandbox sandbox;
  sandbox.ok({"start", "--bg", "--resources", "node=1/core=2"});
  const std::string a = child(sandbox, "/", 1);
  sandbox.environment()["HOLON_URI"] = sandbox.json({"-i", a, "uptime"})["uri"];
  const Ran ran = sandbox.run({"-i", "..", "shutdown"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(sandbox.processes({"start"}).empty()) << "it returns once that is gone";
}

TEST(Nesting, TheRecordsOfAChildOutliveIt) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4"});
  const std::string script = sandbox.write_file(
      "child.sh", "#!/bin/sh\nholon submit --count 3 echo hello\nholon job wait --all\n", true);
  sandbox.ok({"batch", "-n", "2", script});
  sandbox.ok({"job", "wait", "1"});
  const auto jobs = sandbox.json({"jobs", "-R", "-a"})["jobs"];
  ASSERT_EQ(jobs.size(), 4u) << jobs.dump(1);
  EXPECT_EQ(jobs[0]["path"], "/1");
  EXPECT_EQ(jobs[0]["is_instance"], true);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(jobs[i]["path"], "/1/" + std::to_string(i));
    EXPECT_EQ(jobs[i]["result"], "COMPLETED");
  }
}

TEST(Nesting, TheEndOfAScriptFreesTheGrantAndItsExitCodeIsTheJobs) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4"});
  sandbox.ok({"batch", "-n", "4", "--wrap", "sh", "-c", "exit 5"});
  EXPECT_EQ(sandbox.run({"job", "wait", "1"}).code, 1);
  EXPECT_EQ(sandbox.json({"jobs", "-a"})["jobs"][0]["exit_code"], 5);
  EXPECT_EQ(sandbox.json({"resource", "list"})["free"]["core"], 4);
}

TEST(Nesting, CancellingAChildEndsEverythingInIt) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4"});
  const std::string a = child(sandbox, "/", 3);
  const std::string deep = child(sandbox, a, 2);
  Process run = sandbox.start({"-i", deep, "run", "sh", "-c", "echo up; exec sleep 600"});
  EXPECT_EQ(run.read_line(), "up");
  const std::string waiting = trimmed(sandbox.ok({"-i", a, "submit", "-n", "3", "true"}));
  sandbox.ok({"cancel", "1"});
  EXPECT_EQ(sandbox.run({"job", "wait", "1"}).code, 1);
  EXPECT_EQ(sandbox.json({"job", "info", a})["reason"], "cancelled by a user");
  EXPECT_EQ(sandbox.json({"job", "info", a + "/" + waiting})["reason"],
            "its instance ended: job /1 was told to stop; its record says why");
  EXPECT_NE(run.finish().code, 0);  // its command line names the task's
  EXPECT_TRUE(sandbox.processes({"sleep 600"}).empty());
  EXPECT_EQ(sandbox.json({"resource", "list"})["free"]["core"], 4);
  EXPECT_EQ(sandbox.json({"tree"})["children"].size(), 0u);
}

TEST(Nesting, TheExpirationOfTheGrantEndsTheChild) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4"});
  sandbox.ok({"batch", "-n", "2", "-t", "1s", "--wrap", "sh", "-c", "holon run sleep 600"});
  EXPECT_EQ(sandbox.run({"job", "wait", "1"}).code, 1);
  EXPECT_EQ(sandbox.json({"jobs", "-a"})["jobs"][0]["result"], "TIMEOUT");
  EXPECT_TRUE(sandbox.processes({"sleep 600"}).empty());
}

TEST(Nesting, AllocRunsACommandInAChildAndPassesItsExitCodeOn) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4"});
  const Ran ran = sandbox.run({"alloc", "-n", "2", "sh", "-c", "holon uptime; exit 9"});
  EXPECT_EQ(ran.code, 9) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("/1 sh: up"));
  EXPECT_THAT(ran.out, HasSubstr("2 of 2 cores free"));
  EXPECT_EQ(sandbox.json({"resource", "list"})["free"]["core"], 4);
}

TEST(Nesting, AChildDoesNotWaitForTheAllocThatEndsIt) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4"});
  for (int id = 1; id <= 4; ++id) {
    sandbox.ok({"alloc", "holon", "run", "true"});
    const Ran ran = sandbox.run({"job", "output", std::to_string(id)});
    EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("had not read their last answers")));
  }
}

TEST(Nesting, CtrlCWhileAllocWaitsTakesItsJobBack) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=1"});
  sandbox.ok({"submit", "sleep", "600"});
  Process alloc = sandbox.start({"alloc", "true"});
  EXPECT_THAT(alloc.read_error_line(), HasSubstr("job 2 waits"));
  alloc.signal(SIGINT);
  const Ran ran = alloc.finish();
  EXPECT_EQ(ran.code, 130) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("cancelling job 2"));
  sandbox.ok({"cancel", "1"});
  sandbox.run({"job", "wait", "1"});  // a cancel is answered before the job is over
  const auto jobs = sandbox.json({"jobs", "-a"})["jobs"];
  for (const auto& job : jobs) EXPECT_EQ(job["result"], "CANCELED") << job.dump();
}

TEST(Nesting, AnAllocThatIsEndedEndsItsProgramAndItsChild) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=1"});
  for (const int signal : {SIGTERM, SIGHUP}) {
    Process alloc = sandbox.start({"alloc", "sh", "-c", "echo up; exec sleep 600"});
    EXPECT_EQ(alloc.read_line(), "up");
    alloc.signal(signal);
    EXPECT_EQ(alloc.finish().code, 128 + signal);
    EXPECT_TRUE(sandbox.processes({"sleep 600"}).empty());
    EXPECT_EQ(sandbox.json({"resource", "list"})["free"]["core"], 1);
  }
}

// As interactive shells do.
TEST(Nesting, AnAllocWhoseProgramTakesNoSignalEndsAllTheSame) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=1"});
  Process alloc = sandbox.start({"alloc", "sh", "-c", "trap '' TERM; echo up; exec sleep 600"});
  EXPECT_EQ(alloc.read_line(), "up");
  alloc.signal(SIGTERM);
  EXPECT_EQ(alloc.finish().code, 128 + SIGKILL);
  EXPECT_TRUE(sandbox.processes({"sleep 600"}).empty());
  EXPECT_EQ(sandbox.json({"resource", "list"})["free"]["core"], 1);
}

TEST(Nesting, AnAllocThatNobodyAnswersEndsWhenItIsTold) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=1"});
  Process alloc = sandbox.start({"alloc", "sh", "-c", "echo $$; exec cat"});
  const pid_t program = std::stoi(alloc.read_line());
  const auto brokers = sandbox.processes({"holon broker"});
  EXPECT_EQ(brokers.size(), 2u);
  for (const pid_t broker : brokers) kill(broker, SIGSTOP);
  alloc.close_input();  // the program ends, and now its child is to be ended
  for (int i = 0; i < 6'000 && kill(program, 0) == 0; ++i) poll(nullptr, 0, 5);
  ASSERT_NE(kill(program, 0), 0) << "it has not been waited for";
  alloc.signal(SIGTERM);
  EXPECT_EQ(alloc.finish().code, 128 + SIGTERM);
  for (const pid_t broker : brokers) kill(broker, SIGCONT);
  sandbox.run({"job", "wait", "1"});  // it was told, and listens again
  EXPECT_EQ(sandbox.json({"jobs", "-a"})["jobs"][0]["state"], "INACTIVE");
}

TEST(Nesting, ListingAChildShowsNothingOfOthers) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=2"});
  for (const std::string& at : {child(sandbox, "/", 1), child(sandbox, "/", 1)})
    sandbox.ok({"-i", at, "run", "true"});
  for (const bool live : {true, false}) {
    if (!live) {
      sandbox.ok({"cancel", "--all"});
      (void)sandbox.run({"job", "wait", "1", "2"});
    }
    std::set<std::string> paths;
    const auto listed = sandbox.json({"jobs", "-R", "-a", "2"});
    for (const auto& job : listed["jobs"]) paths.insert(job["path"].get<std::string>());
    EXPECT_EQ(paths, (std::set<std::string>{"/2", "/2/1"})) << live;
  }
}

TEST(Nesting, FourLevelsDeepItStillWorks) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4"});
  std::string at = "/";
  for (int level = 0; level < 4; ++level) at = child(sandbox, at, 2);
  EXPECT_EQ(sandbox.ok({"-i", at, "run", "echo", "deep"}), "deep\n");
  EXPECT_EQ(sandbox.json({"-i", at, "uptime"})["path"], "/1/1/1/1");
}

// Others share the node as long as some of it is lent, and then it is the child's alone again.
TEST(Nesting, AChildLendsCoresOfANodeThatItHasForItself) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=2/core=4"});
  const std::string a = "/" + trimmed(sandbox.ok({"alloc", "--bg", "-N", "1", "--exclusive"}));
  sandbox.ok({"-i", a, "grant", "lend", "-n", "3", "--until", "+1h"});
  sandbox.ok({"run", "-n", "7", "-t", "10m", "true"});
  EXPECT_THAT(sandbox.ok({"tree"}), HasSubstr("1 of 4 cores free, 3 lent"));
  const auto gone_by = sandbox.run({"-i", a, "grant", "lend", "-n", "1", "--until", "+0s"});
  EXPECT_EQ(gone_by.code, 2);
  EXPECT_THAT(gone_by.err, HasSubstr("'+0s' is not after now; +8h and 08:00 are accepted"));
  const auto lent = sandbox.json({"grant", "-i", a});
  EXPECT_EQ(lent["held"][1]["state"], "lent") << lent.dump(1);
  EXPECT_EQ(lent["held"][1]["cores"], 3);
  sandbox.ok({"-i", a, "grant", "recall"});
  sandbox.ok({"-i", a, "run", "-n", "4", "true"});
  EXPECT_NE(sandbox.run({"run", "--now", "y", "-n", "5", "true"}).code, 0);
  const auto history = sandbox.ok({"grant", "history", "-i", a});
  EXPECT_THAT(history, HasSubstr("lent "));
  EXPECT_THAT(history, HasSubstr(" wants "));
  EXPECT_THAT(history, HasSubstr(" are back"));
  expect_sound_tree(sandbox, 6);
}

// As docs/elastic.md has it.
TEST(Nesting, AChildGetsMoreByHandAndIsToGiveItBack) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=6"});
  sandbox.ok({"alloc", "--bg", "-n", "2"});
  EXPECT_THAT(sandbox.ok({"-i", "/1", "grant", "ask", "-n", "2", "-t", "10m"}),
              testing::StartsWith("2 cores until "));
  EXPECT_THAT(sandbox.ok({"grant", "-i", "/1"}), testing::HasSubstr("extra"));
  EXPECT_EQ(sandbox.ok({"-i", "/1", "run", "-n", "4", "-t", "1m", "echo", "on", "four"}),
            "on four\non four\non four\non four\n");
  sandbox.ok({"grant", "recall", "/1"});
  EXPECT_TRUE(eventually([&] {
    return sandbox.ok({"grant", "-i", "/1"}).find("extra") == std::string::npos;
  }));
  expect_sound_tree(sandbox, 10);
  const std::string told = sandbox.ok({"doctor", "--tree", "/"});
  EXPECT_THAT(told, HasSubstr("entries about grants"));
  EXPECT_THAT(told, HasSubstr("invariants 1 (one holder), "));
  EXPECT_THAT(told, HasSubstr("invariant 7 is shown for jobs that"));
  const Ran astray = sandbox.run({"doctor", "/1"});
  EXPECT_EQ(astray.code, 2);
  EXPECT_THAT(astray.err, HasSubstr("is taken with --tree alone"));
  const Ran nowhere = sandbox.run({"doctor", "--tree", sandbox.folder() + "/nowhere"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("is neither the state directory of an instance nor its path"));
  const Ran missing = sandbox.run({"doctor", "--tree", "/99"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.out, HasSubstr("children/99/journal.db: there is no journal"));
  const Ran none = sandbox.run({"grant", "recall", "99"});
  EXPECT_NE(none.code, 0);
  EXPECT_THAT(none.err, testing::HasSubstr("holon grant recall: no instance /99 runs here"));
}

TEST(Nesting, ACampaignOfGrantsIsToldInWords) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=6"});
  sandbox.ok({"alloc", "--bg", "-n", "2"});
  sandbox.ok({"-i", "/1", "submit", "-n", "2", "-t", "1h", "sleep", "1000"});
  const std::string id =
      trimmed(sandbox.ok({"-i", "/1", "submit", "-n", "1", "-t", "20m", "true"}));
  const std::string why = sandbox.ok({"explain", "/1/" + id});
  EXPECT_THAT(why, testing::HasSubstr("more cores  1 core more would do; / could give them now"));
  EXPECT_THAT(why, testing::HasSubstr("/1 has 2 of the 6 cores of /"));
  EXPECT_THAT(sandbox.ok({"grant", "explain", "/1/" + id}), testing::HasSubstr("could give them"));
  EXPECT_EQ(sandbox.json({"grant", "explain", "/1/" + id})["cores"], 1);
  // The command that is shown, as it is.
  const std::string before = "ask for them with: holon ";
  const auto begin = why.find(before);
  ASSERT_NE(begin, std::string::npos) << why;
  std::istringstream shown(
      why.substr(begin + before.size(), why.find('\n', begin) - begin - before.size()));
  std::vector<std::string> ask{std::istream_iterator<std::string>(shown), {}};
  EXPECT_THAT(ask, testing::ElementsAre("-i", "/1", "grant", "ask", "-n", "1", "-t", "21m"));
  sandbox.ok(ask);
  Process waiting = sandbox.start({"-i", "/1", "grant", "wait", "--epoch", "1", "--json"});
  sandbox.ok({"-i", "/1", "job", "wait", id});
  EXPECT_THAT(sandbox.ok({"jobs", "--format", "id,cores"}), testing::HasSubstr("2+1"));
  const std::string all = sandbox.ok({"grant", "-i", "/", "-R"});
  EXPECT_THAT(all, testing::ContainsRegex("/ +owned +6 +held"));
  EXPECT_THAT(all, testing::ContainsRegex("/1 +owned +2 +held"));
  EXPECT_THAT(all, testing::ContainsRegex("/1 +extra +1 +held"));
  sandbox.ok({"-i", "/1", "grant", "release"});
  const Ran waited = waiting.finish();  // what goes back is a change, too
  EXPECT_EQ(waited.code, 0) << waited.err;
  EXPECT_GT(nlohmann::json::parse(waited.out)["epoch"], 1);
  EXPECT_TRUE(eventually([&] {
    return sandbox.ok({"grant", "-i", "/1"}).find("extra") == std::string::npos;
  }));
  const std::string above = sandbox.ok({"grant", "history", "-i", "/"});
  for (const char* said :
       {"/1 began with ", "offered /1 ", "/1 took it", "/1 gave ", "/1 has left "})
    EXPECT_THAT(above, testing::HasSubstr(said));
  const std::string below = sandbox.ok({"grant", "history", "-i", "/1"});
  for (const char* said :
       {"began with ", "took ", "places nothing more on ", "gave ", "the instance above has it"})
    EXPECT_THAT(below, testing::HasSubstr(said));
  EXPECT_EQ(sandbox.ok({"grant", "explain", "/1/1"}), "it does not wait for resources\n");
  EXPECT_THAT(sandbox.run({"-i", "/", "grant", "wait"}).err, testing::HasSubstr("is the root"));
}

TEST(Nesting, WhoWaitsForAllThatAnInstanceHasIsToldToAskThere) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=2"});
  sandbox.ok({"alloc", "--bg", "-n", "2"});
  sandbox.ok({"submit", "true"});
  const std::string why = sandbox.ok({"explain", "2"});
  EXPECT_THAT(why, HasSubstr("without an end; an instance: holon submit -i /1 runs jobs in it"));
  sandbox.ok({"submit", "-i", "/1", "true"});
  sandbox.ok({"-i", "/1", "submit", "-n", "2", "sleep", "1000"});
  sandbox.ok({"-i", "/1", "submit", "true"});
  const std::string of_job = sandbox.ok({"explain", "/1/3"});
  EXPECT_THAT(of_job, HasSubstr("in the way  job 2"));
  EXPECT_THAT(of_job, testing::Not(HasSubstr("an instance:")));
}

TEST(Nesting, AnElasticChildHasMoreWhileJobsWaitInIt) {
  Sandbox sandbox;
  Instance root(sandbox, {"--resources", "node=1/core=4"});
  const std::string script = sandbox.write_file("campaign.sh",
                                                "#!/bin/sh\n"
                                                "holon run -n 4 -t 1m echo wide\n"
                                                "holon submit -n 5 true 2>&1; true\n",
                                                true);
  const std::string id = trimmed(sandbox.ok({"batch", "--elastic", "1-4", script}));
  sandbox.ok({"job", "wait", id});
  expect_sound_tree(sandbox, 6);
  const std::string told = sandbox.ok({"job", "attach", id});
  EXPECT_THAT(told, testing::StartsWith("wide\nwide\nwide\nwide\n"));
  EXPECT_THAT(told, testing::HasSubstr("holon submit: ")) << "five are more than it may have";
}

}  // namespace
}  // namespace holon::system_test
