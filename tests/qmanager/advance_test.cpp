// Advance reservations: made or refused, used by those who may, kept whatever happens, over in
// time.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "qmanager/machine/flat_machine.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::AdvanceRequest;
using qmanager::Scheduler;
using qmanager::SchedulerConfig;

struct Ahead {
  Time asked = 0;
  AdvanceRequest request;
};

Ahead ahead(std::uint64_t id, Time asked, Interval when, std::int64_t procs,
            const std::string& owner = "ann") {
  Ahead one{asked, {}};
  one.request.resources.id = JobId{id};
  one.request.resources.user = owner;
  one.request.resources.procs = procs;
  one.request.when = when;
  return one;
}

// Plays jobs that run for trace.run, whatever their limit, and advance reservations, and looks
// after every step whether the scheduler is whole and nobody has what others are to have.
class Play {
 public:
  Play(Scheduler scheduler, std::vector<ScenarioJob> jobs, std::vector<Ahead> aheads, int nodes)
      : scheduler_(std::move(scheduler)), aheads_(std::move(aheads)) {
    outcome_.jobs = std::move(jobs);
    outcome_.nodes = nodes;
    outcome_.result.jobs.resize(outcome_.jobs.size());
  }

  Outcome run() {
    while (const auto next = next_instant()) {
      now_ = std::max(now_, *next);
      for (; !ends_.empty() && ends_.begin()->first <= now_; ends_.erase(ends_.begin()))
        EXPECT_TRUE(scheduler_.finish(ends_.begin()->second, now_));
      for (; next_ahead_ < aheads_.size() && aheads_[next_ahead_].asked <= now_; ++next_ahead_)
        ask(aheads_[next_ahead_].request);
      for (; next_job_ < outcome_.jobs.size() && outcome_.jobs[next_job_].trace.submit <= now_;
           ++next_job_) {
        const auto answer = scheduler_.submit(outcome_.jobs[next_job_].request, now_);
        EXPECT_TRUE(answer) << to_string(answer.error());
        if (answer && *answer) outcome_.result.jobs[next_job_].refused = (**answer).reason;
      }
      step();
    }
    EXPECT_EQ(scheduler_.running(), 0u);
    return outcome_;
  }

  std::vector<std::string> refused;  // advance reservations, in words
  std::vector<Ahead> granted;
  Scheduler& scheduler() { return scheduler_; }

 private:
  std::optional<Time> next_instant() const {
    std::optional<Time> next;
    const auto earlier = [&](Time t) {
      if (!next || t < *next) next = t;
    };
    if (next_job_ < outcome_.jobs.size()) earlier(outcome_.jobs[next_job_].trace.submit);
    if (next_ahead_ < aheads_.size()) earlier(aheads_[next_ahead_].asked);
    if (!ends_.empty()) earlier(ends_.begin()->first);
    if (wake_ && (scheduler_.pending() > 0 || !scheduler_.advances().empty())) earlier(*wake_);
    return next;
  }

  void ask(const AdvanceRequest& request) {
    const auto answer = scheduler_.reserve_ahead(request, now_);
    ASSERT_TRUE(answer) << to_string(answer.error());
    if (answer->refused)
      refused.push_back(answer->refused->reason);
    else
      granted.push_back({now_, request});
    scheduler_.check_invariants();
    happen(answer->decisions);
  }

  void step() {
    const auto result = scheduler_.step(now_);
    scheduler_.check_invariants();
    wake_ = result.wake;
    ASSERT_FALSE(result.more);
    happen(result.decisions);
  }

  void happen(const std::vector<qmanager::Decision>& decisions) {
    for (const auto& decision : decisions) {
      if (const auto* start = std::get_if<qmanager::Start>(&decision)) {
        const std::size_t i = start->job.value() - 1;
        outcome_.result.jobs[i].start = now_;
        ends_.emplace(now_ + outcome_.jobs[i].trace.run, start->job);
      } else if (const auto* reject = std::get_if<qmanager::Reject>(&decision)) {
        outcome_.result.jobs[reject->job.value() - 1].refused = reject->reason;
      }
    }
  }

  Scheduler scheduler_;
  std::vector<Ahead> aheads_;
  Outcome outcome_;
  std::multimap<Time, JobId> ends_;
  std::size_t next_job_ = 0;
  std::size_t next_ahead_ = 0;
  std::optional<Time> wake_;
  Time now_ = 0;
};

Scheduler flat(int nodes, const SchedulerConfig& config = policy("easy")) {
  return *Scheduler::create(config, std::make_unique<qmanager::FlatMachine>(nodes));
}

// "in=ID" names the reservation.
std::vector<ScenarioJob> jobs_in(std::string text) {
  std::vector<std::uint64_t> in;
  std::istringstream lines(text);
  std::string plain;
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find(" in=");
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    in.push_back(at == std::string::npos ? 0 : std::stoull(line.substr(at + 4)));
    plain += line.substr(0, at) + "\n";
  }
  std::vector<ScenarioJob> jobs = parse_jobs(plain);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].request.advance = JobId{in[i]};
  return jobs;
}

struct AdvanceCase {
  const char* name;
  std::vector<Ahead> aheads;
  int nodes;
  const char* jobs;
  const char* want;
};

const AdvanceCase kAdvanceCases[] = {
    {"it is kept free, and short jobs fill the time before",
     {ahead(90, 0, {4, 8}, 2)},
     3,
     R"(
        A   0      1     9     9
        B   0      2     5     5
        C   0      2     4     4)",
     R"(
      n0 |AAAAAAAAA....|
      n1 |CCCC....BBBBB|
      n2 |CCCC....BBBBB|
)"},
    {"its owner's jobs run in it, from its beginning",
     {ahead(90, 0, {4, 8}, 2)},
     3,
     R"(
        A   0      1     9     9
        C   0      2     4     4
        D   1      1     3     3   user=ann in=90
        E   1      2     4     4   user=ann in=90
        F   1      1     1     1   user=ann in=90)",
     R"(
      n0 |AAAAAAAAA|
      n1 |CCCCDDD..|
      n2 |CCCCF....|
)"},
    {"a job that runs over its limit into all of it delays it",
     {ahead(90, 0, {4, 9}, 2)},
     2,
     R"(
        A   0      2     3     6
        B   0      1     9     2
        D   1      2     2     2   user=ann in=90)",
     R"(
      n0 |AAAAAADD.BB|
      n1 |AAAAAADD...|
)"},
    {"of one that is over only what its jobs have is kept: E has two of the three that follow",
     {ahead(90, 0, {0, 3}, 3), ahead(91, 0, {3, 6}, 3)},
     3,
     R"(
        D   0      1     2     6   user=ann in=90
        E   0      2     3     2   user=ann in=91
        F   0      1     1     1   user=ann in=91)",
     R"(
      n0 |DDDDDD|
      n1 |...EEF|
      n2 |...EE.|
)"},
    {"its other units are its jobs' while one runs over into it: E alone waits for A",
     {ahead(90, 0, {4, 9}, 2)},
     6,
     R"(
        A   0      4     4     6
        K   0      1     9     9
        F   1      1     3     3
        D   1      1     5     3   user=ann in=90
        E   1      1     3     2   user=ann in=90
        G   4      1     2     2
        H   4      1     2     2)",
     R"(
      n0 |AAAAAAEE.|
      n1 |AAAAAAGG.|
      n2 |AAAAAAHH.|
      n3 |AAAAAA...|
      n4 |KKKKKKKKK|
      n5 |.FFFDDD..|
)"},
    {"one of its jobs that runs over its end keeps what it has",
     {ahead(90, 0, {2, 5}, 1)},
     2,
     R"(
        D   0      1     2     6   user=ann in=90
        B   1      2     3     3)",
     R"(
      n0 |..DDDDDDBBB|
      n1 |........BBB|
)"},
    {"two, one after the other on the same units",
     {ahead(90, 0, {2, 4}, 2), ahead(91, 0, {4, 6}, 2)},
     2,
     R"(
        D   0      2     2     2   user=ann in=91
        E   0      2     2     2   user=ann in=90
        B   0      1     2     2
        C   0      1     3     3)",
     R"(
      n0 |BBEEDDCCC|
      n1 |..EEDD...|
)"},
};

TEST(Advance, Drawings) {
  for (const AdvanceCase& c : kAdvanceCases) {
    SCOPED_TRACE(c.name);
    Play play(flat(c.nodes), jobs_in(c.jobs), c.aheads, c.nodes);
    const Outcome outcome = play.run();
    EXPECT_EQ(gantt(outcome), c.want);
    EXPECT_TRUE(play.refused.empty());
    EXPECT_TRUE(play.scheduler().advances().empty()) << "all are over";
  }
}

TEST(Advance, WhoIsStillOnItsUnitsIsNamed) {
  auto scheduler = flat(4);
  ASSERT_FALSE(scheduler.reserve_ahead(ahead(90, 0, {5, 20}, 2).request, 0)->refused);
  auto jobs = parse_jobs("A 0 3 5 9\nB 0 1 9 9\nC 0 2 5 5 user=ann\nD 0 1 5 5");
  jobs[2].request.advance = JobId{90};
  for (const auto& job : jobs) ASSERT_FALSE(scheduler.submit(job.request, 0)->has_value());
  scheduler.step(0);
  scheduler.step(5);
  const auto waits = scheduler.explain(JobId{3}, 5);
  ASSERT_TRUE(waits);
  EXPECT_NE(waits->reason.find("job 1, past the limit, still uses units of advance reservation 90"),
            std::string::npos)
      << waits->reason;
  EXPECT_EQ(waits->in_the_way.at(0), JobId{1});
  EXPECT_EQ(scheduler.outlook(JobId{3})->reason, waits->reason);
  ASSERT_TRUE(scheduler.finish(JobId{1}, 7));
  scheduler.step(7);
  EXPECT_FALSE(scheduler.outlook(JobId{3})) << "it runs";
  EXPECT_FALSE(scheduler.outlook(JobId{4})) << "what A left beside the reservation";
}

TEST(Advance, IsRefusedWhereItWouldTakeWhatSomebodyHas) {
  auto scheduler = flat(4);
  const auto jobs = parse_jobs("A 0 3 10 10\nB 0 4 5 5");
  for (const auto& job : jobs) ASSERT_TRUE(scheduler.submit(job.request, 0));
  scheduler.step(0);
  const auto refused = [&](const Ahead& one) {
    const auto answer = scheduler.reserve_ahead(one.request, 0);
    EXPECT_TRUE(answer);
    return answer && answer->refused;
  };
  EXPECT_TRUE(refused(ahead(90, 0, {5, 12}, 2))) << "A runs until 10";
  EXPECT_TRUE(refused(ahead(90, 0, {5, 12}, 5))) << "there are four";
  EXPECT_FALSE(refused(ahead(90, 0, {10, 12}, 2))) << "B's reservation is made anew";
  EXPECT_TRUE(refused(ahead(91, 0, {11, 13}, 3))) << "the other one has two";
  EXPECT_FALSE(refused(ahead(91, 0, {11, 13}, 2)));
  EXPECT_EQ(scheduler.reserve_ahead(ahead(91, 0, {20, 21}, 1).request, 0).error().code,
            Errc::exists);
  EXPECT_EQ(scheduler.reserve_ahead(ahead(92, 0, {5, 5}, 1).request, 0).error().code,
            Errc::invalid_argument);
  scheduler.step(0);
  EXPECT_EQ(scheduler.outlook(jobs[1].request.id)->planned_start.value_or(13), 13);
  scheduler.check_invariants();
}

TEST(Advance, AKeptReservationIsNotDelayed) {
  auto scheduler = flat(4, policy("conservative"));
  for (const auto& job : parse_jobs("A 0 3 10 10\nB 0 4 5 5"))
    ASSERT_TRUE(scheduler.submit(job.request, 0));
  scheduler.step(0);
  EXPECT_TRUE(scheduler.reserve_ahead(ahead(90, 0, {12, 20}, 1).request, 0)->refused);
  EXPECT_FALSE(scheduler.reserve_ahead(ahead(90, 0, {15, 20}, 1).request, 0)->refused);
}

TEST(Advance, OnlyItsUsersAndOnlyWhatFitsIn) {
  auto scheduler = flat(4);
  Ahead one = ahead(90, 0, {10, 20}, 2);
  one.request.users = {"bob"};
  ASSERT_FALSE(scheduler.reserve_ahead(one.request, 0)->refused);
  const auto refusal = [&](const char* text) {
    auto job = parse_jobs(text).front().request;
    job.advance = JobId{90};
    const auto refused = scheduler.submit(job, 0);
    EXPECT_TRUE(refused);
    return *refused ? (**refused).reason : "";
  };
  EXPECT_NE(refusal("A 0 1 5 5 user=eve").find("eve"), std::string::npos);
  EXPECT_NE(refusal("A 0 1 11 5 user=ann").find("lasts 10"), std::string::npos);
  EXPECT_NE(refusal("A 0 3 5 5 user=ann").find("the machine has 2"), std::string::npos);
  EXPECT_EQ(refusal("A 0 1 5 5 user=bob"), "");
  auto elsewhere = parse_jobs("A 0 1 5 5 user=ann").front().request;
  elsewhere.id = JobId{7};
  elsewhere.advance = JobId{91};
  EXPECT_TRUE(scheduler.submit(elsewhere, 0)->has_value()) << "there is none of that number";
  EXPECT_EQ(scheduler.pending(), 1u);
  EXPECT_NE(scheduler.outlook(JobId{1})->reason.find("has not begun"), std::string::npos);
  EXPECT_NE(scheduler.explain(JobId{1}, 0)->reason.find("has not begun"), std::string::npos);
}

TEST(Advance, WhenItIsCancelledOrOverItsWaitingJobsAreSentAway) {
  auto scheduler = flat(2);
  ASSERT_FALSE(scheduler.reserve_ahead(ahead(90, 0, {0, 20}, 1).request, 0)->refused);
  auto jobs = parse_jobs("A 0 1 9 9 user=ann\nB 0 1 15 15 user=ann\nC 0 2 5 5");
  jobs[0].request.advance = jobs[1].request.advance = JobId{90};
  for (const auto& job : jobs) ASSERT_FALSE(scheduler.submit(job.request, 0)->has_value());
  scheduler.step(0);
  EXPECT_EQ(scheduler.running(), 1u);
  ASSERT_EQ(scheduler.advances().size(), 1u);
  EXPECT_EQ(scheduler.advances()[0].phase, qmanager::AdvanceStatus::Phase::active);
  EXPECT_EQ(scheduler.advances()[0].running, 1u);
  EXPECT_EQ(scheduler.advances()[0].pending, 1u);
  const auto running = scheduler.cancel_advance(JobId{90}, 3);
  ASSERT_TRUE(running);
  EXPECT_EQ(*running, std::vector<JobId>{JobId{1}});
  EXPECT_EQ(scheduler.advances()[0].phase, qmanager::AdvanceStatus::Phase::ending);
  auto step = scheduler.step(3);
  ASSERT_EQ(step.decisions.size(), 1u);
  EXPECT_EQ(std::get<qmanager::Reject>(step.decisions[0]).job, JobId{2});
  ASSERT_TRUE(scheduler.finish(JobId{1}, 4));
  step = scheduler.step(4);
  EXPECT_TRUE(scheduler.advances().empty());
  ASSERT_EQ(step.decisions.size(), 1u) << "what it held is free";
  EXPECT_EQ(std::get<qmanager::Start>(step.decisions[0]).job, JobId{3});
  EXPECT_EQ(scheduler.cancel_advance(JobId{90}, 5).error().code, Errc::not_found);
}

TEST(Advance, ConsumablesAreHeldForItsJobsAlone) {
  SchedulerConfig config = policy("easy");
  config.pools["lic"] = 3;
  auto scheduler = flat(9, config);
  Ahead one = ahead(90, 0, {0, 20}, 2);
  one.request.resources.consumes = {{"lic", 2}};
  ASSERT_FALSE(scheduler.reserve_ahead(one.request, 0)->refused);
  auto jobs = parse_jobs(R"(
        A   0      1     9     9   user=ann uses=lic:2
        B   0      1     9     9   uses=lic:2
        C   0      1     9     9   uses=lic:1)");
  jobs[0].request.advance = JobId{90};
  for (const auto& job : jobs) ASSERT_FALSE(scheduler.submit(job.request, 0)->has_value());
  std::vector<JobId> started;
  for (const auto& decision : scheduler.step(0).decisions)
    if (const auto* start = std::get_if<qmanager::Start>(&decision)) started.push_back(start->job);
  EXPECT_EQ(started, (std::vector<JobId>{JobId{1}, JobId{3}}));
}

TEST(Advance, AJobInOneGetsOnlyConsumablesThatItWasMadeWith) {
  SchedulerConfig config = policy("easy");
  config.pools["lic"] = 5;
  config.pools["other"] = 5;
  auto scheduler = flat(9, config);
  Ahead one = ahead(90, 0, {0, 20}, 3);
  one.request.resources.consumes = {{"lic", 1, true}};
  ASSERT_FALSE(scheduler.reserve_ahead(one.request, 0)->refused);
  auto jobs = parse_jobs(R"(
        A   0      2     9     9   user=ann each=lic:1
        B   0      1     9     9   user=ann uses=lic:2
        C   0      1     9     9   user=ann uses=other:1
        D   0      1     9     9   uses=lic:3
        E   0      1     9     9   uses=lic:2)");
  for (std::size_t i = 0; i < 3; ++i) jobs[i].request.advance = JobId{90};
  for (const auto& job : jobs) {
    const auto refused = scheduler.submit(job.request, 0);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->has_value(), job.name == 'C') << "of it the reservation has nothing";
  }
  std::vector<JobId> started;
  for (const auto& decision : scheduler.step(0).decisions)
    if (const auto* start = std::get_if<qmanager::Start>(&decision)) started.push_back(start->job);
  // Three are reserved, of which A has two; two are left outside.
  EXPECT_EQ(started, (std::vector<JobId>{JobId{1}, JobId{5}}));
  for (const auto& span : scheduler.plan(0)) {
    if (span.job != JobId{1}) continue;
    EXPECT_EQ(span.consumes.at(0).amount, 2);
  }
}

TEST(Advance, ItsJobsCountInTheirQueueAndForFairshare) {
  SchedulerConfig config = policy("easy");
  ASSERT_TRUE(config.priority.set("fsuser-weight", "1"));
  ASSERT_TRUE(config.priority.set("user.default.fstarget", "50"));
  auto scheduler = flat(4, config);
  ASSERT_FALSE(scheduler.reserve_ahead(ahead(90, 0, {0, 20}, 2).request, 0)->refused);
  auto jobs = parse_jobs(R"(
        A   0      2     9     9   user=ann
        B   0      1     5     5   user=ann
        C   0      4     5     5   user=ann
        D   0      4     5     5   user=bob)");
  jobs[0].request.advance = jobs[1].request.advance = JobId{90};
  for (const auto& job : jobs) ASSERT_FALSE(scheduler.submit(job.request, 0)->has_value());
  scheduler.step(0);
  const auto counts = [&] { return scheduler.queues().at(0); };
  EXPECT_EQ(counts().running, 1u);
  EXPECT_EQ(counts().pending, 3u);
  EXPECT_EQ(counts().counts.submitted, 4);
  ASSERT_TRUE(scheduler.finish(JobId{1}, 9));
  scheduler.step(9);
  EXPECT_EQ(counts().counts.finished, 1);
  ASSERT_TRUE(scheduler.finish(JobId{2}, 12));
  scheduler.step(20);
  EXPECT_TRUE(scheduler.advances().empty());
  EXPECT_EQ(counts().counts.finished, 2) << "also when the reservation is over";
  EXPECT_EQ(counts().counts.submitted, 4);
  auto late = parse_jobs("A 0 4 5 5 user=ann\nB 0 4 5 5 user=bob");
  for (auto& job : late) {
    job.request.id = JobId{job.request.id.value() + 10};
    ASSERT_FALSE(scheduler.submit(job.request, 20)->has_value());
  }
  EXPECT_LT(scheduler.priority(JobId{11}, 20)->priority, 0) << "ann has used all there was";
  EXPECT_GT(scheduler.priority(JobId{12}, 20)->priority, 0) << "bob nothing";
}

TEST(Advance, JobsOfAQosMayBeKeptToThem) {
  SchedulerConfig config = policy("easy");
  ASSERT_TRUE(config.qos["ahead"].set_flags("USERESERVED"));
  auto scheduler = flat(2, config);
  const auto job = parse_jobs("A 0 1 5 5 qos=ahead").front().request;
  EXPECT_TRUE(scheduler.submit(job, 0)->has_value());
}

// ---- on a resource graph

// An advance reservation that was granted is always honoured: with jobs that keep to their limits,
// what its jobs ask for at its beginning starts there and then, whatever else is going on; with
// jobs that overrun, nothing is ever held twice.
TEST(Advance, IsAlwaysHonoured) {
  int granted = 0;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    std::mt19937 random(seed);
    const auto up_to = [&](int most) { return static_cast<int>(random() % unsigned(most)); };
    const bool overruns = seed % 3 == 0;
    std::vector<ScenarioJob> jobs = random_jobs(seed, 40, 6);
    if (overruns)
      for (auto& job : jobs)
        if (up_to(5) == 0) job.trace.run = job.trace.limit + 1 + up_to(5);
    std::vector<Ahead> aheads;
    Time asked = 0;
    for (std::uint64_t id = 1001; id <= 1006; ++id) {
      asked += up_to(12);
      const Time begin = asked + up_to(15);
      aheads.push_back(ahead(id, asked, {begin, begin + 2 + up_to(8)}, 1 + up_to(4)));
    }
    // Each reservation has one job that needs all of it, submitted as soon as it was asked for.
    for (const Ahead& one : aheads) {
      ScenarioJob job;
      job.name = '#';
      job.trace.submit = one.asked;
      job.trace.procs = one.request.resources.procs;
      job.trace.limit = job.trace.run = one.request.when.length();
      job.request.user = "ann";
      job.request.advance = one.request.resources.id;
      jobs.push_back(job);
    }
    std::stable_sort(jobs.begin(), jobs.end(), [](const ScenarioJob& a, const ScenarioJob& b) {
      return a.trace.submit < b.trace.submit;
    });
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto extra = jobs[i].request;
      jobs[i].trace.id = static_cast<std::int64_t>(i) + 1;
      jobs[i].request = sim::flat_request(jobs[i].trace);
      jobs[i].request.user = extra.user;
      jobs[i].request.advance = extra.advance;
    }
    const char* const policies[] = {"fcfs", "easy", "conservative", "hybrid:3",
                                    "conservative-rebuild"};
    Play play(flat(6, policy(policies[seed % 5])), jobs, aheads, 6);
    const Outcome outcome = play.run();
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_nothing_held_twice(outcome);
    for (const Ahead& one : play.granted) {
      ++granted;
      for (std::size_t i = 0; i < jobs.size() && !overruns; ++i) {
        if (jobs[i].request.advance != one.request.resources.id) continue;
        EXPECT_EQ(outcome.result.jobs[i].start, one.request.when.begin)
            << outcome.result.jobs[i].refused;
      }
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].request.advance.value() != 0) continue;
      EXPECT_TRUE(outcome.result.jobs[i].start) << "job " << i + 1;
    }
  }
  EXPECT_GT(granted, 200) << "hardly any was made: the test shows little";
}

}  // namespace
}  // namespace holon::tests
