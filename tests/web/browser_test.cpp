// The page in a real browser, with a real instance behind it: browser/look.mjs looks, presses keys
// and clicks; each of its checks is told here.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/instance/live.hpp"
#include "tests/web/browser/checks.hpp"
#include "tests/web/browser/web_process.hpp"
#include "web/server.hpp"

namespace holon::web {
namespace {

using instance::testing::eventually;
using instance::testing::Live;
using testing::WebProcess;

// A campaign with three kinds of failures, a child, a job that runs and one that waits.
class Campaign {
 public:
  Campaign() : live_({"--resources", "node=2/core=4"}) {
    const std::string gate = live_.dir() + "/gate";
    EXPECT_EQ(mkfifo(gate.c_str(), 0600), 0);
    holon("batch --name inner -n 2 --wrap '" HOLON_BINARY
          " submit --name inside sh -c \"echo inside\" > /dev/null; " HOLON_BINARY
          " job wait --all; read line < " +
          gate + "'");
    for (int i = 0; i < 12; ++i) holon("submit --name good sh -c 'echo fine'");
    for (int i = 0; i < 4; ++i)
      holon(
          "submit --name loader sh -c 'echo loading; echo \"No such dataset: west\" >&2; exit 2'");
    holon("submit --name '<b>evil</b>' sh -c 'echo \"<script>alert(1)</script>\" >&2; exit 1'");
    holon(
        "submit --name '\"><img src=x onerror=hacked(1)>' -t 1m sh -c 'echo \"<img src=x "
        "onerror=hacked(2)><svg onload=hacked(3)>\"'");
    holon("submit --name stuck -t 1s sleep 60");
    EXPECT_TRUE(eventually([&] { return live_.jobs(true, true).size() >= 21; }));
    holon("submit --name runner -n 4 -t 2h sh -c 'read line < " + gate + "'");
    EXPECT_TRUE(eventually([&] {
      int over = 0;
      for (const auto& job : live_.jobs(true, true)) over += job.state == "INACTIVE";
      return over >= 20;
    }));
    holon("submit --name waiter -n 6 -t 10m true");
  }
  const Live& live() const { return live_; }

 private:
  void holon(const std::string& words) const { testing::holon_in(live_, words); }
  Live live_;
};

TEST(PageInABrowser, ShowsACampaignAndItsFailuresAndChangesIt) {
  if (!has_page()) GTEST_SKIP() << "there is no page in this build: npm or esbuild was missing";
  if (!testing::has_browser())
    GTEST_SKIP() << "there is no chromium, or npm could not fetch what drives it";
  const Campaign campaign;
  const WebProcess web(campaign.live());
  const auto said = web.said();
  ASSERT_TRUE(said.is_object());
  const int checks = testing::run_checks("look.mjs", campaign.live().dir(),
                                         {said["address"], said["write_address"]});
  EXPECT_GT(checks, 20);
}

}  // namespace
}  // namespace holon::web
