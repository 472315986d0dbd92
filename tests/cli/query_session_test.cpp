// Sessions of `holon query` on small machines: what golden cases do not show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/query/commands.hpp"
#include "cli/query/draw.hpp"
#include "cli/query/session.hpp"

namespace holon::cli::query {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kRv1 = R"({"version": 1, "execution": {"R_lite": [
  {"rank": "0-1", "children": {"core": "0-1"}}], "nodelist": ["node[0-1]"], "starttime": 0,
  "expiration": 0}})";

std::string jobspec(int nodes) {
  return "version: 9999\nresources:\n- {type: node, count: " + std::to_string(nodes) +
         ", exclusive: true, with: [{type: slot, label: s, count: 1, with: [{type: core, count: "
         "1}]}]}\ntasks: [{command: [a], slot: s, count: {per_slot: 1}}]\nattributes: {system: "
         "{duration: 60}}\n";
}

// A session in a folder with machine.json, one.yaml, two.yaml, three.yaml and bad.yaml.
class QuerySession : public testing::Test {
 protected:
  QuerySession() {
    std::string name = (fs::temp_directory_path() / "holon-query-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    write("machine.json", kRv1);
    write("one.yaml", jobspec(1));
    write("two.yaml", jobspec(2));
    write("three.yaml", jobspec(3));
    write("bad.yaml", "version: 1\nresources: nothing\n");
  }
  ~QuerySession() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  Session open(bool json = false, const std::string& format = "simple") {
    Options options;
    options.load_file = file("machine.json");
    options.load_format = "rv1exec";
    options.policy = "low";
    options.match_format = format;
    options.json = json;
    return Session::open(options).value();
  }

  nlohmann::json ask(Session& session, const std::string& line) {
    return nlohmann::json::parse(run_line(session, line).json);
  }

  fs::path folder_;
};

TEST_F(QuerySession, WithoutResourcesItSaysHowToNameThem) {
  const auto none = Session::open(Options{});
  ASSERT_FALSE(none);
  EXPECT_EQ(to_string(none.error()),
            "conf/default: No such file or directory; say with -L FILE what the resources are");
}

TEST_F(QuerySession, MatchesAndPrintsAsResourceQuery) {
  Session session = open();
  const Reply reply = run_line(session, "match allocate " + file("one.yaml"));
  EXPECT_EQ(reply.out,
            "      ---------core0[1:x]\n      ---------core1[1:x]\n      ------node0[1:x]\n"
            "      ---cluster0[1:s]\nINFO: =============================\nINFO: JOBID=1\n"
            "INFO: RESOURCES=ALLOCATED\nINFO: SCHEDULED AT=Now\nINFO: "
            "=============================\n");
  EXPECT_EQ(reply.error, "");
}

TEST_F(QuerySession, AFolderOrWhatCannotBeReadIsAnErrorAndTheSessionGoesOn) {
  Session session = open();
  for (const std::string& odd : {std::string("/"), std::string("/proc/self/mem")}) {
    for (const std::string& line :
         {"match allocate " + odd, "update allocate jgf " + odd + " 1 0 10", "attach " + odd,
          "cat " + odd})
      EXPECT_THAT(run_line(session, line).error, HasSubstr(odd)) << line;
    for (const std::string format : {"jgf", "grug", "hwloc", "rv1exec"}) {
      Options options;
      options.load_file = odd;
      options.load_format = format;
      EXPECT_FALSE(Session::open(options)) << format << " " << odd;
    }
  }
  EXPECT_THAT(run_line(session, "match allocate " + file("one.yaml")).out, HasSubstr("JOBID=1"));
}

TEST_F(QuerySession, AnIdIsUsedUpByARequestThatWasUnderstood) {
  Session session = open();
  run_line(session, "match allocate " + file("bad.yaml"));
  EXPECT_EQ(session.next_job, JobId{1});
  run_line(session, "match without_allocating " + file("one.yaml"));
  EXPECT_EQ(session.next_job, JobId{1});
  run_line(session, "match allocate " + file("three.yaml"));
  EXPECT_EQ(session.next_job, JobId{2});
  EXPECT_TRUE(session.jobs.empty());
}

TEST_F(QuerySession, ATypeThatNobodyHasHeardOfIsNoRequest) {
  Session session = open();
  std::string text = jobspec(1);
  write("gpu.yaml", text.replace(text.find("core"), 4, "gpu"));  // known, though there is none
  EXPECT_THAT(run_line(session, "match allocate_with_satisfiability " + file("gpu.yaml")).out,
              HasSubstr("INFO: Unsatisfiable request\nINFO: JOBID=1\n"));
  write("odd.yaml", text.replace(text.find("gpu"), 3, "pony"));
  for (int i = 0; i < 2; ++i) {
    const Reply reply = run_line(session, "match allocate_with_satisfiability " + file("odd.yaml"));
    EXPECT_THAT(reply.out, HasSubstr("INFO: No matching resources found\nINFO: JOBID=2\n"));
    EXPECT_THAT(reply.error, HasSubstr("pony"));
  }
}

TEST_F(QuerySession, FindLeavesNothingOutInShorthand) {
  Session session = open(false, "jgf_shorthand");
  EXPECT_THAT(run_line(session, "find type=core").out,
              testing::AllOf(HasSubstr("\"type\": \"core\""), Not(HasSubstr("writer"))));
  const std::string shorthand = "\"writer\": \"fluxion:jgf_shorthand\"";
  EXPECT_THAT(run_line(session, "match allocate " + file("one.yaml")).out, HasSubstr(shorthand));
  EXPECT_THAT(run_line(session, "find type=core").out, HasSubstr(shorthand));  // from then on
}

TEST_F(QuerySession, NothingIsSaidOfAnEmptyRLite) {
  Session session = open(false, "rlite");
  EXPECT_EQ(run_line(session, "find type=gpu").out, "");
  EXPECT_NE(run_line(session, "find type=core").out, "");
}

TEST_F(QuerySession, AnRIsShownWithWholeNodesWhereThePolicyTakesThem) {
  write("r.json", R"({"version": 1, "execution": {"R_lite": [{"rank": "1", "children":
    {"core": "0"}}], "nodelist": ["node1"], "starttime": 0, "expiration": 0}})");
  Options options;
  options.load_file = file("machine.json");
  options.load_format = "rv1exec";
  options.policy = "lonodex";
  Session session = Session::open(options).value();
  EXPECT_THAT(run_line(session, "update allocate rv1exec " + file("r.json") + " 1 0 60").out,
              HasSubstr("core0[1:x]\n      ---------core1[1:x]\n      ------node1[1:x]\n"));
  EXPECT_EQ(session.store().find(JobId{1})->shares.size(), 3U);  // it holds what R says
}

TEST_F(QuerySession, AGraphUnderSchedulingIsNotLookedAt) {
  std::string text = kRv1;
  write("machine.json", text.insert(text.rfind('}'), R"(, "scheduling": {"graph": {"nodes": [],
    "edges": []}})"));
  EXPECT_EQ(open().store().graph().by_type("core").size(), 4U);
}

TEST_F(QuerySession, SaysInJsonWhatCameOfIt) {
  Session session = open(true, "rv1_nosched");
  auto answer = ask(session, "match allocate " + file("two.yaml"));
  EXPECT_EQ(answer["outcome"], "allocated");
  EXPECT_EQ(answer["R"]["execution"]["nodelist"][0], "node[0-1]");
  answer = ask(session, "match allocate_orelse_reserve " + file("one.yaml"));
  EXPECT_EQ(answer["outcome"], "reserved");
  EXPECT_EQ(answer["at"], 60);
  answer = ask(session, "match allocate " + file("one.yaml"));
  EXPECT_EQ(answer["outcome"], "not_now");
  EXPECT_FALSE(answer["reason"].get<std::string>().empty());
  answer = ask(session, "match satisfiability " + file("three.yaml"));
  EXPECT_EQ(answer["outcome"], "never");
  answer = ask(session, "match allocate " + file("bad.yaml"));
  EXPECT_EQ(answer["outcome"], "error");
  EXPECT_THAT(answer["reason"].get<std::string>(), HasSubstr("is missing"));
  answer = ask(session, "list");
  EXPECT_EQ(answer["jobs"].size(), 2U);
  EXPECT_EQ(ask(session, "stat")["jobs"], 2);
  EXPECT_EQ(ask(session, "cancel 1")["ok"], true);
  EXPECT_EQ(ask(session, "cancel 1")["ok"], false);
  EXPECT_EQ(ask(session, "info 1")["job"]["state"], "CANCELED");
}

TEST_F(QuerySession, OneObjectForEachFileOfAMultiMatch) {
  Session session = open(true);
  const Reply reply =
      run_line(session, "multi-match allocate " + file("one.yaml") + " " + file("one.yaml") + " " +
                            file("two.yaml") + " " + file("one.yaml"));
  EXPECT_EQ(std::count(reply.json.begin(), reply.json.end(), '\n'), 3);  // it stops at the third
}

TEST_F(QuerySession, FindsSetsAndShowsVertices) {
  Session session = open(true, "rlite");
  EXPECT_EQ(ask(session, "set-property /cluster0/node1 perf_class=2")["ok"], true);
  EXPECT_EQ(ask(session, "get-property /cluster0/node1")["properties"]["perf_class"], "2");
  EXPECT_EQ(ask(session, "set-status /cluster0/node1 down")["ok"], true);
  EXPECT_EQ(ask(session, "get-status /cluster0/node1")["status"], "down");
  const auto answer = ask(session, "find status=down and property.perf_class<3 or type=core");
  EXPECT_EQ(answer["found"][0]["rank"], "0-1");
  EXPECT_EQ(ask(session, "find type=gpu")["found"], nullptr);
  EXPECT_EQ(ask(session, "find colour=red")["ok"], false);
  EXPECT_EQ(ask(session, "set-status /nowhere up")["ok"], false);
  EXPECT_EQ(ask(session, "set-status /cluster0/node1 up")["ok"], true);
  EXPECT_EQ(ask(session, "set-status /cluster0/node1 drained")["ok"], true);
  EXPECT_EQ(ask(session, "get-status /cluster0/node1")["status"], "drained");
  EXPECT_EQ(ask(session, "set-status /cluster0/node1 up")["ok"], true);
  EXPECT_EQ(ask(session, "get-status /cluster0/node1")["status"], "up");
  EXPECT_EQ(ask(session, "set-status /cluster0/node1 gone")["ok"], false);
}

TEST_F(QuerySession, RemovesAndComplainsWithoutChange) {
  Session session = open(true);
  EXPECT_EQ(ask(session, "remove /cluster0/node1 true")["ok"], true);
  EXPECT_EQ(ask(session, "remove 0 false")["ok"], true);
  EXPECT_EQ(ask(session, "remove 5 false")["ok"], false);
  EXPECT_EQ(ask(session, "remove 0-99999999999 false")["ok"], false);
  EXPECT_EQ(ask(session, "attach " + file("one.yaml"))["ok"], false);
  EXPECT_EQ(ask(session, "update allocate jgf " + file("nothing") + " 1 0 1")["ok"], false);
  EXPECT_EQ(ask(session, "partial-cancel 9 jgf x")["ok"], false);
  EXPECT_EQ(ask(session, "nonsense")["ok"], false);
}

TEST_F(QuerySession, EveryCommandHasHelpAndAnOwnName) {
  Session session = open();
  for (const Command& command : commands()) {
    EXPECT_EQ(find_command(command.name), &command);
    const Reply reply = run_line(session, "help " + std::string(command.name));
    EXPECT_THAT(reply.console, HasSubstr(std::string(command.summary)));
  }
  EXPECT_EQ(find_command("j")->name, "attach");
  EXPECT_EQ(run_line(session, "   # not a command").error, "");
  EXPECT_TRUE(run_line(session, " quit ").quit);
}

TEST_F(QuerySession, AJobspecIsReadAnewWhenItsFileChanges) {
  Session session = open(true);
  write("job.yaml", jobspec(3));
  EXPECT_EQ(ask(session, "match allocate " + file("job.yaml"))["outcome"], "not_now");
  write("job.yaml", jobspec(2));
  EXPECT_EQ(ask(session, "match allocate " + file("job.yaml"))["outcome"], "allocated");
}

TEST_F(QuerySession, DrawsTheGraph) {
  Session session = open();
  const std::string dot = draw_graph(session.store().graph(), "dot");
  EXPECT_THAT(dot, HasSubstr("0[label=\"cluster0\"];\n1[label=\"node0\"];"));
  EXPECT_THAT(dot, HasSubstr("0->1 [label=\"containment\"];"));
  const std::string graphml = draw_graph(session.store().graph(), "graphml");
  EXPECT_THAT(graphml, HasSubstr("<data key=\"paths\">containment=/cluster0/node0/core0</data>"));
}

}  // namespace
}  // namespace holon::cli::query
