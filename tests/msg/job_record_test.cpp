// Records travel without the fields that have their default, and whatever order or company they
// come in.
#include "msg/instance.hpp"

#include <gtest/gtest.h>

#include "transport/codec/codec.hpp"

namespace holon::msg {
namespace {

using transport::pack;
using transport::unpack;

TEST(JobRecord, TravelsWithoutItsDefaults) {
  EXPECT_EQ(pack(JobRecord()).size(), 1u);
  JobRecord r;
  r.path = "/3/7";
  r.id = 7;
  r.exit_code = 0;  // the default is -1
  r.is_instance = true;
  r.pids = {4, 5};
  r.t_estimate = -1;
  const std::string bytes = pack(r);
  EXPECT_LT(bytes.size(), 80u);
  const auto back = unpack<JobRecord>(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(pack(*back), bytes);
  EXPECT_EQ(back->path, "/3/7");
  EXPECT_EQ(back->exit_code, 0);
  EXPECT_EQ(back->pids, r.pids);
  EXPECT_EQ(back->urgency, 16u);
}

TEST(JobRecord, UnknownFieldsAreSkippedAndWrongOnesRefused) {
  const auto newer = unpack<JobRecord>(pack(std::map<std::string, int>{{"id", 9}, {"colour", 3}}));
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->id, 9u);
  EXPECT_FALSE(unpack<JobRecord>(pack(std::map<std::string, std::string>{{"id", "nine"}})));
  EXPECT_FALSE(unpack<JobRecord>(pack(std::vector<int>{1})));
  EXPECT_FALSE(unpack<JobRecord>(pack(std::map<int, int>{{1, 1}})));
}

TEST(JobRecord, EveryFieldIsListed) {
  // Two records that differ in every field: one that is not listed would be lost on the way.
  JobRecord r;
  r.path = r.name = r.user = r.queue = r.state = r.result = r.reason = r.command = "x";
  r.nodelist = r.resources = r.selection = r.child_uri = r.output = r.error = "y";
  r.group = r.account = r.qos = "z";
  r.id = r.urgency = 1;
  r.exit_code = 1;
  r.nnodes = r.ncores = r.ngpus = r.ntasks = 2;
  r.t_submit = r.t_alloc = r.t_start = r.t_finish = r.t_inactive = r.t_estimate = 3;
  r.expiration = r.limit = r.cpu_ms = r.max_rss_kb = 4;
  r.is_instance = true;
  r.pids = {5};
  r.as_of = 6;
  r.retries = r.preemptions = 7;
  r.t_suspended = 8;
  r.array = r.tasks = r.tasks_pending = r.tasks_running = 9;
  r.tasks_completed = r.tasks_failed = r.tasks_cancelled = 10;
  r.index = 11;
  r.tasks_timeout = r.tasks_started = 12;
  r.tasks_wait_ms = r.tasks_run_ms = r.tasks_core_ms = 13;
  r.tasks_open = true;
  r.entry = "beta";
  r.exception = "cancel";
  r.waits_for = "resources";
  r.extra_cores = r.extra_gpus = 14;
  r.lent_cores = r.lent_gpus = 15;
  EXPECT_EQ(transport::kFieldNames<JobRecord>.size(), 61u);
  EXPECT_EQ(pack(r).substr(0, 3), std::string("\xde\x00\x3d", 3));  // a map of 61
}

}  // namespace
}  // namespace holon::msg
