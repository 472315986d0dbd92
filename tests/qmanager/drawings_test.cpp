// The classic policies, as drawings. The scheduler believes `limit`; the simulator ends the job
// after `runs`.
#include <gtest/gtest.h>

#include "scenario.hpp"

namespace holon::tests {
namespace {

struct PolicyCase {
  const char* name;
  const char* policy;
  int nodes;
  const char* jobs;
  const char* want;
};

const PolicyCase kPolicyCases[] = {
    {"fcfs: nobody overtakes, even if there is room", "fcfs", 3, R"(
     #  job submit nodes limit runs
        A   0      2     4     4
        B   0      3     2     2
        C   0      1     4     4)",
     R"(
      n0 |AAAABBCCCC|
      n1 |AAAABB....|
      n2 |....BB....|
)"},
    {"easy: a short job fills the hole in front of the head", "easy", 3, R"(
        A   0      2     4     4
        B   0      3     2     2
        C   0      1     4     4)",
     R"(
      n0 |AAAABB|
      n1 |AAAABB|
      n2 |CCCCBB|
)"},
    {"easy: a job one minute too long for the hole waits behind the head", "easy", 3, R"(
        A   0      2     4     4
        B   0      3     2     2
        C   0      1     5     5)",
     R"(
      n0 |AAAABBCCCCC|
      n1 |AAAABB.....|
      n2 |....BB.....|
)"},
    {"easy: a long job may keep the node the head leaves over", "easy", 3, R"(
        A   0      2     3     3
        B   0      2     2     2
        C   0      1     6     6)",
     R"(
      n0 |AAABB.|
      n1 |AAABB.|
      n2 |CCCCCC|
)"},
    {"easy: when a job ends before its limit, the head starts early", "easy", 1, R"(
        A   0      1     5     2
        B   0      1     2     2)",
     R"(
      n0 |AABB|
)"},
    {"easy: the second blocked job has no reservation, a backfilled one delays it", "easy", 2, R"(
        A   0      1     2     2
        B   0      2     2     2
        C   0      2     2     2
        D   0      1     2     2
        E   1      1     5     5)",
     R"(
      n0 |AABBCCEEEEE|
      n1 |DDBBCC.....|
)"},
    {"easy: a job behind the second blocked job delays that one", "easy", 3, R"(
        A   0      2     2     2
        B   0      2     2     2
        C   0      3     2     2
        D   0      1     6     6)",
     R"(
      n0 |AABB..CC|
      n1 |AABB..CC|
      n2 |DDDDDDCC|
)"},
    {"hybrid of two: the second blocked job is protected as well", "hybrid:2", 3, R"(
        A   0      2     2     2
        B   0      2     2     2
        C   0      3     2     2
        D   0      1     6     6)",
     R"(
      n0 |AABBCCDDDDDD|
      n1 |AABBCC......|
      n2 |....CC......|
)"},
    {"conservative: everybody is protected", "conservative", 3, R"(
        A   0      2     2     2
        B   0      2     2     2
        C   0      3     2     2
        D   0      1     6     6
        E   0      1     4     4)",
     R"(
      n0 |AABBCCDDDDDD|
      n1 |AABBCC......|
      n2 |EEEECC......|
)"},
    {"conservative: kept reservations slide forward when a job ends early", "conservative", 2, R"(
        A   0      2     6     2
        B   0      1     3     3
        C   0      2     2     2
        D   0      1     3     3)",
     R"(
      n0 |AABBBCC|
      n1 |AADDDCC|
)"},
    {"Maui's story: A ends early, but C was started in front of B and B waits for it", "easy", 2,
     R"(
     #  an hour is two columns; A began an hour ago, has a limit of four and ends after two
        A   0      1     8     4
        B   2      2     2     2
        C   2      1     4     4)",
     R"(
      n0 |AAAA..BB|
      n1 |..CCCCBB|
)"},
    {"Fluxion's ten cores: 8 run, 6 are reserved, 4 do not fit, 2 do", "easy", 10, R"(
        A   0      8     4     4
        B   0      6     4     4
        C   1      4     3     3
        D   1      2     2     2)",
     R"(
      n0 |AAAABBBB|
      n1 |AAAABBBB|
      n2 |AAAABBBB|
      n3 |AAAABBBB|
      n4 |AAAABBBB|
      n5 |AAAABBBB|
      n6 |AAAACCC.|
      n7 |AAAACCC.|
      n8 |.DD.CCC.|
      n9 |.DD.CCC.|
)"},
    {"a held job steps aside in fcfs", "fcfs", 1, R"(
        A   0      1     2     2   urgency=0
        B   0      1     2     2)",
     R"(
      n0 |BB|
)"},
    {"an expedited job goes in front of everybody", "fcfs", 1, R"(
        A   0      1     2     2
        B   0      1     2     2
        C   1      1     2     2   urgency=31)",
     R"(
      n0 |AACCBB|
)"},
    {"a job that overran keeps its node: the reservation slides", "easy", 2, R"(
        A   0      1     3     5
        B   0      2     2     2)",
     R"(
      n0 |AAAAABB|
      n1 |.....BB|
)"},
    {"conservative: all reservations slide behind a job that overran", "conservative", 2, R"(
        A   0      2     2     4
        B   0      1     2     2
        C   0      2     1     1)",
     R"(
      n0 |AAAABBC|
      n1 |AAAA..C|
)"},
    {"an immediate job starts at once or never", "easy", 2, R"(
        A   0      1     3     3
        B   0      1     2     2   immediate=yes
        C   0      1     2     2   immediate=yes)",
     R"(
      n0 |AAA|
      n1 |BB.|
)"},
};

TEST(Drawings, ClassicPolicies) {
  for (const PolicyCase& c : kPolicyCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(
        gantt(run({.nodes = c.nodes, .jobs = parse_jobs(c.jobs), .config = policy(c.policy)})),
        c.want);
  }
}

}  // namespace
}  // namespace holon::tests
