// The page in one file, of a real instance and of simulations, in a real browser:
// browser/frozen.mjs looks at it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

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
  for (int i = 0; i < 3; ++i)
    holon("submit --name loader sh -c 'echo \"No such dataset: <west>\" >&2; exit 2'");
  holon("submit --name '<b>evil</b>' sh -c 'echo \"<script>alert(1)</script>\" >&2; exit 1'");
  holon("submit --name stuck -t 1s sleep 60");
  holon("submit --name swept true ::: a b c d e");
  holon("batch --name inner -n 2 --wrap '" HOLON_BINARY
        " submit --name inside true > /dev/null; " HOLON_BINARY " job wait --all'");
  // Exit code 1: not all have completed.
  EXPECT_EQ(
      std::system(("HOLON_URI=" + live.uri() + " " HOLON_BINARY " job wait --all > /dev/null || [ $? = 1 ]")
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
  EXPECT_GT(testing::run_checks("frozen.mjs", live.dir(), {campaign, policies, tree}), 30);
}

}  // namespace
}  // namespace holon::web
