// Policies in Lua at the command line: the page about them, line by line, and what is said of wrong
// ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "msg/instance.hpp"
#include "msg/policy.hpp"
#include "places.hpp"  // written by CMake
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A folder of its own, in which the test is.
class Folder {
 public:
  Folder()
      : before_(fs::current_path()),
        path_(fs::path(::testing::TempDir()) / ("holon-policy-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
    fs::current_path(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    fs::current_path(before_);
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  static void write(const std::string& name, const std::string& bytes) {
    std::ofstream(name, std::ios::binary) << bytes;
  }

 private:
  fs::path before_;
  fs::path path_;
};

// 60 jobs on 16 processors, as Standard Workload Format.
std::string sample_trace() {
  std::string swf = "; MaxProcs: 16\n";
  for (int id = 1; id <= 60; ++id) {
    const int run = 60 * (1 + id * 7 % 11);
    swf += std::to_string(id) + " " + std::to_string(20 * id) + " -1 " + std::to_string(run) + " " +
           std::to_string(1 + id * 5 % 16) + " -1 -1 " + std::to_string(1 + id * 5 % 16) + " " +
           std::to_string(2 * run) + " -1 1 " + std::to_string(id % 3) + " 1 -1 1 -1 -1 -1\n";
  }
  return swf;
}

std::vector<std::string> typed_words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  words.erase(words.begin());  // "holon"
  return words;
}

// The blocks of the page: what follows ``` up to the next.
std::vector<std::string> blocks_of(const std::string& page) {
  std::vector<std::string> blocks;
  std::size_t at = 0;
  while ((at = page.find("\n```", at)) != std::string::npos) {
    const std::size_t end = page.find("\n```", at + 4);
    blocks.push_back(page.substr(at + 4, end - at - 3));
    at = end + 4;
  }
  return blocks;
}

void expect_written(const Ran& ran, const std::string& want) {
  if (!want.empty()) {
    EXPECT_EQ(ran.out, want);
  }
}

// Commands with a prompt are run, and what stands below one is what it writes.
void run_block(const std::string& block) {
  std::istringstream lines(block);
  std::string line;
  std::getline(lines, line);
  std::string want;
  Ran ran;
  while (std::getline(lines, line)) {
    if (line.starts_with("$ ")) {
      expect_written(ran, want);
      want.clear();
      ran = run_cli(typed_words(line.substr(2)));
      EXPECT_EQ(ran.code, kOk) << line << "\n" << ran.err;
      EXPECT_EQ(ran.err, "") << line;
    } else {
      want += line + "\n";
    }
  }
  expect_written(ran, want);
}

TEST(OwnPolicyPage, ItsLinesAreRight) {
  const Folder folder;
  Folder::write("trace.swf", sample_trace());
  const auto blocks = blocks_of(bytes_of(HOLON_SOURCE_DIR "/docs/own-policy.md"));
  ASSERT_GE(blocks.size(), 4u);
  int ran = 0;
  for (const std::string& block : blocks) {
    if (block.starts_with("lua\n")) Folder::write("mine.lua", block.substr(4));
    if (block.find("\n$ ") == std::string::npos) continue;
    run_block(block);
    ++ran;
  }
  EXPECT_EQ(ran, 2);
}

// What `holon batch` and `holon alloc` submit holds the text, not the name of a file.
TEST(OwnPolicyPage, TheTextTravelsWithTheSubmission) {
  const Folder folder;
  const std::string text = "base = \"easy\" -- it's mine\n";
  Folder::write("mine.lua", text);
  FakeBroker broker;
  broker.answer("submit", msg::SubmitReply{4, 1});
  broker.start();
  const Ran ran = run_cli({"batch", "-n", "8", "--conf", "queue.policy=./mine.lua", "--wrap", "x"});
  EXPECT_EQ(ran.out, "4\n") << ran.err;
  const auto spec = nlohmann::json::parse(broker.last<msg::SubmitRequest>("submit").jobspec);
  const auto command = spec["tasks"][0]["command"].get<std::vector<std::string>>();
  const std::vector<std::string> want = {
      "start", "--grant", "--conf", "policies.mine.lua=" + text, "--conf", "queue.policy=mine.lua"};
  ASSERT_GT(command.size(), want.size());
  EXPECT_EQ(std::vector(command.begin() + 1, command.begin() + 1 + std::ssize(want)), want);
}

TEST(Policy, WhatIsWrongIsSaidBeforeAnythingIsDone) {
  const Folder folder;
  Folder::write("trace.swf", sample_trace());
  Folder::write("bad.lua", "base = 'easy'\nfunction priority(job) return job.limit +\nend\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"policy", "check", "bad.lua"},
        {"policy", "test", "bad.lua", "--trace", "trace.swf"},
        {"simulate", "trace.swf", "--policy", "bad.lua"},
        {"simulate", "trace.swf", "--conf", "queue.policy=bad.lua"},
        {"batch", "-n", "1", "--conf", "queue.policy=bad.lua", "--wrap", "x"}}) {
    const Ran ran = run_cli(words);
    EXPECT_EQ(ran.code, kUsage) << words[0];
    EXPECT_THAT(ran.err, HasSubstr("bad.lua:3: unexpected symbol near 'end'")) << words[0];
  }
  EXPECT_THAT(run_cli({"policy", "check", "none.lua"}).err, HasSubstr("none.lua: no such file"));
  EXPECT_THAT(run_cli({"simulate", "trace.swf", "--policy", "none.lua"}).err,
              HasSubstr("none.lua: no such file"));
  EXPECT_EQ(run_cli({"policy", "test", "bad.lua"}).code, kUsage);
}

TEST(Policy, ASimulationTellsWhatWentWrong) {
  const Folder folder;
  Folder::write("trace.swf", sample_trace());
  Folder::write("mine.lua", "base = 'easy'\nfunction priority(job) return job.colour end\n");
  const Ran ran = run_cli({"simulate", "trace.swf", "--policy", "mine.lua"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("mine.lua: 10 of 10 calls gave no answer, and easy decided from "
                                 "then on; the last one: mine.lua:2: a job has no 'colour'"));
}

TEST(Policy, TestsTellWhoIsRefusedAndWhoWaitsLonger) {
  const Folder folder;
  Folder::write("trace.swf", sample_trace());
  Folder::write("mine.lua",
                "function priority(job) return -job.cores end\n"
                "function admit(job) if job.cores > 15 then return false, 'too wide' end end\n");
  const Ran ran = run_cli({"policy", "test", "mine.lua", "--trace", "trace.swf"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("jobs refused; the first, job 3: mine.lua:2: too wide"));
  EXPECT_THAT(ran.out, HasSubstr("longer than under fcfs; most of all:"));
  EXPECT_THAT(ran.out, HasSubstr("calls of its functions in"));
  EXPECT_EQ(ran.err, "");
}

TEST(Policy, ACheckTellsOfNamesThatAreNearlyRight) {
  const Folder folder;
  Folder::write("mine.lua",
                "\xef\xbb\xbf-- with a byte order mark\nbase = 'easy'\n"
                "function Priority(job) return 1 end\nfunction mayReserve() end\n"
                "function weight(job) return 1 end\nfunction on_events() end\n");
  const Ran ran = run_cli({"policy", "check", "mine.lua"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.out, "mine.lua: base easy\n");
  EXPECT_EQ(ran.err,
            "mine.lua:3: nobody asks Priority; is priority meant?\n"
            "mine.lua:4: nobody asks mayReserve; is may_reserve meant?\n"
            "mine.lua:6: nobody asks on_events; is on_event meant?\n");
}

TEST(Policy, WhatIsNoTextOrHasNoEndIsRefused) {
  const Folder folder;
  Folder::write("trace.swf", sample_trace());
  ASSERT_EQ(mkfifo("pipe.lua", 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", "zero.lua"), 0);
  Folder::write("binary.lua", "\x1bLua\x54");
  Folder::write("deep.lua", "local function f() return 1 + f() end\nf()\n");
  Folder::write("long.lua", "local t = {}\nfor i = 1, 1e9 do t[i] = {} end\n");
  const auto said = [](const char* file) {
    const Ran ran = run_cli({"policy", "check", file});
    EXPECT_EQ(ran.code, kUsage) << file;
    return ran.err;
  };
  EXPECT_THAT(said("pipe.lua"), HasSubstr("pipe.lua: it is no regular file"));
  EXPECT_THAT(said("zero.lua"), HasSubstr("zero.lua: it is no regular file"));
  EXPECT_THAT(said("binary.lua"), HasSubstr("binary.lua: it is compiled; accepted is the text"));
  EXPECT_THAT(said("deep.lua"), HasSubstr("deep.lua: it takes more than"));
  EXPECT_THAT(said("long.lua"), HasSubstr("long.lua:"));
  EXPECT_THAT(run_cli({"simulate", "/dev/zero"}).err, HasSubstr("a device that has no end"));
  EXPECT_THAT(run_cli({"simulate", "trace.swf", "--resources", "/dev/zero"}).err,
              HasSubstr("a device that has no end"));
}

// ---- of a running instance

TEST(LivePolicyVerbs, TheTextOfTheFileIsLoaded) {
  const Folder folder;
  Folder::write("mine.lua", "base = 'easy'\nfunction Priority(job) return 1 end\n");
  FakeBroker broker;
  broker.answer("policy.load", msg::Empty{});
  broker.answer("policy.disable", msg::PolicyDisableReply{"night", "fcfs"});
  broker.start();
  const Ran ran = run_cli({"policy", "load", "./mine.lua", "-q", "night"});
  EXPECT_EQ(ran.out, "mine.lua decides for queue night\n") << ran.err;
  EXPECT_EQ(ran.err, "./mine.lua:2: nobody asks Priority; is priority meant?\n");
  const auto loaded = broker.last<msg::PolicyLoadRequest>("policy.load");
  EXPECT_EQ(loaded.queue, "night");
  EXPECT_EQ(loaded.policy, "mine.lua");
  EXPECT_EQ(loaded.text, "base = 'easy'\nfunction Priority(job) return 1 end\n");
  EXPECT_EQ(run_cli({"policy", "load", "easy"}).out, "easy decides for the default queue\n");
  EXPECT_EQ(broker.last<msg::PolicyLoadRequest>("policy.load").policy, "easy");
  EXPECT_EQ(run_cli({"policy", "disable", "-q", "night"}).out, "fcfs decides for queue night\n");
  EXPECT_EQ(run_cli({"policy", "load", "none.lua"}).code, kUsage);
}

msg::PolicyShown a_failing_policy() {
  msg::PolicyShown shown;
  shown.queue = "default";
  shown.policy = "mine.lua";
  shown.configured = "fcfs";
  shown.set_live = true;
  shown.base = "easy";
  shown.text = "base = 'easy'\n";
  shown.functions = {{"priority", 4}, {"admit", 9}};
  shown.calls = 41;
  shown.troubles = 10;
  shown.trouble = "mine.lua:5: a job has no 'colour'";
  shown.given_up = true;
  shown.kept = 12;
  return shown;
}

TEST(LivePolicyVerbs, ShowTellsWhatDecidesAndHowItDoes) {
  FakeBroker broker;
  broker.answer("policy.show", a_failing_policy());
  broker.start();
  EXPECT_EQ(run_cli({"policy", "show"}).out,
            "queue default: mine.lua, set while the instance runs; the configuration says fcfs\n"
            "base easy\n"
            "mine.lua:4: priority\n"
            "mine.lua:9: admit\n"
            "41 calls, 10 without an answer that fits; it keeps 12 bytes in state\n"
            "mine.lua:5: a job has no 'colour'; easy decides now\n");
  EXPECT_EQ(run_cli({"policy", "show", "--text"}).out, "base = 'easy'\n");
  const auto shown = nlohmann::json::parse(run_cli({"policy", "show", "--json"}).out);
  EXPECT_EQ(shown["functions"][1]["line"], 9);
}

TEST(LivePolicyVerbs, ShowOfABuiltInOneHasNoText) {
  FakeBroker broker;
  msg::PolicyShown shown;
  shown.queue = "default";
  shown.policy = shown.configured = "easy";
  broker.answer("policy.show", shown);
  broker.start();
  EXPECT_EQ(run_cli({"policy", "show"}).out, "queue default: easy, as the configuration says\n");
  const Ran ran = run_cli({"policy", "show", "--text"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("queue default has easy, which is built in"));
}

msg::WhatIfStart start_of(std::uint64_t id, std::int64_t now, std::int64_t then) {
  msg::WhatIfStart start;
  start.id = id;
  start.path = "/1." + std::to_string(id - 1);  // a task of array 1
  start.name = "fit";
  start.user = "ada";
  start.queue = "default";
  start.t_now = now;
  start.t_then = then;
  return start;
}

TEST(LivePolicyVerbs, WhatIfIsATableOrASentence) {
  const Folder folder;
  Folder::write("mine.lua", "base = 'easy'\n");
  FakeBroker broker;
  msg::WhatIfReply reply;
  reply.policy = "fcfs";
  reply.now = 1'700'000'000'000;
  reply.jobs = {start_of(7, reply.now + 7'200'000, reply.now + 3'600'000),
                start_of(8, reply.now + 60'000, 0)};
  reply.same = 1;
  reply.unknown = 3;
  reply.trouble = "mine.lua:5: no; easy decided 1 time";
  broker.answer("policy.what-if", reply);
  broker.start();
  const Ran ran = run_cli({"policy", "what-if", "mine.lua"});
  EXPECT_THAT(ran.out, HasSubstr("WITH mine.lua")) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("1h00m sooner"));
  EXPECT_THAT(ran.out,
              HasSubstr("2 of 6 waiting jobs would start at another time; 3 start later than was "
                        "looked at\nmine.lua: mine.lua:5: no; easy decided 1 time\n"));
  reply.jobs.pop_back();
  reply.unknown = 0;
  reply.trouble = "";
  FakeBroker other;
  other.answer("policy.what-if", reply);
  other.start();
  const Ran one = run_cli({"policy", "what-if", "mine.lua", "7"});
  EXPECT_THAT(one.out, ::testing::StartsWith("with mine.lua job 1.6 would start at ")) << one.err;
  EXPECT_EQ(other.last<msg::WhatIfRequest>("policy.what-if").ids, std::vector<std::uint64_t>{7});
}

TEST(Policy, JobsThatATestLeavesOutAreNamed) {
  const Folder folder;
  Folder::write("trace.swf", sample_trace());
  Folder::write("mine.lua", "base = 'easy'\n");
  const Ran ran = run_cli({"policy", "test", "mine.lua", "--trace", "trace.swf", "--procs", "12"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("jobs left out, "));
  EXPECT_THAT(ran.err, HasSubstr("trace.swf:"));
}

}  // namespace
}  // namespace holon::cli
