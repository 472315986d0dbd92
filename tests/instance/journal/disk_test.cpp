// A real instance whose disk takes no more, whose folders are removed, and which is told to keep
// only so much.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <vector>

#include "msg/audit.hpp"
#include "tests/instance/live.hpp"
#include "transport/supervisor_lock.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Live;

void limit_files(pid_t pid, rlim_t soft) {
  rlimit now{};
  ASSERT_EQ(prlimit(pid, RLIMIT_FSIZE, nullptr, &now), 0);
  now.rlim_cur = soft;
  ASSERT_EQ(prlimit(pid, RLIMIT_FSIZE, &now, nullptr), 0);
}

std::string health(const Live& live) {
  const auto status = live.status();
  return status ? status->health : status.error().what;
}

// A limit of 0 on the size of files is a disk that takes nothing. The supervisor's is that of later
// brokers.
TEST(Disk, AFullOneIsCalledSoWhatThereIsCanBeListedAndItGoesOnWhenThereIsRoom) {
  const Live live({"--resources", "node=1/core=2"});
  const auto id = live.job(live.gated("gate"));
  const auto before = live.when_running(id);
  const auto wide = live.job({"/bin/true"}, {2});
  const pid_t broker = live.broker();
  // Whoever waits for it goes on waiting, whatever brokers come and go.
  FILE* waits = popen(
      ("HOLON_URI=" + live.uri() + " " HOLON_BINARY " job wait " + std::to_string(id)).c_str(),
      "r");
  ASSERT_NE(waits, nullptr);
  limit_files(live.supervisor(), 0);
  limit_files(broker, 0);
  const auto refused = live.submit({"/bin/true"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("/state is full"));
  // The broker that follows stays, and answers.
  ASSERT_TRUE(eventually([&] { return health(live) == "read-only"; }));
  const pid_t lists = live.broker();
  EXPECT_NE(lists, broker);
  EXPECT_EQ(live.record(id).pids, before.pids);
  const auto waiting = live.record(wide);
  EXPECT_EQ(waiting.state, "SCHED");
  EXPECT_THAT(waiting.reason, HasSubstr("nothing is started: "));
  EXPECT_THAT(waiting.reason, HasSubstr("/state is full"));
  const auto asked = live.call<msg::AuditReply>("audit", msg::AuditRequest{});
  ASSERT_TRUE(asked) << asked.error().what;
  EXPECT_EQ(asked->entries.back().what, "job 1");
  const auto again = live.submit({"/bin/true"});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().what, HasSubstr("/state is full"));
  EXPECT_THAT(again.error().what, HasSubstr("jobs run on"));
  // What ends meanwhile is told later.
  live.release("gate");
  ASSERT_TRUE(eventually([&] { return !testing::alive(static_cast<pid_t>(before.pids.at(0))); }));
  EXPECT_EQ(live.record(id).state, "RUN");
  EXPECT_EQ(live.broker(), lists);
  for (const pid_t pid : {live.supervisor(), lists}) limit_files(pid, RLIM_INFINITY);
  ASSERT_TRUE(eventually([&] { return health(live) == "up"; }));
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(wide).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).id, wide + 1);
  EXPECT_EQ(pclose(waits), 0);
}

// Of a turn that cannot be kept, changes are refused; looks are for the next broker.
TEST(Disk, WhoAsksInTheTurnThatCannotBeKeptIsAnsweredByTheNextBroker) {
  const Live live({"--resources", "node=1/core=2"});
  const auto id = live.job(live.gated("gate"));
  live.when_running(id);
  limit_files(live.broker(), 0);
  const auto reactor = std::move(*transport::Reactor::create());
  const auto client = std::move(*transport::Client::connect(*reactor, live.uri()));
  std::optional<Error> waited, submitted;
  const auto into = [](std::optional<Error>& told) {
    return [&told](const Result<std::string>& answer) { told = answer ? Error{} : answer.error(); };
  };
  msg::WaitRequest wait;
  wait.ids = {id};
  // Both go out in one piece as soon as there is a connection.
  client->call({"job.wait", transport::pack(wait), "", 30'000}, into(waited));
  client->call({"submit", transport::pack(Live::request({"/bin/true"})), "", 30'000},
               into(submitted));
  ASSERT_TRUE(reactor->run_until([&] { return waited && submitted; }, 30'000));
  EXPECT_EQ(waited->code, Errc::disconnected) << waited->what;
  EXPECT_EQ(submitted->code, Errc::system) << submitted->what;
  live.release("gate");
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
}

// A directory that shows itself read-only to whoever opens anything in it, in a mount namespace
// that this process and what it starts have to themselves.
class ReadOnly {
 public:
  explicit ReadOnly(std::string dir) : dir_(std::move(dir)) {
    EXPECT_EQ(mount(dir_.c_str(), dir_.c_str(), nullptr, MS_BIND, nullptr), 0) << errno;
    EXPECT_EQ(mount(nullptr, dir_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr), 0)
        << errno;
  }
  ~ReadOnly() { end(); }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;
  void end() {
    if (!std::exchange(on_, false)) return;
    EXPECT_EQ(umount2(dir_.c_str(), MNT_DETACH), 0) << errno;
  }

  // False: this user may not.
  static bool can_be_made() {
    const std::string me = std::to_string(geteuid()), group = std::to_string(getegid());
    if (unshare(CLONE_NEWNS) != 0) {
      if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << me + " " + me + " 1";
      std::ofstream("/proc/self/gid_map") << group + " " + group + " 1";
    }
    return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  }

 private:
  std::string dir_;
  bool on_ = true;
};

TEST(Disk, AReadOnlyOneIsCalledSoWhatThereIsCanBeListedAndItGoesOnWhenItCanBeWritten) {
  if (!ReadOnly::can_be_made())
    GTEST_SKIP() << "no mount namespace for this user, so that NOTHING of what an instance does on "
                    "a read-only file system was looked at: "
                 << std::strerror(errno);
  const Live live({"--resources", "node=1/core=2"});
  const auto id = live.job(live.gated("gate"));
  const auto before = live.when_running(id);
  ReadOnly cover(live.dir() + "/state");
  live.kill_broker();  // the next one opens its files anew
  ASSERT_TRUE(eventually([&] { return health(live) == "read-only"; }));
  const pid_t lists = live.broker();
  EXPECT_EQ(live.record(id).pids, before.pids);
  const auto refused = live.submit({"/bin/true"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what,
              HasSubstr("/state is read-only: the journal cannot be written"));
  EXPECT_THAT(refused.error().what, HasSubstr("jobs run on"));
  live.release("gate");
  ASSERT_TRUE(eventually([&] { return !testing::alive(static_cast<pid_t>(before.pids.at(0))); }));
  EXPECT_EQ(live.record(id).state, "RUN") << "what ends meanwhile is told later";
  EXPECT_EQ(live.broker(), lists) << "it stays";
  cover.end();
  ASSERT_TRUE(eventually([&] { return health(live) == "up"; }));
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).id, id + 1);
}

TEST(Disk, AnInstanceThatMayOnlyListEndsWhenItIsTold) {
  Live live({"--resources", "node=1/core=1"});
  for (const pid_t pid : {live.supervisor(), live.broker()}) limit_files(pid, 0);
  EXPECT_FALSE(live.submit({"/bin/true"}));
  ASSERT_TRUE(eventually([&] { return health(live) == "read-only"; }));
  live.stop();
  EXPECT_FALSE(testing::alive(live.supervisor()));
}

TEST(Disk, AStateDirectoryThatIsRemovedIsMadeAgainWithItsJournal) {
  Live live({"--resources", "node=1/core=2"});
  const auto done = live.job({"/bin/echo", "one"});
  live.wait_one(done);
  const auto runs = live.job(live.gated("gate"));
  live.when_running(runs);
  // At once: in a folder that is removed bit by bit the instance would make files meanwhile.
  fs::rename(live.dir() + "/state", live.dir() + "/removed");
  fs::remove_all(live.dir() + "/removed");
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).result, "COMPLETED");
  live.kill_broker();
  EXPECT_EQ(live.record(done).result, "COMPLETED");
  EXPECT_EQ(live.record(runs).state, "RUN");
  live.release("gate");
  EXPECT_EQ(live.wait_one(runs).result, "COMPLETED");
  live.stop();
  live.start();
  EXPECT_EQ(live.jobs(true, false).size(), 3u);
}

// The journal is removed and the broker killed before it could look: what is lost is lost, and that
// is said.
TEST(Disk, AJournalThatIsLostAltogetherIsSaidAndTheInstanceGoesOn) {
  const Live live({"--resources", "node=1/core=2"});
  const auto lost = live.job({"/bin/sleep", "600"});
  const auto before = live.when_running(lost);
  testing::signal_process(live.broker(), SIGSTOP);
  for (const char* end : {"", "-wal"}) fs::remove(live.dir() + "/state/journal.db" + end);
  live.kill_broker();
  const auto record = live.record(lost);
  EXPECT_EQ(record.result, "FAILED");
  EXPECT_THAT(record.reason, HasSubstr("the journal has lost it"));
  EXPECT_TRUE(eventually([&] { return !testing::alive(static_cast<pid_t>(before.pids.at(0))); }));
  EXPECT_EQ(live.wait_one(live.job({"/bin/true"})).id, lost + 1);
  EXPECT_THAT(testing::read_file(live.dir() + "/state/instance.log"),
              HasSubstr("the journal of this state directory is gone"));
}

// Bytes of the log are damaged and the broker is killed: it goes on with what can be read, and
// every job that was acknowledged has a record.
TEST(Disk, ADamagedLogIsSurvived) {
  const Live live({"--resources", "node=1/core=4"});
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 60; ++i) ids.push_back(live.job({"/bin/true"}));
  live.wait(ids);
  for (int i = 0; i < 8; ++i) ids.push_back(live.job({"/bin/sleep", "600"}));
  live.when_running(ids[62]);
  const pid_t broker = live.broker();
  testing::signal_process(broker, SIGSTOP);
  const std::string log = live.dir() + "/state/journal.db-wal";
  std::fstream bytes(log, std::ios::in | std::ios::out | std::ios::binary);
  std::mt19937 random(3);
  const auto size = fs::file_size(log);
  for (int i = 0; i < 40; ++i) {
    bytes.seekp(static_cast<std::streamoff>(100 + random() % (size - 100)));
    bytes.put('\x5a');
  }
  bytes.close();
  live.kill_broker();
  ASSERT_TRUE(eventually([&] { return health(live) == "up"; }));
  std::set<std::uint64_t> there;
  for (const auto& record : live.jobs(true, false)) there.insert(record.id);
  for (const auto id : ids) EXPECT_TRUE(there.contains(id)) << id;
  EXPECT_GT(live.job({"/bin/true"}), ids.back());
}

// SQLite reads the row; what it says is no jobspec any more.
void damage_what_was_submitted(const Live& live, const std::string& word) {
  SQLite::Database db(live.dir() + "/state/journal.db", SQLite::OPEN_READWRITE);
  db.setBusyTimeout(30'000);
  EXPECT_GE(db.exec("UPDATE specs SET jobspec = replace(jobspec, '\"resources\"', '\"resources') "
                    "WHERE jobspec LIKE '%" +
                    word + "%'"),
            1);
}

TEST(Disk, AJobspecThatMakesNoSenseCostsItsJobAndNoOther) {
  const Live live({"--resources", "node=1/core=1"});
  const auto runs = live.job({"sleep", "1000"});
  const auto damaged = live.job({"sleep", "1001"});
  const auto waits = live.job({"sleep", "1002"});
  live.when_running(runs);
  // No other broker begins before the damage is done: the journal is one process's.
  testing::signal_process(live.supervisor(), SIGSTOP);
  testing::signal_process(live.broker(), SIGKILL);
  damage_what_was_submitted(live, "1001");
  testing::signal_process(live.supervisor(), SIGCONT);
  ASSERT_TRUE(eventually([&] { return live.status().has_value(); }));
  const auto lost = live.wait_one(damaged);
  EXPECT_EQ(lost.result, "FAILED");
  EXPECT_THAT(lost.reason, HasSubstr("the journal has lost it"));
  EXPECT_EQ(live.record(runs).state, "RUN");
  EXPECT_EQ(live.record(waits).state, "SCHED");
}

TEST(Disk, ARuntimeDirectoryThatIsRemovedIsMadeAgain) {
  const Live live({"--resources", "node=1/core=1"});
  const auto id = live.job(live.gated("gate"));
  const auto before = live.when_running(id);
  fs::remove_all(fs::path(live.uri().substr(6)).parent_path());
  ASSERT_TRUE(eventually([&] { return health(live) == "up"; }));
  EXPECT_EQ(live.record(id).pids, before.pids);
  live.release("gate");
  EXPECT_EQ(live.wait_one(id).result, "COMPLETED");
}

// By its lock an instance is known while its broker is started again.
TEST(Disk, ARuntimeDirectoryThatIsRemovedHasItsSupervisorsLockAgain) {
  const Live live({"--resources", "node=1/core=1"});
  const std::string dir = fs::path(live.uri().substr(6)).parent_path();
  ASSERT_TRUE(transport::supervisor_lives(dir));
  fs::remove_all(dir);
  ASSERT_TRUE(eventually([&] { return fs::exists(dir + "/instance.json"); }));
  EXPECT_TRUE(transport::supervisor_lives(dir));
  ASSERT_TRUE(eventually([&] { return health(live) == "up"; }));
  fs::remove(dir + "/supervisor");  // it alone
  EXPECT_TRUE(eventually([&] { return transport::supervisor_lives(dir); }));
}

std::size_t files_below(const std::string& dir) {
  std::error_code none;
  std::size_t files = 0;
  for (fs::recursive_directory_iterator entry(dir, none), end; !none && entry != end;
       entry.increment(none))
    files += entry->is_regular_file() ? 1 : 0;
  return files;
}

TEST(Disk, TheOldestJobsAreForgottenWithAllTheyLeftWhileTheInstanceRuns) {
  const Live live({"--resources", "node=1/core=4", "--conf", "journal.keep=10"});
  const auto child = live.child({2});
  const auto inner = live.job({"/bin/echo", "inner"}, {}, "/" + std::to_string(child));
  live.wait_one(inner, "/" + std::to_string(child));
  live.cancel(child);
  live.wait_one(child);
  EXPECT_GT(files_below(live.dir() + "/state/children"), 0u);
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 30; ++i) ids.push_back(live.job({"/bin/echo", "hello"}));
  const auto waits = live.job(live.gated("gate"));
  ASSERT_TRUE(
      eventually([&] { return live.status()->inactive <= 11 && live.record(waits).t_start != 0; }));
  EXPECT_TRUE(eventually([&] {
    return files_below(live.dir() + "/state/children") == 0 &&
           files_below(live.dir() + "/state/output") <= 11 + 2;
  }));
  EXPECT_EQ(live.record(ids.back()).result, "COMPLETED");
  EXPECT_EQ(live.record(waits).state, "RUN");
  live.kill_broker();
  EXPECT_LE(live.status()->inactive, 11);
  EXPECT_EQ(live.job({"/bin/true"}), waits + 1);
  live.release("gate");
}

TEST(Disk, AnOutputFileThatHoldsNothingGoesWithItsJob) {
  const Live live({"--resources", "node=1/core=2"});
  const auto silent = live.wait_one(live.job({"/bin/true"}));
  const auto speaks = live.wait_one(live.job({"/bin/echo", "hello"}));
  EXPECT_TRUE(eventually([&] { return files_below(live.dir() + "/state/output") == 1; }));
  EXPECT_FALSE(fs::exists(silent.output));
  EXPECT_EQ(testing::read_file(speaks.output), "hello\n");
}

}  // namespace
}  // namespace holon::instance
