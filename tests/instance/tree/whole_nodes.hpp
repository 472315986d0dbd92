// whole_nodes.hpp - an instance on three hosts with a child on the first one, which is given others
// and gives them back. The hosts are all this machine.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <set>
#include <string>
#include <vector>

#include "batch/hosts.hpp"
#include "msg/grant.hpp"
#include "msg/resource.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "tests/instance/grants/sound_tree.hpp"
#include "tests/instance/live.hpp"
#include "tests/instance/remote/fake_ssh.hpp"
#include "tests/instance/tree/tree.hpp"

namespace holon::instance::testing {

inline msg::GrantAsk ask_for_nodes(std::int64_t nodes, double seconds) {
  resource::JobShape shape;
  shape.command = {"/bin/true"};  // which an ask does not run
  shape.nodes = shape.tasks = nodes;
  shape.exclusive = true;
  shape.duration_seconds = seconds;
  shape.cwd = "/";
  return {resource::write_jobspec(*resource::jobspec_for(shape))};
}

class WholeNodes : public ::testing::Test {
 protected:
  // `more`: options of the root.
  explicit WholeNodes(const std::vector<std::string>& more = {}) : live(with(more)) {}
  void SetUp() override {
    ASSERT_TRUE(eventually([&] {
      const auto node = live.status();
      return node && node->nodes == 3 && node->cores_free == node->cores;
    }));
    cores_ = live.status()->cores / 3;
    add_tree(live.supervisor(), before_);
    ASSERT_EQ(live.child(own(), "", conf()), 1U);
    ASSERT_TRUE(eventually([&] { return nodes_of("/1") > 0; })) << live.record(1).reason;
  }
  void TearDown() override { expect_sound_tree(live); }
  virtual std::vector<std::string> conf() const { return {}; }  // of the child

  // What the child begins with.
  virtual JobOptions own() const { return on_nodes(1); }

  JobOptions on_nodes(std::int64_t nodes) const {
    JobOptions options;
    options.tasks = nodes * cores_;
    return options;
  }
  Result<msg::GrantAnswer> ask(std::int64_t nodes, double seconds = 0) const {
    return live.call<msg::GrantAnswer>("grant.ask", ask_for_nodes(nodes, seconds), "/1");
  }
  // As many come, with an agent each.
  void get(std::int64_t nodes) const {
    const auto answer = ask(nodes);
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_TRUE(answer->is_here);
    EXPECT_EQ(answer->cores, nodes * cores_);
    ASSERT_TRUE(eventually([&] { return live.status("/1")->cores_free == (nodes + 1) * cores_; }));
  }
  void release() const {
    const auto done = live.call<msg::Empty>("grant.release", msg::GrantRelease{}, "/1");
    EXPECT_TRUE(done) << done.error().what;
  }
  void recall(bool kill) const {
    msg::GrantRecall what;
    what.child = 1;
    what.kill = kill;
    what.reason = "it is needed";
    const auto done = live.call<msg::Empty>("grant.recall", what);
    EXPECT_TRUE(done) << done.error().what;
  }
  std::int64_t nodes_of(const std::string& path) const {
    const auto node = live.status(path);
    return node ? node->nodes : -1;
  }
  std::int64_t free_of(const std::string& path) const {
    const auto node = live.status(path);
    return node ? node->cores_free : -1;
  }
  // What the child has beyond its own.
  msg::GrantPart extra() const {
    const auto reply = live.call<msg::GrantReply>("grant.show", msg::Empty{}, "/1");
    if (reply)
      for (const auto& part : reply->held)
        if (part.source == "extra") return part;
    return {};
  }
  std::uint64_t submit_on(std::int64_t nodes) const {
    auto request = Live::request({"/bin/true"});
    request.jobspec = ask_for_nodes(nodes, 60).jobspec;
    const auto taken = live.call<msg::SubmitReply>("submit", request, "/1");
    EXPECT_TRUE(taken) << taken.error().what;
    return taken ? taken->first_id : 0;
  }
  // The hosts of what the child has beyond its own.
  std::vector<std::string> extra_hosts() const {
    return batch::expand_hosts(extra().nodes).value_or(std::vector<std::string>());
  }
  // A job on a core of this host, which runs until the test lets it go.
  std::uint64_t hold_on(const std::string& host, const std::string& gate,
                        const std::string& path = "/1") const {
    JobOptions options;
    options.system = R"({"constraints":{"hostlist":[")" + host + R"("]}})";
    return live.job(live.gated(gate), options, path);
  }
  // Answered once the node has left.
  std::future<Result<msg::Empty>> leave(const std::string& host, bool now) const {
    return std::async(std::launch::async, [this, host, now] {
      return live.call<msg::Empty>("node.leave", msg::LeaveRequest{host, now});
    });
  }
  void drain(const std::string& host, bool drain, const std::string& path = "") const {
    const auto done =
        live.call<msg::Empty>("resource.drain", msg::DrainRequest{host, drain, "a test"}, path);
    EXPECT_TRUE(done) << done.error().what;
  }
  std::vector<std::string> drained_in(const std::string& path) const {
    std::vector<std::string> hosts;
    if (const auto reply = live.call<msg::ResourceReply>("resource.list", msg::Empty{}, path))
      for (const auto& node : reply->nodes_drained) hosts.push_back(node.host);
    return hosts;
  }
  // Nothing has moved, and nothing is left of what had.
  void expect_all_back() const {
    EXPECT_TRUE(eventually([&] { return free_of("/") == 2 * cores_; })) << free_of("/");
    EXPECT_TRUE(eventually([&] { return nodes_of("/1") == 1; })) << nodes_of("/1");
    EXPECT_TRUE(eventually([&] { return free_of("/1") == cores_; })) << free_of("/1");
    EXPECT_TRUE(eventually([&] { return agents_of_child().empty(); }));
  }
  // The processes that keep the child's agents on other nodes: no supervisors.
  std::vector<pid_t> agents_of_child() const {
    std::vector<pid_t> found;
    std::set<pid_t> all;
    add_tree(live.supervisor(), all);
    for (const pid_t pid : all) {
      if (command_of(pid).find(" start --grant") == std::string::npos) continue;
      const auto below = children_of(pid);
      if (std::none_of(below.begin(), below.end(), [](pid_t one) {
            return command_of(one).find(" broker ") != std::string::npos;
          }))
        found.push_back(pid);
    }
    return found;
  }
  void kill_child_broker() const { kill_broker_of(live, "/1"); }
  std::vector<std::string> with(const std::vector<std::string>& more) const {
    auto options = ssh_.options();
    options.insert(options.end(), more.begin(), more.end());
    return options;
  }
  // Grants of the root that are not over.
  std::vector<msg::JobRecord> asks() const {
    auto all = live.jobs(false, false);
    std::erase_if(all, [](const auto& job) { return job.name != "grant"; });
    return all;
  }
  // A job on all cores of so many nodes, which runs until the test lets it go.
  std::uint64_t hold(std::int64_t nodes, const std::string& gate) const {
    const auto last = std::to_string(nodes * cores_ - 1);
    const auto wait = live.gated(gate).back();
    return live.job({"/bin/sh", "-c", "test $HOLON_TASK_RANK != " + last + " || { " + wait + "; }"},
                    on_nodes(nodes), "/1");
  }

  FakeSsh ssh_;
  const Live live;
  std::int64_t cores_ = 0;
  std::set<pid_t> before_;
};

}  // namespace holon::instance::testing
