// The jobs of an instance that has ended are counted between the requests of others, however many
// they are.
#include "instance/listing/ended_instance_counts.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "transport/codec/codec.hpp"
#include "transport/session.hpp"

namespace holon::instance {
namespace {

class EndedInstanceCountsTest : public ::testing::Test {
 protected:
  EndedInstanceCountsTest() {
    shared_->serve([this](const transport::Request& request) { request_ = request; });
    session_->open();
    session_->receive({transport::Kind::request, 1, "status", "/1", ""}, 30);
  }
  void put(const std::string& path, const std::string& result) {
    msg::JobRecord record;
    record.path = path;
    record.state = "INACTIVE";
    record.result = result;
    journal_.put_descendant(record);
  }
  // The jobs 1 .. n of the instance /1.
  void fill(int n) {
    for (int id = 1; id <= n; ++id)
      put("/1/" + std::to_string(id), id % 3 == 0   ? "FAILED"
                                      : id % 3 == 1 ? "CANCELED"
                                                    : "COMPLETED");
  }
  void count() {
    msg::TreeNode node;
    node.path = "/1";
    node.health = "ended";
    count_ended_instance_jobs(request_, node, journal_, sliced_work_, after_commit_);
  }
  std::optional<msg::TreeNode> answer() const {
    if (sent_.empty()) return std::nullopt;
    const auto envelope = transport::decode(sent_.back());
    return *transport::unpack<msg::TreeNode>(envelope->payload);
  }

  std::unique_ptr<transport::Reactor> reactor_ = std::move(*transport::Reactor::create());
  Journal journal_ = std::move(*Journal::open("", Journal::Sync::normal));
  SlicedWork sliced_work_;
  AfterCommit after_commit_;
  std::vector<std::string> sent_;
  transport::Request request_;
  std::shared_ptr<transport::SessionShared> shared_ = std::make_shared<transport::SessionShared>(
      transport::SessionShared{*reactor_, {}, 1, 0, {}, {}, 0});
  std::shared_ptr<transport::Session> session_ = std::make_shared<transport::Session>(
      shared_, transport::PeerId{1}, [this](const std::string& bytes) { sent_.push_back(bytes); });
};

TEST_F(EndedInstanceCountsTest, AreMadeInPortionsBetweenThoseOfOthersAndToldAfterTheCommit) {
  fill(1000);
  put("/1/5/1", "FAILED");  // of a child
  put("/10", "FAILED");
  count();
  int others = 0;
  sliced_work_.add({geteuid(), transport::PeerId{2}}, [&others] { return ++others < 100; });
  int mine = 0;
  // One portion of each of the two at a time.
  for (; after_commit_.empty(); ++mine) {
    ASSERT_LT(mine, 100);
    EXPECT_EQ(others, mine) << "the other has its portion, too";
    sliced_work_.turn(0);
    sliced_work_.turn(0);
  }
  EXPECT_GE(mine, 5) << "200 records in a portion";
  EXPECT_FALSE(answer()) << "the turn has not been committed";
  after_commit_.run();
  ASSERT_TRUE(answer());
  EXPECT_EQ(answer()->inactive, 1000);
  EXPECT_EQ(answer()->failed, 333 + 334);
  EXPECT_EQ(answer()->cancelled, 334);
}

TEST_F(EndedInstanceCountsTest, OfFewAreThereAtOnce) {
  fill(3);
  count();
  EXPECT_TRUE(sliced_work_.empty());
  after_commit_.run();
  ASSERT_TRUE(answer());
  EXPECT_EQ(answer()->inactive, 3);
}

TEST_F(EndedInstanceCountsTest, HaveEachTaskOfAnArray) {
  fill(3);
  msg::JobRecord array;
  array.path = "/1/4";
  array.state = "INACTIVE";
  array.result = "FAILED";
  array.tasks = 100;
  array.tasks_completed = 90;
  array.tasks_failed = 7;
  array.tasks_cancelled = 3;
  journal_.put_descendant(array);
  count();
  after_commit_.run();
  ASSERT_TRUE(answer());
  EXPECT_EQ(answer()->inactive, 3 + 100);
  EXPECT_EQ(answer()->failed, 2 + 10);
  EXPECT_EQ(answer()->cancelled, 1 + 3);
}

TEST_F(EndedInstanceCountsTest, StopWhenNobodyWaitsForThem) {
  fill(1000);
  count();
  session_->receive({transport::Kind::cancel, 1, "", "", ""}, 10);
  sliced_work_.turn(0);
  EXPECT_TRUE(sliced_work_.empty());
  EXPECT_TRUE(after_commit_.empty());
}

}  // namespace
}  // namespace holon::instance
