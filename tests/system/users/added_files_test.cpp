// Files that go along with the jobs of several users: written, and removed, as their users.
#include "tests/system/users/users_fixture.hpp"

namespace holon::system_test {
namespace {

class UsersFiles : public Users {
 protected:
  void SetUp() override {
    Users::SetUp();
    if (IsSkipped()) return;
    std::ofstream(home_of("ann") + "/fit.toml") << "rate = 3\n";
    ASSERT_EQ(chown((home_of("ann") + "/fit.toml").c_str(), kAnn, kAnn), 0);
    start();
  }
  bool soon(const std::function<bool()>& is_so) const {
    for (int i = 0; i < 3'000 && !is_so(); ++i) poll(nullptr, 0, 10);
    return is_so();
  }
  // Of a job of ann's that goes on until it is ended.
  std::string folder_of_waiting_job() {
    id_ = ok("ann", {"submit", "--add-file", "fit.toml", "sh", "-c",
                     "echo $HOLON_JOB_TMPDIR > where && mv where there && exec sleep 1000"});
    EXPECT_TRUE(soon([this] { return fs::exists(home_of("ann") + "/there"); }));
    return trimmed(text_of(home_of("ann") + "/there"));
  }

  std::string id_;
};

TEST_F(UsersFiles, AreTheirUsersAndNobodyElses) {
  const std::string said =
      ok("ann", {"run", "--add-file", "fit.toml", "sh", "-c",
                 "cd $HOLON_JOB_TMPDIR; cat fit.toml; stat -c '%n %U %a' . fit.toml; mkdir deep; "
                 "touch deep/x; chmod 0 deep; echo in {{tmpdir}}"});
  const std::string expected = "rate = 3\n. ann 700\nfit.toml ann 644\nin ";
  ASSERT_THAT(said, testing::StartsWith(expected));
  EXPECT_FALSE(fs::exists(said.substr(expected.size()))) << said;
  const std::string there = folder_of_waiting_job();
  EXPECT_EQ(owner_of(there), kAnn);
  EXPECT_TRUE(fs::exists(there + "/fit.toml"));
  EXPECT_NE(shell_as("bob", "cat " + there + "/fit.toml").code, 0);
  ok("ann", {"cancel", id_});
  as("ann", {"job", "wait", id_});
  EXPECT_FALSE(fs::exists(there));
}

TEST_F(UsersFiles, OfAKilledAgentAreRemovedAsTheirUserByTheNextOne) {
  const std::string there = folder_of_waiting_job();
  EXPECT_TRUE(fs::exists(there + "/fit.toml"));
  for (const auto& process : processes_of(kInstance, "holon agent")) kill(process.pid, SIGKILL);
  EXPECT_TRUE(soon([&] { return !fs::exists(there); }));
  as("ann", {"job", "wait", id_});
}

}  // namespace
}  // namespace holon::system_test
