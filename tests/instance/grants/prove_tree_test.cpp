// What the journals of a real tree prove, and what is found in journals that were altered.
#include "instance/grants/proof/prove_tree.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "instance/journal/files.hpp"
#include "msg/grant.hpp"
#include "tests/instance/live.hpp"
#include "tests/instance/tree/tree.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::eventually;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;

// A tree whose child asked, gave back, was killed, asked again, and was recalled; it is over, and
// so is another one, which had the same cores after it.
class ProveTree : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    live_ = std::make_unique<Live>(std::vector<std::string>{"--resources", "node=1/core=6"});
    const auto first = std::to_string(live_->child({2}));
    get_more("/" + first);
    tell<msg::GrantRelease>("grant.release", {}, "/" + first);
    ASSERT_TRUE(eventually([&] { return cores_of("/" + first) == 2; }));
    live_->kill_broker();
    get_more("/" + first);
    tell<msg::GrantRecall>("grant.recall", {.child = 1, .reason = "for ada"}, "");
    ASSERT_TRUE(eventually([&] { return cores_of("/" + first) == 2; }));
    second_ = std::to_string(live_->child({2}));
    get_more("/" + second_);
    JobOptions wide;
    wide.cores = 4;
    wide.duration = 300;
    const auto job = live_->job({"/bin/true"}, wide, "/" + second_);
    EXPECT_EQ(live_->wait_one(job, "/" + second_).result, "COMPLETED");
    alive_ = prove_tree(state());
    live_->stop();
  }
  static void TearDownTestSuite() { live_.reset(); }
  template <class What>
  static void tell(const char* topic, const What& what, const std::string& path) {
    const auto done = live_->call<msg::Empty>(topic, what, path);
    EXPECT_TRUE(done) << done.error().what;
  }
  static std::int64_t cores_of(const std::string& path) {
    const auto node = live_->status(path);
    return node ? node->cores : -1;
  }
  static void get_more(const std::string& path) {
    JobOptions two;
    two.tasks = 2;
    two.duration = 600;
    const auto answer = live_->call<msg::GrantAnswer>(
        "grant.ask", msg::GrantAsk{Live::request({"grant"}, two).jobspec}, path);
    // What went back before may not be free above yet: it is promised then.
    ASSERT_TRUE(answer) << answer.error().what;
    ASSERT_TRUE(eventually([&] {
      const auto reply = live_->call<msg::GrantReply>("grant.show", msg::Empty{}, "/");
      if (!reply) return false;
      for (const auto& part : reply->given)
        if (part.path == path && part.source == "extra") return part.state == "held";
      return false;
    }));
  }
  static std::string state() { return live_->dir() + "/state"; }

  void SetUp() override {
    altered = live_->dir() + "/altered";
    fs::remove_all(altered);
    fs::copy(state(), altered, fs::copy_options::recursive);
  }
  static constexpr int kSome = -1;
  // Changes the journal of the copy: "" the root's, "/children/1" the child's.
  void change(const std::string& of, const std::string& sql, int rows = 1) const {
    SQLite::Database db(journal_file(altered + of), SQLite::OPEN_READWRITE);
    const int changed = db.exec(sql);
    EXPECT_TRUE(rows == kSome ? changed > 0 : changed == rows) << sql;
  }
  // Puts another entry in place of the first of this name.
  void replace(const std::string& of, const std::string& name,
               const std::string& entry = R"({"is":"vacated","what":{"units":""}})") const {
    change(of, "UPDATE grant_entries SET entry = '" + entry +
                   "' WHERE number = (SELECT min(number) FROM grant_entries WHERE "
                   "json_extract(entry, '$.is') = '" +
                   name + "')");
  }
  void set(const std::string& of, const std::string& name, const std::string& member,
           const std::string& value) const {
    change(of, "UPDATE grant_entries SET entry = json_set(entry, '" + member + "', " + value +
                   ") WHERE number = (SELECT min(number) FROM grant_entries WHERE "
                   "json_extract(entry, '$.is') = '" +
                   name + "')");
  }
  void expect_breach(int invariant, const std::string& path, const std::string& what) const {
    const TreeProof proof = prove_tree(altered);
    EXPECT_FALSE(proof.holds());
    ASSERT_TRUE(proof.breach) << what;
    EXPECT_EQ(proof.breach->invariant, invariant) << proof.breach->what;
    EXPECT_EQ(proof.breach->path, path);
    EXPECT_THAT(proof.breach->what, HasSubstr(what));
    EXPECT_GT(proof.breach->number, 0);
    EXPECT_GT(proof.breach->time, 1'000'000'000'000) << "ms of the wall clock";
  }
  std::string trouble() const {
    std::string all;
    const TreeProof proof = prove_tree(altered);
    for (const auto& one : proof.instances)
      for (const auto& line : one.trouble) all += line + "\n";
    EXPECT_EQ(proof.holds(), all.empty());
    return all;
  }

  static std::unique_ptr<Live> live_;
  static TreeProof alive_;
  static std::string second_;  // the number of the other child
  std::string altered;
};
std::unique_ptr<Live> ProveTree::live_;
TreeProof ProveTree::alive_;
std::string ProveTree::second_;

TEST_F(ProveTree, HoldsWhileItLivesAndWhenItIsOver) {
  EXPECT_TRUE(alive_.holds());
  ASSERT_EQ(alive_.instances.size(), 3u);
  EXPECT_TRUE(alive_.instances[0].runs);
  EXPECT_EQ(alive_.instances[1].path, "/1");
  EXPECT_GE(alive_.instances[1].looked_at, 9u);

  const TreeProof over = prove_tree(altered);
  EXPECT_TRUE(over.holds()) << (over.breach ? over.breach->what : trouble());
  ASSERT_EQ(over.instances.size(), 3u);
  for (const auto& one : over.instances) {
    EXPECT_FALSE(one.runs);
    EXPECT_EQ(one.looked_at, one.entries) << one.path;
    EXPECT_THAT(one.not_kept, ElementsAre());
    EXPECT_LE(one.first, one.last);
  }
  EXPECT_GE(over.instances[0].entries, 14u);
}

TEST_F(ProveTree, ChangesNothing) {
  std::map<std::string, std::string> before;
  for (const auto& file : fs::recursive_directory_iterator(altered))
    if (file.is_regular_file()) before[file.path()] = testing::read_file(file.path());
  prove_tree(altered);
  for (const auto& file : fs::recursive_directory_iterator(altered))
    if (file.is_regular_file()) {
      ASSERT_TRUE(before.contains(file.path())) << file.path();
      EXPECT_EQ(testing::read_file(file.path()), before[file.path()]) << file.path();
    }
}

TEST_F(ProveTree, AUnitThatIsGivenBeforeItIsFreeIsFound) {
  replace("", "gone");
  expect_breach(1, "/", "offered: units that are not free");
}

TEST_F(ProveTree, ALentUnitThatDidNotComeBackIsFound) {
  replace("/children/1", "released");
  expect_breach(3, "/", "returned: it answers what the other side has never written");
}

TEST_F(ProveTree, AUnitThatWasNotGivenIsFound) {
  set("/children/1", "took", "$.what.extend.units", "'0-5'");
  expect_breach(1, "/1", "which its parent has not given");
}

TEST_F(ProveTree, AnEpochThatWasSkippedIsFound) {
  set("/children/1", "took", "$.what.extend.from", "7");
  expect_breach(2, "/1", "an extend from another epoch");
}

TEST_F(ProveTree, AUnitThatIsFreeWithoutAnybodysLookIsFound) {
  replace("", "returned");
  expect_breach(4, "/", "gone from units that are not returned or lost");
}

TEST_F(ProveTree, AGrantBeyondItsTimeIsFound) {
  set("/children/1", "took", "$.what.extend.until",
      "json_extract(entry, '$.what.extend.until') + 3600000");
  expect_breach(6, "/1", "are taken for 4");
}

TEST_F(ProveTree, ARecallOfWhatIsItsOwnIsFound) {
  set("", "recall", "$.what.recall.units", "'0-7'");
  expect_breach(5, "/", "the own of child 1");
}

// A job that began on the child's own and on what goes back in ten minutes.
TEST_F(ProveTree, AJobThatIsPlannedBeyondAReturnIsFound) {
  change("/children/" + second_,
         "UPDATE allocs SET end = begin + 3600000 WHERE job = (SELECT max(job) FROM allocs)");
  expect_breach(7, "/" + second_, "began on units ");
  // It was given another limit since; what it began with is not known.
  change("/children/" + second_,
         "INSERT INTO events SELECT max(seq) + 1, (SELECT max(job) FROM allocs), 1, max(time), "
         "'resource-update', '{\"expiration_ms\":0}' FROM events");
  EXPECT_FALSE(prove_tree(altered).breach);
}

TEST_F(ProveTree, AFenceThatADeltaCouldReachIsFound) {
  set("", "settled", "$.is", "'raised'");
  set("", "raised", "$.what", "json('{\"child\":1,\"epoch\":1,\"why\":\"silent\"}')");
  expect_breach(8, "/", "a fence that a delta in flight could reach");
}

TEST_F(ProveTree, AnEntryThatIsMissingOrNonsenseIsNamed) {
  change("/children/1",
         "DELETE FROM grant_entries WHERE number = 1 + (SELECT min(number) FROM grant_entries)");
  EXPECT_THAT(trouble(), HasSubstr("/children/1/journal.db: entry 2 about grants is missing"));
  change("", "UPDATE grant_entries SET entry = '{}' WHERE number = 3");
  EXPECT_THAT(trouble(), HasSubstr("altered/journal.db: entry 3: "));
}

TEST_F(ProveTree, WhatARebuiltJournalLacksIsNotProvenAndNoTrouble) {
  change("/children/1",
         "DELETE FROM grant_entries WHERE number = 1 + (SELECT min(number) FROM grant_entries)");
  change("/children/1", "INSERT INTO numbers VALUES('journal.rebuilt', 1)");
  EXPECT_EQ(trouble(), "");
  const TreeProof proof = prove_tree(altered);
  EXPECT_FALSE(proof.breach);
  EXPECT_THAT(proof.instances[1].not_kept, Contains(HasSubstr("what entry 3 follows is not kept")));
  EXPECT_EQ(proof.instances[1].looked_at, 0u);
}

// Where users have instances of their own, what these write is theirs.
TEST_F(ProveTree, AChildWhoseFolderIsElsewhereIsNamed) {
  // As if it were not over.
  change("",
         "DELETE FROM grant_entries WHERE number >= (SELECT min(number) FROM grant_entries "
         "WHERE json_extract(entry, '$.is') = 'over')",
         kSome);
  change("", "DELETE FROM numbers WHERE key = 'grants.since'");
  fs::remove_all(altered + "/children/" + second_);
  EXPECT_EQ(trouble(), "");
  EXPECT_THAT(prove_tree(altered).instances.front().not_kept,
              Contains(HasSubstr("its journal is not here: there is no folder ")));
}

TEST_F(ProveTree, AJournalThatIsMissingDamagedOrOfAnotherTreeIsNamed) {
  change("/children/" + second_, "UPDATE held_grant SET path = '/5'");
  EXPECT_THAT(trouble(),
              HasSubstr("/children/" + second_ + "/journal.db: it is the journal of /5"));
  std::ofstream(altered + "/children/" + second_ + "/journal.db", std::ios::trunc) << "nonsense";
  EXPECT_THAT(trouble(), HasSubstr("/children/" + second_ + "/journal.db"));
  fs::remove(altered + "/children/" + second_ + "/journal.db");
  EXPECT_THAT(trouble(), HasSubstr("there is no journal of an instance"));
  EXPECT_FALSE(prove_tree(altered + "/nowhere").holds());
}

}  // namespace
}  // namespace holon::instance
