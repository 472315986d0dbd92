// holon start --tree: instances that divide the resources, through crashes and restarts.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <map>

#include "tests/instance/grants/sound_tree.hpp"
#include "tests/instance/live.hpp"
#include "tests/instance/tree/tree.hpp"

namespace holon::instance {
namespace {

using testing::alive;
using ::testing::ElementsAre;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Live;
using testing::processes_of;

msg::TreeNode tree_of(const Live& live) {
  const auto tree = live.call<msg::TreeNode>("tree", msg::TreeRequest{});
  EXPECT_TRUE(tree) << tree.error().what;
  return tree.value_or(msg::TreeNode());
}

std::vector<std::int64_t> cores_of_children(const msg::TreeNode& node) {
  std::vector<std::int64_t> cores;
  for (const auto& child : node.children) cores.push_back(child.cores);
  return cores;
}

// "fcfs(easy(conservative conservative))": the policies of a tree.
std::string policies_of(const msg::TreeNode& node) {
  std::string text = node.policy;
  for (std::size_t i = 0; i < node.children.size(); ++i)
    text += (i == 0 ? "(" : " ") + policies_of(node.children[i]);
  return text + (node.children.empty() ? "" : ")");
}

struct Ran {
  int code = -1;
  std::string said;
};

// `holon start` with these words, and all that it has said.
Ran start_with(const std::string& dir, const std::string& words,
               const std::string& binary = HOLON_BINARY) {
  const std::string command =
      "XDG_STATE_HOME=" + dir + "/home " + binary + " start " + words + " 2>&1 < /dev/null";
  Ran ran;
  FILE* const out = popen(command.c_str(), "r");
  std::array<char, 4096> bytes{};
  while (out != nullptr && fgets(bytes.data(), bytes.size(), out) != nullptr)
    ran.said += bytes.data();
  if (out != nullptr) ran.code = WEXITSTATUS(pclose(out));
  return ran;
}

class Planted : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "holon-planted-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  // The supervisor of a tree that did not come up may still be writing there.
  void TearDown() override {
    EXPECT_TRUE(eventually([this] {
      std::error_code error;
      std::filesystem::remove_all(dir_, error);
      return !error;
    }));
  }
  Ran start(const std::string& words) const { return start_with(dir_, words); }
  const std::string& dir() const { return dir_; }

 private:
  std::string dir_;
};

TEST_F(Planted, TheLeavesAreUpWhenTheStartReturns) {
  const Live live({"--resources", "node=2/core=4,gpu=2,memory=8", "--tree", "2x2", "--conf-level",
                   "1:queue.policy=easy", "--conf-level", "2:queue.policy=conservative"});
  const auto tree = tree_of(live);
  EXPECT_EQ(policies_of(tree),
            "fcfs(easy(conservative conservative) easy(conservative conservative))");
  EXPECT_EQ(tree.shape, "2x2");
  EXPECT_EQ(tree.cores_free, 0);
  for (const auto& child : tree.children) {
    EXPECT_EQ(child.nodes, 1);
    EXPECT_EQ(child.shape, "2");
    for (const auto& leaf : child.children) {
      EXPECT_EQ(leaf.health, "up");
      EXPECT_EQ(leaf.cores, 2);
      EXPECT_EQ(leaf.gpus, 1);
      EXPECT_EQ(leaf.shape, "");
      const auto id = live.job({"/bin/true"}, {2}, leaf.path);
      EXPECT_EQ(live.wait_one(id, leaf.path).result, "COMPLETED");
    }
  }
  testing::expect_sound_tree(live);
}

TEST_F(Planted, CoresThatCannotBeDividedAreInUseAllTheSame) {
  const Live live({"--resources", "node=1/core=10", "--tree", "4"});
  const auto tree = tree_of(live);
  EXPECT_THAT(cores_of_children(tree), ElementsAre(3, 3, 2, 2));
  EXPECT_EQ(tree.cores_free, 0);
}

TEST_F(Planted, APartOfSeveralNodesHasWhatIsLeftOfThem) {
  const Live live({"--resources", "node=3/core=8,gpu=4", "--tree", "4"});
  const auto tree = tree_of(live);
  EXPECT_THAT(cores_of_children(tree), ElementsAre(6, 6, 6, 6));
  EXPECT_EQ(tree.cores_free, 0);
  EXPECT_EQ(tree.gpus_free, 0);
  ASSERT_EQ(tree.children.size(), 4U);
  EXPECT_EQ(tree.children[3].nodes, 3);
  EXPECT_EQ(tree.children[3].gpus, 3);
}

TEST_F(Planted, NodesOfDifferentSizesAreNamedWhereTheyMustBe) {
  const Live live({"--resources", "[node=1/core=3;node=1/core=7;node=1/core=1]", "--tree", "7"});
  const auto tree = tree_of(live);
  EXPECT_THAT(cores_of_children(tree), ElementsAre(2, 1, 2, 2, 2, 1, 1));
  EXPECT_EQ(tree.cores_free, 0);
}

std::set<pid_t> everything(const Live& live, const std::vector<std::string>& paths) {
  std::set<pid_t> all;
  testing::add_tree(live.supervisor(), all);
  for (const std::string& path : paths) testing::add_tree(processes_of(live, path).supervisor, all);
  return all;
}

// Brokers go first, and nobody runs meanwhile: none ends in order, and none sees another one go.
void kill_all(const std::set<pid_t>& all) {
  const auto is_broker = [](pid_t pid) {
    return testing::command_of(pid).find(" broker ") != std::string::npos;
  };
  for (const pid_t pid : all) kill(pid, SIGSTOP);
  for (const pid_t pid : all)
    if (is_broker(pid)) kill(pid, SIGKILL);
  for (const pid_t pid : all) kill(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return std::none_of(all.begin(), all.end(), alive); }));
}

void kill_everything(const Live& live, const std::vector<std::string>& paths) {
  kill_all(everything(live, paths));
}

TEST_F(Planted, AfterAKillOfEverythingTheSameChildrenGoOnWithTheirQueues) {
  Live live({"--resources", "node=1/core=8", "--tree", "2x2"});
  const auto runs = live.job({"/bin/sleep", "600"}, {2}, "/1/1");
  live.when_running(runs, "/1/1");
  const auto waits = live.job({"/bin/true"}, {2}, "/1/1");
  const auto ran = live.job({"/bin/true"}, {1}, "/2/2");
  live.wait_one(ran, "/2/2");
  kill_everything(live, {"/1", "/2", "/1/1", "/1/2", "/2/1", "/2/2"});
  live.start_again();

  EXPECT_EQ(policies_of(tree_of(live)), "fcfs(fcfs(fcfs fcfs) fcfs(fcfs fcfs))");
  EXPECT_EQ(live.wait_one(waits, "/1/1").result, "COMPLETED") << "what waited goes on";
  const auto lost = live.record(runs, "/1/1");
  EXPECT_EQ(lost.result, "FAILED");
  EXPECT_THAT(lost.reason, HasSubstr("the instance was stopped while the job ran"));
  EXPECT_EQ(live.record(ran, "/2/2").result, "COMPLETED");
  std::map<std::string, int> planted;
  for (const auto& job : live.jobs(true, true))
    if (job.is_instance) ++planted[job.path];
  EXPECT_EQ(planted.size(), 6U) << "no second set";
  for (const char* const path : {"/1", "/2", "/1/1", "/1/2", "/2/1", "/2/2"})
    EXPECT_EQ(planted.count(path), 1U) << path;
  testing::expect_sound_tree(live);
  live.cancel(1);
  live.wait_one(1);
  EXPECT_EQ(live.record(waits, "/1/1").result, "COMPLETED") << "so the instance above has it";
}

// A job that fills the leaf and may run again, and one that waits for it.
struct Work {
  std::uint64_t runs = 0, waits = 0;
};

Work work_in(const Live& live, const std::string& leaf, const std::string& gate) {
  testing::JobOptions again;
  again.system = R"({"holon": {"requeue": 5}})";
  Work work;
  work.runs = live.job(live.gated(gate), again, leaf);
  live.when_running(work.runs, leaf);
  work.waits = live.job({"/bin/true"}, {}, leaf);
  return work;
}

void expect_done(const Live& live, const Work& work, const std::string& leaf,
                 const std::string& gate) {
  live.when_running(work.runs, leaf);
  live.release(gate);
  EXPECT_EQ(live.wait_one(work.runs, leaf).result, "COMPLETED") << leaf << ": it runs again";
  EXPECT_EQ(live.wait_one(work.waits, leaf).result, "COMPLETED") << leaf << ": what waited goes on";
}

// Brokers and children see each other go, and end as far as they come: that is no end for good.
class PlantedUnderKills : public Planted,
                          public ::testing::WithParamInterface<std::pair<const char*, int>> {};

TEST_P(PlantedUnderKills, NothingThatWaitsOrMayRunAgainIsLost) {
  const int how = GetParam().second;
  Live live({"--resources", "node=1/core=4", "--tree", "2x2"});
  const Work one = work_in(live, "/1/1", "one"), two = work_in(live, "/2/2", "two");
  const auto all = everything(live, {"/1", "/2", "/1/1", "/1/2", "/2/1", "/2/2"});
  std::vector<pid_t> order{live.supervisor()};
  if (how != 0) order.assign(all.begin(), all.end());
  if (how < 0) std::reverse(order.begin(), order.end());
  // A job whose own process is killed has failed by itself.
  std::erase_if(order, [](pid_t pid) {
    return testing::command_of(pid).find(HOLON_BINARY) == std::string::npos;
  });
  for (const pid_t pid : order) {
    kill(pid, SIGKILL);
    ASSERT_TRUE(eventually([&] { return !alive(pid); }));
  }
  ASSERT_TRUE(eventually([&] { return std::none_of(all.begin(), all.end(), alive); }));
  live.start_again();
  EXPECT_EQ(policies_of(tree_of(live)), "fcfs(fcfs(fcfs fcfs) fcfs(fcfs fcfs))");
  expect_done(live, one, "/1/1", "one");
  expect_done(live, two, "/2/2", "two");
  testing::expect_sound_tree(live);
}

INSTANTIATE_TEST_SUITE_P(OneAfterTheOther, PlantedUnderKills,
                         ::testing::Values(std::pair("TheRootsSupervisor", 0),
                                           std::pair("FromTheFirst", 1),
                                           std::pair("FromTheLast", -1)),
                         [](const auto& its) { return its.param.first; });

// The instances above live on, and start it again.
TEST_F(Planted, AChildThatIsKilledOrToldToStopByHandGoesOnWithItsQueue) {
  const Live live({"--resources", "node=1/core=2", "--tree", "2"});
  const Work one = work_in(live, "/1", "one"), two = work_in(live, "/2", "two");
  const pid_t killed = processes_of(live, "/1").supervisor,
              told = processes_of(live, "/2").supervisor;
  kill(killed, SIGKILL);
  kill(told, SIGTERM);
  ASSERT_TRUE(eventually([&] { return !alive(killed) && !alive(told); }));
  for (const std::uint64_t child : {1, 2})
    EXPECT_TRUE(eventually(
        [&] { return live.record(child).retries == 1 && live.record(child).state == "RUN"; }));
  expect_done(live, one, "/1", "one");
  expect_done(live, two, "/2", "two");
  testing::expect_sound_tree(live);
}

TEST_F(Planted, ACancelOfAChildIsItsEndForGood) {
  const Live live({"--resources", "node=1/core=2", "--tree", "2"});
  const Work work = work_in(live, "/1", "gate");
  live.cancel(1);
  EXPECT_EQ(live.wait_one(1).result, "CANCELED");
  EXPECT_EQ(live.record(work.runs, "/1").result, "CANCELED");
  EXPECT_EQ(live.record(work.waits, "/1").result, "CANCELED");
  EXPECT_THAT(live.record(work.waits, "/1").reason, HasSubstr("was told to stop"));
}

TEST_F(Planted, AnEndThatWasCutShortLeavesNoChildrenThatGoOn) {
  Live live({"--resources", "node=1/core=2", "--tree", "2"});
  for (const char* const path : {"/1", "/2"}) {
    const std::string ready = live.dir() + "/ready" + path[1];
    live.job({"/bin/sh", "-c", "trap '' TERM; touch " + ready + "; while :; do sleep 1; done"}, {},
             path);
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(ready); }));
  }
  const auto all = everything(live, {"/1", "/2"});
  ASSERT_TRUE(live.call<msg::Empty>("shutdown", msg::ShutdownRequest{}));
  kill_all(all);
  live.start();  // at the first try
  EXPECT_EQ(tree_of(live).planted, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(live.status("/3")->health, "up");
  EXPECT_EQ(live.status("/4")->health, "up");
}

TEST_F(Planted, AChildThatEndedForGoodIsToldAndNotMadeAgain) {
  Live live({"--resources", "node=1/core=4", "--tree", "2"});
  live.cancel(1);
  live.wait_one(1);
  const auto told = [](const msg::TreeNode& tree) {
    std::string text;
    for (const auto& child : tree.children) text += child.path + " " + child.health + ";";
    return text;
  };
  EXPECT_EQ(told(tree_of(live)), "/2 up;/1 ended;");
  EXPECT_THAT(tree_of(live).children.at(1).why, HasSubstr("cancelled"));
  kill_everything(live, {"/2"});
  live.start_again();
  EXPECT_EQ(told(tree_of(live)), "/2 up;/1 ended;");
}

TEST_F(Planted, AStartBehindAnOrderlyEndPlantsANewTreeOfTheSameShape) {
  Live live({"--resources", "node=1/core=4", "--tree", "2", "--conf-level", "1:queue.policy=easy"});
  ASSERT_TRUE(live.call<msg::Empty>("shutdown", msg::ShutdownRequest{}));
  ASSERT_TRUE(eventually([&] { return !alive(live.supervisor()); }));
  live.set_options({});  // it is kept
  live.start_again();
  ASSERT_TRUE(eventually([&] { return policies_of(tree_of(live)) == "fcfs(easy easy)"; }))
      << policies_of(tree_of(live));
  EXPECT_EQ(tree_of(live).planted, (std::vector<std::uint64_t>{3, 4}));
}

TEST_F(Planted, ItStaysOneTreeWhenBrokersAreKilled) {
  const Live live({"--resources", "node=1/core=4", "--tree", "2x2"});
  testing::kill_broker_of(live, "/1");
  live.kill_broker();
  testing::kill_broker_of(live, "/2/1");
  EXPECT_TRUE(eventually(
      [&] { return policies_of(tree_of(live)) == "fcfs(fcfs(fcfs fcfs) fcfs(fcfs fcfs))"; }));
  EXPECT_EQ(live.jobs(true, false).size(), 2U);
}

TEST_F(Planted, ToCancelAllJobsLeavesTheInstancesThatTheyRunIn) {
  const Live live({"--resources", "node=1/core=2", "--tree", "2"});
  const auto waits = live.job({"/bin/true"});
  msg::CancelRequest all;
  all.all = true;
  const auto cancelled = live.call<msg::CancelReply>("cancel", all);
  ASSERT_TRUE(cancelled);
  EXPECT_THAT(cancelled->cancelled, ElementsAre(waits));
  EXPECT_EQ(live.status("/1")->health, "up");
}

TEST_F(Planted, AScriptBeginsWhenAllLeavesAreUp) {
  const auto ran =
      start("--no-journal --resources node=1/core=4 --tree 2x2 " HOLON_BINARY " tree --json");
  EXPECT_EQ(ran.code, 0) << ran.said;
  EXPECT_THAT(ran.said, HasSubstr("4 leaves are up after "));
  std::size_t up = 0;
  for (auto at = ran.said.find(R"("health": "up")"); at != std::string::npos; ++up)
    at = ran.said.find(R"("health": "up")", at + 1);
  EXPECT_EQ(up, 7U) << ran.said;
  EXPECT_EQ(start("--no-journal --resources node=1/core=4 --tree 2 sh -c 'exit 7'").code, 7);
  EXPECT_EQ(start("--no-journal --resources node=1/core=4 --tree 2 /no/such/program").code, 127);
}

TEST_F(Planted, WhatCannotBeIsRefusedBeforeAnythingStarts) {
  const auto refused = [this](const std::string& words) {
    const auto ran = start("--bg --state-dir " + dir() + "/s " + words);
    EXPECT_NE(ran.code, 0) << words;
    return ran.said;
  };
  EXPECT_THAT(refused("--resources node=1/core=10 --tree 4x4"),
              HasSubstr("--tree 4x4: 16 leaves are too many: child 1 would have 3 cores of 1 node, "
                        "to be divided among 4"));
  EXPECT_THAT(refused("--tree 4y4"), HasSubstr("'4y4' is no number of children"));
  EXPECT_THAT(refused("--tree 4 --conf-level 2:queue.policy=easy"), HasSubstr("no level 2"));
  EXPECT_THAT(refused("--tree 4 --conf-level 1:queue.polcy=easy"),
              HasSubstr("--conf-level 1:queue.polcy"));
  EXPECT_THAT(refused("--tree 4 --conf-level 1:queue.policy=esy"), HasSubstr("easy"));
  EXPECT_THAT(refused("--conf-level 1:queue.policy=easy"), HasSubstr("with --tree only"));
}

TEST_F(Planted, AnotherShapeIsRefusedWhileTheTreeGoesOn) {
  Live live({"--resources", "node=1/core=4", "--tree", "2"});
  kill_everything(live, {"/1", "/2"});
  const auto ran = start("--bg --tree 4 --state-dir " + live.dir() + "/state");
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.said, HasSubstr("--tree 4: the instance has a tree already, 2, which goes on"));
  live.start_again();
}

TEST_F(Planted, OtherSettingsAreRefusedWhileTheTreeGoesOn) {
  Live live({"--resources", "node=1/core=4", "--tree", "2", "--conf-level", "1:queue.policy=easy"});
  kill_everything(live, {"/1", "/2"});
  const std::string again = "--bg --state-dir " + live.dir() + "/state --tree 2 ";
  const auto ran = start(again + "--conf-level 1:queue.policy=fcfs");
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.said,
              HasSubstr("--conf-level 1:queue.policy=fcfs: the instance has a tree already, which "
                        "goes on with the settings that it was planted with "
                        "(1:queue.policy=easy)"));
  live.start_again();
}

std::size_t processes_that_run(const std::string& program) {
  std::size_t count = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    if (std::filesystem::read_symlink(entry.path() / "exe", gone) == program) ++count;
  return count;
}

// As after an upgrade: the holon that began the tree may be gone.
TEST_F(Planted, ItGoesOnWithTheHolonThatStartsIt) {
  Live live({"--resources", "node=1/core=4", "--tree", "2"});
  kill_everything(live, {"/1", "/2"});
  const std::string other = dir() + "/holon";
  std::filesystem::copy_file(HOLON_BINARY, other);
  const auto ran = start_with(dir(), "--bg --state-dir " + live.dir() + "/state", other);
  EXPECT_EQ(ran.code, 0) << ran.said;
  EXPECT_TRUE(eventually([&] { return processes_that_run(other) == 9; }))
      << "supervisor, broker and agent of the root and of two children: "
      << processes_that_run(other);
  const auto uri = ran.said.substr(std::min(ran.said.find("ipc://"), ran.said.size()));
  const std::string end = "HOLON_URI=" + uri.substr(0, uri.find('\n')) + " " + other + " shutdown";
  EXPECT_EQ(std::system(end.c_str()), 0) << end;
  live.start_again();
}

TEST_F(Planted, AChildThatDoesNotComeUpIsSaidWithItsReasonAndEndsTheTree) {
  std::filesystem::create_directories(dir() + "/s");
  std::ofstream(dir() + "/s/children") << "a file where the folders of children are made";
  const auto ran = start("--bg --state-dir " + dir() + "/s --resources node=1/core=4 --tree 2");
  EXPECT_EQ(ran.code, 1) << ran.said;
  EXPECT_THAT(ran.said, HasSubstr("holon start: the child /"));
  EXPECT_THAT(ran.said, HasSubstr("did not come up: "));
  EXPECT_THAT(ran.said, HasSubstr("the tree is ended"));
  EXPECT_THAT(ran.said, ::testing::Not(HasSubstr("ipc://"))) << "there is nothing to use";
}

}  // namespace
}  // namespace holon::instance
