// The page in a real browser while things move: a child's grant grows, is recalled and goes back, a
// node is lost. browser/moves.mjs looks, and says when the next thing may happen.
#include <gtest/gtest.h>

#include "msg/resource.hpp"
#include "tests/instance/agents/lost_agent.hpp"
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

// Two nodes of four cores, each with an agent of its own, and a child of two cores on one of them.
class TwoNodes {
 public:
  TwoNodes()
      : live_({"--resources", "node=2/core=4", "--agents", "2", "--conf",
               "instance.peer-timeout=3s", "--conf", "instance.heartbeat=500ms"}) {
    holon_in(live_, "batch --name inner -N 1 -n 2 -t 2h --wrap 'sleep 7200'");
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
    return {
        {"ask", holon("-i /1 grant ask -n 1 -t 1h")},
        {"wide", holon("-i /1 submit --name wide -n 3 -t 30m sleep 1800")},
        {"recall", holon(std::string("grant recall /1 --reason ") + kMarkupReason)},
        {"end wide", holon(std::string("-i /1 cancel 1 -m ") + kMarkupReason)},
        // All that is left on the child's node and on the other one.
        {"fill", [this] { fill(); }},
        {"ask in vain", holon("-i /1 grant ask -n 1 -t 1h")},
        {"drain",
         [this] { holon_in(live_, "resource drain " + other_node() + " -m " + kMarkupReason); }},
        {"undrain", [this] { holon_in(live_, "resource undrain " + other_node()); }},
        {"lose", [this] { lose(); }}};
  }

 private:
  std::string child_node() const { return live_.record(1).nodelist; }
  std::string other_node() const { return child_node() == "node0" ? "node1" : "node0"; }
  void fill() const {
    holon_in(live_,
             "submit --name beside -n 2 -t 1h --requires host:" + child_node() + " sleep 3600");
    holon_in(live_, "submit --name elsewhere -n 4 -t 1h sleep 3600");
  }
  void lose() const {
    instance::testing::kill_until_given_up(live_, other_node().back() - '0');
    EXPECT_TRUE(eventually([&] {
      const auto now = live_.call<msg::ResourceReply>("resource.list", msg::Empty{});
      return now && now->nodes_down == other_node();
    }));
  }

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
