// Maui's backfill and throttling, as drawings.
#include <gtest/gtest.h>

#include "qmanager/machine/flat_machine.hpp"
#include "scenario.hpp"

namespace holon::tests {
namespace {

using qmanager::BackfillMetric;
using qmanager::BackfillOrder;
using qmanager::SchedulerConfig;

const Drawing kMauiDrawings[] = {
    {"EASY takes the first that fits", [](SchedulerConfig&) {}, 4, R"(
        A   0      1     4     4
        B   0      4     1     1
        X   0      4     1     1
        C   0      1     2     2
        D   0      3     4     4)",
     R"(
      n0 |AAAABXDDDD|
      n1 |CC..BXDDDD|
      n2 |....BXDDDD|
      n3 |....BX....|
)"},
    {"FIRSTFIT: the widest window first, in queue order within it",
     [](SchedulerConfig& c) { c.defaults.backfill = BackfillOrder::first_fit; }, 4, R"(
        # until 4 two are free, one of them for longer: C fits the narrow window only, which is
        # filled after the wide one, by D
        A   0      2     4     4
        B   0      3     3     3
        X   0      4     1     1
        C   0      1     6     6
        D   0      2     3     3)",
     R"(
      n0 |AAAABBB..X|
      n1 |AAAABBB..X|
      n2 |DDDCCCCCCX|
      n3 |DDD.BBB..X|
)"},
    {"EASY: each in its turn, whatever window it fits",
     [](SchedulerConfig& c) { c.defaults.backfill = BackfillOrder::queue_order; }, 4, R"(
        A   0      2     4     4
        B   0      3     3     3
        X   0      4     1     1
        C   0      1     6     6
        D   0      2     3     3)",
     R"(
      n0 |AAAABBBXDDD|
      n1 |AAAABBBXDDD|
      n2 |CCCCCC.X...|
      n3 |....BBBX...|
)"},
    {"FIRSTFIT is what Maui's weights bring with them",
     [](SchedulerConfig& c) {
       ASSERT_TRUE(c.priority.set("queuetime-weight", "1"));
       c.priority.ticks_per_second = 1;
       c.priority.interval = 1;
     },
     4, R"(
        A   0      2     4     4
        B   0      3     3     3
        X   0      4     1     1
        C   0      1     6     6
        D   0      2     3     3)",
     R"(
      n0 |AAAABBB..X|
      n1 |AAAABBB..X|
      n2 |DDDCCCCCCX|
      n3 |DDD.BBB..X|
)"},
    {"BESTFIT by processors takes the widest that fits",
     [](SchedulerConfig& c) { c.defaults.backfill = BackfillOrder::best_fit; }, 4, R"(
        # B has the one reservation; X, blocked as well, begins the backfill
        A   0      1     4     4
        B   0      4     1     1
        X   0      4     1     1
        C   0      1     2     2
        D   0      3     4     4)",
     R"(
      n0 |AAAABXCC|
      n1 |DDDDBX..|
      n2 |DDDDBX..|
      n3 |DDDDBX..|
)"},
    {"BESTFIT by seconds takes the longest that fits, the earlier of two equals",
     [](SchedulerConfig& c) {
       c.defaults.backfill = BackfillOrder::best_fit;
       c.defaults.backfill_metric = BackfillMetric::seconds;
     },
     3, R"(
        A   0      1     4     4
        B   0      3     1     1
        X   0      3     1     1
        C   0      2     2     2
        D   0      2     3     3
        E   0      2     3     3)",
     R"(
      n0 |AAAABXCCEEE|
      n1 |DDD.BXCCEEE|
      n2 |DDD.BX.....|
)"},
    {"BACKFILLDEPTH: only the first candidates are looked at",
     [](SchedulerConfig& c) {
       c.defaults.backfill = BackfillOrder::best_fit;
       c.defaults.backfill_depth = 1;
     },
     4, R"(
        A   0      1     4     4
        B   0      4     1     1
        X   0      4     1     1
        C   0      1     4     4
        D   0      2     4     4)",
     R"(
      n0 |AAAABXDDDD|
      n1 |CCCCBXDDDD|
      n2 |....BX....|
      n3 |....BX....|
)"},
    {"GREEDY fills the window with a set where BESTFIT would take one job",
     [](SchedulerConfig& c) {
       c.defaults.backfill = BackfillOrder::greedy;
       c.defaults.backfill_metric = BackfillMetric::procs;
     },
     5, R"(
        A   0      1     4     4
        B   0      5     1     1
        X   0      5     1     1
        C   0      3     4     4
        D   0      2     4     4
        E   0      2     4     4)",
     R"(
      n0 |AAAABXCCCC|
      n1 |DDDDBXCCCC|
      n2 |DDDDBXCCCC|
      n3 |EEEEBX....|
      n4 |EEEEBX....|
)"},
    {"NONE: no backfill", [](SchedulerConfig& c) { c.defaults.backfill = BackfillOrder::none; }, 3,
     R"(
        A   0      2     4     4
        B   0      3     2     2
        C   0      1     4     4)",
     R"(
      n0 |AAAABBCCCC|
      n1 |AAAABB....|
      n2 |....BB....|
)"},
    {"chunking keeps small jobs waiting exactly as long as defined after the last end",
     [](SchedulerConfig& c) {
       c.defaults.chunk_size = 2;
       c.defaults.chunk_duration = 3;
     },
     2, R"(
        # A ends early at 1; B, large, waits for C; small D may start at 4; its end at 5 keeps E until 8
        A   0      1     9     1
        C   0      1     9     9
        B   0      2     2     2
        D   1      1     1     1
        E   1      1     1     1)",
     R"(
      n0 |A...D...EBB|
      n1 |CCCCCCCCCBB|
)"},
    {"chunking ends early when a large job can start",
     [](SchedulerConfig& c) {
       c.defaults.chunk_size = 2;
       c.defaults.chunk_duration = 8;
     },
     2, R"(
        A   0      1     9     1
        C   0      1     9     3
        B   0      2     2     2
        D   1      1     1     1)",
     R"(
      n0 |A..BBD|
      n1 |CCCBB.|
)"},
    {"MAXJOB: a user's third job waits, others go on",
     [](SchedulerConfig& c) { limit(c, "user", "default", "max-job", "2"); }, 4, R"(
        A   0      1     3     3   user=ann
        B   0      1     3     3   user=ann
        C   0      1     3     3   user=ann
        D   0      1     3     3   user=bob)",
     R"(
      n0 |AAACCC|
      n1 |BBB...|
      n2 |DDD...|
      n3 |......|
)"},
    {"MAXPROC: the strictest credential wins",
     [](SchedulerConfig& c) {
       limit(c, "user", "ann", "max-proc", "3");
       limit(c, "account", "chem", "max-proc", "2");
     },
     4, R"(
        A   0      2     2     2   user=ann account=chem
        B   0      1     2     2   user=ann account=chem
        C   0      1     2     2   user=ann account=bio)",
     R"(
      n0 |AABB|
      n1 |AA..|
      n2 |CC..|
      n3 |....|
)"},
    {"soft and hard: over the soft limit only what nobody else can use",
     [](SchedulerConfig& c) { limit(c, "user", "ann", "max-job", "1,2"); }, 3, R"(
        # B and C are over the soft limit; D has its place first; B gets what is left; C is over the hard limit
        A   0      1     4     4   user=ann
        B   0      1     4     4   user=ann
        C   0      1     4     4   user=ann
        D   0      1     4     4   user=bob)",
     R"(
      n0 |AAAACCCC|
      n1 |BBBB....|
      n2 |DDDD....|
)"},
    {"soft and hard: who is over the soft limit does not take the last node from one who is not",
     [](SchedulerConfig& c) { limit(c, "user", "ann", "max-job", "1,2"); }, 2, R"(
        A   0      1     4     4   user=ann
        B   0      1     4     4   user=ann
        D   0      1     4     4   user=bob)",
     R"(
      n0 |AAAABBBB|
      n1 |DDDD....|
)"},
    {"MAXPS: what remains of running jobs counts, so that it falls as they age",
     [](SchedulerConfig& c) { limit(c, "user", "ann", "max-ps", "10"); }, 3, R"(
     #  A holds 8; B needs 4 more and may start when A has 6 left, which is seen when D ends
        A   0      1     8     8   user=ann
        B   0      1     4     4   user=ann
        D   0      1     2     2   user=bob)",
     R"(
      n0 |AAAAAAAA|
      n1 |DDBBBB..|
      n2 |........|
)"},
    {"MAXIJOB: of a user's waiting jobs only the first are considered",
     [](SchedulerConfig& c) {
       limit(c, "user", "ann", "max-ijob", "1");
       c.defaults.policy = "conservative-rebuild";
     },
     2, R"(
     #  B is planned for 4; C is not considered, so that D may have its place
        A   0      2     4     4   user=bob
        B   0      1     2     2   user=ann
        C   0      1     2     2   user=ann
        D   0      1     4     4   user=bob)",
     R"(
      n0 |AAAABBCC|
      n1 |AAAADDDD|
)"},
    {"MAXIJOB holds for BESTFIT as well",
     [](SchedulerConfig& c) {
       limit(c, "user", "default", "max-ijob", "1");
       c.defaults.backfill = BackfillOrder::best_fit;
     },
     4, R"(
     #  of ann's C and D the first is considered, and that does not fit
        A   0      3     4     4   user=bob
        B   0      4     1     1   user=eve
        X   0      4     1     1   user=joe
        C   0      2     2     2   user=ann
        D   0      1     2     2   user=ann)",
     R"(
      n0 |AAAABXCC|
      n1 |AAAABXCC|
      n2 |AAAABXDD|
      n3 |....BX..|
)"},
    {"MAXIJOB holds for GREEDY as well",
     [](SchedulerConfig& c) {
       limit(c, "user", "default", "max-ijob", "1");
       c.defaults.backfill = BackfillOrder::greedy;
     },
     4, R"(
        A   0      3     4     4   user=bob
        B   0      4     1     1   user=eve
        X   0      4     1     1   user=joe
        C   0      2     2     2   user=ann
        D   0      1     2     2   user=ann)",
     R"(
      n0 |AAAABXCC|
      n1 |AAAABXCC|
      n2 |AAAABXDD|
      n3 |....BX..|
)"},
    {"FIRSTFIT: chunks keep small jobs behind a large one that fits in no window",
     [](SchedulerConfig& c) {
       c.defaults.backfill = BackfillOrder::first_fit;
       c.defaults.chunk_size = 3;
       c.defaults.chunk_duration = 3;
     },
     3, R"(
        # A ends early at 1; B has 9 reserved; L, large, has no window; small D may start at 4
        A   0      1     9     1
        C   0      2     9     9
        B   0      2     2     2
        X   0      2     1     1
        L   0      3     2     2
        D   1      1     1     1)",
     R"(
      n0 |A...D....BBXLL|
      n1 |CCCCCCCCCBBXLL|
      n2 |CCCCCCCCC...LL|
)"},
};

TEST(Maui, Drawings) {
  expect_drawings(kMauiDrawings, "easy");
}

// The figure of Maui's manual: 8 nodes, two running jobs, job C reserved for: 4 nodes for an hour,
// or 1 node without end.
TEST(Maui, BackfillWindowsAreMaximalRectanglesWidestFirst) {
  auto scheduler =
      *qmanager::Scheduler::create(policy("easy"), std::make_unique<qmanager::FlatMachine>(8));
  for (const auto& job : parse_jobs(R"(
        A   0      2     60    60
        B   0      2     60    60
        C   0      7     60    60)"))
    ASSERT_TRUE(scheduler.submit(job.request, 0));
  scheduler.step(0);
  EXPECT_EQ(scheduler.windows(0), (std::vector<qmanager::Window>{{4, 60}, {1, kTimeMax}}));
}

TEST(Maui, LimitsAreRespectedAtEveryInstant) {
  for (const char* name : {"fcfs", "easy", "hybrid:3", "conservative", "conservative-rebuild"})
    for (const BackfillOrder order : {BackfillOrder::queue_order, BackfillOrder::first_fit,
                                      BackfillOrder::best_fit, BackfillOrder::greedy})
      for (unsigned seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(std::string(name) + ", seed " + std::to_string(seed));
        auto jobs = random_jobs(seed, 24, 6);
        for (std::size_t i = 0; i < jobs.size(); ++i)
          jobs[i].request.user = i % 3 == 0 ? "bob" : "ann";
        SchedulerConfig config = policy(name);
        config.defaults.backfill = order;
        limit(config, "user", "ann", "max-job", "2,3");
        limit(config, "user", "ann", "max-proc", "6,6");
        const Outcome outcome = run({.nodes = 8, .jobs = jobs, .config = config});
        ASSERT_NO_FATAL_FAILURE(expect_nothing_held_twice(outcome));
        for (std::size_t i = 0; i < jobs.size(); ++i) {
          ASSERT_TRUE(outcome.result.jobs[i].start) << outcome.result.jobs[i].refused;
          int running = 0;
          std::int64_t procs = 0;
          for (std::size_t j = 0; j < jobs.size(); ++j) {
            if (jobs[j].request.user != "ann") continue;
            const bool runs = outcome.start(j) <= outcome.start(i) &&
                              outcome.start(i) < outcome.start(j) + jobs[j].trace.run;
            running += runs;
            procs += runs ? jobs[j].trace.procs : 0;
          }
          ASSERT_LE(running, 3);
          ASSERT_LE(procs, 6);
        }
      }
}

TEST(Maui, FillingWindowsNeverDelaysTheHead) {
  for (const BackfillOrder order :
       {BackfillOrder::first_fit, BackfillOrder::best_fit, BackfillOrder::greedy})
    for (unsigned seed = 0; seed < 200; ++seed) {
      SchedulerConfig config = policy("easy");
      config.defaults.backfill = order;
      const Outcome outcome = run({.nodes = 5, .jobs = random_jobs(seed, 24, 5), .config = config});
      ASSERT_NO_FATAL_FAILURE(expect_nothing_held_twice(outcome));
      for (std::size_t i = 0; i < outcome.jobs.size(); ++i)
        ASSERT_LE(outcome.start(i), outcome.result.jobs[i].first_planned.value())
            << "seed " << seed << ", job " << i + 1;
    }
}

}  // namespace
}  // namespace holon::tests
