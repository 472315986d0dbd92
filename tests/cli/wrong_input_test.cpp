// Wrong command lines, one row each: what is said, and the exit code. Nothing is asked of an
// instance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "places.hpp"  // written by CMake
#include "tests/cli/run.hpp"

namespace holon::cli {
namespace {

struct Row {
  std::vector<std::string> args;
  int code;
  std::string err;  // its first line
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

const std::vector<Row> kRows = {
    {{"frobnicate"}, kUsage, "holon: there is no 'frobnicate'"},
    {{"sumbit"}, kUsage, "holon: there is no 'sumbit'; did you mean submit?"},
    {{"alloc", "--conf", "queue.polcy=easy"},
     kUsage,
     "holon alloc: --conf queue.polcy: unknown key 'queue.polcy'; did you mean 'queue.policy'?"},
    {{"batch", "--conf", "queue.depth=x", "--wrap", "true"},
     kUsage,
     "holon batch: --conf queue.depth: queue.depth = \"x\" does not fit: accepted is a number from "
     "1 to 1000000"},
    {{"submit"}, kUsage, "holon submit: COMMAND [ARGS...] is missing"},
    {{"submit", "--preemptible=maybe", "true"},
     kUsage,
     "holon submit: --preemptible: 'maybe' does not fit; true, false and the option alone do"},
    {{"submit", "--dependency", "afterok:7.", "true"},
     kUsage,
     "holon submit: --dependency afterok:7.: '7.' is no job id; afterok:7 names a job, "
     "afterok:7.3-9 tasks of an array"},
    {{"submit", "--dependency", "aftercorr:7.2", "true"},
     kUsage,
     "holon submit: --dependency aftercorr:7.2: aftercorr takes an array, whose tasks are waited "
     "for one by one"},
    {{"config", "get", ""}, kUsage, "holon config get: KEY: '' is no key; job.grace is one"},
    {{"report", "/dev/null"},
     kUsage,
     "holon report: /dev/null: is no state directory of an instance; the page's own file is -o "
     "FILE"},
    {{"submit", "-n"}, kUsage, "holon submit: --ntasks: a value is missing"},
    {{"submit", "-n", "x", "true"},
     kUsage,
     "holon submit: -n,--ntasks: 'x' is no number of tasks; accepted are 4, 4-16, 4-, -16 and "
     "ascending lists like 2,4,8 and 1-3,5-6"},
    {{"submit", "-n", "0", "true"},
     kUsage,
     "holon submit: -n,--ntasks: '0' is no number of tasks; accepted are 4, 4-16, 4-, -16 and "
     "ascending lists like 2,4,8 and 1-3,5-6"},
    {{"submit", "-c", "-2", "true"},
     kUsage,
     "holon submit: -c: -2 is not accepted, at least 1 and at most 4294967295 are"},
    {{"submit", "-n", "99999999999999999999", "true"},
     kUsage,
     "holon submit: -n,--ntasks: '99999999999999999999' is too large; at most 4294967295 tasks are "
     "accepted"},
    {{"submit", "-n", "4294967296", "true"},
     kUsage,
     "holon submit: -n,--ntasks: '4294967296' is too large; at most 4294967295 tasks are accepted"},
    {{"batch", "-n", "abc", "--wrap", "true"},
     kUsage,
     "holon batch: -n,--nslots: 'abc' is no number of slots; accepted are 4, 4-16, 4-, -16 and "
     "ascending lists like 2,4,8 and 1-3,5-6"},
    {{"submit", "-c", "99999999999999999999", "true"},
     kUsage,
     "holon submit: -c,--cores-per-task: '99999999999999999999' is too large; at most 4294967295 "
     "is accepted"},
    {{"submit", "-N", "99999999999999999999", "true"},
     kUsage,
     "holon submit: -N,--nodes: '99999999999999999999' is too large; at most 4294967295 nodes are "
     "accepted"},
    {{"submit", "-m", "99999999999T", "true"},
     kUsage,
     "holon submit: -m,--mem: '99999999999T' is too large; at most 1000000000G is accepted"},
    {{"jobs", "--limit", "99999999999999999999"},
     kUsage,
     "holon jobs: --limit: '99999999999999999999' is too large; at most 9223372036854775807 is "
     "accepted"},
    {{"submit", "-t", "99:99", "true"},
     kUsage,
     "holon submit: -t,--time-limit: '99:99' has too many minutes or seconds: behind the first "
     "number they are below 60; accepted are 30s, 5m, 2h, 1.5d, MM:SS, HH:MM:SS, D-HH:MM, inf, and "
     "a bare number for minutes"},
    {{"submit", "-t", "1:2:3:4", "true"},
     kUsage,
     "holon submit: -t,--time-limit: '1:2:3:4' has more parts than hours, minutes and seconds; "
     "accepted are 30s, 5m, 2h, 1.5d, MM:SS, HH:MM:SS, D-HH:MM, inf, and a bare number for "
     "minutes"},
    {{"submit", "-t", "1-24:00", "true"},
     kUsage,
     "holon submit: -t,--time-limit: '1-24:00' has too many hours: behind days they are below 24; "
     "accepted are 30s, 5m, 2h, 1.5d, MM:SS, HH:MM:SS, D-HH:MM, inf, and a bare number for "
     "minutes"},
    {{"submit", ""}, kUsage, "holon submit: COMMAND: '' is no command: it is an empty string"},
    {{"start", ""}, kUsage, "holon start: SCRIPT: '' is no command: it is an empty string"},
    {{"start", "--name", "\xff", "true"},
     kUsage,
     "holon start: --name ?: not UTF-8; the instance cannot be told it"},
    {{"start", "--no-journal", "--state-dir", "/tmp/x", "true"},
     kUsage,
     "holon start: --state-dir /tmp/x: --no-journal keeps nothing, so there is nothing to go on "
     "from; leave one of the two out"},
    {{"submit", "--dependency", "begin-time:abc", "true"},
     kUsage,
     "holon submit: --dependency begin-time:abc: 'abc' is no number of seconds since the epoch; "
     "--begin-time takes +30m and 18:30"},
    {{"run", "--wrap", "echo $0", "x", "y"},
     kUsage,
     "holon run: --wrap 'echo $0' x: one line for the shell, or a command and its arguments "
     "without --wrap; not both"},
    {{"batch", "--wrap", "echo $0", "x"},
     kUsage,
     "holon batch: --wrap 'echo $0' x: one line for the shell, or a command and its arguments "
     "without --wrap; not both"},
    {{"batch", "/tmp"},
     kUsage,
     "holon batch: /tmp: a folder; accepted is a script, and --wrap takes a command instead"},
    {{"resource", "drain", "node["},
     kUsage,
     "holon resource drain: node[, character 1: brackets do not match"},
    {{"reserve", "--start", "2020-01-01 00:00", "-d", "1h"},
     kUsage,
     "holon reserve: --start with --duration: from 2020-01-01 00:00 on it would be over at "
     "2020-01-01 01:00, which is not after now"},
    {{"reserve", "--end", "2020-01-01 00:00"},
     kUsage,
     "holon reserve: --end: 2020-01-01 00:00 is not after now"},
    {{"reservation", "delete", "x"},
     kUsage,
     "holon reservation delete: x: no reservation; accepted are its number (7) and a range (3-9), "
     "`holon reservation list` shows them"},
    {{"-i"}, kUsage, "holon: -i: a value is missing; / is the root, /3/7 a path"},
    {{"\x1b[31m"}, kUsage, "holon: there is no '?[31m'"},
    {{"submit", "-t", "\x1b[31m", "true"},
     kUsage,
     "holon submit: -t,--time-limit: '?[31m' is no duration; accepted are 30s, 5m, 2h, 1.5d, "
     "MM:SS, HH:MM:SS, D-HH:MM, inf, and a bare number for minutes"},
    {{"submit", "-N", "3", "-n", "2", "true"},
     kUsage,
     "holon submit: -N,--nodes: 3 nodes for 2 tasks: every node needs a task"},
    {{"submit", "-x", "true"},
     kUsage,
     "holon submit: -x,--exclusive: whole nodes need the number of nodes"},
    {{"submit", "-t", "5x", "true"},
     kUsage,
     "holon submit: -t,--time-limit: '5x' has the unknown unit 'x'; accepted are 30s, 5m, 2h, "
     "1.5d, "
     "MM:SS, HH:MM:SS, D-HH:MM, inf, and a bare number for minutes"},
    {{"submit", "-p", "debug", "true"}, kUsage, "holon submit: -p: no such option; a queue is -q"},
    {{"submit", "--partition=x", "true"},
     kUsage,
     "holon submit: --partition=x: no such option; a queue is -q"},
    {{"submit", "-z", "true"}, kUsage, "holon submit: -z: there is no such option"},
    {{"submit", "-N", "0", "true"},
     kUsage,
     "holon submit: -N,--nodes: '0' is no number of nodes, at least 1"},
    {{"submit", "--dependency", "afterok:1:x", "true"},
     kUsage,
     "holon submit: --dependency afterok:x: 'x' is no job id; afterok:7 names a job, afterok:7.3-9 "
     "tasks of an array"},
    {{"submit", "-d", "afterok:1,befor:2", "true"},
     kUsage,
     "holon submit: --dependency befor:2: 'befor' is none of after, afterany, afterok, afternotok, "
     "aftercorr, singleton and begin-time"},
    {{"submit", "-d", "afterok:1?afterok:2", "true"},
     kUsage,
     "holon submit: --dependency afterok:1?afterok:2: '?' (any of them) is not offered; ':' and "
     "',' ask for all"},
    {{"submit", "-d", "afterok:1,,afterok:1", "true"},
     kUsage,
     "holon submit: -d,--dependency: 'afterok:1,,afterok:1' has an empty element; accepted are "
     "dependencies with one comma between them: afterok:3,afterany:7"},
    {{"submit", "--begin-time", "+99999999d", "true"},
     kUsage,
     "holon submit: --begin-time: '+99999999d' is too far ahead; at most 11574074 days are "
     "accepted"},
    {{"submit", "--begin-time", "2026-02-30", "true"},
     kUsage,
     "holon submit: --begin-time: '2026-02-30': there is no such day"},
    {{"submit", "--array", "1-3%0", "true"},
     kUsage,
     "holon submit: -a,--array: '1-3%0' is no range of indices: at least one task runs at a time; "
     "7, 1-10, 0-100:2, 1,3,5-7 and 1-10%4 (four at a time) are, from 0 to 1000000000"},
    {{"submit", "--array", "1,1,1", "true"},
     kUsage,
     "holon submit: -a,--array: '1,1,1' is no range of indices: indices ascend, each is there "
     "once; 7, 1-10, 0-100:2, 1,3,5-7 and 1-10%4 (four at a time) are, from 0 to 1000000000"},
    {{"submit", "--array", "a,b", "true"},
     kUsage,
     "holon submit: -a,--array: 'a,b' is no range of indices; 7, 1-10, 0-100:2, 1,3,5-7 and 1-10%4 "
     "(four at a time) are, from 0 to 1000000000"},
    {{"simulate", "--compare", "fcfs,", "trace.swf"},
     kUsage,
     "holon simulate: --compare: 'fcfs,' has an empty element; accepted are policies with one "
     "comma between them: fcfs,easy"},
    {{"simulate", "--compare", "fcfs,easy,fcfs", "trace.swf"},
     kUsage,
     "holon simulate: --compare: fcfs is named twice"},
    {{"simulate", "--report", "/", "trace.swf"},
     kUsage,
     "holon simulate: --report /: a folder; accepted is the name of a file"},
    {{"submit", "--dependency", "afterok", "true"},
     kUsage,
     "holon submit: --dependency afterok: '' is no job id; afterok:7 names a job, afterok:7.3-9 "
     "tasks of an array"},
    {{"submit", "--dependency", "befor:1", "true"},
     kUsage,
     "holon submit: --dependency befor:1: 'befor' is none of after, afterany, afterok, afternotok, "
     "aftercorr, singleton and begin-time"},
    {{"submit", "--count", "3", "--output", "all.txt", "true"},
     kUsage,
     "holon submit: --output all.txt: each of the 3 jobs would write over the others' output; "
     "all-{{id}}.txt gives each a file of its own"},
    {{"run", "--input", "3", "-n", "2", "true"},
     kUsage,
     "holon run: --input 3: there are 2 tasks, counted from 0; ./3 is a file of that name"},
    {{"start", "--resources", "", "true"}, kUsage, "holon start: --resources: its value is empty"},
    {{"start", "--state-dir", "", "true"}, kUsage, "holon start: --state-dir: its value is empty"},
    {{"submit", "-q", "", "true"}, kUsage, "holon submit: -q,--queue: its value is empty"},
    {{"submit", "--pe", "", "true"}, kUsage, "holon submit: --pe: its value is empty"},
    {{"submit", "--qos", "", "true"}, kUsage, "holon submit: --qos: its value is empty"},
    {{"submit", "-A", "", "true"}, kUsage, "holon submit: -A,--account,--bank: its value is empty"},
    {{"submit", "--cwd", "", "true"}, kUsage, "holon submit: -D,--cwd: its value is empty"},
    {{"submit", "--name", "", "true"}, kUsage, "holon submit: -J,--name: its value is empty"},
    {{"submit", "--output", "", "true"}, kUsage, "holon submit: -o,--output: its value is empty"},
    {{"run", "--input", "", "true"}, kUsage, "holon run: --input: its value is empty"},
    {{"jobs", "-i", ""}, kUsage, "holon jobs: -i,--instance: its value is empty"},
    {{"-i", "", "jobs"}, kUsage, "holon: -i: its value is empty"},
    {{"run", "--wrap", ""}, kUsage, "holon run: --wrap: its value is empty"},
    {{"submit", "--reservation", "0", "true"},
     kUsage,
     "holon submit: --reservation: '0' is no number of a reservation"},
    {{"submit", "--begin-time", "2027-02-30T00:00", "true"},
     kUsage,
     "holon submit: --begin-time: '2027-02-30T00:00': there is no such day"},
    {{"resource", "drain", ""}, kUsage, "holon resource drain: NODES: name at least one node"},
    {{"batch", "--conf", "/nonexistent.toml", "--wrap", "true"},
     kUsage,
     "holon batch: --conf /nonexistent.toml: no such file; accepted are the name of a TOML file, "
     "or "
     "KEY=VALUE"},
    {{"batch", "--conf", "/", "--wrap", "true"},
     kUsage,
     "holon batch: --conf /: a folder; accepted are the name of a TOML file, or KEY=VALUE"},
    {{"alloc", "--conf", "resource.prune-filters=ALL", "true"},
     kUsage,
     "holon alloc: --conf resource.prune-filters: resource.prune-filters = \"ALL\" does not fit: "
     "accepted is a list like ALL:core,ALL:node"},
    {{"simulate", "--conf", "/nonexistent", "trace.swf"},
     kUsage,
     "holon simulate: --conf /nonexistent: no such file; accepted are the name of a TOML file, or "
     "KEY=VALUE"},
    {{"simulate", "--conf", "/", "trace.swf"},
     kUsage,
     "holon simulate: --conf /: a folder; accepted are the name of a TOML file, or KEY=VALUE"},
    {{"simulate", "--resources", "/", "trace.swf"},
     kUsage,
     "holon simulate: --resources /: a folder; accepted are a JGF, Rv1 or hwloc XML file"},
    {{"query", "-L", "/"}, kUsage, "holon query: /: a folder"},
    {{"submit", "-m", "4Q", "true"},
     kUsage,
     "holon submit: -m,--mem: '4Q' is not a size of memory; accepted are 512M, 4G, 1T; a bare "
     "number "
     "is GiB"},
    {{"submit", "--urgency", "32", "true"},
     kUsage,
     "holon submit: --urgency: '32' is not accepted; 0 (held) to 31 (at once) are, and hold, "
     "default, "
     "expedite"},
    {{"submit", "--count", "0", "true"},
     kUsage,
     "holon submit: --count: 0 is not accepted, at least 1 is"},
    {{"submit",
      "a\xff"
      "b"},
     kUsage,
     "holon submit: COMMAND: not UTF-8; a jobspec cannot hold it"},
    {{"submit", std::string("a\0b", 3)},
     kUsage,
     "holon submit: COMMAND: has a zero byte; a jobspec cannot hold it"},
    {{"submit", "--array", "1-3", "--output", "o-{{array.foo}}.log", "true"},
     kUsage,
     "holon submit: --output o-{{array.foo}}.log: '{{array.foo}}' stands for nothing; accepted are "
     "{{id}}, {{name}} and {{taskid}}, and {{array.id}} and {{array.index}}"},
    {{"submit", "--output", "\xff", "true"},
     kUsage,
     "holon submit: --output: not UTF-8; a jobspec cannot hold it"},
    {{"submit", "--env", "=x", "true"},
     kUsage,
     "holon submit: --env: '=x' has no name; accepted are NAME=VALUE, NAME, PATTERN, -PATTERN"},
    {{"submit", "--env", "NO_SUCH_NAME_HERE", "true"},
     kUsage,
     "holon submit: --env: 'NO_SUCH_NAME_HERE' is not in this environment"},
    {{"submit", "--ntask", "2", "true"},
     kUsage,
     "holon submit: --ntask: there is no such option; did you mean --ntasks?"},
    {{"run"}, kUsage, "holon run: COMMAND [ARGS...] is missing"},
    {{"run", "--count", "2", "true"},
     kUsage,
     "holon run: --count: there is no such option; did you mean --account?"},
    {{"batch", "no-such-script.sh"},
     kUsage,
     "holon batch: no-such-script.sh: there is no such script; --wrap takes a command instead"},
    {{"batch", HOLON_SOURCE_DIR "/LICENSE"},
     kUsage,
     "holon batch: " HOLON_SOURCE_DIR
     "/LICENSE: the script may not be executed; `chmod +x` helps, or --wrap sh"},
    {{"alloc", "--bg", "sh"}, kUsage, "holon alloc: sh: nothing is run with --bg"},
    {{"policy", "test", HOLON_SOURCE_DIR "/docs/examples/policies/campaigns.lua", "--trace",
      "/nosuch"},
     kUsage,
     "holon policy test: /nosuch: No such file or directory"},
    {{"cancel"}, kUsage, "holon cancel: ID: name jobs, or give --all, one of the two"},
    {{"cancel", "--all", "3"},
     kUsage,
     "holon cancel: ID: name jobs, or give --all, one of the two"},
    {{"cancel", "x"},
     kUsage,
     "holon cancel: x: not a job; accepted are an id (7), a range (3-9), a path (/3/7), tasks of "
     "an array (7.12, 7.3-9)"},
    {{"cancel", "/3/7", "/4/7"},
     kUsage,
     "holon cancel: /4/7: one command, one instance: name jobs of the same one"},
    {{"jobs", "9-3"}, kUsage, "holon jobs: 9-3: not a range of job ids, such as 3-9"},
    {{"jobs", "--limit", "-1"},
     kUsage,
     "holon jobs: --limit: -1 is not accepted, at least 0 (all) is"},
    {{"history", "--limit", "-1"},
     kUsage,
     "holon history: --limit: -1 is not accepted, at least 0 (all) is"},
    {{"provision", "slurm", "--max-nodes", "-1"},
     kUsage,
     "holon provision slurm: --max-nodes: '-1' is not accepted; 1 to 100000 are"},
    {{"provision", "slurm", "-N", "0"},
     kUsage,
     "holon provision slurm: -N,--nodes: '0' is not accepted; 1 to 100000 are"},
    {{"provision", "slurm", "--dry-run", "x", "y"},
     kUsage,
     "holon provision slurm: x: not expected here; options of the batch system stand behind --"},
    {{"provision", "slurm", "x", "--", "-p", "short"},
     kUsage,
     "holon provision slurm: x: not expected here; options of the batch system stand behind --"},
    {{"provision", "pbs", "-N", "20"},
     kUsage,
     "holon provision pbs: -N 20: a batch job would have more nodes than the 16 that all may have "
     "together; --max-nodes 20 would do"},
    {{"start", "--system", "./jobs.sh"},
     kUsage,
     "holon start: SCRIPT ./jobs.sh: an instance of several users runs no script; their jobs come "
     "by holon submit"},
    {{"start", "--system", "/etc/holon.toml", "--bg"},
     kUsage,
     "holon start: SCRIPT /etc/holon.toml: an instance of several users runs no script; their jobs "
     "come by holon submit. Options such as --bg stand before a script's name"},
    {{"simulate", "/nowhere/trace.swf"},
     kUsage,
     "holon simulate: /nowhere/trace.swf: No such file or directory"},
    {{"submit", "--each-line", "/nowhere/list", "true"},
     kUsage,
     "holon submit: --each-line: /nowhere/list: No such file or directory"},
    {{"submit", "--memory", "4G", "true"},
     kUsage,
     "holon submit: --memory: no such option; memory is --mem"},
    {{"job"}, kUsage, "holon job: look at a job, wait for it, read its output"},
    {{"job", "inof"}, kUsage, "holon job: there is no 'inof'; did you mean info?"},
    {{"job", "info"}, kUsage, "holon job info: ID is missing"},
    {{"job", "info", "7-9"},
     kUsage,
     "holon job info: 7-9: one job at a time: an id (7) or a path (/3/7)"},
    {{"job", "output", "9-7"},
     kUsage,
     "holon job output: 9-7: not a range of job ids, such as 3-9"},
    {{"output", "7", "/0"},
     kUsage,
     "holon output: /0: '0' is not a job id; a path is written /, /3, /3/7, .. or 7"},
    {{"output"}, kUsage, "holon output: ID is missing"},
    {{"submit", "-n", "--16", "true"},
     kUsage,
     "holon submit: -n,--ntasks: '--16' is no number of tasks; accepted are 4, 4-16, 4-, -16 and "
     "ascending lists like 2,4,8 and 1-3,5-6"},
    {{"reserve", "-d", "0"},
     kUsage,
     "holon reserve: -d,--duration: a reservation without an end is not accepted"},
    {{"reserve", "-d", "1h", "-u", "no-such-user-here"},
     kUsage,
     "holon reserve: -u,--user: there is no user 'no-such-user-here' here"},
    {{"reservation", "delete"}, kUsage, "holon reservation delete: ID: name at least one"},
    {{"job", "info", "7", "X"}, kUsage, "holon job info: X: accepted are jobspec and R"},
    {{"job", "wait"}, kUsage, "holon job wait: ID: name jobs, or give --all, one of the two"},
    {{"job", "output", "0"},
     kUsage,
     "holon job output: 0: not a job; accepted are an id (7), a range (3-9), a path (/3/7), tasks "
     "of an array (7.12, 7.3-9)"},
    {{"job", "eventlog", "/"},
     kUsage,
     "holon job eventlog: /: not the path of a job, such as /3/7"},
    {{"resource", "lst"}, kUsage, "holon resource: there is no 'lst'; did you mean list?"},
    {{"tree", "extra"}, kUsage, "holon tree: extra: not expected here"},
    {{"uptime", "--jsno"},
     kUsage,
     "holon uptime: --jsno: there is no such option; did you mean --json?"},
    {{"shutdown", "now"}, kUsage, "holon shutdown: now: not expected here"},
    {{"jobs"},
     kNoInstance,
     "holon jobs: no instance runs here; `holon start` makes one, HOLON_URI names one elsewhere"},
};

TEST(WrongInput, IsAnsweredWithWhatWhereAndWhatIsAccepted) {
  unsetenv("HOLON_URI");
  std::string nothing_runs_here = testing::TempDir() + "holon-test-XXXXXX";
  ASSERT_NE(mkdtemp(nothing_runs_here.data()), nullptr);
  setenv("XDG_RUNTIME_DIR", nothing_runs_here.c_str(), 1);
  for (const auto& row : kRows) {
    SCOPED_TRACE(testing::PrintToString(row.args));
    const Ran ran = run_cli(row.args);
    EXPECT_EQ(ran.code, row.code);
    EXPECT_EQ(first_line(ran.err), row.err);
    EXPECT_EQ(ran.out, "");
  }
  rmdir(nothing_runs_here.c_str());
}

// What `holon start ARGS` says as it refuses, before there is an instance.
std::string refusal_of_start(std::vector<std::string> args) {
  args.insert(args.begin(), "start");
  args.emplace_back("true");
  testing::internal::CaptureStderr();
  const Ran ran = run_cli(std::move(args));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(ran.code, kOk);
  return ran.err + said;
}

TEST(WrongInput, OfStartIsRefusedBeforeThereIsAnInstance) {
  setenv("XDG_RUNTIME_DIR", testing::TempDir().c_str(), 1);
  const std::string file = testing::TempDir() + "holon-test-file-" + std::to_string(getpid());
  std::ofstream(file) << "no folder";
  EXPECT_EQ(refusal_of_start({"--resources", "node=1/core=1", "--state-dir", file}),
            "holon start: --state-dir " + file +
                ": a file is there; accepted is a folder, made where there is none\n");
  std::filesystem::remove(file);
  EXPECT_EQ(refusal_of_start({"--resources", "node=1/core=1", "--state-dir", "/proc/nope"}),
            "holon start: --state-dir /proc/nope: the folder cannot be made: No such file or "
            "directory\n");
  EXPECT_EQ(refusal_of_start(
                {"--resources", "node=1{fast}/core=1", "--conf", "queue.requires=fast slow"}),
            "holon start: queue.requires: nothing here has the property 'slow', so that every job "
            "would be refused; there are fast\n");
  EXPECT_EQ(refusal_of_start({"--resources", "core=1/node=2"}),
            "holon start: --resources core=1/node=2: column 1: a node cannot be inside a core; "
            "node=4/core=2 has two in each of four nodes\n");
  EXPECT_EQ(
      refusal_of_start({"--resources", "node=1/core=1", "--conf", "queue.policy=\x1b[31mred"}),
      "holon start: --conf queue.policy: queue.policy = \"?[31mred\" does not fit: accepted is "
      "fcfs, easy, hybrid[:N], conservative[:N], conservative-rebuild[:N] or FILE.lua\n");
}

// The next attempt would find nothing in it.
TEST(WrongInput, AJobThatRunsAgainCannotReadAPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  std::ostringstream out, err;
  Io io{out, err};
  io.input = ends[0];
  EXPECT_EQ(run(io, {"run", "--requeue", "1", "cat"}), kUsage);
  EXPECT_THAT(err.str(),
              testing::HasSubstr("holon run: --requeue 1: what stands at the standard input is "
                                 "sent once, and the job's next attempt would find nothing"));
  for (const int end : ends) close(end);
}

TEST(WrongInput, OfTheEnvironmentIsSaidToBeTheEnvironments) {
  const auto said_of = [](const char* value) {
    setenv("HOLON_CONF", value, 1);
    const Ran ran = run_cli({"doctor", "--here"});
    unsetenv("HOLON_CONF");
    EXPECT_EQ(ran.code, kUsage) << value;
    return ran.err;
  };
  EXPECT_EQ(
      said_of("queue.policy=easy"),
      "holon doctor: HOLON_CONF: queue.policy=easy: is KEY=VALUE, as --conf takes it; accepted "
      "are names of TOML files, with : between them\n");
  EXPECT_EQ(
      said_of("/nowhere/site.toml"),
      "holon doctor: HOLON_CONF: /nowhere/site.toml: no such file; accepted are names of TOML "
      "files, with : between them\n");
  EXPECT_EQ(
      said_of("/"),
      "holon doctor: HOLON_CONF: /: a folder; accepted are names of TOML files, with : between "
      "them\n");
}

TEST(WrongInput, AnAddressThatIsNoSocketIsSaidToBeNone) {
  for (const char* address : {"ipc:///etc/passwd", "/etc/passwd", "ipc:///tmp"}) {
    setenv("HOLON_URI", address, 1);
    const Ran ran = run_cli({"jobs"});
    unsetenv("HOLON_URI");
    EXPECT_EQ(ran.code, kNoInstance) << address;
    EXPECT_THAT(ran.err, testing::HasSubstr("is no socket, so no instance listens")) << address;
  }
}

TEST(WrongInput, ACurrentFolderThatIsGoneIsSaidToBe) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  std::string folder = (fs::temp_directory_path() / "gone-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  fs::current_path(folder);
  fs::remove(folder);
  const Ran here = run_cli({"submit", "--dry-run", "pwd"});
  const Ran elsewhere = run_cli({"submit", "--dry-run", "--cwd", "/", "pwd"});
  fs::current_path(before);
  EXPECT_EQ(here.code, kFailed);
  EXPECT_EQ(here.err,
            "holon submit: the current folder is gone: somebody has removed it; go to another one, "
            "or name one with --cwd\n");
  EXPECT_EQ(elsewhere.code, kOk) << elsewhere.err;
}

TEST(WrongInput, AJobspecThatIsNoTextIsNamed) {
  const std::string program = "/bin/ls";
  EXPECT_EQ(run_cli({"submit", "--jobspec", program}).err,
            "holon submit: " + program + ": a jobspec must be UTF-8 without NUL\n");
}

}  // namespace
}  // namespace holon::cli
