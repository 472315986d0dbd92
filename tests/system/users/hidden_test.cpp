// What users of an instance for several learn of each other's jobs: that they are in the way.
#include <regex>

#include "tests/system/users/users_fixture.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Hidden : public Users {
 protected:
  void TearDown() override {
    if (!uri_.empty()) (void)as("root", {"cancel", "--all"});
    Users::TearDown();
  }
  std::string reason_of(const std::string& asker, const std::string& job) const {
    const auto jobs = json(asker, {"jobs", job})["jobs"];
    return jobs.size() == 1 ? jobs[0]["reason"].get<std::string>() : "";
  }
  // All that bob can ask about his job.
  std::string all_that_bob_sees(const std::string& job) const {
    std::string seen;
    for (const std::vector<std::string>& words : {std::vector<std::string>{"jobs"},
                                                  {"jobs", "-R", "-a"},
                                                  {"jobs", "--json"},
                                                  {"job", "info", job},
                                                  {"job", "info", job, "--json"},
                                                  {"explain"},
                                                  {"explain", job, "--json"},
                                                  {"windows"},
                                                  {"windows", "--json"},
                                                  {"tree"},
                                                  {"users"},
                                                  {"users", "--json"}}) {
      const Ran ran = as("bob", words);
      EXPECT_EQ(ran.code, 0) << testing::PrintToString(words) << ran.err;
      seen += ran.out + ran.err;
    }
    return seen;
  }
  // Who took the job's place by the eventlog that `words` show, a JSON object a line.
  std::uint64_t taker_in(const std::string& asker, const std::vector<std::string>& words) const {
    std::istringstream lines(ok(asker, words));
    std::vector<std::uint64_t> takers;
    for (std::string line; std::getline(lines, line);)
      if (const auto event = nlohmann::json::parse(line); event["name"] == "preempt")
        takers.push_back(event["context"]["by"].get<std::uint64_t>());
    EXPECT_EQ(takers.size(), 1U) << lines.str();
    return takers.size() == 1 ? takers[0] : ~std::uint64_t{0};
  }
  static bool names_job(const std::string& text, const std::string& id) {
    return std::regex_search(text, std::regex("\\b(job|jobs|reservation) " + id + "\\b")) ||
           std::regex_search(text, std::regex("\"id\": *" + id + "\\b"));
  }
};

TEST_F(Hidden, WhoseJobIsInFrontIsNotSaid) {
  start();
  const std::string runs = ok("ann", {"submit", "--name", "hers", "-n", "4", "sleep", "1000"});
  wait_for("ann", runs, "RUN");
  const std::string waits = ok("ann", {"submit", "--name", "hers", "-n", "6", "sleep", "1000"});
  const std::string his = ok("bob", {"submit", "--name", "his", "sleep", "1000"});
  EXPECT_EQ(reason_of("bob", his),
            "first come, first served: another user's job in front of it waits");
  EXPECT_EQ(reason_of("eve", his),
            "first come, first served: job " + waits + " in front of it waits");
  const std::string seen = all_that_bob_sees(his);
  EXPECT_THAT(seen, HasSubstr("his"));
  EXPECT_THAT(seen, Not(HasSubstr("hers")));
  EXPECT_FALSE(std::regex_search(seen, std::regex("\\bann\\b"))) << seen;
  EXPECT_FALSE(names_job(seen, runs)) << seen;
  EXPECT_FALSE(names_job(seen, waits)) << seen;
  EXPECT_THAT(ok("eve", {"windows"}), HasSubstr("job " + waits));
  EXPECT_THAT(ok("bob", {"windows"}), HasSubstr("another user's job waits"));
}

TEST_F(Hidden, WhatIsReservedOrRunsIsNotNamedNorWhere) {
  start({"--conf", "queue.policy=easy"});
  const std::string runs =
      ok("ann", {"submit", "--name", "hers", "-n", "4", "-t", "1h", "sleep", "1000"});
  wait_for("ann", runs, "RUN");
  const std::string waits =
      ok("ann", {"submit", "--name", "hers", "-n", "6", "-t", "1h", "sleep", "1000"});
  const std::string his = ok("bob", {"submit", "--name", "his", "-t", "2h", "sleep", "1000"});
  EXPECT_THAT(reason_of("bob", his), HasSubstr("reserved for another user's job"));
  EXPECT_THAT(reason_of("eve", his), HasSubstr("reserved for job " + waits));
  const std::string wide = ok("bob", {"submit", "--name", "his", "-n", "5", "sleep", "1000"});
  const auto explained = json("bob", {"explain", wide})["jobs"][0]["in_the_way"];
  ASSERT_FALSE(explained.empty());
  bool is_another_running = false;
  for (const auto& other : explained) {
    if (other["name"] == "his") continue;
    EXPECT_EQ(other["id"], 0) << other;
    EXPECT_EQ(other["nodelist"], "") << other;
    EXPECT_EQ(other["user"], "") << other;
    is_another_running = is_another_running || other["until"] > 0;
  }
  EXPECT_TRUE(is_another_running) << explained;
  const std::string sheet = ok("bob", {"explain", wide});
  EXPECT_THAT(sheet, HasSubstr("job of another user, until"));
  const std::string seen = all_that_bob_sees(wide);
  EXPECT_THAT(seen, Not(HasSubstr("hers")));
  EXPECT_FALSE(names_job(seen, runs)) << seen;
  EXPECT_FALSE(names_job(seen, waits)) << seen;
  const std::string all = ok("eve", {"explain", wide});
  EXPECT_THAT(all, HasSubstr("job " + runs + "  hers on "));
}

// Also once it is over, and for whoever follows its events.
TEST_F(Hidden, WhoseJobTookAPlaceIsNotSaid) {
  start({"--conf", "queues.default.policy=easy", "--conf", "queues.urgent.policy=easy", "--conf",
         "queues.urgent.preempt.mode=cancel", "--conf", "queues.urgent.preempt.grace=1ms"});
  const std::string his =
      ok("bob", {"submit", "--name", "his", "--preemptible", "-n", "6", "sleep", "1000"});
  wait_for("bob", his, "RUN");
  const std::string hers = ok("ann", {"submit", "--name", "hers", "-q", "urgent", "-n", "6", "id"});
  ok("ann", {"job", "wait", hers});
  wait_for("bob", his, "INACTIVE");
  EXPECT_THAT(json("bob", {"jobs", "-a", his})["jobs"][0]["reason"].get<std::string>(),
              HasSubstr("another user's job takes its place"));
  EXPECT_FALSE(names_job(ok("bob", {"job", "info", his}), hers));
  const std::vector<std::string> kept = {"job", "eventlog", his, "--json"};
  const std::vector<std::string> followed = {"job", "eventlog", his, "--json", "--follow"};
  for (const auto& words : {kept, followed}) {
    EXPECT_EQ(taker_in("bob", words), 0U) << testing::PrintToString(words);
    EXPECT_EQ(taker_in("eve", words), std::stoull(hers)) << testing::PrintToString(words);
  }
}

TEST_F(Hidden, AReservationIsNamedToThoseWhomItIsFor) {
  start({"--conf", "queue.policy=easy"});
  const std::string id =
      ok("eve", {"reserve", "--start", "+1h", "--duration", "2h", "-n", "6", "--user", "ann"});
  const std::string hers =
      ok("ann", {"submit", "--name", "hers", "--reservation", id, "-t", "1h", "true"});
  EXPECT_EQ(reason_of("ann", hers),
            "advance reservation " + id + ", in which it runs, has not begun");
  const std::string his = ok("bob", {"submit", "--name", "his", "-t", "3h", "-n", "6", "true"});
  EXPECT_THAT(reason_of("bob", his), HasSubstr("an advance reservation"));
  EXPECT_FALSE(names_job(all_that_bob_sees(his), id));
  EXPECT_THAT(reason_of("eve", his), HasSubstr("advance reservation " + id));
}

}  // namespace
}  // namespace holon::system_test
