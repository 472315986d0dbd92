// Who comes to an instance over the network and is not one of its own: refused, told once, and
// nothing has changed.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "places.hpp"  // written by CMake
#include "tests/system/nodes/private_hosts.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

class Strangers : public testing::Test {
 protected:
  // Two instances, of n1 and of n2, that can be joined, and n3, from where somebody tries to.
  void SetUp() override {
    if (const auto why = PrivateHosts::missing(); !why.empty()) GTEST_SKIP() << why;
    hosts_ = std::make_unique<PrivateHosts>(sandbox_, 3);
    ASSERT_TRUE(hosts_->up());
    for (const std::size_t host : {1, 2}) {
      instances_.push_back(std::make_unique<Process>(
          hosts_->start(host, {HOLON_BINARY, "start", "--joinable", "--state-dir",
                               fmt::format("{}/state-{}", sandbox_.folder(), host), "--", "sh",
                               "-c", "echo $HOLON_URI; exec cat > /dev/null"})));
      uris_.push_back(instances_.back()->read_line());
      const Ran invited = holon(host, {"invite", "-"});
      EXPECT_EQ(invited.code, 0) << invited.err;
      invitations_.push_back(nlohmann::json::parse(invited.out, nullptr, false));
    }
  }
  void TearDown() override {
    for (auto& instance : instances_) {
      EXPECT_EQ(instance->finish().code, 0);
    }
    instances_.clear();
    hosts_.reset();
  }

  // Of the instance of that host.
  Ran holon(std::size_t host, const std::vector<std::string>& words) {
    sandbox_.environment()["HOLON_URI"] = uris_[host - 1];
    Ran ran = hosts_->holon(host, words);
    sandbox_.environment().erase("HOLON_URI");
    return ran;
  }
  // `holon join` on n3 with this; it tries for longer than that.
  Ran join(const nlohmann::json& invitation) {
    const auto file = sandbox_.write_file("key", invitation.dump());
    hosts_->run(3, {"chmod", "600", file});
    return hosts_->run(3, {"timeout", "4", HOLON_BINARY, "join", "--key", file});
  }
  std::string door() const { return invitations_[0]["addresses"][0]; }

  Sandbox sandbox_;
  std::unique_ptr<PrivateHosts> hosts_;
  std::vector<std::unique_ptr<Process>> instances_;
  std::vector<std::string> uris_;
  std::vector<nlohmann::json> invitations_;
};

TEST_F(Strangers, AreRefusedAndToldOfOnceAMinute) {
  const std::string before = holon(1, {"resource", "list", "--json"}).out;
  const std::string port = door().substr(door().rfind(':') + 1);
  // Whoever looks whether the port is open, and says something to it.
  for (int i = 0; i < 20; ++i)
    hosts_->run(3, {"bash", "-c",
                    fmt::format("exec 3<>/dev/tcp/{}/{}; echo 'GET / HTTP/1.1' >&3; exec 3>&-",
                                Network::address_of(1), port)});
  // A client without a key.
  sandbox_.environment()["HOLON_URI"] = door();
  EXPECT_NE(hosts_->run(3, {"timeout", "4", HOLON_BINARY, "jobs"}).code, 0);
  sandbox_.environment().erase("HOLON_URI");
  // The keys of another instance, for this one and for its server.
  auto with_other_keys = invitations_[0];
  with_other_keys["public"] = invitations_[1]["public"];
  with_other_keys["secret"] = invitations_[1]["secret"];
  EXPECT_NE(join(with_other_keys).code, 0);
  auto for_other_server = invitations_[0];
  for_other_server["server"] = invitations_[1]["server"];
  EXPECT_NE(join(for_other_server).code, 0);
  EXPECT_EQ(holon(1, {"resource", "list", "--json"}).out, before);
  const Ran first = [&] {
    Process instance = std::move(*instances_.front());
    instances_.erase(instances_.begin());
    return instance.finish();
  }();
  EXPECT_EQ(first.code, 0);
  const std::string line = "refused " + Network::address_of(3);
  const auto at = first.err.find(line);
  EXPECT_NE(at, std::string::npos) << first.err;
  EXPECT_EQ(first.err.find(line, at + 1), std::string::npos) << first.err;
}

// An invitation is good for one node, and for nothing but asking for a place.
TEST_F(Strangers, AnInvitationThatWasUsedLetsNobodyIn) {
  const auto file = sandbox_.write_file("guest", invitations_[0].dump());
  hosts_->run(3, {"chmod", "600", file});
  Process guest = hosts_->start(3, {HOLON_BINARY, "join", "--key", file});
  EXPECT_THAT(guest.read_error_line(), HasSubstr("holon join"));
  ASSERT_TRUE(
      eventually([&] { return holon(1, {"uptime"}).out.find("2 nodes") != std::string::npos; }));
  const Ran again = join(invitations_[0]);
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("this invitation has been used"));
  EXPECT_THAT(holon(1, {"uptime"}).out, HasSubstr("2 nodes"));
  EXPECT_EQ(holon(1, {"leave", "n3"}).code, 0);
  EXPECT_EQ(guest.finish().code, 0);
}

}  // namespace
}  // namespace holon::system_test
