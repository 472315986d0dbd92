// Who may come in from another node, and which place he gets; which nodes an instance gets.
#include "instance/agents/agent_admission.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "instance/agents/child_place.hpp"
#include "instance/assembly/launcher.hpp"
#include "instance/assembly/nodes.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using transport::Principal;

class AgentAdmissionTest : public ::testing::Test {
 protected:
  AgentAdmissionTest() {
    options_.hosts = {"n1", "n2.site.org", "n3"};
    options_.secrets.agents = {"secret0", "secret1", "secret2"};
    options_.secrets.keys = {{"S", "s"}, {"J", "j"}, {{"", ""}, {"A1", "a1"}, {"A2", "a2"}}};
  }
  Result<launch::msg::JoinReply> ask(std::int64_t rank, const std::string& host) const {
    return AgentAdmission(options_, 5'000).place_for({rank, host}, [this](std::uint32_t which) {
      return which == connected_;
    });
  }

  BrokerOptions options_;
  std::uint32_t connected_ = 99;
};

TEST_F(AgentAdmissionTest, EachKeyIsSomebodys) {
  const AgentAdmission joining(options_, 0);
  EXPECT_EQ(joining.name_of("J"), kJoiner);
  EXPECT_EQ(joining.name_of("A1"), "agent 1");
  EXPECT_EQ(joining.name_of("A2"), "agent 2");
  for (const char* nobodys : {"", "S", "a1", "j", "other"}) EXPECT_EQ(joining.name_of(nobodys), "");
}

TEST_F(AgentAdmissionTest, AKeySpeaksForItsRankOnly) {
  const Principal second{Principal::Kind::key, 0, 0, 0, "agent 2"};
  EXPECT_TRUE(may_be_agent(second, 2));
  EXPECT_FALSE(may_be_agent(second, 1));
  EXPECT_FALSE(may_be_agent(second, 20));
  const Principal guest{Principal::Kind::key, 0, 0, 0, kJoiner};
  EXPECT_FALSE(may_be_agent(guest, 1));
  EXPECT_TRUE(is_agent(second));
  EXPECT_FALSE(is_agent(guest));
  EXPECT_FALSE(is_agent({Principal::Kind::ipc, 0, 0, 1, {}}));
}

TEST_F(AgentAdmissionTest, APlaceIsThatOfTheRankOrElseOfTheHost) {
  const auto by_rank = ask(2, "whatever");
  ASSERT_TRUE(by_rank);
  EXPECT_EQ(by_rank->host, "n3");
  EXPECT_EQ(by_rank->secret_key, "a2");
  EXPECT_EQ(by_rank->secret, "secret2");
  EXPECT_EQ(by_rank->orphan_timeout, 5'000);
  const auto by_host = ask(-1, "n2");
  ASSERT_TRUE(by_host);
  EXPECT_EQ(by_host->rank, 1U);
  EXPECT_EQ(by_host->public_key, "A1");
}

TEST_F(AgentAdmissionTest, BesideTheBrokerNothingIsToldAndNobodyNeeded) {
  const auto here = ask(-1, "n1");
  ASSERT_TRUE(here);
  EXPECT_EQ(here->rank, 0U);
  EXPECT_EQ(here->secret + here->secret_key, "");
}

TEST_F(AgentAdmissionTest, WhoIsNoneOfTheNodesIsToldWhichTheyAre) {
  EXPECT_THAT(ask(-1, "n7").error().what, HasSubstr("n7 is none of the 3 nodes"));
  EXPECT_THAT(ask(3, "n3").error().what, HasSubstr("rank 3 is none of the 3 nodes"));
}

TEST_F(AgentAdmissionTest, NobodyGetsThePlaceOfWhoIsThere) {
  connected_ = 1;
  EXPECT_EQ(ask(-1, "n2").error().code, Errc::exists);
  EXPECT_TRUE(ask(-1, "n3"));
}

constexpr Time kToday = 1'000'000;

Result<launch::msg::JoinReply> guest(AgentAdmission& joining, const transport::KeyPair& key,
                                     const std::string& host, Time now = kToday) {
  const Principal who{Principal::Kind::key, 0, 0, 0, joining.name_of(key.public_key)};
  EXPECT_TRUE(is_joiner(who));
  return joining.place_for_invited(
      who, {-1, host}, [](std::uint32_t) { return false; }, now);
}

TEST_F(AgentAdmissionTest, WhoIsInvitedGetsThePlaceBehindTheLast) {
  AgentAdmission joining(options_, 0);
  const auto first = *joining.invite(kToday + 1, 2);
  const auto place = guest(joining, first, "n9");
  ASSERT_TRUE(place) << to_string(place.error());
  EXPECT_EQ(place->rank, 3U);
  EXPECT_EQ(place->host, "n9");
  EXPECT_EQ(joining.name_of(place->public_key), "agent 3");
  EXPECT_EQ(guest(joining, first, "n2")->rank, 1U) << "it has its place already";
  EXPECT_EQ(joining.guests().nodes.size(), 1U);
}

TEST_F(AgentAdmissionTest, AnInvitationIsUsedUpAndExpires) {
  AgentAdmission joining(options_, 0);
  const auto once = *joining.invite(kToday + 1, 1), late = *joining.invite(kToday, 1);
  for (const char* const bad :
       {"n[0-99999999]", "../x", "x y", "$(id)", "a;b", "", "-n", ".", "n,m"})
    EXPECT_FALSE(guest(joining, once, bad)) << bad;
  EXPECT_TRUE(joining.guests().nodes.size() < 3U) << "none of them was given a place";
  EXPECT_FALSE(guest(joining, once, "n1")) << "the broker's node";
  EXPECT_TRUE(guest(joining, once, "n9"));
  const auto again = guest(joining, once, "n10");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::denied);
  EXPECT_THAT(again.error().what, HasSubstr("has been used"));
  EXPECT_THAT(guest(joining, late, "n10").error().what, HasSubstr("has expired"));
  EXPECT_EQ(joining.guests().nodes.size(), 1U);
}

TEST_F(AgentAdmissionTest, GuestsAreKnownToTheNextBroker) {
  AgentAdmission joining(options_, 0);
  const auto key = *joining.invite(kToday + 1, 2);
  const auto place = guest(joining, key, "n9");
  const auto kept = parse_invited_nodes(write_invited_nodes(joining.guests()));
  ASSERT_TRUE(kept);
  EXPECT_EQ(*kept, joining.guests());
  AgentAdmission next(options_, 0);
  next.restore(*kept);
  EXPECT_EQ(next.name_of(place->public_key), "agent 3");
  EXPECT_EQ(guest(next, key, "n9")->secret, place->secret);
  EXPECT_FALSE(guest(next, key, "n9")) << "that was its second use";
  EXPECT_FALSE(parse_invited_nodes("{}"));
}

TEST_F(AgentAdmissionTest, SecretsTravelAsText) {
  const auto came = parse_secrets(write_secrets(options_.secrets));
  ASSERT_TRUE(came);
  EXPECT_EQ(*came, options_.secrets);
  EXPECT_EQ(write_options(options_)->find("a1"), std::string::npos);
}

TEST(Nodes, AreNamedByAListOrAFile) {
  EXPECT_EQ(read_hosts_list("n[1-2],m"), (std::vector<std::string>{"n1", "n2", "m"}));
  EXPECT_THAT(read_hosts_list("n[1-").error().what, HasSubstr("'n[1-': "));
  const std::string file = ::testing::TempDir() + "holon-hostfile-" + std::to_string(getpid());
  std::ofstream(file) << "# a comment\nn1 slots=4\n\n n2\nn1\n";
  EXPECT_EQ(read_hosts_file(file), (std::vector<std::string>{"n1", "n2"}));
  std::ofstream(file) << "# nothing\n";
  EXPECT_EQ(read_hosts_file(file).error().code, Errc::invalid_argument);
  std::remove(file.c_str());
  EXPECT_THAT(read_hosts_file(file).error().where, HasSubstr("--hostfile"));
}

// In the words of whoever typed it, with the exit code of a slip of the fingers.
TEST(Nodes, ThatCannotBeAreRefusedWithTheirPlace) {
  for (const auto& [list, what] : {std::pair{"n[1-100000000]", "more than 1000000 nodes"},
                                   {"n[3-1]", "a range must ascend at character 3"},
                                   {"a b", "'a b' is no name of a host"},
                                   {"n1,-oProxyCommand=x", "'-oProxyCommand=x' is no name"},
                                   {"n1;reboot", "'n1;reboot' is no name"}}) {
    const auto hosts = read_hosts_list(list);
    ASSERT_FALSE(hosts) << list;
    EXPECT_EQ(hosts.error().code, Errc::invalid_argument) << list;
    EXPECT_THAT(hosts.error().what, HasSubstr(what));
  }
}

TEST(Nodes, AreReadFromAPipeToWhichSomebodyWrites) {
  const std::string file = ::testing::TempDir() + "holon-hostpipe-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(read_pipe(file, 1).error().code, Errc::timed_out);
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "n1\nn2\n", 6), 6);
  close(ends[1]);
  EXPECT_EQ(read_hosts_file("/proc/self/fd/" + std::to_string(ends[0])),
            (std::vector<std::string>{"n1", "n2"}));
  close(ends[0]);
  std::remove(file.c_str());
}

Nodes found_nodes(const std::vector<std::string>& hosts, const batch::Allocation& allocation,
                  bool here = false) {
  StartOptions options;
  options.hosts = hosts;
  options.here = here;
  Surroundings around;
  around.allocation = allocation;
  config::Config config;
  config.ssh = "/opt/ssh";
  auto nodes = find_nodes(options, config, around, "/bin/holon");
  EXPECT_TRUE(nodes) << to_string(nodes.error());
  return nodes.value_or(Nodes());
}

batch::Allocation in_slurm() {
  batch::Allocation slurm;
  slurm.system = batch::System::slurm;
  slurm.nodes = {{"n1", 4}, {"n2", 4}, {"n3", 4}};
  slurm.node = "n2";
  slurm.node_index = 1;
  return slurm;
}

TEST(Nodes, OfNamedHostsAreReachedBySshEachWithItsRank) {
  batch::Allocation nowhere;
  nowhere.node = "login";
  const Nodes nodes = found_nodes({"n1", "login", "n2"}, nowhere);
  EXPECT_THAT(nodes.hosts, ElementsAre("login", "n1", "n2"));
  ASSERT_EQ(nodes.step.commands.size(), 2U);
  EXPECT_THAT(nodes.step.commands[1],
              ElementsAre("/opt/ssh", "-T", "-o", "BatchMode=yes", "n2", "--", "/bin/holon",
                          "agent", "--join", "--rank", "2"));
  EXPECT_TRUE(nodes.step.passes_input);
}

TEST(Nodes, OfAnAllocationAreReachedInOneStep) {
  const Nodes nodes = found_nodes({}, in_slurm());
  EXPECT_THAT(nodes.hosts, ElementsAre("n2", "n1", "n3"));
  ASSERT_EQ(nodes.step.commands.size(), 1U);
  EXPECT_EQ(nodes.step.commands[0].front(), "srun");
  EXPECT_TRUE(nodes.invitation_file.empty());
}

TEST(Nodes, WhereALauncherTakesOneAtATimeThisOneIsLeftOut) {
  auto grid = in_slurm();
  grid.system = batch::System::grid_engine;
  const Nodes nodes = found_nodes({}, grid);
  EXPECT_THAT(nodes.hosts, ElementsAre("n2", "n1", "n3"));
  ASSERT_EQ(nodes.step.commands.size(), 2U);
  EXPECT_THAT(nodes.step.commands[0], ::testing::Contains("n1"));
  EXPECT_THAT(nodes.step.commands[1], ::testing::Contains("n3"));
}

TEST(Nodes, AreThisOneAloneWhereThatIsWantedOrAllThereIs) {
  EXPECT_TRUE(found_nodes({}, in_slurm(), true).hosts.empty());
  EXPECT_TRUE(found_nodes({"localhost"}, {}).hosts.empty());
  auto lone = in_slurm();
  lone.nodes = {{"n2", 4}};
  lone.node_index = 0;
  EXPECT_TRUE(found_nodes({}, lone).hosts.empty());
}

TEST(Nodes, WhereALauncherHandsOverNothingAFileDoes) {
  auto pbs = in_slurm();
  pbs.system = batch::System::pbs;
  const Nodes nodes = found_nodes({}, pbs);
  ASSERT_FALSE(nodes.invitation_file.empty());
  EXPECT_THAT(nodes.step.commands.front(), ::testing::Contains(nodes.invitation_file));
}

TEST(Launcher, MakesKeysForEachNodeAndOneSocket) {
  const auto reactor = std::move(*transport::Reactor::create());
  Launcher launcher(
      *reactor, [](const std::string&) {}, [](const Launcher::Ended&) {});
  EXPECT_EQ(launcher.socket(), -1);
  Nodes nodes;
  nodes.hosts = {"n1", "n2", "n3"};
  const auto keys = launcher.prepare(nodes, "127.0.0.1");
  ASSERT_TRUE(keys) << to_string(keys.error());
  EXPECT_GE(launcher.socket(), 0);
  ASSERT_EQ(keys->agents.size(), 3U);
  EXPECT_EQ(keys->agents[0].public_key, "");
  EXPECT_NE(keys->agents[1], keys->agents[2]);
  EXPECT_NE(keys->server, keys->join);
  EXPECT_THAT(to_string(launcher.prepare(nodes, "here").error()),
              HasSubstr("instance.address=here"));
}

TEST(ChildPlaces, AreToldToThoseThatAreNotAlone) {
  const ChildPlace place{1, {"n1", "n,2 \""}, false};
  const auto told = parse_child_place(secrets_of(place));
  ASSERT_TRUE(told) << told.error().what;
  EXPECT_EQ(*told, place);
  EXPECT_TRUE(secrets_of(ChildPlace()).empty());
  EXPECT_EQ(parse_child_place({{"HOLON_TOKEN", "t"}}), ChildPlace());
  for (const char* wrong : {"", "{}", R"({"index":2,"hosts":["a","b"],"one_machine":true})"})
    EXPECT_FALSE(parse_child_place({{"HOLON_CHILD_PLACE", wrong}})) << wrong;
}

}  // namespace
}  // namespace holon::instance
