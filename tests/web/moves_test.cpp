// The page in a real browser while things move: a child's grant grows, is recalled and goes back, a
// node is lost. browser/moves.mjs looks, and says when the next thing may happen.
#include <gtest/gtest.h>

#include <csignal>

#include "msg/resource.hpp"
#include "tests/instance/live.hpp"
#include "tests/web/browser/checks.hpp"
#include "tests/web/browser/web_process.hpp"
#include "web/server.hpp"

namespace holon::web {
namespace {

using instance::testing::eventually;
using instance::testing::Live;
using testing::holon_in;
using testing::WebProcess;

// What runs in whoever draws it as anything but text.
constexpr const char* kMarkupReason =
    "'<img src=x onerror=hacked(1)>\"><script>hacked(2)</script>'";

// Two nodes of four cores, each with an agent of its own, and a child of two cores on the first:
// its agent is the one without which there is no instance.
class TwoNodes {
 public:
  TwoNodes()
      : live_({"--resources", "node=2/core=4", "--agents", "2", "--conf",
               "instance.peer-timeout=3s", "--conf", "instance.heartbeat=500ms"}) {
    holon_in(live_, "batch --name inner -w node0 -n 2 -t 2h --wrap 'sleep 7200'");
    EXPECT_TRUE(eventually([&] {
      const auto child = live_.status("/1");
      return child && child->health == "up";
    }));
  }
  const Live& live() const { return live_; }

  testing::Acts acts() const {
    const auto holon = [this](const std::string& words) {
      return [this, words] { holon_in(live_, words); };
    };
    return {{"ask", holon("-i /1 grant ask -n 1 -t 1h")},
            {"wide", holon("-i /1 submit --name wide -n 3 -t 30m sleep 1800")},
            {"recall", holon(std::string("grant recall /1 --reason ") + kMarkupReason)},
            {"end wide", holon(std::string("-i /1 cancel 1 -m ") + kMarkupReason)},
            // All that is left on the child's node and on the other one.
            {"fill", [this] { fill(); }},
            {"ask in vain", holon("-i /1 grant ask -n 1 -t 1h")},
            {"drain",
             [this] { holon_in(live_, std::string("resource drain node1 -m ") + kMarkupReason); }},
            {"undrain", [this] { holon_in(live_, "resource undrain node1"); }},
            {"lose", [this] { stop_agent(); }},
            {"kill", [this] { kill_agent(); }}};
  }

 private:
  void fill() const {
    holon_in(live_, "submit --name beside -n 2 -t 1h -w node0 sleep 3600");
    holon_in(live_, "submit --name elsewhere -n 4 -t 1h sleep 3600");
  }
  // One that is stopped says nothing more. One that was killed would be started again at once.
  void stop_agent() const {
    kill(live_.agent(1), SIGSTOP);
    EXPECT_TRUE(eventually([&] {
      const auto now = live_.call<msg::ResourceReply>("resource.list", msg::Empty{});
      return now && now->nodes_down == "node1";
    }));
  }
  void kill_agent() const { kill(live_.agent(1), SIGKILL); }

  Live live_;
};

TEST(PageInABrowser, ShowsAGrantThatMovesAndANodeThatIsLost) {
  if (!has_page()) GTEST_SKIP() << "there is no page in this build: npm or esbuild was missing";
  if (!testing::has_browser())
    GTEST_SKIP() << "there is no chromium, or npm could not fetch what drives it";
  const TwoNodes nodes;
  const WebProcess web(nodes.live());
  const auto said = web.said();
  ASSERT_TRUE(said.is_object());
  EXPECT_GT(
      testing::run_checks("moves.mjs", nodes.live().dir(), {said["write_address"]}, nodes.acts()),
      30);
}

}  // namespace
}  // namespace holon::web
