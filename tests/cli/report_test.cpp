// holon report: the page of a state directory whose instance is over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "instance/job/ended.hpp"
#include "instance/journal/journal.hpp"
#include "msg/instance.hpp"
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
    auto journal = instance::Journal::open(dir_ + "/journal.db", instance::Journal::Sync::normal);
    ASSERT_TRUE(journal) << to_string(journal.error());
    journal->set_meta("resources.kind", "shape");
    journal->set_meta("resources.text", shape);
    journal->add_batch({JobId(1), tasks + 1, array_spec(), false});
    journal->add_array(JobId(1), tasks);
    journal->add_event(JobId(1), tasks + 1, {1'000, instance::event::Submit{16, "ada"}});
    const std::pair<Time, Time> runs[] = {
        {2'000, 12'000}, {2'000, 12'000}, {2'000, 22'000}, {12'000, 22'000}};
    for (std::uint64_t i = 0; i < 4; ++i)
      journal->add_ended_tasks({JobId(2 + i), 1, pack_ended(ran(runs[i].first, runs[i].second))},
                               "COMPLETED");
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
  // [id, start, end, first processor, processors, ...] of each rectangle.
  static nlohmann::json gantt_of(const std::string& page) {
    const auto begin = page.find(R"({"procs":)");
    const auto end = page.find(";\n", begin);  // of the line
    const auto data = nlohmann::json::parse(page.substr(begin, end - begin), nullptr, false);
    return data.is_object() ? data["policies"][0]["gantt"] : nlohmann::json();
  }

  std::string dir_;
};

TEST_F(ReportOfEnded, DrawsTheTasksOfAnArrayWithTheirOwnTimes) {
  write("node=2/core=2", true);
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("2 nodes, 4 cores"));
  const auto gantt = gantt_of(text);
  ASSERT_EQ(gantt.size(), 4u) << gantt;
  std::string drawn;
  for (const auto& task : gantt)
    drawn += std::to_string(task[0].get<int>()) + ": " + std::to_string(task[1].get<int>()) + "-" +
             std::to_string(task[2].get<int>()) + " on " + std::to_string(task[4].get<int>()) +
             "; ";
  EXPECT_EQ(drawn, "2: 1-11 on 1; 3: 1-11 on 1; 4: 1-21 on 1; 5: 11-21 on 1; ");
  EXPECT_EQ(text.find("as a whole"), std::string::npos);
}

TEST_F(ReportOfEnded, DrawsThoseOfAnArrayThatItsEndHasInterrupted) {
  write("node=1/core=4", false, 6);
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("1 node, 4 cores"));
  EXPECT_EQ(gantt_of(text).size(), 4u) << "two wait for the next start";
}

TEST_F(ReportOfEnded, OfAMachineThatHasShrunkItSaysSo) {
  write("node=1/core=2", true);
  EXPECT_THAT(page(), HasSubstr("1 node, 2 cores; 3 were in use before"));
}

}  // namespace
}  // namespace holon::cli
