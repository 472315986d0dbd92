// What the journal of an instance that has ended says of its jobs: to the last committed record,
// also of a broker that was killed, of instances below it, and of a file that is damaged.
#include "instance/tree/dead_child.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "instance/job/ended.hpp"
#include "instance/journal/journal.hpp"
#include "instance/process/state_claim.hpp"
#include "tests/instance/a_jobspec.hpp"

namespace holon::instance {
namespace {

using ::testing::HasSubstr;

class RemainsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-remains-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  static Journal open(const std::string& dir) {
    std::filesystem::create_directories(dir);
    auto journal = Journal::open(dir + "/journal.db", Journal::Sync::normal);
    EXPECT_TRUE(journal) << (journal ? "" : to_string(journal.error()));
    return std::move(*journal);
  }
  // All pieces together.
  std::map<std::string, msg::JobRecord> read(const std::string& path) {
    std::map<std::string, msg::JobRecord> records;
    std::string from;
    do {
      auto piece = read_dead_child(dir_, path, from);
      EXPECT_FALSE(piece.busy);
      for (auto& r : piece.jobs) records.insert_or_assign(r.path, std::move(r));
      for (auto& problem : piece.problems) problems_.push_back(std::move(problem));
      from = piece.next;
      ++pieces_;
    } while (!from.empty());
    return records;
  }

  std::string dir_;
  std::vector<std::string> problems_;
  int pieces_ = 0;
};

msg::JobRecord over(const std::string& path, std::uint64_t id, const std::string& result) {
  msg::JobRecord r;
  r.path = path;
  r.id = id;
  r.state = "INACTIVE";
  r.result = result;
  return r;
}

// `count` jobs from `first` on, which wait in the queue.
void add_queued(Journal& journal, std::uint64_t first, std::uint64_t count) {
  journal.add_batch({JobId(first), count, testing::a_jobspec(), false});
  for (const EventBody& body : std::initializer_list<EventBody>{
           event::Submit{16, "ada"}, event::Validate{}, event::Depend{}, event::Priority{16}})
    journal.add_event(JobId(first), count, {100, body});
}

TEST_F(RemainsTest, JobsInAllStatesAreToldAsTheyStand) {
  {
    Journal journal = open(dir_);
    journal.set_meta("queue.default", "batch");
    add_queued(journal, 1, 3);
    add_queued(journal, 4, 1);
    journal.add_inactive(over("/7/1", 1, "COMPLETED"));
    journal.add_event(JobId(2), 1, {110, event::Alloc{"immediate", 0, {"n1", 1, 2, 0}}});
    journal.add_event(JobId(2), 1, {120, event::Start{{{42, 1}}}});
    journal.add_event(JobId(4), 1, {110, event::Alloc{"immediate", 0, {"n1", 1, 2, 0}}});
    journal.add_event(JobId(4), 1, {120, event::Start{{{43, 1}}}});
    journal.add_event(JobId(4), 1, {130, event::Exception{"timeout", 0, "too long"}});
    journal.put_descendant(over("/7/9/1", 1, "FAILED"));
    ASSERT_TRUE(journal.commit());
    add_queued(journal, 5, 1);  // never committed: never acknowledged
  }
  auto records = read("/7");
  EXPECT_TRUE(problems_.empty());
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records.at("/7/1").result, "COMPLETED");
  EXPECT_EQ(records.at("/7/2").state, "RUN");
  EXPECT_EQ(records.at("/7/2").t_start, 120);
  EXPECT_EQ(records.at("/7/2").ncores, 2);
  EXPECT_EQ(records.at("/7/3").state, "SCHED");
  EXPECT_EQ(records.at("/7/3").user, "ada");
  EXPECT_EQ(records.at("/7/3").name, "true");
  EXPECT_EQ(records.at("/7/3").queue, "batch");
  EXPECT_EQ(records.at("/7/4").state, "CLEANUP");
  EXPECT_EQ(records.at("/7/4").result, "TIMEOUT") << "nobody else will say so";
  EXPECT_EQ(records.at("/7/9/1").result, "FAILED");
}

TEST_F(RemainsTest, AnArrayIsToldWithHowFarItsTasksWere) {
  {
    Journal journal = open(dir_);
    auto spec = nlohmann::json::parse(testing::a_jobspec());
    spec["attributes"]["system"]["holon"]["array"] = nlohmann::json::object();
    journal.add_batch({JobId(1), 11, spec.dump(), false});
    journal.add_array(JobId(1), 10);
    Lifecycle array;
    for (const EventBody& body : std::initializer_list<EventBody>{
             event::Submit{16, "ada"}, event::Validate{}, event::Depend{}, event::Priority{16},
             event::ArrayStart{}}) {
      journal.add_event(JobId(1), 1, {100, body});
      array = *apply(array, {100, body});
    }
    Lifecycle over = fresh_task(array);
    for (const Event& event : std::initializer_list<Event>{{110, event::Alloc{}},
                                                           {120, event::Start{}},
                                                           {150, event::Finish{}},
                                                           {150, event::Release{}},
                                                           {150, event::Free{}},
                                                           {150, event::Clean{}}})
      over = *apply(over, event);
    journal.add_ended_tasks({JobId(2), 1, pack_ended(over)}, "COMPLETED");
    Lifecycle never = *apply(fresh_task(array), {130, event::Exception{"cancel", 0, ""}});
    never = *apply(never, {130, event::Clean{}});
    journal.add_ended_tasks({JobId(8), 3, pack_ended(never)}, "CANCELED");
    journal.add_task_event(JobId(3), {140, event::Alloc{}});
    journal.add_task_event(JobId(4), {140, event::Urgency{20}});
    ASSERT_TRUE(journal.commit());
  }
  const auto records = read("/7");
  EXPECT_TRUE(problems_.empty());
  ASSERT_EQ(records.size(), 1u);
  const auto& array = records.at("/7/1");
  EXPECT_EQ(array.tasks, 10u);
  EXPECT_EQ(array.tasks_completed, 1u);
  EXPECT_EQ(array.tasks_cancelled, 3u);
  EXPECT_EQ(array.tasks_running, 1u);
  EXPECT_EQ(array.tasks_pending, 5u);
  EXPECT_EQ(array.tasks_run_ms, 30);
}

TEST_F(RemainsTest, AKilledBrokersLastCommitIsSeenAndItsFilesAreLeftAsTheyAre) {
  const pid_t broker = fork();
  ASSERT_GE(broker, 0);
  if (broker == 0) {
    Journal journal = open(dir_);
    add_queued(journal, 1, 2);
    if (!journal.commit()) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(broker, &status, 0), broker);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto log = dir_ + "/journal.db-wal";
  const auto size = std::filesystem::file_size(log);
  EXPECT_EQ(read("/7").size(), 2u);
  EXPECT_EQ(std::filesystem::file_size(log), size) << "a repair may still need it";
}

TEST_F(RemainsTest, AJournalThatIsOpenIsToBeReadLater) {
  Journal journal = open(dir_);
  add_queued(journal, 1, 2);
  ASSERT_TRUE(journal.commit());
  const auto piece = read_dead_child(dir_, "/7", "");
  EXPECT_TRUE(piece.busy);
  EXPECT_TRUE(piece.jobs.empty());
}

// Its broker was killed, and its supervisor, which lives, is about to start another one.
TEST_F(RemainsTest, AnInstanceWhoseSupervisorLivesIsToBeReadLater) {
  {
    Journal journal = open(dir_);
    add_queued(journal, 1, 1);
    ASSERT_TRUE(journal.commit());
  }
  {
    const auto claim = StateClaim::take(dir_, dir_);
    ASSERT_TRUE(claim) << to_string(claim.error());
    const auto piece = read_dead_child(dir_, "/", "");
    EXPECT_TRUE(piece.busy);
    EXPECT_TRUE(piece.jobs.empty());
  }
  EXPECT_EQ(read("/").size(), 1U);
}

TEST_F(RemainsTest, ABatchHasNoMoreJobsThanThereIsRoomForHoweverManyItSays) {
  {
    Journal journal = open(dir_);
    for (const std::uint64_t first : {1, 3, 5}) add_queued(journal, first, 2);
    ASSERT_TRUE(journal.commit());
  }
  {
    SQLite::Database db(dir_ + "/journal.db", SQLite::OPEN_READWRITE);
    db.exec("UPDATE batches SET count = -7 WHERE first = 1");
    db.exec("UPDATE batches SET count = 1152921504606846976 WHERE first > 1");
  }
  const auto piece = read_dead_child(dir_, "/7", "");
  EXPECT_EQ(piece.next, "");
  EXPECT_EQ(piece.jobs.size(), 6u);
  ASSERT_EQ(piece.problems.size(), 3u);
  EXPECT_THAT(piece.problems[0], HasSubstr("batch 1 has -7 jobs, and 2 at most"));
  EXPECT_THAT(piece.problems[2], HasSubstr("batch 5 has 1152921504606846976 jobs, and 2 at most"));
}

// Not to be able to look is not the same as that nothing is there.
TEST_F(RemainsTest, AJournalThatCannotBeReachedIsAProblemAndOneThatIsNotThereIsNone) {
  std::filesystem::create_symlink("journal.db", dir_ + "/journal.db");
  std::filesystem::create_symlink("children", dir_ + "/children");
  const auto loops = read_dead_child(dir_, "/7", "");
  EXPECT_EQ(loops.problems.size(), 2u);
  EXPECT_FALSE(loops.is_there);
  const auto none = read_dead_child(dir_ + "/none", "/7", "");
  EXPECT_TRUE(none.problems.empty());
  EXPECT_FALSE(none.is_there);
}

// It may be that of the instance above, which has it open for as long as it lives.
TEST_F(RemainsTest, AJournalThatIsALinkIsNotFollowed) {
  {
    auto journal = open(dir_);
    journal.add_inactive(over("/7/1", 1, "COMPLETED"));
    ASSERT_TRUE(journal.commit());
  }
  std::filesystem::create_directory(dir_ + "/other");
  std::filesystem::create_symlink("../journal.db", dir_ + "/other/journal.db");
  const auto linked = read_dead_child(dir_ + "/other", "/7", "");
  EXPECT_FALSE(linked.busy);
  EXPECT_TRUE(linked.jobs.empty());
  ASSERT_EQ(linked.problems.size(), 1u);
  EXPECT_NE(linked.problems[0].find("it is a link"), std::string::npos) << linked.problems[0];
}

TEST_F(RemainsTest, InstancesBelowAreReadUnlessTheyWereTakenOver) {
  const std::string below = dir_ + "/children/2", taken = dir_ + "/children/10";
  {
    Journal journal = open(dir_), child = open(below), deep = open(below + "/children/1"),
            gone = open(taken);
    add_queued(journal, 1, 2);
    journal.add_inactive(over("/7/10", 10, "COMPLETED"));
    add_queued(child, 1, 1);
    add_queued(deep, 1, 3);
    add_queued(gone, 1, 1);
    for (Journal* each : {&journal, &child, &deep, &gone}) ASSERT_TRUE(each->commit());
  }
  std::filesystem::create_directory_symlink("..", dir_ + "/children/3");  // would never end
  std::filesystem::create_directories(dir_ + "/children/4");              // never began
  const auto records = read("/7");
  EXPECT_TRUE(problems_.empty());
  std::vector<std::string> paths;
  for (const auto& [path, record] : records) paths.push_back(path);
  EXPECT_EQ(paths, (std::vector<std::string>{"/7/1", "/7/10", "/7/2", "/7/2/1", "/7/2/1/1",
                                             "/7/2/1/2", "/7/2/1/3"}));
}

TEST_F(RemainsTest, ManyJobsComeInPiecesWithoutAGapOrARepetition) {
  constexpr std::uint64_t kJobs = 9'000;
  {
    Journal journal = open(dir_), child = open(dir_ + "/children/5");
    add_queued(journal, 1, kJobs);
    for (std::uint64_t id = 1; id <= kJobs; id += 2)
      journal.add_inactive(over("/7/" + std::to_string(id), id, "COMPLETED"));
    add_queued(child, 1, 5'000);
    ASSERT_TRUE(journal.commit());
    ASSERT_TRUE(child.commit());
  }
  std::size_t told = 0;
  std::string from;
  do {
    const auto piece = read_dead_child(dir_, "/7", from);
    told += piece.jobs.size();
    from = piece.next;
  } while (!from.empty());
  // Job 5, the child, is over in this journal: what is below it was taken over.
  EXPECT_EQ(told, kJobs);
  const auto records = read("/7");
  EXPECT_EQ(records.size(), kJobs);
  EXPECT_GT(pieces_, 2);
  EXPECT_EQ(records.at("/7/7").result, "COMPLETED");
  EXPECT_EQ(records.at("/7/8").state, "SCHED");
}

TEST_F(RemainsTest, OfADamagedJournalWhatCanBeReadIsTold) {
  {
    Journal journal = open(dir_);
    add_queued(journal, 1, 2);
    journal.add_batch({JobId(3), 1, "{not a jobspec", false});
    journal.add_event(JobId(3), 1, {100, event::Submit{16, "ada"}});
    journal.add_inactive(over("/7/4", 4, "COMPLETED"));
    ASSERT_TRUE(journal.commit());
  }
  const auto records = read("/7");
  EXPECT_EQ(records.count("/7/1"), 1u);
  EXPECT_EQ(records.count("/7/3"), 1u) << "that it was acknowledged can be told";
  EXPECT_EQ(records.count("/7/4"), 1u);
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_THAT(problems_[0], HasSubstr("of instance /7, the jobspec of job 3"));

  std::ofstream(dir_ + "/journal.db") << "this is no database at all, but it is long enough to see";
  std::filesystem::remove(dir_ + "/journal.db-wal");
  problems_.clear();
  EXPECT_TRUE(read("/7").empty());
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_THAT(problems_[0], HasSubstr("its journal"));
}

TEST_F(RemainsTest, WhatIsKeptAboutOneJob) {
  {
    Journal journal = open(dir_);
    add_queued(journal, 1, 3);
    journal.add_event(JobId(2), 1, {110, event::Alloc{"immediate", 0, {"n1", 1, 2, 0}}});
    ASSERT_TRUE(journal.commit());
  }
  const auto second = read_dead_child_job(dir_, 2);
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_EQ(second->jobspec, testing::a_jobspec());
  ASSERT_EQ(second->events.size(), 5u);
  EXPECT_EQ(second->events.front().name, "submit");
  EXPECT_EQ(second->events.back().name, "alloc");
  EXPECT_EQ(read_dead_child_job(dir_, 3)->events.size(), 4u);
  EXPECT_EQ(read_dead_child_job(dir_, 4).error().code, Errc::not_found);
  EXPECT_EQ(read_dead_child_job(dir_ + "/nowhere", 1).error().code, Errc::not_found);
}

}  // namespace
}  // namespace holon::instance
