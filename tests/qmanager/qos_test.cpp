// What a QOS grants: flags, limits in place of others, buckets of reservations.
#include <gtest/gtest.h>

#include "qmanager/machine/flat_machine.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::SchedulerConfig;

void flags(SchedulerConfig& config, const char* qos, const char* text) {
  ASSERT_TRUE(config.qos[qos].set_flags(text));
}

// B is planned behind A. R, for the whole machine, is planned as well, or has to let the long L go
// first.
const char* const kRIsPlanned = R"(
      n0 |AAABBRRLLLLLLLLL|
      n1 |AAABBRR.........|
      n2 |AAA..RR.........|
      n3 |.....RR.........|
)";
const char* const kLInFrontOfR = R"(
      n0 |AAABB....RR|
      n1 |AAABB....RR|
      n2 |AAA......RR|
      n3 |LLLLLLLLLRR|
)";

const Drawing kQosDrawings[] = {
    {"EASY: the head alone is planned", [](SchedulerConfig&) {}, 4, R"(
        A   0      3     3     3
        B   0      2     2     2
        R   0      4     2     2   qos=hi
        L   0      1     9     9)",
     kLInFrontOfR},
    {"RESERVEALWAYS: so is every job of the QOS",
     [](SchedulerConfig& c) { flags(c, "hi", "RESERVEALWAYS"); }, 4, R"(
        A   0      3     3     3
        B   0      2     2     2
        R   0      4     2     2   qos=hi
        L   0      1     9     9)",
     kRIsPlanned},
    {"NORESERVATION: the job waits unprotected, the next one is planned",
     [](SchedulerConfig& c) { flags(c, "hi", "NORESERVATION"); }, 4, R"(
        A   0      3     3     3
        R   0      4     2     2   qos=hi
        B   0      2     2     2
        L   0      1     9     9)",
     kLInFrontOfR},
    {"NOBF: no start before a job that waits without a reservation",
     [](SchedulerConfig& c) { flags(c, "low", "NOBF"); }, 4, R"(
        A   0      3     3     3
        B   0      4     2     2
        C   0      4     1     1
        L   0      1     2     2   qos=low
        M   0      1     1     1)",
     R"(
      n0 |AAABBCLL|
      n1 |AAABBC..|
      n2 |AAABBC..|
      n3 |M..BBC..|
)"},
    {"NOBF: behind jobs with reservations it starts if it delays none",
     [](SchedulerConfig& c) { flags(c, "low", "NOBF"); }, 4, R"(
        A   0      3     3     3
        B   0      4     2     2
        L   0      1     2     2   qos=low)",
     R"(
      n0 |AAABB|
      n1 |AAABB|
      n2 |AAABB|
      n3 |LL.BB|
)"},
    {"NTR: in front of everybody", [](SchedulerConfig& c) { flags(c, "hi", "NTR"); }, 1, R"(
        A   0      1     2     2
        B   0      1     2     2
        C   1      1     1     1   qos=hi)",
     R"(
      n0 |AACBB|
)"},
    {"a limit holds", [](SchedulerConfig& c) { limit(c, "user", "ann", "max-job", "1"); }, 3, R"(
        A   0      1     2     2   user=ann
        B   0      1     2     2   user=ann
        C   0      1     2     2   user=ann qos=hi)",
     R"(
      n0 |AABBCC|
      n1 |......|
      n2 |......|
)"},
    {"IGNMAXJOB: but not for this QOS",
     [](SchedulerConfig& c) {
       limit(c, "user", "ann", "max-job", "1");
       flags(c, "hi", "IGNMAXJOB");
     },
     3, R"(
        A   0      1     2     2   user=ann
        B   0      1     2     2   user=ann
        C   0      1     2     2   user=ann qos=hi)",
     R"(
      n0 |AABB|
      n1 |CC..|
      n2 |....|
)"},
    {"IGNUSER: no limit of the user holds, its group's does",
     [](SchedulerConfig& c) {
       limit(c, "user", "ann", "max-proc", "1");
       limit(c, "group", "lab", "max-proc", "2");
       flags(c, "hi", "IGNUSER");
     },
     4, R"(
        A   0      1     2     2   user=ann group=lab
        B   0      1     2     2   user=ann group=lab qos=hi
        C   0      1     2     2   user=ann group=lab qos=hi)",
     R"(
      n0 |AACC|
      n1 |BB..|
      n2 |....|
      n3 |....|
)"},
    {"OMAXJOB: the QOS has its own number in place of the user's",
     [](SchedulerConfig& c) {
       limit(c, "user", "ann", "max-job", "1");
       limit(c, "qos", "hi", "omax-job", "2");
     },
     4, R"(
        A   0      1     2     2   user=ann qos=hi
        B   0      1     2     2   user=ann qos=hi
        C   0      1     2     2   user=ann qos=hi)",
     R"(
      n0 |AACC|
      n1 |BB..|
      n2 |....|
      n3 |....|
)"},
    {"buckets: each QOS has its own head",
     [](SchedulerConfig& c) {
       c.defaults.buckets[0] = {.depth = 1, .qos = {"hi"}};
       c.defaults.buckets[1] = {.depth = 1, .qos = {"lo"}};
     },
     4, R"(
        A   0      3     3     3
        B   0      2     2     2   qos=hi
        R   0      4     2     2   qos=lo
        L   0      1     9     9)",
     kRIsPlanned},
    {"buckets: who is in none gets no reservation",
     [](SchedulerConfig& c) { c.defaults.buckets[0] = {.depth = 1, .qos = {"hi"}}; }, 4, R"(
        A   0      3     3     3
        R   0      4     2     2   qos=lo
        B   0      2     2     2   qos=hi
        L   0      1     9     9)",
     kLInFrontOfR},
};

TEST(Qos, Drawings) {
  expect_drawings(kQosDrawings, "easy");
}

TEST(Qos, FlagsAreReadAsMauiWritesThem) {
  qmanager::QosConfig qos;
  ASSERT_TRUE(qos.set_flags("NOBF:reservealways, IGNALL"));
  EXPECT_TRUE(qos.no_backfill && qos.reserve_always && qos.ignore_user && qos.ignore_group &&
              qos.ignore_account);
  const auto before = qos;
  const auto refused = qos.set_flags("NTR:PREEMPTOR");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("PREEMPTOR"), std::string::npos);
  EXPECT_EQ(qos, before);
}

// With one bucket for all of depth N the starts are those of hybrid:N.
TEST(Qos, OneBucketForAllIsHybrid) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    const auto jobs = random_jobs(seed, 60, 7);
    for (const int depth : {1, 3, 100}) {
      SchedulerConfig buckets = policy("easy");
      buckets.defaults.buckets[2] = {.depth = depth, .qos = {}};
      const Outcome ours = run({.nodes = 7, .jobs = jobs, .config = buckets});
      const Outcome theirs =
          run({.nodes = 7, .jobs = jobs, .config = policy("hybrid:" + std::to_string(depth))});
      EXPECT_EQ(gantt(ours), gantt(theirs)) << "seed " << seed << " depth " << depth;
    }
  }
}

// Whatever the flags and buckets: nothing is held twice, everybody runs, hard limits hold.
TEST(Qos, AnyMixKeepsTheMachineWhole) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    auto jobs = random_jobs(seed, 60, 6);
    for (auto& job : jobs) {
      job.request.qos = job.trace.id % 4 == 0 ? "hi" : job.trace.id % 4 == 1 ? "low" : "mid";
      job.request.user = job.trace.id % 2 == 0 ? "ann" : "bob";
    }
    SchedulerConfig config = policy(seed % 3 == 0   ? "conservative"
                                    : seed % 3 == 1 ? "easy"
                                                    : "hybrid:3");
    flags(config, "hi", "RESERVEALWAYS,NTR,IGNMAXJOB");
    flags(config, "low", seed % 2 == 0 ? "NOBF" : "NORESERVATION");
    config.defaults.buckets[0] = {.depth = 1, .qos = {"mid"}};
    config.defaults.buckets[5] = {.depth = 2, .qos = {}};
    limit(config, "user", "default", "max-job", "1,3");
    const Outcome outcome = run({.nodes = 6, .jobs = jobs, .config = config});
    expect_nothing_held_twice(outcome);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      ASSERT_TRUE(outcome.result.jobs[i].start) << "seed " << seed << " job " << i + 1;
      int together = 0;
      for (std::size_t k = 0; k < jobs.size(); ++k)
        together += jobs[k].request.user == jobs[i].request.user && jobs[k].request.qos != "hi" &&
                    outcome.start(k) <= outcome.start(i) &&
                    outcome.start(i) < outcome.start(k) + jobs[k].trace.run;
      if (jobs[i].request.qos != "hi") {
        EXPECT_LE(together, 3) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace holon::tests
