// The monitoring file of live instances: Grid Engine's format, written by the passes that happen.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "resource/jobspec/jobspec.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

using ::testing::ElementsAre;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Live;
using testing::read_file;

struct Line {
  std::uint64_t job = 0;
  std::string state;
  std::int64_t begin = 0, length = 0;
  std::string rest;  // level:object:resource:amount
};
using Section = std::vector<Line>;

std::vector<Section> sections_of(const std::string& text) {
  std::vector<Section> sections;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == "::::::::") {
      sections.emplace_back();
      continue;
    }
    std::array<std::string, 5> column;
    std::istringstream columns(line);
    for (auto& word : column) std::getline(columns, word, ':');
    Line read{std::stoull(column[0]), column[2], std::stoll(column[3]), std::stoll(column[4]), {}};
    EXPECT_EQ(column[1], "1") << line;
    std::getline(columns, read.rest);
    EXPECT_EQ(std::count(read.rest.begin(), read.rest.end(), ':'), 3) << line;
    if (sections.empty()) {
      ADD_FAILURE() << "a line before the first section: " << line;
      return sections;
    }
    sections.back().push_back(std::move(read));
  }
  return sections;
}

// In how many sections some line has the job in that state.
std::int64_t times(const std::vector<Section>& sections, std::uint64_t job,
                   const std::string& state) {
  return std::count_if(sections.begin(), sections.end(), [&](const Section& section) {
    return std::any_of(section.begin(), section.end(),
                       [&](const Line& l) { return l.job == job && l.state == state; });
  });
}

std::vector<std::string> uses(const Section& section, std::uint64_t job) {
  std::vector<std::string> all;
  for (const Line& line : section)
    if (line.job == job) all.push_back(line.rest);
  return all;
}

// The last section, once it is as `wanted`; jobs are told as ended before it is written.
Section last_section(const std::string& file, const std::function<bool(const Section&)>& wanted) {
  std::vector<Section> sections;
  EXPECT_TRUE(eventually([&] {
    sections = sections_of(read_file(file));
    return !sections.empty() && wanted(sections.back());
  })) << read_file(file);
  return sections.empty() ? Section() : sections.back();
}

// A section stands for all passes since the last one: a job that starts and ends between two has no
// line. With its start in the file, it is in the next section as running, and may end.
void when_its_start_is_told(const std::string& file, std::uint64_t job) {
  EXPECT_TRUE(eventually([&] { return times(sections_of(read_file(file)), job, "STARTING") == 1; }))
      << "job " << job << "\n"
      << read_file(file);
}

bool is_empty(const Section& section) {
  return section.empty();
}

// Grid Engine's example: 5 licences; jobs that want 4, 5 and 1 of them, one after the other.
TEST(ScheduleLog, ThreeLicenceJobsAsInGridEnginesSpecification) {
  const Live live({"--resources", "node=1/core=9,gpu=2", "--conf", "queue.policy=easy", "--conf",
                   "queue.max-reservation=10", "--conf", "pools.license=5", "--conf",
                   "instance.monitor=true"});
  const std::string file = live.dir() + "/state/schedule";
  const auto wants = [](int licences) {
    return testing::JobOptions{
        1,     30, 1,
        false, 1,  "{\"holon\":{\"licenses\":{\"license\":" + std::to_string(licences) + "}}}"};
  };
  const auto four = live.job(live.gated("four"), wants(4));
  when_its_start_is_told(file, four);
  const auto five = live.job(live.gated("five"), wants(5));
  const auto one = live.job(live.gated("one"), wants(1));
  Section section =
      last_section(file, [&](const Section& s) { return times({s}, one, "RESERVING") == 1; });
  EXPECT_THAT(uses(section, four),
              ElementsAre("G:global:license:4.000000", "Q:default@node0:slots:1.000000"));
  EXPECT_THAT(uses(section, five),
              ElementsAre("G:global:license:5.000000", "Q:default:slots:1.000000"));
  for (const Line& line : section) EXPECT_EQ(line.length, 30) << line.job;
  const auto began = [&](std::uint64_t job) {
    return std::find_if(section.begin(), section.end(),
                        [&](const Line& line) { return line.job == job; })
        ->begin;
  };
  EXPECT_EQ(began(four), live.record(four).t_alloc / 1000);
  EXPECT_NEAR(static_cast<double>(began(five)), static_cast<double>(began(four) + 30), 1);
  EXPECT_NEAR(static_cast<double>(began(one)), static_cast<double>(began(five) + 30), 1);
  live.release("four");
  when_its_start_is_told(file, five);
  live.release("five");
  when_its_start_is_told(file, one);
  live.release("one");
  live.wait_one(one);
  last_section(file, is_empty);
  const auto all = sections_of(read_file(file));
  for (const std::uint64_t job : {four, five, one}) {
    EXPECT_EQ(times(all, job, "STARTING"), 1) << "job " << job;
    EXPECT_GE(times(all, job, "RUNNING") + times(all, job, "RESERVING"), 1) << "job " << job;
  }
  EXPECT_EQ(times(all, four, "RESERVING"), 0);
}

TEST(ScheduleLog, AllThatAJobHasOfItsHostsIsThere) {
  const Live live({"--resources", "node=2/core=2,gpu=1,memory=8", "--conf", "instance.monitor=1"});
  resource::JobShape shape;
  shape.tasks = 2;
  shape.cores_per_task = 2;
  shape.gpus_per_task = 1;
  shape.memory_per_task = 3;
  shape.command = live.gated("gate");
  shape.cwd = "/";
  msg::SubmitRequest ask;
  ask.jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
  ask.user = "ada";
  const auto reply = live.call<msg::SubmitReply>("submit", ask);
  ASSERT_TRUE(reply) << reply.error().what;
  const Section section = last_section(live.dir() + "/state/schedule", [&](const Section& s) {
    return times({s}, reply->first_id, "STARTING") + times({s}, reply->first_id, "RUNNING") > 0;
  });
  EXPECT_THAT(uses(section, reply->first_id),
              ElementsAre("H:node0:gpu:1.000000", "H:node0:memory:3.000000",
                          "Q:default@node0:slots:2.000000", "H:node1:gpu:1.000000",
                          "H:node1:memory:3.000000", "Q:default@node1:slots:2.000000"));
  // It ends with the instance, which has no end.
  for (const Line& line : section) EXPECT_EQ(line.begin + line.length, 4'294'967'295) << line.job;
  live.cancel(reply->first_id);
  live.wait_one(reply->first_id);
}

TEST(ScheduleLog, IsAppendedToByALaterBrokerAndByALaterStart) {
  Live live({"--resources", "node=1/core=1", "--conf", "instance.monitor=true"});
  const std::string file = live.dir() + "/state/schedule";
  const auto runs = live.job(live.gated("gate"));
  live.when_running(runs);
  last_section(file, [](const Section& s) { return !s.empty(); });
  const std::string before = read_file(file);
  live.kill_broker();
  const Section now =
      last_section(file, [&](const Section& s) { return times({s}, runs, "RUNNING") == 1; });
  EXPECT_THAT(uses(now, runs), ElementsAre("Q:default@node0:slots:1.000000"));
  EXPECT_EQ(read_file(file).substr(0, before.size()), before);
  live.release("gate");
  live.wait_one(runs);
  last_section(file, is_empty);
  const std::string first_run = read_file(file);
  live.stop();
  live.start();
  live.wait_one(live.job({"/bin/true"}));
  last_section(file, is_empty);
  EXPECT_EQ(read_file(file).substr(0, first_run.size()), first_run);
}

TEST(ScheduleLog, AFileThatCannotBeWrittenIsToldOnceAndStopsNobody) {
  Live live({"--resources", "node=1/core=1", "--conf", "instance.monitor=true"});
  live.stop();
  const std::string file = live.dir() + "/state/schedule";
  const std::string log = live.dir() + "/state/instance.log";
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/dev/full", file);
  live.start();
  const std::string problem = "is not written to " + file + " any more: No space left on device";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
  ASSERT_TRUE(eventually([&] { return read_file(log).find(problem) != std::string::npos; }));
  // There is room again.
  std::filesystem::remove(file);
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
  last_section(file, is_empty);
  const std::string told = read_file(log);
  EXPECT_EQ(told.find(problem), told.rfind(problem));
  EXPECT_THAT(told, HasSubstr("written to " + file + " again"));
}

TEST(ScheduleLog, APipeThatNobodyReadsHoldsNobodyUp) {
  Live live({"--resources", "node=1/core=1", "--conf", "instance.monitor=true"});
  live.stop();
  const std::string file = live.dir() + "/state/schedule";
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  live.start();
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
}

TEST(ScheduleLog, EachInstanceThatIsAskedToHasItsOwn) {
  const Live live({"--resources", "node=1/core=4"});
  const auto silent = live.child({1});
  const auto child = live.child({2}, "", {"instance.monitor=true"});
  const std::string path = "/" + std::to_string(child);
  live.wait_one(live.job({"/bin/true"}, {}, path), path);
  const auto place = [&](std::uint64_t id) {
    return live.dir() + "/state/children/" + std::to_string(id) + "/schedule";
  };
  last_section(place(child), is_empty);
  EXPECT_THAT(read_file(place(child)), HasSubstr(":Q:default@node0:slots:1.000000"));
  EXPECT_FALSE(std::filesystem::exists(live.dir() + "/state/schedule"));
  EXPECT_FALSE(std::filesystem::exists(place(silent)));
}

// Hundreds of jobs in a second: sections are fewer than passes, and the last one is still true.
TEST(ScheduleLog, ABurstOfJobsEndsInASectionWithNobody) {
  const Live live({"--resources", "node=1/core=4", "--conf", "instance.monitor=true"});
  testing::JobOptions many;
  many.count = 300;
  const auto first = live.job({"/bin/true"}, many);
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < many.count; ++i) ids.push_back(first + i);
  EXPECT_EQ(live.wait(ids).size(), many.count);
  last_section(live.dir() + "/state/schedule", is_empty);
}

}  // namespace
}  // namespace holon::instance
