// `holon simulate` on traces that are wrong, and on command lines that are.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A file that goes with the test.
class TraceFile {
 public:
  explicit TraceFile(const std::string& bytes, const char* suffix = ".swf")
      : name_(::testing::TempDir() + "holon-simulate-" + std::to_string(::getpid()) + suffix) {
    std::ofstream(name_, std::ios::binary) << bytes;
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() { std::remove(name_.c_str()); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

// job submit wait run procs cpu mem asked-procs limit mem status user group exe queue part prev
// think
std::string line(int id, int submit, int run, int procs, int limit) {
  return std::to_string(id) + " " + std::to_string(submit) + " -1 " + std::to_string(run) + " " +
         std::to_string(procs) + " -1 -1 " + std::to_string(procs) + " " + std::to_string(limit) +
         " -1 1 1 1 -1 1 -1 -1 -1\n";
}

const std::string kGood = "; MaxProcs: 4\n" + line(1, 0, 10, 2, 20) + line(2, 5, 10, 4, 10);

Ran simulate(const std::string& trace, std::vector<std::string> more = {}) {
  std::vector<std::string> args{"simulate", trace};
  if (std::find(more.begin(), more.end(), "--compare") == more.end())
    args.insert(args.end(), {"--policy", "easy"});
  args.insert(args.end(), more.begin(), more.end());
  return run_cli(std::move(args));
}

TEST(Simulate, AGoodTrace) {
  const TraceFile trace(kGood);
  const Ran ran = simulate(trace.name());
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, HasSubstr("easy"));
}

struct Bad {
  const char* name;
  std::string lines;  // after the good ones
  std::vector<std::string> said;
  int simulated;
};

TEST(Simulate, WhatIsWrongIsToldWithLineAndFieldAndCounted) {
  const Bad cases[] = {
      {"missing fields", "3 7 -1\n", {":4: ", "1 issue, 1 job left out, 2 simulated"}, 2},
      {"a negative submit time", line(3, -7, 1, 1, 1), {":4: submit time"}, 2},
      {"no time limit and no run time", line(3, 7, -1, 1, -1), {":4: "}, 2},
      {"larger than the machine", line(3, 7, 1, 5, 1), {":4: ", "5"}, 2},
      {"no processors", line(3, 7, 1, 0, 1), {":4: "}, 2},
      {"a word",
       "three 7 -1 1 1 -1 -1 1 1 -1 1 1 1 -1 1 -1 -1 -1\n",
       {":4: job number", "three"},
       2},
      {"a number twice", line(2, 9, 1, 1, 1), {":4: job number"}, 2},
      {"binary rubbish", std::string("\x00\xff\x7f ELF \x01\x02\n", 11), {":4: "}, 2},
      {"more than an int64",
       "99999999999999999999999 7 -1 1 1 -1 -1 1 1 -1 1 1 1 -1 1 -1 -1 -1\n",
       {":4: job number"},
       2},
  };
  for (const Bad& bad : cases) {
    SCOPED_TRACE(bad.name);
    const TraceFile trace(kGood + bad.lines);
    const TraceFile starts("", ".csv");
    const Ran ran = simulate(trace.name(), {"--starts", starts.name()});
    EXPECT_EQ(ran.code, kOk) << ran.err;
    for (const std::string& said : bad.said) EXPECT_THAT(ran.err, HasSubstr(said));
    std::ifstream csv(starts.name());
    int lines = -1;  // the header
    for (std::string text; std::getline(csv, text);) ++lines;
    EXPECT_EQ(lines, bad.simulated);

    const Ran strict = simulate(trace.name(), {"--strict"});
    EXPECT_NE(strict.code, kOk);
    EXPECT_EQ(strict.out, "");
    EXPECT_THAT(strict.err, HasSubstr("line 4"));
  }
}

TEST(Simulate, UnsortedTracesAreSorted) {
  const std::string head = "; MaxProcs: 4\n";
  const std::string a = line(1, 0, 10, 2, 20), b = line(2, 5, 10, 4, 10), c = line(3, 6, 2, 1, 2);
  const TraceFile sorted(head + a + b + c);
  const TraceFile unsorted(head + c + a + b, ".unsorted.swf");
  EXPECT_EQ(simulate(sorted.name(), {"--json"}).out, simulate(unsorted.name(), {"--json"}).out);
}

std::string starts_of(const std::string& trace, std::vector<std::string> more) {
  const std::string file = trace + ".starts";
  more.insert(more.end(), {"--starts", file});
  const Ran ran = simulate(trace, std::move(more));
  EXPECT_EQ(ran.code, kOk) << ran.err;
  std::ifstream in(file);
  const std::string starts{std::istreambuf_iterator<char>(in), {}};
  std::remove(file.c_str());
  return starts.substr(starts.find('\n') + 1);
}

// 40 jobs wait behind one that takes the whole machine; the last of them fits beside the second.
std::string deep_queue() {
  std::string lines = "; MaxProcs: 4\n" + line(1, 0, 100, 3, 100);
  for (int i = 2; i < 42; ++i) lines += line(i, 1, 100, 4, 100);
  return lines + line(42, 2, 50, 1, 50);
}

TEST(Simulate, AConfigurationThatNamesNoDepthChangesNone) {
  const TraceFile trace(deep_queue());
  const std::string all = starts_of(trace.name(), {});
  EXPECT_THAT(all, HasSubstr("42,2,1,50,50,2\n"));
  EXPECT_EQ(starts_of(trace.name(), {"--conf", "job.grace=5s"}), all);
  EXPECT_NE(starts_of(trace.name(), {"--conf", "queue.depth=32"}), all);
  EXPECT_NE(starts_of(trace.name(), {"--queue-depth", "32"}), all);
  const TraceFile file("[queues.batch]\npolicy = \"easy\"\n[queue]\ndefault = \"batch\"\n",
                       ".toml");
  EXPECT_EQ(starts_of(trace.name(), {"--conf", file.name()}), all);
}

TEST(Simulate, TheResultsSayHowManyJobsAPassLooksAt) {
  const TraceFile trace(deep_queue());
  EXPECT_THAT(simulate(trace.name(), {"--conf", "job.grace=5s"}).out,
              HasSubstr("waiting jobs that the scheduler tries: all\n"));
  EXPECT_THAT(simulate(trace.name(), {"--conf", "queue.depth=7"}).out,
              HasSubstr("waiting jobs that the scheduler tries: 7\n"));
  EXPECT_THAT(
      simulate(trace.name(), {"--conf", "queue.depth=7", "--conf", "queues.a.depth=9", "--conf",
                              "queues.b.depth=1000000", "--conf", "queue.default=a"})
          .out,
      HasSubstr("waiting jobs that the scheduler tries: 9 of queue a, all of queue b\n"));
  EXPECT_THAT(simulate(trace.name(), {"--json", "--queue-depth", "7"}).out,
              HasSubstr("\"queue_depth\": {\n      \"default\": 7\n    }"));
}

// Three users, one waiting job of each considered at a time, and waiting earns priority.
std::string busy_users() {
  std::string lines;
  for (int i = 1; i <= 60; ++i)
    lines += "{\"id\": " + std::to_string(i) + ", \"submit\": " + std::to_string(i * 90) +
             ", \"procs\": " + std::to_string(1 + i * 7 % 13) +
             ", \"limit\": " + std::to_string(600 + i * 370 % 1400) +
             ", \"run\": " + std::to_string(100 + i * 230 % 1400) + ", \"user\": \"u" +
             std::to_string(i * i % 3) + "\"}\n";
  return lines;
}

TEST(Simulate, WhatOnlyObservesChangesNoStart) {
  const TraceFile trace(busy_users(), ".jsonl");
  const TraceFile out("", ".out");
  for (const char* limit : {"max-ijob=1", "max-job=1", "max-ps=9000"})
    for (const char* order : {"queueorder", "firstfit", "bestfit", "greedy"}) {
      const std::vector<std::string> conf{"--procs", "16",
                                          "--conf",  std::string("limits.user.default.") + limit,
                                          "--conf",  "priority.queuetime-weight=60",
                                          "--conf",  "priority.interval=10s",
                                          "--conf",  std::string("queue.backfill=") + order};
      const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), conf.begin(), conf.end());
        return starts_of(trace.name(), more);
      };
      const std::string plain = with({});
      EXPECT_EQ(with({"--schedule", out.name()}), plain) << limit << ", " << order;
      EXPECT_EQ(with({"--report", out.name()}), plain) << limit << ", " << order;
      EXPECT_EQ(with({"--json", "--timings"}), plain) << limit << ", " << order;
    }
}

// The job of user u1 is kept back for ever.
TEST(Simulate, EndsWhereALimitKeepsAJobBackForEver) {
  const TraceFile trace(
      "{\"id\":1,\"submit\":0,\"procs\":6,\"limit\":100,\"run\":100,\"user\":\"u1\"}\n", ".jsonl");
  for (const char* weight : {"queuetime-weight", "xfactor-weight", "fsuser-weight"}) {
    const Ran ran =
        simulate(trace.name(), {"--procs", "8", "--conf", "limits.user.u1.max-proc=4", "--conf",
                                std::string("priority.") + weight + "=1", "--json"});
    EXPECT_EQ(ran.code, kOk) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("\"refused\": 1"));
  }
}

TEST(Simulate, JsonLinesCarryAccountAndQos) {
  const auto job = [](int id, const char* more) {
    return "{\"id\": " + std::to_string(id) + ", \"submit\": 0, \"procs\": 1, \"run\": 10" + more +
           "}\n";
  };
  const TraceFile trace(job(1, ", \"account\": \"chem\"") + job(2, ", \"account\": \"chem\"") +
                            job(3, ", \"qos\": \"low\"") + job(4, ", \"qos\": \"low\"") +
                            job(5, ""),
                        ".jsonl");
  const std::vector<std::string> limited{"--procs", "8",
                                         "--conf",  "limits.account.chem.max-job=1",
                                         "--conf",  "limits.qos.low.max-job=1"};
  EXPECT_EQ(starts_of(trace.name(), limited),
            "1,0,1,10,10,0\n2,0,1,10,10,10\n3,0,1,10,10,0\n4,0,1,10,10,10\n5,0,1,10,10,0\n");
  const TraceFile wrong(job(1, ", \"qos\": 3"), ".wrong.jsonl");
  EXPECT_THAT(simulate(wrong.name(), {"--procs", "8"}).err, HasSubstr(":1: qos: it is no string"));
}

TEST(Simulate, ThinkTimesCountWhereTheyAreAskedFor) {
  std::string follower = line(3, 6, 2, 1, 2);
  follower.replace(follower.rfind("-1 -1\n"), 6, "2 30\n");
  std::string lost = line(4, 7, 2, 1, 2);
  lost.replace(lost.rfind("-1 -1\n"), 6, "9 30\n");
  const TraceFile trace(kGood + follower + lost);
  EXPECT_THAT(starts_of(trace.name(), {}), HasSubstr("3,6,1,2,2,6\n"));
  EXPECT_THAT(starts_of(trace.name(), {"--think-times"}), HasSubstr("3,50,1,2,2,50\n"));
  EXPECT_THAT(starts_of(trace.name(), {"--think-times", "--order", "event"}),
              HasSubstr("3,50,1,2,2,50\n"));
  EXPECT_EQ(simulate(trace.name()).err, "");
  EXPECT_THAT(simulate(trace.name(), {"--think-times"}).err,
              HasSubstr(":5: preceding job: job 9 is not in the trace, or was left out; it is not "
                        "waited for\n"));
  const Ran strict = simulate(trace.name(), {"--think-times", "--strict"});
  EXPECT_EQ(strict.code, kUsage);
  EXPECT_THAT(strict.err, HasSubstr("line 5"));
}

// Maui's JOBMAXOVERRUN: 1 runs 10 with a limit of 4, and 2 waits for it.
TEST(Simulate, AnOverrunLastsAsLongAsIsConfigured) {
  const TraceFile trace("; MaxProcs: 4\n" + line(1, 0, 10, 4, 4) + line(2, 0, 5, 4, 5));
  EXPECT_EQ(starts_of(trace.name(), {}), "1,0,4,4,4,0\n2,0,4,5,5,4\n");
  EXPECT_EQ(starts_of(trace.name(), {"--conf", "job.max-overrun=3"}), "1,0,4,4,7,0\n2,0,4,5,5,7\n");
  EXPECT_THAT(simulate(trace.name(), {"--conf", "job.max-overrun=3"}).err,
              HasSubstr(":2: run time: 10 is above the limit 4, cut at 7\n"));
  const Ran enough = simulate(trace.name(), {"--conf", "job.max-overrun=6s"});
  EXPECT_EQ(enough.err, "");
  EXPECT_EQ(starts_of(trace.name(), {"--keep-overruns"}), "1,0,4,4,10,0\n2,0,4,5,5,10\n");
}

TEST(Simulate, ATraceOfRubbishAloneEndsWithAnError) {
  std::string rubbish;
  for (int i = 0; i < 4096; ++i) rubbish += static_cast<char>((i * 7919) % 256);
  const TraceFile trace(rubbish);
  const Ran ran = simulate(trace.name(), {"--procs", "4"});
  EXPECT_NE(ran.code, kOk);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("issues"));
  EXPECT_THAT(ran.err, HasSubstr("no job"));
  const TraceFile cut("\x1f\x8b\x08\x00 not really", ".swf.gz");
  EXPECT_NE(simulate(cut.name(), {"--procs", "4"}).code, kOk);
}

TEST(Simulate, JobsLargerThanTheGraphAreNamedAndCounted) {
  const TraceFile trace(kGood);
  const Ran ran = simulate(trace.name(), {"--resources", "node=1/core=2", "--json"});
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("4 processors asked for, the machine has 2"));
  EXPECT_THAT(ran.err, HasSubstr("1 job left out, 1 simulated"));
  EXPECT_EQ(ran.out, simulate(trace.name(), {"--procs", "2", "--json"}).out);
}

TEST(Simulate, WrongCommandLines) {
  const TraceFile trace(kGood);
  const std::string unsized = line(1, 0, 10, 2, 20);
  const TraceFile no_size(unsized, ".nosize.swf");
  EXPECT_THAT(simulate("/no/such/trace.swf").err, HasSubstr("/no/such/trace.swf"));
  EXPECT_THAT(simulate(no_size.name()).err, HasSubstr("--procs"));
  for (const char* procs : {"0", "-4"}) {
    const Ran ran = simulate(trace.name(), {"--procs", procs});
    EXPECT_NE(ran.code, kOk);
    EXPECT_THAT(ran.err, HasSubstr("at least 1"));
  }
  EXPECT_THAT(simulate(trace.name(), {"--procs", "4", "--resources", "node=1/core=4"}).err,
              HasSubstr("by --procs or by --resources"));
  EXPECT_THAT(simulate(trace.name(), {"--order", "random"}).err,
              HasSubstr("neither batch nor event"));
  EXPECT_THAT(simulate(trace.name(), {"--conf", "queue.polcy=x"}).err, HasSubstr("did you mean"));
  EXPECT_THAT(simulate(trace.name(), {"--compare", "easy,lazy"}).err, HasSubstr("lazy"));
  EXPECT_THAT(simulate(trace.name(), {"--resources", "node=1/gpu=1"}).err, HasSubstr("core"));
  EXPECT_THAT(simulate(trace.name(), {"--starts", "/no/such/dir/x.csv"}).err,
              HasSubstr("/no/such/dir/x.csv"));
}

TEST(Simulate, ATraceHasToBeNamed) {
  const Ran ran = run_cli({"simulate"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("holon simulate: TRACE is missing\n"));
  EXPECT_THAT(ran.err, HasSubstr("usage: holon simulate [OPTIONS] TRACE\n"));
}

TEST(Simulate, WhatWouldBeIgnoredIsRefused) {
  const TraceFile trace(kGood);
  const auto refused = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"simulate", trace.name()});
    const Ran ran = run_cli(std::move(more));
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_THAT(refused({"--compare", "easy", "--policy", "fcfs"}), HasSubstr("--compare"));
  EXPECT_THAT(refused({"--title", "x"}), HasSubstr("--title"));
  EXPECT_THAT(refused({"--timings"}), HasSubstr("--timings"));
  for (const char* empty :
       {"--starts", "--schedule", "--report", "--resources", "--policy", "--compare"})
    EXPECT_THAT(refused({empty, ""}), HasSubstr(std::string("holon simulate: ") + empty));
}

TEST(Simulate, MistakesAreToldBeforeTheSimulationNotAfterIt) {
  const TraceFile trace(kGood);
  const TraceFile starts("kept", ".csv");
  const Ran lost =
      simulate(trace.name(), {"--starts", starts.name(), "--report", "/no/dir/x.html"});
  EXPECT_EQ(lost.code, kFailed);
  EXPECT_THAT(lost.err, HasSubstr("/no/dir/x.html"));
  std::ifstream csv(starts.name());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(csv), {}), "kept") << "nothing was run";

  const Ran policy = run_cli({"simulate", trace.name(), "--policy", "lazy"});
  EXPECT_EQ(policy.code, kUsage);
  EXPECT_THAT(policy.err, HasSubstr("holon simulate: --policy: \"lazy\" is no policy"));
  EXPECT_THAT(simulate(trace.name(), {"--queue-depth", "0"}).err, HasSubstr("--queue-depth: 0"));
  EXPECT_THAT(simulate(trace.name(), {"--resources", "no-such.json"}).err,
              HasSubstr("--resources no-such.json: no such file"));
  // What `start --resources` takes: hwloc's XML, and what is wrong is told with the file's name.
  const TraceFile xml("<topology>", ".xml");
  EXPECT_THAT(simulate(trace.name(), {"--resources", xml.name()}).err,
              HasSubstr("--resources " + xml.name()));
  const Ran large = simulate(trace.name(), {"--resources", "node=99999999999/core=1"});
  EXPECT_EQ(large.code, kUsage);
  EXPECT_THAT(large.err, HasSubstr("--resources node=99999999999/core=1: column 1: more than"));
}

TEST(Simulate, ATraceWithoutJobsIsSaidToHaveNone) {
  const TraceFile empty("; MaxProcs: 4\n");
  const Ran ran = simulate(empty.name(), {});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_EQ(ran.err, "holon simulate: " + empty.name() + ": the trace has no jobs\n");
  const TraceFile nothing("");
  EXPECT_EQ(simulate(nothing.name(), {}).err,
            "holon simulate: " + nothing.name() + ": the trace has no jobs\n");
}

TEST(Simulate, ADashIsStandardInput) {
  const TraceFile trace(kGood);
  const int before = dup(STDIN_FILENO);
  const int file = open(trace.name().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  dup2(file, STDIN_FILENO);
  const Ran ran = simulate("-", {});
  if (before >= 0) dup2(before, STDIN_FILENO);
  close(before);
  close(file);
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.out, simulate(trace.name(), {}).out);
}

// /dev/full takes no byte: the file is lost, the table is not.
TEST(Simulate, TheTableIsThereAlsoWhereAFileCannotBeWritten) {
  const TraceFile trace(kGood);
  const Ran ran = simulate(trace.name(), {"--starts", "/dev/full"});
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_THAT(ran.err, HasSubstr("/dev/full"));
  EXPECT_THAT(ran.out, HasSubstr("easy"));
}

TEST(Simulate, AGraphOfSingleCoresIsTheFlatMachine) {
  std::string jobs = "; MaxProcs: 6\n";
  for (int i = 1; i <= 60; ++i)
    jobs += line(i, i / 3 * 2, 1 + i * 7 % 11, 1 + i * 5 % 6, 1 + i * 7 % 11 + i % 2 * 3);
  const TraceFile trace(jobs);
  for (const char* policy : {"fcfs", "easy", "hybrid:4", "conservative", "conservative-rebuild"})
    for (const char* order : {"batch", "event"}) {
      const auto starts = [&](std::vector<std::string> machine) {
        const TraceFile csv("", ".csv");
        std::vector<std::string> args{"simulate", trace.name(), "--policy", policy,
                                      "--order",  order,        "--starts", csv.name()};
        args.insert(args.end(), machine.begin(), machine.end());
        const Ran ran = run_cli(args);
        EXPECT_EQ(ran.code, kOk) << ran.err;
        std::ifstream in(csv.name());
        return std::string(std::istreambuf_iterator<char>(in), {});
      };
      EXPECT_EQ(starts({}), starts({"--resources", "node=6/core=1"})) << policy << " " << order;
    }
}

TEST(Simulate, SettingsOfPrioritiesReachTheScheduler) {
  // Two jobs wait for a full machine; the wider one comes first where processors weigh.
  const TraceFile trace("; MaxProcs: 4\n" + line(1, 0, 10, 4, 10) + line(2, 1, 5, 1, 5) +
                        line(3, 2, 5, 4, 5));
  const Ran plain = run_cli({"simulate", trace.name(), "--policy", "fcfs", "--json"});
  const Ran weighted = run_cli(
      {"simulate", trace.name(), "--policy", "fcfs", "--json", "--conf", "priority.proc-weight=1"});
  EXPECT_EQ(plain.code, kOk) << plain.err;
  EXPECT_EQ(weighted.code, kOk) << weighted.err;
  EXPECT_NE(plain.out, weighted.out);
}

}  // namespace
}  // namespace holon::cli
