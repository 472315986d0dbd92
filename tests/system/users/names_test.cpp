// What a jobspec says of its sender is looked up: a user's groups, and who may have a QOS or an
// account.
#include "tests/system/users/users_fixture.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

class Names : public Users {
 protected:
  // What a command would send for `words`, changed; as a file that all may read.
  std::string jobspec(const std::vector<std::string>& words,
                      const std::function<void(nlohmann::json& system)>& change) {
    std::vector<std::string> all = {"submit", "--dry-run"};
    all.insert(all.end(), words.begin(), words.end());
    auto spec = nlohmann::json::parse(ok("bob", all), nullptr, false);
    EXPECT_TRUE(spec.is_object());
    change(spec["attributes"]["system"]);
    const std::string file = folder() + "/" + std::to_string(++files_) + ".json";
    std::ofstream(file) << spec.dump();
    EXPECT_EQ(chmod(file.c_str(), 0644), 0);
    return file;
  }
  int files_ = 0;
};

TEST_F(Names, AGroupIsLookedUp) {
  start({"--conf", "queue.default=normal", "--conf", "queues.normal.policy=fcfs", "--conf",
         "queues.vip.users=@ann", "--conf", "limits.group.bob.max-proc=1"});
  for (const char* const group : {"ann", "root", "holon", "nobodys", "61001", "a\nb"}) {
    const auto forged =
        jobspec({"-n", "2", "true"}, [&](auto& system) { system["holon"]["group"] = group; });
    const Ran ran = as("bob", {"submit", "--jobspec", forged});
    EXPECT_NE(ran.code, 0) << group;
    EXPECT_THAT(ran.err, HasSubstr("bob is not in group '")) << group;
    EXPECT_THAT(ran.err, HasSubstr("bob's groups: bob, team")) << group;
  }
  EXPECT_TRUE(was_refused("bob", "submit", "bob is not in group 'ann'"));
  EXPECT_NE(as("bob", {"submit", "-q", "vip", "true"}).code, 0);
  const auto in_team =
      jobspec({"-n", "2", "true"}, [](auto& system) { system["holon"]["group"] = "team"; });
  const auto team = ok("bob", {"submit", "--jobspec", in_team});
  ok("bob", {"job", "wait", team});
  EXPECT_EQ(json("bob", {"jobs", "-a", team})["jobs"][0]["group"], "team");
}

// Or its limits would be nobody's.
TEST_F(Names, WhoNamesNoGroupCountsForTheirPrimaryOne) {
  start({"--conf", "limits.group.bob.max-proc=1"});
  const auto silent =
      jobspec({"-n", "2", "sleep", "1000"}, [](auto& system) { system["holon"].erase("group"); });
  const auto job = ok("bob", {"submit", "--jobspec", silent});
  const auto record = json("bob", {"jobs", "-a", job})["jobs"][0];
  EXPECT_EQ(record["group"], "bob");
  EXPECT_NE(record["state"], "RUN");
}

TEST_F(Names, AQosAndAnAccountAreForWhoTheyAreConfiguredFor) {
  start({"--conf", "qos.fast.users=ann,@team", "--conf", "qos.fast.flags=IGNALL", "--conf",
         "qos.gold.users=ann", "--conf", "accounts.p1.users=ann", "--conf",
         "accounts.p2.users=@bob", "--conf", "accounts.default.xusers=bob", "--conf",
         "limits.user.default.max-proc=4"});
  const Ran gold = as("bob", {"submit", "--qos", "gold", "true"});
  EXPECT_NE(gold.code, 0);
  EXPECT_THAT(gold.err,
              HasSubstr("--qos gold: QOS 'gold' is not for jobs of bob that count for group bob; "
                        "none is"));
  ok("bob", {"submit", "--qos", "fast", "--group", "team", "true"});
  ok("ann", {"submit", "--qos", "gold", "-A", "p1", "true"});
  ok("ann", {"submit", "-A", "anything", "true"});
  ok("bob", {"submit", "-A", "p2", "true"});
  for (const char* const account : {"p1", "anything"}) {
    const Ran ran = as("bob", {"submit", "-A", account, "true"});
    EXPECT_NE(ran.code, 0) << account;
    EXPECT_THAT(ran.err,
                HasSubstr("is not for jobs of bob that count for group bob; accepted: p2"));
  }
  const auto forged = jobspec({"true"}, [](auto& system) { system["bank"] = "p1"; });
  EXPECT_THAT(as("bob", {"submit", "--jobspec", forged}).err, HasSubstr("account 'p1'"));
  EXPECT_TRUE(was_refused("bob", "submit", "account 'p1' is not for jobs of bob"));
}

}  // namespace
}  // namespace holon::system_test
