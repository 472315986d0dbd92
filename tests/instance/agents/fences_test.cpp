// Tasks of one job under two agents find each other: what those of one part put before a fence,
// those of the other read behind it.
#include <gmock/gmock.h>

#include "launch/messages.hpp"
#include "tests/instance/lone_broker.hpp"

namespace holon::instance {
namespace {

using testing::eventually;
using testing::FakeAgent;
using ::testing::HasSubstr;
using testing::JobOptions;
using testing::Live;
using testing::LoneBroker;
using testing::read_file;
using testing::with_tasks;

// A shell that speaks PMI-1 over the descriptor it has inherited.
constexpr const char* kHello = R"sh(
say() { printf '%s\n' "$1" >&$PMI_FD && read -r answer <&$PMI_FD; }
say 'cmd=init pmi_version=1 pmi_subversion=1'
say 'cmd=get_my_kvsname'
space=${answer#*kvsname=}
)sh";

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", kHello + script};
}

// Each puts a word, comes to a fence and writes what its neighbour has put, `rounds` times.
std::string exchange(const std::string& dir, int rounds) {
  return "round=0; while [ $round -lt " + std::to_string(rounds) + R"sh( ]; do
    round=$((round + 1))
    say "cmd=put kvsname=$space key=k$round.$PMI_RANK value=from-$PMI_RANK-in-$round"
    : > )sh" +
         dir + R"sh(/round$round.$PMI_RANK
    say 'cmd=barrier_in'
    say "cmd=get kvsname=$space key=k$round.$(( (PMI_RANK + 1) % PMI_SIZE ))"
    echo "${answer##*value=}" >> )sh" +
         dir + R"sh(/heard$PMI_RANK
  done
  say "cmd=get kvsname=$space key=PMI_process_mapping"; echo "${answer##*value=}" >> )sh" +
         dir + R"sh(/heard$PMI_RANK
  say 'cmd=finalize')sh";
}

TEST(TwoAgents, TellEachOtherWhatTheirTasksPut) {
  const Live live({"--resources", "node=2/core=2", "--agents", "2"});
  const auto id = live.job(shell(exchange(live.dir(), 2)), with_tasks(4));
  const auto over = live.wait_one(id);
  EXPECT_EQ(over.result, "COMPLETED") << over.reason;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string next = std::to_string((rank + 1) % 4);
    EXPECT_EQ(read_file(live.dir() + "/heard" + std::to_string(rank)),
              "from-" + next + "-in-1\nfrom-" + next + "-in-2\n(vector,(0,2,2))\n");
  }
}

// Of agents that stand for two nodes each, too: the tasks of an agent are those of its nodes.
TEST(TwoAgents, KnowOfTasksThatAreDistributedCyclicallyWhereEachIs) {
  struct Case {
    std::string shape;
    int tasks;
    std::string mapping;
  };
  for (const Case& of : {Case{"node=2/core=2", 4, "(vector,(0,2,1),(0,2,1))"},
                         Case{"node=4/core=2", 8, "(vector,(0,2,2),(0,2,2))"}}) {
    const Live live({"--resources", of.shape, "--agents", "2"});
    JobOptions options = with_tasks(of.tasks);
    options.system = R"({"shell":{"options":{"taskmap":"cyclic"}}})";
    const auto over = live.wait_one(live.job(shell(exchange(live.dir(), 1)), options));
    EXPECT_EQ(over.result, "COMPLETED") << over.reason;
    for (int rank = 0; rank < of.tasks; ++rank)
      EXPECT_EQ(read_file(live.dir() + "/heard" + std::to_string(rank)),
                "from-" + std::to_string((rank + 1) % of.tasks) + "-in-1\n" + of.mapping + "\n");
  }
}

TEST(TwoAgents, AnAbortOnOneEndsTheTasksOfBothWithItsCode) {
  const Live live({"--resources", "node=2/core=1", "--agents", "2"});
  const auto id = live.job(
      shell("[ $PMI_RANK = 1 ] && printf 'cmd=abort exitcode=7\\n' >&$PMI_FD; exec sleep 1000"),
      with_tasks(2));
  const auto over = live.wait_one(id);
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_EQ(over.exit_code, 7) << "and not that of the signal which has ended the other";
  EXPECT_THAT(over.reason, HasSubstr("task 1 has ended the job (MPI_Abort)"));
}

TEST(TwoAgents, ATaskThatFailsEndsTheTasksOfBothWhereThatIsAskedFor) {
  const Live live({"--resources", "node=2/core=1", "--agents", "2"});
  JobOptions options = with_tasks(2);
  options.system = R"({"shell":{"options":{"exit-on-error":1}}})";
  const auto id =
      live.job({"/bin/sh", "-c", "[ $HOLON_TASK_RANK = 1 ] && exit 6; exec sleep 1000"}, options);
  const auto over = live.wait_one(id);
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_EQ(over.exit_code, 6);
  EXPECT_THAT(over.reason, HasSubstr("task 1 ended with exit code 6"));
}

TEST(TwoAgents, ATaskThatDiesBeforeAFenceEndsThoseThatWaitForIt) {
  const Live live({"--resources", "node=2/core=1", "--agents", "2"});
  const auto id =
      live.job(shell("[ $PMI_RANK = 1 ] && exit 5; say 'cmd=barrier_in'"), with_tasks(2));
  const auto over = live.wait_one(id);
  EXPECT_EQ(over.result, "FAILED");
  EXPECT_EQ(over.exit_code, 5);
}

TEST(TwoAgents, SayTheirFencesAgainToABrokerThatComesBack) {
  const Live live({"--resources", "node=2/core=1", "--agents", "2"});
  live.gated("gate");
  const auto id = live.job(
      shell("[ $PMI_RANK = 1 ] && read line < " + live.dir() + "/gate; " + exchange(live.dir(), 3)),
      with_tasks(2));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(live.dir() + "/round1.0"); }));
  live.kill_broker();
  live.release("gate");
  const auto over = live.wait_one(id);
  EXPECT_EQ(over.result, "COMPLETED") << over.reason;
  EXPECT_THAT(read_file(live.dir() + "/heard0"), HasSubstr("from-1-in-3\n"));
}

class FencesOfFakeAgents : public ::testing::Test {
 protected:
  FencesOfFakeAgents() {
    EXPECT_TRUE(first_.is_told("agent.start"));
    EXPECT_TRUE(second_.is_told("agent.start"));
  }
  static Result<launch::msg::FenceReply> come(FakeAgent& agent, std::uint64_t job,
                                              std::uint64_t round, std::string data) {
    return agent.connection().call<launch::msg::FenceReply>(
        "agent.fence", launch::msg::FenceRequest{job, round, std::move(data)});
  }

  LoneBroker live_{"node=2/core=1", 2};
  FakeAgent first_{live_, FakeAgent::hello_of(live_, 0)},
      second_{live_, FakeAgent::hello_of(live_, 1)};
  std::uint64_t id_ = live_.job({"/bin/true"}, with_tasks(2));
};

TEST_F(FencesOfFakeAgents, AreAnsweredWhenAllHaveComeAndAgainWhenAskedAgain) {
  const auto& part = second_.starts.at(0).jobs.at(0);
  EXPECT_EQ(part.mpi, "auto");
  EXPECT_EQ(part.part, 1u);
  EXPECT_THAT(part.part_tasks, ::testing::ElementsAre(1, 1));
  first_.send("agent.fence", launch::msg::FenceRequest{id_, 1, "of the first"});
  const auto reply = come(second_, id_, 1, "of the second");
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_THAT(reply->parts, ::testing::ElementsAre("of the first", "of the second"));
  const auto again = come(first_, id_, 1, "of the first");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->parts, reply->parts);
}

TEST_F(FencesOfFakeAgents, OfJobsThatTheyDoNotRunAreRefused) {
  EXPECT_EQ(come(first_, 77, 1, "").error().code, Errc::not_found);
  const auto stranger = live_.call<launch::msg::FenceReply>(
      "agent.fence", launch::msg::FenceRequest{id_, 1, "forged"});
  EXPECT_EQ(stranger.error().code, Errc::denied);
}

TEST_F(FencesOfFakeAgents, EndWithAPartThatEnds) {
  launch::msg::Finished finished;
  finished.job = id_;
  finished.reason = "exit";
  finished.tasks = {{0, 0, true, 0, 0}};
  first_.report(finished);
  EXPECT_EQ(come(second_, id_, 1, "").error().code, Errc::not_found);
}

}  // namespace
}  // namespace holon::instance
