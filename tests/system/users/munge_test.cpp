// Users of other machines: over tcp, by MUNGE, with a real munged of the test's own.
#include <gmock/gmock.h>

#include "launch/remote/vouch.hpp"
#include "msg/instance.hpp"
#include "tests/system/private_munge.hpp"
#include "tests/system/users/users_fixture.hpp"
#include "transport/blocking_client.hpp"
#include "transport/munge/munge.hpp"
#include "transport/munge/proof.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Munged : public Users {
 protected:
  void SetUp() override {
    Users::SetUp();
    if (IsSkipped()) return;
    if (const auto why = no_munged(); !why.empty()) GTEST_SKIP() << why;
    daemon_.emplace(munged_words(write_munge_key(folder()), folder(), socket()),
                    std::map<std::string, std::string>{{"PATH", "/usr/bin:/bin"}}, folder());
    for (int i = 0; i < 1'000 && !answers(); ++i) poll(nullptr, 0, 10);
    ASSERT_TRUE(answers());
  }
  void TearDown() override {
    if (daemon_) {
      daemon_->signal(SIGTERM);
      daemon_->finish();
    }
    Users::TearDown();
  }

  std::string socket() const { return folder() + "/munge.socket"; }
  bool answers() const {
    const auto munge = transport::Munge::load(socket());
    return munge && munge->encode("").has_value();
  }
  // `descriptors`: as many as the instance may have open (ulimit -n).
  void start_for_all(std::vector<std::string> more = {}, const std::string& descriptors = "") {
    more.insert(more.end(),
                {"--conf", "access.munge=true", "--conf", "access.munge-socket=" + socket(),
                 "--conf", "instance.address=127.0.0.1"});
    if (descriptors.empty()) {
      start(std::move(more));
    } else {
      std::vector<std::string> words = {"sh", "-c", "ulimit -n " + descriptors + " && exec \"$@\"",
                                        "sh", HOLON_BINARY};
      for (auto& word : start_words(std::move(more))) words.push_back(std::move(word));
      uri_ = trimmed(starts("root", std::move(words)).finish().out);
      ASSERT_THAT(uri_, StartsWith("ipc://"));
    }
    address_ = trimmed(text_of(uri_.substr(6, uri_.rfind('/') - 6) + "/address"));
    ASSERT_THAT(address_, StartsWith("tcp://127.0.0.1:"));
  }
  // As it is on another machine: with no way to the socket of this one.
  Ran from_afar(const std::string& user, std::vector<std::string> words) const {
    words.insert(words.begin(), HOLON_BINARY);
    return starts(user, std::move(words),
                  {{"HOLON_URI", address_}, {"HOLON_MUNGE_SOCKET", socket()}})
        .finish();
  }

  // A client that chooses its keys and its credential itself.
  struct Stranger {
    transport::KeyPair keys;
    std::optional<transport::BlockingClient> client;
    Status prove(const std::string& credential) {
      const auto answer = client->call(
          "user.prove", transport::pack(transport::ProveRequest{credential}), "", 10'000);
      return answer ? Status() : tl::unexpected(answer.error());
    }
  };
  Stranger stranger(std::optional<transport::KeyPair> keys = std::nullopt) const {
    Stranger made{keys ? *keys : *transport::new_key_pair(), std::nullopt};
    auto client = connection_of(made.keys);
    EXPECT_TRUE(client) << to_string(client.error());
    if (client) made.client.emplace(std::move(*client));
    return made;
  }
  Result<transport::BlockingClient> connection_of(const transport::KeyPair& keys) const {
    const auto at = **transport::parse_keyed_uri(address_);
    transport::Options options;
    options.security = {at.server_key, keys.public_key, keys.secret_key};
    return transport::BlockingClient::connect(at.uri, 10'000, options);
  }
  std::string credential_for(const Stranger& who) const {
    const auto at = **transport::parse_keyed_uri(address_);
    return *transport::Munge::load(socket())->encode(
        transport::text_to_prove(at.server_key, who.keys.public_key));
  }

  std::optional<Process> daemon_;
  std::string address_;
};

TEST_F(Munged, AUserOfAnotherMachineIsWhoTheCredentialSays) {
  start_for_all();
  const Ran id = from_afar("ann", {"run", "--cwd", "/", "id", "-un"});
  EXPECT_EQ(id.out, "ann\n") << id.err;
  const std::string job = trimmed(from_afar("ann", {"submit", "sleep", "1000"}).out);
  wait_for("ann", job, "RUN");  // the same user at the socket
  const Ran other = from_afar("bob", {"cancel", job});
  EXPECT_NE(other.code, 0);
  EXPECT_THAT(other.err, HasSubstr("another user's"));
  EXPECT_THAT(from_afar("bob", {"submit", "--for", "ann", "true"}).err,
              HasSubstr("names user ann, and is bob's"));
  // Root of another machine is not the owner of this instance.
  EXPECT_NE(from_afar("root", {"shutdown"}).code, 0);
  EXPECT_NE(from_afar("root", {"cancel", job}).code, 0);
  EXPECT_EQ(from_afar("eve", {"cancel", job}).code, 0);  // who is an operator wherever she is
  const auto audit = json("eve", {"audit"});
  bool is_in_audit = false;
  for (const auto& entry : audit["entries"])
    is_in_audit |= entry["topic"] == "submit" && entry["user"] == "ann" &&
                   entry["what"].get<std::string>().starts_with("from 127.0.0.1");
  EXPECT_TRUE(is_in_audit) << ok("eve", {"audit"});
}

// As at the socket.
TEST_F(Munged, TheConnectionsOfOneUserAreBounded) {
  start_for_all({}, "200");
  std::vector<Stranger> proved;
  Status last;
  while (last && proved.size() < 100) {
    proved.push_back(stranger());
    last = proved.back().prove(credential_for(proved.back()));
  }
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Errc::busy);
  EXPECT_THAT(last.error().what, HasSubstr("user 0 has as many connections as one user may have"));
  EXPECT_EQ(from_afar("ann", {"jobs"}).code, 0);
  EXPECT_EQ(as("ann", {"jobs"}).code, 0);
  EXPECT_THAT(json("eve", {"audit", "--refused"}).dump(), HasSubstr("hello: this user has"));
}

TEST_F(Munged, ACredentialIsGoodOnceAndForOneConnection) {
  start_for_all();
  Stranger first = stranger();
  const auto unproved = first.client->call("jobs", transport::pack(msg::JobsRequest()), "", 10'000);
  ASSERT_FALSE(unproved);
  EXPECT_EQ(unproved.error().code, Errc::denied);
  const std::string credential = credential_for(first);
  ASSERT_TRUE(first.prove(credential));
  // The same again, by somebody who has stolen the keys besides.
  Stranger again = stranger(first.keys);
  const auto replayed = again.prove(credential);
  ASSERT_FALSE(replayed);
  EXPECT_THAT(replayed.error().what, HasSubstr("Replayed credential"));
  // One that somebody has got hold of before it was used.
  Stranger thief = stranger();
  const auto stolen = thief.prove(credential_for(again));
  ASSERT_FALSE(stolen);
  EXPECT_THAT(stolen.error().what, HasSubstr("for another connection"));
  for (const std::string& forged :
       {std::string("MUNGE:AAAA:"), std::string(), std::string(100'000, 'x'),
        credential_for(thief).replace(20, 4, "AAAA")}) {
    const auto refused = thief.prove(forged);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::denied) << refused.error().what;
  }
  const auto nobody = thief.client->call("jobs", transport::pack(msg::JobsRequest()), "", 10'000);
  EXPECT_FALSE(nobody);
  EXPECT_TRUE(thief.prove(credential_for(thief)));
  const auto refused = json("eve", {"audit", "--refused"});
  EXPECT_THAT(refused.dump(), HasSubstr("user.prove"));
  // A client that knows another server's key does not speak to this one.
  const auto at = **transport::parse_keyed_uri(address_);
  const Ran elsewhere =
      starts("ann", {HOLON_BINARY, "jobs"},
             {{"HOLON_URI", transport::keyed_uri({at.uri, transport::new_key_pair()->public_key})},
              {"HOLON_MUNGE_SOCKET", socket()}})
          .finish();
  EXPECT_NE(elsewhere.code, 0);
}

// Agents of other nodes say who their clients are, with a secret that nobody else has.
TEST_F(Munged, WhoIsNoAgentVouchesForNobody) {
  start_for_all();
  Stranger liar = stranger();
  for (const std::uint32_t rank : {0U, 1U, ~0U})
    for (const std::string& secret : {std::string(), std::string(32, '0')}) {
      const auto refused = liar.client->call(
          "agent.vouch", transport::pack(launch::msg::VouchRequest{rank, secret, kAnn, kAnn}), "",
          10'000);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Errc::denied);
    }
  EXPECT_FALSE(liar.client->call("jobs", transport::pack(msg::JobsRequest()), "", 10'000));
  // Nor does somebody whom everybody knows.
  ASSERT_TRUE(liar.prove(credential_for(liar)));
  EXPECT_FALSE(liar.client->call(
      "agent.vouch", transport::pack(launch::msg::VouchRequest{1, "", kAnn, kAnn}), "", 10'000));
  EXPECT_THAT(json("eve", {"audit", "--refused"}).dump(), HasSubstr("agent.vouch"));
}

TEST_F(Munged, ABrokerThatIsStartedAgainIsShownAnotherCredential) {
  start_for_all();
  Process run = starts("ann",
                       {HOLON_BINARY, "run", "--cwd", home_of("ann"), "sh", "-c",
                        "until test -e go; do sleep 0.05; done; echo went"},
                       {{"HOLON_URI", address_}, {"HOLON_MUNGE_SOCKET", socket()}});
  for (int i = 0; i < 3'000 && json("ann", {"jobs"})["jobs"].empty(); ++i) poll(nullptr, 0, 10);
  wait_for("ann", "1", "RUN");
  kill(processes_of(kInstance, "holon broker").at(0).pid, SIGKILL);
  wait_for("ann", "1", "RUN");
  EXPECT_EQ(shell_as("ann", "touch go").code, 0);
  const Ran ended = run.finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "went\n");
}

TEST_F(Munged, TheAddressStaysWithItsPort) {
  start_for_all();
  const std::string before = address_;
  const std::string port = before.substr(16, before.find('?') - 16);
  ok("root", {"shutdown"});
  wait_for_none_of(kInstance);
  start_for_all({"--conf", "access.port=" + port});
  EXPECT_EQ(address_, before);
  EXPECT_EQ(from_afar("ann", {"run", "--cwd", "/", "id", "-un"}).out, "ann\n");
}

TEST_F(Munged, WithoutADaemonItSaysSo) {
  start_for_all();
  const Ran ran = starts("ann", {HOLON_BINARY, "jobs"},
                         {{"HOLON_URI", address_}, {"HOLON_MUNGE_SOCKET", folder() + "/none"}})
                      .finish();
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("MUNGE"));
  EXPECT_THAT(ran.err, HasSubstr("none"));
}

}  // namespace
}  // namespace holon::system_test
