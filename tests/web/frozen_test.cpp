// The page in one file, of a real instance and of simulations, in a real browser:
// browser/frozen.mjs looks at it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "tests/instance/live.hpp"
#include "tests/web/browser/checks.hpp"
#include "web/server.hpp"

namespace holon::web {
namespace {

using instance::testing::Live;

void holon_in(const std::string& uri, const std::string& words) {
  const std::string command = "HOLON_URI=" + uri + " " HOLON_BINARY " " + words + " > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

// Jobs that completed, failed in two ways and were cut off, an array, a child instance.
void run_campaign(const Live& live) {
  const auto holon = [&live](const std::string& words) { holon_in(live.uri(), words); };
  for (int i = 0; i < 12; ++i) holon("submit --name good sh -c 'echo fine'");
  // What these write is in the instance's log; what the others write is in files of their own.
  holon("submit --count 3 --name loader sh -c 'echo \"No such dataset: <west>\" >&2; exit 2'");
  holon("submit --name '<b>evil</b>' sh -c 'echo \"<script>alert(1)</script>\" >&2; exit 1'");
  holon("submit --name stuck -t 1s sleep 60");
  holon("submit --name swept true ::: a b c d e");
  holon("batch --name inner -n 2 --wrap '" HOLON_BINARY
        " submit --name inside true > /dev/null; " HOLON_BINARY " job wait --all'");
  // Exit code 1: not all have completed.
  EXPECT_EQ(std::system(("HOLON_URI=" + live.uri() +
                         " " HOLON_BINARY " job wait --all > /dev/null || [ $? = 1 ]")
                            .c_str()),
            0);
}

// 60 jobs of which some are wide, on 16 processors: where only the first one may start, many wait.
void write_trace(const std::string& file) {
  std::ofstream out(file);
  out << "; MaxProcs: 16\n";
  for (int id = 1; id <= 60; ++id) {
    const int procs = id % 5 == 0 ? 14 : 1 + id % 3, run = 300 + 97 * (id % 7);
    out << id << " " << 60 * id << " -1 " << run << " " << procs << " -1 -1 " << procs << " "
        << 2 * run << " -1 1 " << 1 + id % 4 << " 1 1 1 1 -1 -1\n";
  }
}

// Many jobs on 256 processors, which are too few at times.
void write_many(const std::string& file) {
  std::ofstream out(file);
  out << "; MaxProcs: 256\n";
  std::mt19937 random(7);
  Time now = 0;
  for (int id = 1; id <= 30'000; ++id) {
    now += static_cast<Time>(random() % 120);
    const auto run = 1 + random() % 2'400;
    const auto procs = 1 + (random() % 8 == 0 ? random() % 128 : random() % 4);
    out << id << " " << now << " -1 " << run << " " << procs << " -1 -1 " << procs << " " << 2 * run
        << " -1 1 " << 1 + random() % 9 << " 1 1 1 1 -1 -1\n";
  }
}

// A job that all four processors are taken from after 10 s, for 50 s, and that runs 40 s then.
std::string preempting(const std::string& file) {
  std::ofstream(file)
      << "{\"submit\":0,\"procs\":4,\"run\":40,\"queue\":\"batch\",\"preemptible\":true}\n"
         "{\"submit\":10,\"procs\":4,\"run\":50,\"queue\":\"urgent\"}\n";
  return "simulate " + file +
         " --procs 4 --conf queues.batch.policy=easy --conf queue.default=batch --conf "
         "queues.urgent.policy=easy --conf queues.urgent.preempt.mode=requeue --conf "
         "queues.urgent.preempt.grace=0s";
}

TEST(PageInAFile, ShowsACampaignAndPoliciesAndATree) {
  if (!has_page()) GTEST_SKIP() << "there is no page in this build: npm or esbuild was missing";
  if (!testing::has_browser())
    GTEST_SKIP() << "there is no chromium, or npm could not fetch what drives it";
  const Live live({"--resources", "node=2/core=4"});
  run_campaign(live);
  const std::string campaign = live.dir() + "/campaign.html",
                    policies = live.dir() + "/policies.html", tree = live.dir() + "/tree.html",
                    trace = live.dir() + "/trace.swf";
  holon_in(live.uri(), "report -o " + campaign);
  write_trace(trace);
  std::ofstream(live.dir() + "/tree.toml")
      << "[instance.root]\nowned = 0\n[instance.a]\nparent = \"root\"\nowned = 14\nelastic = "
         "\"plan\"\n[instance.b]\nparent = \"root\"\nowned = 14\nelastic = \"plan\"\n[route]\nby = "
         "\"user\"\nto = [\"a\", \"b\"]\n";
  holon_in(live.uri(),
           "simulate " + trace + " --compare fcfs,easy,conservative --report " + policies);
  holon_in(live.uri(),
           "simulate " + trace + " --tree " + live.dir() + "/tree.toml --report " + tree);
  const std::string many = live.dir() + "/many.html", preempted = live.dir() + "/preempted.html";
  write_many(live.dir() + "/many.swf");
  holon_in(live.uri(), "simulate " + live.dir() +
                           "/many.swf --compare fcfs,easy,conservative --report " + many);
  holon_in(live.uri(), preempting(live.dir() + "/preempting.jsonl") + " --report " + preempted);
  EXPECT_GT(
      testing::run_checks("frozen.mjs", live.dir(), {campaign, policies, tree, many, preempted}),
      40);
}

}  // namespace
}  // namespace holon::web
