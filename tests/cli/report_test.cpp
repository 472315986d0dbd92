// holon report: the page of a state directory whose instance is over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "instance/job/ended.hpp"
#include "instance/journal/journal.hpp"
#include "instance/output/output_log.hpp"
#include "msg/instance.hpp"
#include "tests/cli/pages/frozen_records.hpp"
#include "tests/cli/run.hpp"
#include "tests/instance/a_jobspec.hpp"

namespace holon::cli {
namespace {

using instance::JobState;
using instance::Lifecycle;
using ::testing::HasSubstr;

// A state directory with the journal of an instance of four cores, in which array 1 has run four
// tasks of a core: one after the other on one core two of them, and two beside these.
class ReportOfEnded : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-report-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  static Lifecycle ran(Time from, Time until) {
    Lifecycle life;
    life.state = JobState::inactive;
    life.submitted = life.started = life.finished = life.freed = true;
    life.t_submit = 1'000;
    life.t_alloc = life.t_start = from;
    life.t_finish = life.t_inactive = until;
    life.place = {"here", 1, 1, 0};
    return life;
  }
  void write(const std::string& shape, bool over, std::uint64_t tasks = 4) const {
    write_into(dir_, shape, over, tasks);
  }
  // Where `fail`, the last two tasks have failed.
  static void write_into(const std::string& dir, const std::string& shape, bool over,
                         std::uint64_t tasks, bool fail = false) {
    auto journal = instance::Journal::open(dir + "/journal.db", instance::Journal::Sync::normal);
    ASSERT_TRUE(journal) << to_string(journal.error());
    journal->set_meta("resources.kind", "shape");
    journal->set_meta("resources.text", shape);
    journal->add_batch({JobId(1), tasks + 1, array_spec(), false});
    journal->add_array(JobId(1), tasks);
    journal->add_event(JobId(1), tasks + 1, {1'000, instance::event::Submit{16, "ada"}});
    const std::pair<Time, Time> runs[] = {
        {2'000, 12'000}, {2'000, 12'000}, {2'000, 22'000}, {12'000, 22'000}};
    for (std::uint64_t i = 0; i < 4; ++i) {
      Lifecycle life = ran(runs[i].first, runs[i].second);
      life.status = fail && i > 1 ? 3 << 8 : 0;
      journal->add_ended_tasks({JobId(2 + i), 1, pack_ended(life)},
                               fail && i > 1 ? "FAILED" : "COMPLETED");
    }
    msg::JobRecord array;
    array.path = "/1";
    array.id = array.array = 1;
    array.tasks = array.tasks_completed = array.tasks_started = tasks;
    array.tasks_core_ms = 50'000;
    array.user = "ada";
    array.state = "INACTIVE";
    array.result = "COMPLETED";
    array.ncores = 1;
    array.t_submit = 1'000;
    array.t_start = 2'000;
    array.t_finish = array.t_inactive = 22'000;
    if (over) journal->add_inactive(array);
    ASSERT_TRUE(journal->commit());
  }
  static msg::JobRecord never_ran(std::uint64_t id, const std::string& result) {
    msg::JobRecord job;
    job.path = "/" + std::to_string(id);
    job.id = id;
    job.user = "ada";
    job.state = "INACTIVE";
    job.result = result;
    job.reason = result == "REJECTED" ? "it needs 9 cores of 4" : "";
    job.ncores = 9;
    job.t_submit = 1'000;
    job.t_inactive = 3'000;
    return job;
  }
  void add(const std::vector<msg::JobRecord>& jobs) const {
    auto journal = instance::Journal::open(dir_ + "/journal.db", instance::Journal::Sync::normal);
    ASSERT_TRUE(journal) << to_string(journal.error());
    for (const auto& job : jobs) {
      journal->add_batch({JobId(job.id), 1, instance::testing::a_jobspec(), job.is_instance});
      journal->add_inactive(job);
    }
    ASSERT_TRUE(journal->commit());
  }
  static std::string array_spec() {
    auto spec = nlohmann::json::parse(instance::testing::a_jobspec());
    spec["attributes"]["system"]["holon"]["array"] = {{"first", 0}, {"step", 1}};
    return spec.dump();
  }
  std::string page() const {
    const Ran made = run_cli({"report", dir_, "-o", "-"});
    EXPECT_EQ(made.code, kOk) << made.err;
    return made.out;
  }
  // "2: 1-11 on 1; ...": each job with its start and end in seconds after the first submission, and
  // the lanes that it is drawn on.
  static std::string drawn_on(const std::string& page) {
    const auto part = records_of(page)["parts"][0];
    std::string drawn;
    for (std::size_t i = 0; i < part["jobs"].size(); ++i) {
      const auto& job = part["jobs"][i];
      const auto& places = part["places"][i];
      std::int64_t lanes = 0;
      for (std::size_t at = 2; at < places.size(); at += 3) lanes += places[at].get<int>();
      const auto second = [&job](std::size_t column) {
        return (job[1].get<std::int64_t>() + job[column].get<std::int64_t>() - 1) / 1'000;
      };
      drawn += fmt::format("{}: {}-{} on {}; ", job[0].get<int>(), second(2), second(3), lanes);
    }
    return drawn;
  }

  std::string dir_;
};

TEST_F(ReportOfEnded, DrawsTheTasksOfAnArrayWithTheirOwnTimes) {
  write("node=2/core=2", true);
  const std::string text = page();
  EXPECT_THAT(records_of(text)["facts"].dump(), HasSubstr("2 nodes, 4 cores"));
  EXPECT_EQ(drawn_on(text), "2: 1-11 on 1; 3: 1-11 on 1; 4: 1-21 on 1; 5: 11-21 on 1; ");
  EXPECT_EQ(records_of(text)["note"].dump().find("as a whole"), std::string::npos);
}

TEST_F(ReportOfEnded, DrawsThoseOfAnArrayThatItsEndHasInterrupted) {
  write("node=1/core=4", false, 6);
  const std::string text = page();
  EXPECT_THAT(records_of(text)["facts"].dump(), HasSubstr("1 node, 4 cores"));
  std::size_t started = 0;
  const auto records = records_of(text);
  for (const auto& job : records["parts"][0]["jobs"]) started += job.size() > 2 && job[2] > 0;
  EXPECT_EQ(started, 4u) << "two wait for the next start";
}

TEST_F(ReportOfEnded, GroupsFailuresByWhatTheLogOfOutputsHasOfThem) {
  write_into(dir_, "node=1/core=4", true, 4, true);
  std::filesystem::create_directory(dir_ + "/output");
  {
    auto journal = instance::Journal::open(dir_ + "/journal.db", instance::Journal::Sync::normal);
    ASSERT_TRUE(journal) << to_string(journal.error());
    instance::OutputLog log(*journal, dir_ + "/output");
    ASSERT_TRUE(log.add(JobId(4), {"begins\n", "no such dataset\n"}));
    ASSERT_TRUE(log.add(JobId(5), {"nothing to do\n", ""}));
    ASSERT_TRUE(journal->commit());
  }
  std::set<std::string> lines;
  const auto records = records_of(page());
  for (const auto& group : records["parts"][0]["failures"])
    lines.insert(group["line"].get<std::string>());
  EXPECT_EQ(lines, (std::set<std::string>{"no such dataset", "nothing to do"}));
}

TEST_F(ReportOfEnded, OfAMachineThatHasShrunkItSaysSo) {
  write("node=1/core=2", true);
  EXPECT_THAT(records_of(page())["facts"].dump(),
              HasSubstr("1 node, 2 cores; 3 were in use before"));
}

TEST_F(ReportOfEnded, LoadsNothingFromElsewhereAndRunsOnlyItsOwnScript) {
  write("node=2/core=2", true);
  const std::string text = page();
  const std::string head = text.substr(0, text.find("</head>"));
  for (const char* loads : {" src=", "@import", "url(", "https://"})
    EXPECT_EQ(head.find(loads), std::string::npos) << loads;
  EXPECT_THAT(head, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_EQ(text, page()) << "the same records, the same bytes";
}

TEST_F(ReportOfEnded, QuotesItsTitle) {
  write("node=2/core=2", true);
  const Ran made = run_cli({"report", dir_, "-o", "-", "--title", "<b>&</title></script>"});
  const auto head_end = made.out.find("</head>");
  EXPECT_GT(made.out.find("<b>"), head_end) << "in the head, where the title is";
  EXPECT_GT(made.out.find("</title></script>"), head_end);
  EXPECT_EQ(records_of(made.out)["title"], "<b>&</title></script>");
  EXPECT_THAT(made.out, HasSubstr("<noscript><h1>&lt;b>&amp;&lt;/title>&lt;/script></h1>"));
}

TEST_F(ReportOfEnded, HasTheLicencesOfWhatItContains) {
  write("node=2/core=2", true);
  const std::string text = page();
  for (const char* words : {"Leon Sorokin", "Jason Miller", "Preact Team", "Google Inc., Apache",
                            "Permission is hereby granted, free of charge"})
    EXPECT_THAT(text, HasSubstr(words));
}

TEST_F(ReportOfEnded, HasJobsThatNeverRanAmongOutcomesAndFailures) {
  write("node=2/core=2", true);
  add({never_ran(6, "REJECTED"), never_ran(7, "CANCELED")});
  const auto records = records_of(page());
  const auto& part = records["parts"][0];
  std::multiset<std::string> states;
  for (const auto& job : part["jobs"])
    states.insert(records["texts"][job[5].get<std::size_t>()].get<std::string>());
  EXPECT_EQ(states, (std::multiset<std::string>{"CANCELED", "COMPLETED", "COMPLETED", "COMPLETED",
                                                "COMPLETED", "REJECTED"}));
  EXPECT_EQ(part["instance"]["failed"], 1);
  ASSERT_EQ(part["failures"].size(), 1u);
  EXPECT_EQ(part["failures"][0]["line"], "it needs 9 cores of 4");
  EXPECT_THAT(records["facts"].dump(), HasSubstr("6, 2 of them never ran"));
  EXPECT_EQ(records["figures"][0]["jobs"], 4) << "waits are those of jobs that ran";
}

TEST_F(ReportOfEnded, IsMadeWhereNothingRan) {
  add({never_ran(1, "REJECTED")});
  EXPECT_THAT(records_of(page())["facts"].dump(), HasSubstr("1, 1 of them never ran"));
}

TEST_F(ReportOfEnded, DrawsTheTasksOfAChildsArray) {
  write("node=2/core=2", true);
  msg::JobRecord child = never_ran(6, "COMPLETED");
  child.is_instance = true;
  child.t_start = 1'000;
  child.t_finish = 30'000;
  add({child});
  std::filesystem::create_directories(dir_ + "/children/6");
  write_into(dir_ + "/children/6", "node=1/core=2", true, 4, true);
  msg::JobRecord array = never_ran(1, "FAILED");
  array.path = "/6/1";
  array.array = 1;
  array.tasks = 4;
  array.tasks_failed = 2;
  array.t_start = 2'000;
  array.t_finish = 22'000;
  auto journal = instance::Journal::open(dir_ + "/journal.db", instance::Journal::Sync::normal);
  ASSERT_TRUE(journal) << to_string(journal.error());
  journal->put_descendant(array);
  ASSERT_TRUE(journal->commit());
  journal = fail(Errc::not_found, "it is closed");
  const auto with_tasks = records_of(page());
  ASSERT_EQ(with_tasks["parts"].size(), 2u);
  EXPECT_EQ(with_tasks["parts"][1]["jobs"].size(), 4u) << "its tasks, and not the array";
  EXPECT_EQ(with_tasks["parts"][1]["instance"]["failed"], 2);
  EXPECT_EQ(with_tasks["parts"][1]["failures"][0]["jobs"], 2);
  EXPECT_EQ(with_tasks["note"].dump().find("as a whole"), std::string::npos);
  // Without the child's journal nobody knows them.
  std::filesystem::remove_all(dir_ + "/children/6");
  const auto whole = records_of(page());
  EXPECT_EQ(whole["parts"][1]["jobs"].size(), 1u);
  EXPECT_EQ(whole["parts"][1]["instance"]["failed"], 2);
  EXPECT_THAT(whole["note"].dump(), HasSubstr("as a whole"));
}

TEST_F(ReportOfEnded, WritesNoTwoThingsIntoOneStream) {
  write("node=2/core=2", true);
  const Ran made = run_cli({"report", dir_, "-o", "-", "--perfetto", "-"});
  EXPECT_EQ(made.code, kUsage) << made.err;
  EXPECT_EQ(made.out, "");
}

// Slices of a thread of the trace may not overlap: a viewer would draw one of them elsewhere.
TEST_F(ReportOfEnded, AsTraceEventsHasANodeForAThreadAndAJobForASlice) {
  write("node=2/core=2", true);
  add({never_ran(6, "REJECTED")});
  const Ran made = run_cli({"report", dir_, "--perfetto", "-"});
  ASSERT_EQ(made.code, kOk) << made.err;
  const auto trace = nlohmann::json::parse(made.out);
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> slices;
  std::set<std::pair<int, int>> threads;
  std::string processes, waiting;
  for (const auto& event : trace["traceEvents"]) {
    const auto thread = std::pair(event["pid"].get<int>(), event.value("tid", 0));
    if (event["name"] == "process_name") processes += event["args"]["name"].get<std::string>();
    if (event["name"] == "thread_name") threads.insert(thread);
    if (event["name"] == "jobs waiting") waiting += event["args"]["jobs waiting"].dump() + " ";
    if (event["ph"] != "X") continue;
    EXPECT_EQ(event["args"]["state"], "COMPLETED");
    slices[thread].emplace_back(event["ts"],
                                event["ts"].get<std::int64_t>() + event["dur"].get<std::int64_t>());
  }
  EXPECT_EQ(processes, "/");
  EXPECT_EQ(waiting, "5 2 1 0 ")
      << "three start at 2 s, one is refused at 3 s, the last starts at 12 s";
  std::size_t all = 0;
  for (auto& [thread, spans] : slices) {
    EXPECT_TRUE(threads.contains(thread)) << "a thread has a name";
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_LE(spans[i - 1].second, spans[i].first);
    all += spans.size();
  }
  EXPECT_EQ(all, 4u);
}

}  // namespace
}  // namespace holon::cli
