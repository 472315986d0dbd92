// What an agent on another node than its broker's adds: its invitation, and the socket at which it
// passes on what is asked on its node.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "launch/remote/invitation.hpp"
#include "launch/remote/output_note.hpp"
#include "launch/remote/place.hpp"
#include "launch/remote/relay.hpp"
#include "tests/launch/fixture.hpp"
#include "transport/bounds.hpp"
#include "transport/codec/codec.hpp"
#include "transport/rpc.hpp"

namespace holon::launch {
namespace {

using ::testing::ElementsAre;

TEST(Invitation, IsOneLineOfText) {
  const Invitation sent{{"tcp://10.0.0.7:4711", "tcp://192.0.2.1:4711"}, "server", {"p", "s"}};
  const std::string line = write_invitation(sent);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto came = parse_invitation(line);
  ASSERT_TRUE(came) << to_string(came.error());
  EXPECT_EQ(*came, sent);
}

TEST(Invitation, WhatIsNoneIsNotRepeated) {
  for (const char* text : {"", "{}", "half of a secr",
                           R"({"addresses":[],"server":"a",)"
                           R"("public":"b","secret":"c"})"}) {
    const auto came = parse_invitation(text);
    ASSERT_FALSE(came);
    EXPECT_EQ(came.error().code, Errc::invalid_argument);
    EXPECT_EQ(to_string(came.error()).find("half"), std::string::npos);
  }
}

TEST(Invitation, OfTheEnvironmentIsTakenOutOfIt) {
  const Invitation sent{{"tcp://10.0.0.7:4711"}, "server", {"p", "s"}};
  setenv(kInvitation, write_invitation(sent).c_str(), 1);
  const auto came = take_invitation("");
  ASSERT_TRUE(came) << to_string(came.error());
  EXPECT_EQ(*came, sent);
  EXPECT_EQ(std::getenv(kInvitation), nullptr);
}

// Standard input of this process, for as long as it lives.
class Input {
 public:
  explicit Input(int fd) : kept_(dup(STDIN_FILENO)) { dup2(fd, STDIN_FILENO); }
  ~Input() { dup2(kept_.get(), STDIN_FILENO); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

 private:
  transport::UniqueFd kept_;
};

TEST(Invitation, OfInputIsItsFirstLineAndIsNotWaitedForWithoutEnd) {
  const Invitation sent{{"tcp://10.0.0.7:4711"}, "server", {"p", "s"}};
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const transport::UniqueFd from(ends[0]), to(ends[1]);
  const Input input(from.get());
  const std::string text = write_invitation(sent) + "\nhalf of a secr";
  ASSERT_EQ(write(to.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  const auto came = take_invitation("");
  ASSERT_TRUE(came) << to_string(came.error());
  EXPECT_EQ(*came, sent);
  // The rest is no line, and its end does not come.
  const auto never = take_invitation("", 1);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, Errc::not_found);
  EXPECT_THAT(to_string(never.error()), ::testing::HasSubstr("no line came within"));
  EXPECT_EQ(to_string(never.error()).find("half"), std::string::npos);
}

TEST(Place, OfAnInstanceThatHasEndedIsNotWaitedFor) {
  const auto keys = transport::new_key_pair().value();
  auto socket = transport::listening_socket("127.0.0.1").value();
  const Invitation invitation{{"tcp://127.0.0.1:" + std::to_string(socket.port)},
                              keys.public_key,
                              transport::new_key_pair().value()};
  socket.fd.reset();
  const auto place = ask_for_place(invitation, {}, 60'000);
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error().code, Errc::not_found);
  EXPECT_THAT(to_string(place.error()), ::testing::HasSubstr("the instance has ended"));
}

// The broker's end is a server in the test.
class RelayTest : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    broker_ = std::move(*transport::Server::listen(*reactor_, *transport::ipc_uri(dir_, "broker")));
    broker_->on_request([this](const transport::Request& request) {
      if (request.topic() == "agent.refused") return take_refused(request);
      asked_.push_back(request.topic() + " " + request.path());
      peers_.push_back(request.peer());
      request.reply("answer to " + request.payload());
    });
    transport::Options options;
    options.name = "agent 3";
    agent_ = std::move(*transport::Client::connect(*reactor_, broker_->uri(), options));
    auto relay = Relay::open(*reactor_, *agent_, broker_->uri(), options);
    ASSERT_TRUE(relay) << to_string(relay.error());
    relay_ = std::move(*relay);
  }
  void TearDown() override {
    relay_.reset();
    agent_.reset();
    broker_.reset();
    ProcessTest::TearDown();
  }
  void take_refused(const transport::Request& request) {
    refused_.push_back(*transport::unpack<msg::RefusedRequest>(request.payload()));
    if (takes_refusals_) return request.reply(transport::pack(msg::Empty{}));
    request.fail({Errc::busy, "not now", {}});
  }
  std::unique_ptr<transport::Client> client() {
    return std::move(*transport::Client::connect(*reactor_, relay_->uri()));
  }
  Result<std::string> ask(transport::Client& client, transport::Call call) {
    std::optional<Result<std::string>> answer;
    client.call(std::move(call), [&](Result<std::string> result) { answer = std::move(result); });
    EXPECT_TRUE(until([&] { return answer.has_value(); }));
    return answer ? *answer : fail(Errc::timed_out, "no answer at all");
  }

  std::unique_ptr<transport::Server> broker_;
  std::unique_ptr<transport::Client> agent_;
  std::unique_ptr<Relay> relay_;
  std::vector<std::string> asked_;
  std::vector<transport::PeerId> peers_;
  std::vector<msg::RefusedRequest> refused_;
  bool takes_refusals_ = true;
};

TEST_F(RelayTest, WhatIsAskedOnTheNodeTheBrokerAnswersOverOneConnection) {
  const auto one = client(), other = client();
  EXPECT_EQ(ask(*one, {"jobs", "a", "/3"}), "answer to a");
  EXPECT_EQ(ask(*other, {"status", "b"}), "answer to b");
  EXPECT_THAT(asked_, ElementsAre("jobs /3", "status "));
  EXPECT_EQ(peers_[0], peers_[1]);
}

// Once a user and minute, when the broker takes what the agent says, and again where it did not.
TEST_F(RelayTest, WhomItRefusesTheBrokerIsTold) {
  const auto one = client();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(*one, {"agent.hello"}).error().code, Errc::denied);
  EXPECT_TRUE(refused_.empty());
  takes_refusals_ = false;
  relay_->refusals().resume();
  EXPECT_TRUE(until([&] { return refused_.size() == 1; }));
  EXPECT_EQ(ask(*one, {"status", "b"}), "answer to b");  // and behind it what it was answered
  relay_->refusals().pause();
  takes_refusals_ = true;
  relay_->refusals().resume();
  EXPECT_TRUE(until([&] { return refused_.size() == 2; }));
  for (const auto& request : refused_) {
    ASSERT_EQ(request.refused.size(), 1U);
    EXPECT_EQ(request.refused[0].uid, std::int64_t(geteuid()));
    EXPECT_EQ(request.refused[0].pid, std::int64_t(getpid()));
    EXPECT_EQ(request.refused[0].topic, "agent.hello");
    EXPECT_EQ(request.refused[0].why, "agent.hello is not passed on");
  }
  // What the broker has it is not told again.
  EXPECT_EQ(ask(*one, {"agent.join"}).error().code, Errc::denied);
  relay_->refusals().resume();
  EXPECT_EQ(ask(*one, {"jobs", "a"}), "answer to a");
  EXPECT_EQ(refused_.size(), 2U);
}

// Over the same connection, and without another refusal.
TEST_F(RelayTest, WhatTheBrokerDidNotTakeOfRefusalsItIsToldAgain) {
  relay_->refusals().resume();
  takes_refusals_ = false;
  EXPECT_EQ(ask(*client(), {"agent.hello"}).error().code, Errc::denied);
  EXPECT_TRUE(until([&] { return refused_.size() == 2; }));
  takes_refusals_ = true;
  EXPECT_TRUE(until([&] { return refused_.size() == 3; }));
  EXPECT_EQ(refused_.back().refused.size(), 1U);
  EXPECT_EQ(refused_.back().refused[0].topic, "agent.hello");
}

// An agent that was told to end before it had heard where output goes removed with its directory
// the note of the output that the agent before it had left: those files then stayed for ever.
TEST_F(RelayTest, ItsDirectoryStaysWhileOutputOfAnEarlierAgentIsNotedThere) {
  const std::string given = dir_ + "/given";
  const std::string left = *transport::make_runtime_dir(dir_ + "/" + kOutputFolder + "1");
  const auto open_and_end = [&] { ASSERT_TRUE(Relay::open(*reactor_, *agent_, "", {}, given)); };
  open_and_end();
  EXPECT_FALSE(std::filesystem::exists(given));
  std::filesystem::create_directory(given);
  std::filesystem::permissions(given, std::filesystem::perms::owner_all);
  note_output_folder(given, left);
  open_and_end();
  EXPECT_EQ(noted_output_folder(given), left);
}

TEST_F(RelayTest, WhatOnlyTheAgentSaysIsNotPassedOn) {
  const auto one = client();
  for (const char* topic : {"agent.hello", "agent.report", "agent.join"})
    EXPECT_EQ(ask(*one, {topic}).error().code, Errc::denied);
  EXPECT_TRUE(asked_.empty());
}

// Its topic is that of what a server tells of itself; a client may not be heard in its place, nor
// may its request be lost.
TEST_F(RelayTest, WhatAClientAsksUnderTheTopicOfABoundIsPassedOn) {
  const auto one = client();
  EXPECT_EQ(ask(*one, {std::string(transport::kBoundReached), "x"}), "answer to x");
}

TEST_F(RelayTest, AChildHasAConnectionOfItsOwnOverWhichItsParentCallsIt) {
  const auto child = client(), other = client();
  child->on_request([](const transport::Request& request) {
    request.reply("the child, asked for " + request.path());
  });
  EXPECT_EQ(ask(*child, {"hello", "token"}), "answer to token");
  EXPECT_EQ(ask(*child, {"record", "r"}), "answer to r");
  EXPECT_EQ(ask(*other, {"jobs", "j"}), "answer to j");
  ASSERT_EQ(peers_.size(), 3U);
  EXPECT_EQ(peers_[0], peers_[1]);
  EXPECT_NE(peers_[0], peers_[2]);
  std::string answer;
  broker_->call(peers_[0], {"jobs", "", "/3/7"},
                [&](const Result<std::string>& said) { answer = said.value_or("lost"); });
  EXPECT_TRUE(until([&] { return !answer.empty(); }));
  EXPECT_EQ(answer, "the child, asked for /3/7");
}

TEST_F(RelayTest, AChildThatGoesIsLostToItsParent) {
  auto child = client();
  EXPECT_EQ(ask(*child, {"hello", "token"}), "answer to token");
  bool is_lost = false;
  broker_->on_peer_lost([&](transport::PeerId peer) { is_lost |= peer == peers_[0]; });
  child.reset();
  EXPECT_TRUE(until([&] { return is_lost; }));
}

TEST_F(RelayTest, ItsSocketGoesWithIt) {
  const std::string socket = relay_->uri().substr(std::string("ipc://").size());
  EXPECT_TRUE(std::filesystem::exists(socket));
  relay_.reset();
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(socket).parent_path()));
}

}  // namespace
}  // namespace holon::launch
