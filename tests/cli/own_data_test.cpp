// A door for one's own data: what history prints is what simulate reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "msg/instance.hpp"
#include "tests/cli/fake_broker.hpp"
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

using testing::HasSubstr;

class OwnData : public ::testing::Test {
 protected:
  OwnData() {
    std::string name = ::testing::TempDir() + "holon-own-XXXXXX";
    dir_ = mkdtemp(name.data());
  }
  ~OwnData() override { std::filesystem::remove_all(dir_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ + "/" + name, std::ios::binary) << text;
    return dir_ + "/" + name;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(dir_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // job,submit,procs,req,run,start
  std::string starts_of(const std::string& trace, std::vector<std::string> options = {}) const {
    std::vector<std::string> words = {"simulate", trace, "--starts", dir_ + "/starts.csv"};
    words.insert(words.end(), options.begin(), options.end());
    const Ran ran = run_cli(std::move(words));
    EXPECT_EQ(ran.code, kOk) << ran.err;
    return read("starts.csv");
  }

  std::string dir_;
};

// "0.1.0".
std::string version() {
  const std::string line = run_cli({"version"}).out;
  const auto begin = line.find_first_of("0123456789");
  return line.substr(begin, line.find_first_of(" \n", begin) - begin);
}

msg::JobRecord ran(std::uint64_t id, std::int64_t submit, std::int64_t start, std::int64_t finish,
                   std::int64_t cores) {
  msg::JobRecord job;
  job.id = id;
  job.path = "/" + std::to_string(id);
  job.user = id % 2 == 0 ? "bob" : "ann";
  job.queue = "default";
  job.state = "INACTIVE";
  job.result = "COMPLETED";
  job.exit_code = 0;
  job.t_submit = 1'700'000'000'000 + submit;
  job.t_start = 1'700'000'000'000 + start;
  job.t_finish = job.t_inactive = 1'700'000'000'000 + finish;
  job.ncores = cores;
  job.limit = 60'000;
  job.cpu_ms = 2'000;
  job.max_rss_kb = 4'096;
  return job;
}

void answer_with_history(FakeBroker& broker) {
  auto never = ran(3, 4'000, 0, 5'000, 1);
  never.t_start = never.t_finish = 0;
  never.result = "CANCELED";
  auto array = ran(4, 5'000, 6'000, 8'000, 1);
  array.array = 4;
  array.tasks = 2;
  auto task = ran(5, 5'000, 6'000, 6'004, 1), other = ran(6, 5'000, 6'004, 6'004, 1);
  task.array = other.array = 4;
  broker.answer("jobs", msg::JobsReply{{ran(1, 250, 500, 10'500, 4), ran(2, 300, 10'500, 20'750, 3),
                                        never, array, task, other},
                                       ""});
  msg::TreeNode machine;
  machine.path = "/";
  machine.name = "here";
  machine.cores = 4;
  machine.nodes = 1;
  broker.answer("status", machine);
  broker.start();
}

TEST_F(OwnData, HistoryWritesSwf) {
  FakeBroker broker;
  answer_with_history(broker);
  const Ran swf = run_cli({"history", "--swf"});
  EXPECT_EQ(swf.code, kOk) << swf.err;
  EXPECT_EQ(swf.out,
            "; Version: 2.2\n; Computer: here\n; Note: written by holon " + version() +
                "\n"
                "; Note: requested time 0 is no limit\n; MaxJobs: 5\n; UnixStartTime: 1700000000\n"
                "; MaxNodes: 1\n; MaxProcs: 4\n; Note: user 1 is ann\n; Note: user 2 is bob\n"
                "; Note: queue 1 is default\n"
                "1 0.25 0.25 10 4 0.5 1024 4 60 -1 1 1 -1 -1 1 -1 -1 -1\n"
                "2 0.3 10.2 10.25 3 0.666 1365 3 60 -1 1 2 -1 -1 1 -1 -1 -1\n"
                "3 4 -1 -1 -1 -1 -1 1 60 -1 5 1 -1 -1 1 -1 -1 -1\n"
                "5 5 1 0.004 1 2 4096 1 60 -1 1 1 -1 -1 1 -1 -1 -1\n"
                "6 5 1.004 0 1 2 4096 1 60 -1 1 2 -1 -1 1 -1 -1 -1\n");
  EXPECT_TRUE(broker.last<msg::JobsRequest>("jobs").tasks);
}

TEST_F(OwnData, HistoryIsSimulatedTheSameAsJsonAndAsSwf) {
  FakeBroker broker;
  answer_with_history(broker);
  const auto as_json = write("h.json", run_cli({"history", "--json", "--tasks"}).out);
  const auto swf = write("h.swf", run_cli({"history", "--swf"}).out);
  const std::string starts =
      "job,submit,procs,req,run,start\n1,0.25,4,60,10,0.25\n2,0.3,3,60,10.25,10.25\n"
      "5,5,1,60,0.004,10.25\n6,5,1,60,0,10.254\n";
  for (const auto& options : {std::vector<std::string>{}, {"--policy", "fcfs"}}) {
    EXPECT_EQ(starts_of(as_json, options), starts);
    EXPECT_EQ(starts_of(swf, options), starts);
  }
  const Ran told = run_cli({"simulate", as_json, "--compare", "fcfs,easy"});
  EXPECT_EQ(told.code, kOk);
  EXPECT_THAT(told.err, HasSubstr("t_start: job 3 never ran; the job is left out"));
  EXPECT_THAT(told.out, HasSubstr(" 20.25 "));  // the makespan
  EXPECT_THAT(run_cli({"policy", "test", write("m.lua", "base = 'easy'\n"), "--trace", swf}).out,
              HasSubstr("no job waits longer than under easy"));
}

TEST_F(OwnData, SwfIsOneFormOfHistory) {
  for (const char* other : {"--json", "--csv", "--recursive"})
    EXPECT_THAT(run_cli({"history", "--swf", other}).err, HasSubstr("--swf"));
}

TEST_F(OwnData, FaultsHaveTheirPlaceInTheFile) {
  const auto broken =
      write("b.json", "{\n  \"jobs\": [\n    {\"id\": 1,, \"t_submit\": 5}\n  ]\n}\n");
  EXPECT_THAT(run_cli({"simulate", broken}).err,
              HasSubstr("b.json, line 3, column 14: not JSON: syntax error"));
  const auto lines =
      write("l.jsonl", "{\"submit\": 0, \"procs\": 1, \"run\": 1}\n{\"submit\": 0 \"procs\": 1}\n");
  EXPECT_THAT(run_cli({"simulate", lines, "--procs", "1"}).err,
              HasSubstr("l.jsonl:2:20: line: not JSON: syntax error"));
  const auto sacct = write("s.txt",
                           "JobID|Submit|Start|Elapsed|NCPUS\n"
                           "1|2026-01-01T00:00:00|2026-01-01T00:00:00|00:10|2\n"
                           "2|2026-01-01T00:00:00|soon|00:10|2\n");
  const Ran ran = run_cli({"simulate", sacct, "--procs", "4"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_THAT(ran.err, HasSubstr("s.txt:3:23: Start: 'soon' is not a time"));
  EXPECT_THAT(run_cli({"simulate", sacct}).err,
              HasSubstr("s.txt: it has no MaxProcs: give --procs N"));
}

TEST_F(OwnData, APolicyIsCheckedByCallingEachFunctionOnce) {
  const auto good = write("good.lua",
                          "base = 'easy'\n"
                          "function priority(job) return -job.limit, 'the shortest first' end\n"
                          "function admit(job, view) return job.cores <= view.cores end\n"
                          "function may_backfill() end\n"
                          "function may_reserve(job, view) return view.reserved == 0 end\n"
                          "function score(job, place) return place.free end\n"
                          "function on_event(event, job) state.last = event .. job.user end\n");
  const Ran checked = run_cli({"policy", "check", good});
  EXPECT_EQ(checked.code, kOk) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr(": base easy\nasked about a job of 4 cores for 10 minutes, "));
  for (const char* line :
       {":2: priority: -600, good.lua:2: the shortest first\n", ":3: admit: true\n",
        ":4: may_backfill: nothing; the base decides\n", ":5: may_reserve: true\n",
        ":6: score: 4\n", ":7: on_event: told of a submission\n"})
    EXPECT_THAT(checked.out, HasSubstr("good.lua" + std::string(line)));
  const auto bad = write("bad.lua",
                         "function priority(job) return job.colour end\n"
                         "function admit(job) return 7 end\n"
                         "function score(job, place) return place.cores.x end\n"
                         "function may_reserve() return true end\n");
  const Ran failed = run_cli({"policy", "check", bad});
  EXPECT_EQ(failed.code, kUsage);
  EXPECT_THAT(failed.err, HasSubstr("holon policy check: bad.lua:1: a job has no 'colour'\n"));
  EXPECT_THAT(failed.err, HasSubstr("bad.lua:2: admit: "));
  EXPECT_THAT(failed.err, HasSubstr("bad.lua:3: "));
  EXPECT_THAT(failed.out, HasSubstr("bad.lua:4: may_reserve: true\n"));
}

}  // namespace
}  // namespace holon::cli
