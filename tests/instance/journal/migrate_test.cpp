// Journals of earlier versions of the schema, as programs of those left them when they were killed:
// what is in them is there after they are opened, and an instance goes on with it.
#include "instance/journal/migrate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "instance/job/task_words.hpp"
#include "instance/journal/damage/export.hpp"
#include "instance/journal/damage/repair.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/schema.hpp"
#include "instance/request/submission.hpp"
#include "msg/instance.hpp"
#include "msg/queue.hpp"
#include "msg/reservation.hpp"
#include "msg/resource.hpp"
#include "places.hpp"  // written by CMake
#include "tests/instance/live.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Live;

// Makes the journal of a state directory out of one of the texts in data/, and beside it the file
// that says whose it is, where the program wrote one.
void make_journal(const std::string& state_dir, const std::string& name) {
  const std::string text =
      testing::read_file(HOLON_SOURCE_DIR "/tests/instance/journal/data/" + name);
  ASSERT_FALSE(text.empty()) << name;
  fs::create_directories(state_dir);
  SQLite::Database db(journal_file(state_dir), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec(text);
  SQLite::Statement whose(db, "SELECT value FROM meta WHERE key='instance.id'");
  if (whose.executeStep())
    std::ofstream(state_dir + "/instance.id") << whose.getColumn(0).getString() << "\njournal\n";
}

class OldJournal : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-old-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { fs::remove_all(dir_); }
  void make(const std::string& whose) {
    make_journal(dir_, whose + GetParam() + ".sql");
    if (HasFatalFailure()) FAIL();
  }
  Journal open() const {
    auto journal = Journal::open(journal_file(dir_), Journal::Sync::normal);
    EXPECT_TRUE(journal) << (journal ? "" : to_string(journal.error()));
    return std::move(*journal);
  }
  std::vector<std::string> keys_of_meta() const {
    SQLite::Database db(journal_file(dir_), SQLite::OPEN_READONLY);
    SQLite::Statement q(db, "SELECT key FROM meta ORDER BY key");
    std::vector<std::string> keys;
    while (q.executeStep()) keys.push_back(q.getColumn(0).getString());
    return keys;
  }
  std::string dir_;
};

// By the program of the first release, by a later one of the same version, and by one of version 2.
INSTANTIATE_TEST_SUITE_P(Programs, OldJournal, ::testing::Values("_v1", "_v1_later", "_v2"));

std::int64_t started_by(const std::string& program) {
  return program == "_v1" ? 1795357862927 : program == "_v2" ? 1795369083002 : 1795357912328;
}

std::uint64_t agent_of(const std::string& program) {
  return program == "_v1"   ? 1882569166466062399U
         : program == "_v2" ? 253471136056663862U
                            : 3172933156922163642U;
}

void expect_what_the_root_had(const Journal& journal, const std::string& program) {
  EXPECT_EQ(*journal.number(kStarted), started_by(program));
  EXPECT_EQ(*journal.number(kLastReservation), 5);
  EXPECT_EQ(*journal.grant(), std::nullopt);
  const auto agent = *journal.agent(0);
  ASSERT_TRUE(agent);
  EXPECT_EQ(agent->incarnation, agent_of(program));
  EXPECT_EQ(agent->numbering.empty(), program == "_v1");
  EXPECT_EQ(*journal.agent(1), std::nullopt);
  EXPECT_THAT(*journal.orphans(0), IsEmpty());
  EXPECT_THAT(*journal.offline(), IsEmpty());
  const auto drains = *journal.drains();
  ASSERT_EQ(drains.size(), 1u);
  EXPECT_EQ(drains[0].host, "node2");
  EXPECT_EQ(drains[0].reason, "bad DIMM");
  EXPECT_GT(drains[0].since, started_by(program));
  EXPECT_FALSE(drains[0].above);
  EXPECT_THAT(*journal.closed_gates(),
              ElementsAre(ClosedGate{"debug", "start", "maintenance tonight"},
                          ClosedGate{"debug", "submit", ""}));
  const auto reservations = *journal.reservations();
  ASSERT_EQ(reservations.size(), 1u);
  EXPECT_EQ(reservations[0].id, JobId(5));
  EXPECT_EQ(reservations[0].request.name, "spring");
  EXPECT_EQ(reservations[0].request.user, "root");
  EXPECT_THAT(reservations[0].request.users, IsEmpty());
  EXPECT_EQ(reservations[0].request.end - reservations[0].request.begin, 3'600'000);
  EXPECT_THAT(reservations[0].request.jobspec, HasSubstr(R"("type":"node","count":1)"));
  EXPECT_FALSE(reservations[0].cancelled);
}

void expect_jobs_of_the_root(const Journal& journal) {
  EXPECT_EQ(journal.inactive(JobId(1)).value()->result, "COMPLETED");
  const auto children = *journal.children();
  ASSERT_EQ(children.size(), 1u);
  EXPECT_EQ(children[0].job, JobId(3));
  EXPECT_EQ(children[0].epoch, 1u);
  std::vector<std::uint64_t> active;
  const auto batches = *journal.active_batches();
  for (const auto& batch : batches)
    for (std::uint64_t i = 0; i < batch.count; ++i) active.push_back(batch.first.value() + i);
  EXPECT_THAT(active, ElementsAre(2, 3, 4, 6, 7, 8));
  EXPECT_TRUE(*journal.allocation(JobId(2)));
  EXPECT_TRUE(*journal.allocation(JobId(5))) << "of the reservation";
  EXPECT_EQ(*journal.next_id(), JobId(9));
}

TEST_P(OldJournal, HasAllThatWasInItWhenItIsOpened) {
  make("root");
  for (int i = 0; i < 2; ++i) {
    auto journal = open();
    EXPECT_THAT(journal.take_news(), IsEmpty());
    expect_what_the_root_had(journal, GetParam());
    expect_jobs_of_the_root(journal);
    ASSERT_TRUE(journal.commit());
  }
  for (const auto& key : keys_of_meta())
    EXPECT_THAT(
        (std::set<std::string>{"instance.id", "runtime_dir", "resources.kind", "resources.text",
                               "resources.bind", "clock", "queue.default", "events.era"}),
        ::testing::Contains(key));
}

// The words were the state, up to the release that kept it beside them.
TEST_P(OldJournal, KnowsWhichNodesLeaveByTheWordsOfTheirDrains) {
  make("root");
  {
    SQLite::Database db(journal_file(dir_), SQLite::OPEN_READWRITE);
    if (!db.tableExists("drains")) return;  // of the first version, when no node could leave
    db.exec(
        "INSERT INTO drains VALUES('n3', 0, 'it has left (holon leave)', 7), "
        "('n4', 0, 'it had left, and is about to come back', 7), "
        "('n5', 1, 'it has left (holon leave)', 7)");
  }
  const auto leaves = [this] {
    std::map<std::string, NodeLeave> all;
    const auto journal = open();
    const auto drains = *journal.drains();
    for (const auto& drain : drains) all[drain.host] = drain.leave;
    return all;
  };
  const std::map<std::string, NodeLeave> expected = {{"n3", NodeLeave::leaves},
                                                     {"n4", NodeLeave::comes_back},
                                                     {"n5", NodeLeave::stays},
                                                     {"node2", NodeLeave::stays}};
  EXPECT_EQ(leaves(), expected);
  {
    auto journal = open();
    auto drains = *journal.drains();
    for (auto& drain : drains) std::swap(drain.reason, drains.front().reason);
    drains.push_back({"n6", false, "it has left (holon leave)", 8});
    journal.put_drains(drains);
    ASSERT_TRUE(journal.commit());
  }
  auto now = expected;
  now["n6"] = NodeLeave::stays;
  EXPECT_EQ(leaves(), now) << "words are words from now on";
}

TEST_P(OldJournal, OfAChildHasItsGrant) {
  make("child");
  const auto journal = open();
  EXPECT_EQ(*journal.grant(), (HeldGrant{1, "/3", "sleep", 0, 0}));
  EXPECT_THAT(*journal.drains(), IsEmpty());
  EXPECT_EQ(journal.inactive(JobId(1)).value()->path, "/3/1");
  EXPECT_TRUE(*journal.allocation(JobId(2)));
}

TEST_P(OldJournal, IsCheckedAndExportedAsItIs) {
  make("root");
  const auto before = testing::read_file(journal_file(dir_));
  const auto check = check_journal(dir_);
  ASSERT_TRUE(check) << to_string(check.error());
  EXPECT_THAT(check->damage, IsEmpty());
  EXPECT_EQ(check->rows.at("reservations"), 1);
  EXPECT_EQ(check->rows.at("drains"), 1);
  EXPECT_EQ(check->rows.at("gates"), 2);
  EXPECT_EQ(check->rows.at("children"), 1);
  std::vector<std::string> told;
  JournalSink sink;
  sink.batch = [&](const Batch& b) { told.push_back("batch " + std::to_string(b.first.value())); };
  sink.event = [](JobId, std::uint64_t, Time, const std::string&, const std::string&) {};
  sink.record = [](const msg::JobRecord&) {};
  sink.grant = [&](const HeldGrant&) { told.push_back("grant"); };
  sink.child = [&](const ChildGrant& c) {
    told.push_back("child " + std::to_string(c.job.value()));
  };
  sink.agent = [&](const KnownAgent& a) { told.push_back("agent " + std::to_string(a.rank)); };
  sink.drain = [&](const KeptDrain& d) { told.push_back(d.host + ": " + d.reason); };
  sink.gate = [&](const ClosedGate& g) { told.push_back(g.queue + "." + g.gate); };
  sink.reservation = [&](const KeptReservation& r) { told.push_back(r.request.name); };
  sink.lost = [&](const std::string& what) { told.push_back("lost " + what); };
  ASSERT_TRUE(export_journal(dir_, sink));
  EXPECT_THAT(
      told, ElementsAre("batch 1", "batch 2", "batch 3", "batch 4", "batch 6", "child 3", "agent 0",
                        "node2: bad DIMM", "debug.start", "debug.submit", "spring"));
  EXPECT_EQ(testing::read_file(journal_file(dir_)), before) << "nothing was written to it";
}

TEST_P(OldJournal, IsRepairedToOneOfThisVersion) {
  make("root");
  const auto repair = repair_journal(dir_, 7);
  ASSERT_TRUE(repair) << to_string(repair.error());
  EXPECT_THAT(repair->lost, IsEmpty());
  const auto journal = open();
  EXPECT_TRUE(journal.rebuilt());
  expect_what_the_root_had(journal, GetParam());
  expect_jobs_of_the_root(journal);
}

// The state of an instance that was killed, and is started again by this program.
TEST_P(OldJournal, IsGoneOnWithByAnInstance) {
  Live live({"--resources", "node=3/core=2", "--conf", "queues.batch.policy=easy", "--conf",
             "queues.debug.policy=fcfs", "--conf", "queue.default=batch"});
  live.stop();
  const std::string state = live.dir() + "/state";
  fs::remove_all(state);
  make_journal(state, "root" + GetParam() + ".sql");
  make_journal(state + "/children/3", "child" + GetParam() + ".sql");
  live.start();
  EXPECT_EQ(live.record(1).result, "COMPLETED");
  EXPECT_THAT(live.record(2).reason, HasSubstr("the instance was stopped while the job ran"));
  EXPECT_EQ(live.wait_one(3).result, "FAILED");
  std::map<std::string, std::string> results;
  for (const auto& record : live.jobs(true, true)) results[record.path] = record.result;
  EXPECT_EQ(results["/3/1"], "COMPLETED") << "as the child's own journal says";
  EXPECT_EQ(live.wait_one(4).result, "COMPLETED");
  EXPECT_THAT(live.record(6).reason, HasSubstr("1 of 3 nodes is drained: node2: bad DIMM"));
  const auto queues = live.call<msg::StatsReply>("stats", msg::Empty{});
  ASSERT_TRUE(queues) << queues.error().what;
  const auto debug = std::find_if(queues->queues.begin(), queues->queues.end(),
                                  [](const auto& queue) { return queue.name == "debug"; });
  ASSERT_NE(debug, queues->queues.end());
  EXPECT_FALSE(debug->started);
  EXPECT_FALSE(debug->enabled);
  const auto held = live.call<msg::ReservationsReply>("reservations", msg::Empty{});
  ASSERT_TRUE(held) << held.error().what;
  ASSERT_EQ(held->reservations.size(), 1u);
  EXPECT_EQ(held->reservations[0].name, "spring");
  EXPECT_EQ(live.job({"/bin/true"}), 9u);
}

// Version 3 had each final record whole, and what tasks of graphs have for themselves by name.
TEST(GraphOfVersion3, IsThereAndGoesOnInTheFormOfThisOne) {
  std::string dir = ::testing::TempDir() + "holon-old-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  make_journal(dir, "graph_v3.sql");
  {
    auto journal = Journal::open(journal_file(dir), Journal::Sync::normal);
    ASSERT_TRUE(journal) << to_string(journal.error());
    const auto words = journal->words_of(JobId(1), 5);
    ASSERT_TRUE(words) << to_string(words.error());
    ASSERT_EQ(words->size(), 5u);
    EXPECT_EQ((*words)[2].second, (TaskWords{"three", {"true"}, {"afterok:1"}}));
    auto third = *journal->inactive(JobId(3));
    ASSERT_TRUE(third);
    EXPECT_EQ(third->name, "three");
    EXPECT_EQ((*journal->inactive(JobId(2)))->exit_code, 3);
    third->id = 4;
    third->path = "/4";
    journal->add_inactive(*third);
    ASSERT_TRUE(journal->commit());
  }
  {
    auto journal = Journal::open(journal_file(dir), Journal::Sync::normal);
    ASSERT_TRUE(journal) << to_string(journal.error());
    EXPECT_EQ((*journal->inactive(JobId(3)))->path, "/3");
    EXPECT_EQ((*journal->inactive(JobId(4)))->path, "/4");
  }
  const SQLite::Database db(journal_file(dir), SQLite::OPEN_READONLY);
  SQLite::Statement version(db, "PRAGMA user_version");
  ASSERT_TRUE(version.executeStep());
  EXPECT_EQ(version.getColumn(0).getInt(), kJournalKind.version);
  fs::remove_all(dir);
}

// What that version did not look at, and submissions are refused for by this one.
TEST(JournalOfVersion4, HasJobsWithAttributesThatWereIgnoredAndTheyRun) {
  Live live({"--resources", "node=1/core=1"});
  live.when_running(live.job(live.gated("never")));
  const std::vector<std::string> ignored = {
      R"('$.attributes.system.shell.options.taskmap', json('{"scheme":"manual","value":"1"}'))",
      "'$.attributes.system.shell.options.taskmap', json('null')",
      R"('$.attributes.system.files', json('{"link":{"mode":41471,"data":"/etc/passwd"}}'))"};
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < ignored.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    ids.push_back(live.job({"/bin/echo", number},
                           {.system = R"({"shell":{"options":{"label-io":)" + number + "}}}"}));
  }
  const pid_t broker = live.broker();
  testing::signal_process(live.supervisor(), SIGKILL);
  ASSERT_TRUE(testing::eventually([&] { return !testing::alive(broker); }));
  const std::string state = live.dir() + "/state";
  {
    SQLite::Database db(journal_file(state), SQLite::OPEN_READWRITE);
    for (std::size_t i = 0; i < ignored.size(); ++i)
      EXPECT_EQ(db.exec("UPDATE specs SET jobspec = json_set(jobspec, " + ignored[i] +
                        ") WHERE id = (SELECT spec FROM batches WHERE first = " +
                        std::to_string(ids[i]) + ")"),
                1);
    db.exec("DROP TABLE event_packs");
    db.exec("PRAGMA user_version = 4");
    SQLite::Statement specs(db, "SELECT jobspec FROM specs WHERE id > 1");
    while (specs.executeStep())
      EXPECT_FALSE(make_submission(specs.getColumn(0).getString(), false)) << "from outside";
  }
  EXPECT_THAT(check_journal(state)->damage, IsEmpty());
  live.start_again();
  for (const auto& record : live.wait(ids))
    EXPECT_EQ(record.result, "COMPLETED") << record.id << ": " << record.reason;
}

std::string jobspec_with(const std::string& system) {
  return R"({"version":1,"resources":[{"type":"slot","count":2,"label":"task",
"with":[{"type":"core","count":1}]}],"tasks":[{"command":["true"],"slot":"task",
"count":{"per_slot":1}}],"attributes":{"system":)" +
         system + "}}";
}

// A taskmap that was ignored stays so when it is one that this version obeys.
TEST(JournalOfVersion4, HasRanksInBlocksWhateverItsJobspecsSay) {
  for (const std::string& scheme : {std::string(R"("cyclic")"), std::string(R"("block")"),
                                    std::string(R"({"scheme":"cyclic","value":""})")}) {
    SCOPED_TRACE(scheme);
    SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(kJournalSchema);
    db.exec("PRAGMA user_version = 4");
    SQLite::Statement put(db, "INSERT INTO specs VALUES(1, ?)");
    put.bind(1, jobspec_with(R"({"duration":60,"shell":{"options":{"label-io":true,"taskmap":)" +
                             scheme + "}}}"));
    put.exec();
    migrate(db);
    const auto made =
        make_submission(db.execAndGet("SELECT jobspec FROM specs").getString(), false);
    ASSERT_TRUE(made) << to_string(made.error());
    EXPECT_EQ(made->distribution, Distribution::block);
    EXPECT_TRUE(made->label) << "other options stay";
    EXPECT_EQ(made->limit, 60'000);
  }
}

TEST(Migrate, SaysWhatItDoesNotUnderstand) {
  SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec(testing::read_file(HOLON_SOURCE_DIR "/tests/instance/journal/data/child_v1.sql"));
  db.exec("UPDATE meta SET value='soon' WHERE key='grant.expiration'");
  db.exec("UPDATE meta SET value='no list' WHERE key='drains'");
  const auto lost = migrate(db);
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_EQ(lost[0], "grant.expiration: 'soon' is no number");
  EXPECT_THAT(lost[1], HasSubstr("drains: "));
  EXPECT_EQ(read_grant(db)->path, "/3") << "the rest is there";
  EXPECT_THAT(migrate(db), IsEmpty()) << "it is of this version now";
}

TEST(Tables, TakeNothingOfAnotherType) {
  SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec(kJournalSchema);
  EXPECT_THROW(db.exec("INSERT INTO numbers VALUES('started','soon')"), SQLite::Exception);
  EXPECT_THROW(db.exec("INSERT INTO held_grant VALUES(2,1,'/','',0,0)"), SQLite::Exception);
}

}  // namespace
}  // namespace holon::instance
