// One user who floods an instance for several takes nothing from the others.
#include <functional>

#include "msg/instance.hpp"
#include "tests/system/users/users_fixture.hpp"
#include "transport/codec/codec.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

// What one user may have at most (docs/security.md).
constexpr std::size_t kConnections = 1'000, kRequests = 10'000;
constexpr rlim_t kDescriptors = 2'048;  // of the flooding process
constexpr Duration kFloodPatience = 60'000;

// Of this process, and of what it starts meanwhile.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{std::min(most, before_.rlim_max), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

class Flood : public Users {
 protected:
  // A process of this user's that does so, and then stays as it is until it is killed. `done` says
  // how it went, in its own process.
  pid_t flooding(const std::string& user, const std::function<std::string()>& flood) const {
    const std::string said = folder() + "/flood";
    std::ofstream(said).close();
    const unsigned uid = people_.at(user);
    EXPECT_EQ(chown(said.c_str(), uid, uid), 0);
    const pid_t child = fork();
    if (child == 0) {
      if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0) _exit(2);
      std::ofstream(said) << flood() << std::endl;
      for (;;) pause();
    }
    return child;
  }
  std::string said() const {
    for (int i = 0; i < 6'000 && text_of(folder() + "/flood").find('\n') == std::string::npos; ++i)
      poll(nullptr, 0, 10);
    return text_of(folder() + "/flood");
  }
  static void end(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  void others_are_served() const {
    EXPECT_EQ(ok("ann", {"run", "id", "-un"}), "ann");
    for (int i = 0; i < 20; ++i) EXPECT_EQ(as("ann", {"jobs"}).code, 0);
  }
};

TEST_F(Flood, OfConnections) {
  const DescriptorLimit limit(kDescriptors);
  start();
  const pid_t bob = flooding("bob", [this] {
    auto reactor = transport::Reactor::create();
    std::vector<std::unique_ptr<transport::Client>> clients;
    std::size_t connected = 0, refused = 0;
    std::string why;
    for (std::size_t i = 0; i < kConnections + 50; ++i) {
      clients.push_back(std::move(*transport::Client::connect(**reactor, uri_)));
      clients.back()->on_connected([&](const transport::PeerInfo&) { ++connected; });
      (void)(*reactor)->run_until(
          [&] { return connected > i || clients.back()->refusal().has_value(); }, kFloodPatience);
      if (!clients.back()->refusal()) continue;
      ++refused;
      why = to_string(*clients.back()->refusal());
      if (refused == 3) break;
    }
    for (auto& client : clients) (void)client.release();  // they stay open
    (void)reactor->release();
    return std::to_string(connected) + " " + why;
  });
  const std::string how = said();
  const std::string connected = how.substr(0, how.find(' '));
  EXPECT_THAT(how, HasSubstr("this user has " + connected + " connections, as many as one user"));
  EXPECT_LE(std::stoul(connected), kConnections);
  EXPECT_TRUE(
      was_refused("bob", "bound.reached", "hello: this user has " + connected + " connections"));
  others_are_served();
  end(bob);
  for (int i = 0; i < 3'000 && as("bob", {"jobs"}).code != 0; ++i) poll(nullptr, 0, 10);
  EXPECT_EQ(as("bob", {"jobs"}).code, 0);
}

// Over several connections, none of which has too many.
TEST_F(Flood, OfRequests) {
  start();
  const std::string job = ok("bob", {"submit", "sleep", "1000"});
  const pid_t bob = flooding("bob", [this, &job] {
    auto reactor = transport::Reactor::create();
    std::vector<std::unique_ptr<transport::Client>> clients;
    std::size_t refused = 0;
    std::string why;
    for (std::size_t i = 0; i < kRequests + 100; ++i) {
      if (i % 4'000 == 0)
        clients.push_back(std::move(*transport::Client::connect(**reactor, uri_)));
      clients.back()->call(
          {"job.wait", transport::pack(msg::WaitRequest{{std::stoull(job)}}), "", 0},
          [&](const Result<std::string>& answer) {
            ++refused;
            if (!answer) why = to_string(answer.error());
          });
    }
    (void)(*reactor)->run_until([&] { return refused >= 100; }, kFloodPatience);
    for (auto& client : clients) (void)client.release();  // they stay open
    (void)reactor->release();
    return std::to_string(refused) + " " + why;
  });
  const std::string how = said();
  EXPECT_EQ(how.substr(0, 4), "100 ") << how;
  EXPECT_THAT(how, HasSubstr("10000 requests of this user are open"));
  EXPECT_TRUE(
      was_refused("bob", "bound.reached", "job.wait: 10000 requests of this user are open"));
  others_are_served();
  end(bob);
  ok("eve", {"cancel", job});
}

}  // namespace
}  // namespace holon::system_test
