// What a child does with what may be taken from it, in a tree of real brokers and agents whose time
// is virtual. Its parent takes what it was lent after four seconds of silence, so it goes by that
// for two seconds from each question that was answered.
#include <gmock/gmock.h>

#include <algorithm>

#include "msg/grant.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "tests/world/units/tree_scene.hpp"

namespace holon::world {
namespace {

class FencesInTrees : public TreeScene {
 protected:
  // /1 has one core of its own, and is lent another one.
  void begin() {
    begin_root({"grant.fence-timeout=4s"}, 1, "node=1/core=2");
    child(1, {}, "", 3'600);
    resource::JobShape shape;
    shape.command = {"grant"};
    shape.duration_seconds = 3'000;
    const auto got = call<msg::GrantAnswer>(
        "grant.ask", msg::GrantAsk{resource::write_jobspec(*resource::jobspec_for(shape))}, "/1");
    ASSERT_TRUE(got) << to_string(got.error());
    ASSERT_TRUE(got->is_here);
    pass(kSecond);
  }
  // What the child and its parent say to each other is held up from now on.
  void cut_off(Micros lasts) {
    machine_->wires.hold_of(*instance("/1").broker(), instance("/1").parent_uri(), lasts);
  }
  // Submits a job on both cores, not by way of the parent.
  std::uint64_t submit_wide() {
    resource::JobShape shape;
    shape.cores_per_task = 2;
    shape.duration_seconds = 60;
    shape.command = {"work", "100", "0", "100"};
    shape.cwd = "/";
    msg::SubmitRequest ask;
    ask.jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
    ask.user = "ada";
    const auto heard = std::make_shared<std::uint64_t>(0);
    user().ask(instance("/1").uri(), "submit", transport::pack(ask),
               [heard](const Result<std::string>& answer) {
                 ASSERT_TRUE(answer) << to_string(answer.error());
                 *heard = transport::unpack<msg::SubmitReply>(*answer)->first_id;
               });
    EXPECT_TRUE(until([&] { return *heard != 0; }));
    return *heard;
  }
  // By the word of the child's own broker.
  std::string state_of(std::uint64_t id) const {
    const auto record = instance("/1").core()->jobs.record(JobId(id));
    return record ? record->state : "";
  }
  std::int64_t lines_with(const std::string& words) const {
    const auto& lines = machine_->history.lines();
    return std::count_if(lines.begin(), lines.end(),
                         [&](const auto& line) { return line.find(words) != std::string::npos; });
  }
};

//  s    0            1          2            3            6        heard
//       | cut off -------------------------------------------------|
//       |== what it was lent is used =|
//                    A runs                  B waits               | B runs
TEST_F(FencesInTrees, NothingNewIsPlacedOnWhatMayBeTakenWhileTheInstanceAboveIsNotHeard) {
  begin();
  cut_off(6 * kSecond);
  pass(kSecond);
  const auto a = submit_wide();
  pass(500 * kMs);
  EXPECT_EQ(state_of(a), "INACTIVE") << "it is sure of that still";
  pass(1'500 * kMs);
  const auto b = submit_wide();
  pass(2 * kSecond);
  EXPECT_EQ(state_of(b), "SCHED");
  EXPECT_EQ(lines_with("starts job /1/" + std::to_string(b) + " "), 0);
  pass(3 * kSecond);
  EXPECT_EQ(state_of(b), "INACTIVE");
  EXPECT_EQ(record(b, "/1").result, "COMPLETED");
}

//  s    0                     2                    3
//       | the start is under way to the agent -----|
//       |== sure of that =====|                    x late, and sent again: the job runs
TEST_F(FencesInTrees, AStartThatIsUnderWayForTooLongIsNotCarriedOutAndIsSentAgain) {
  begin();
  Instance& child = instance("/1");
  machine_->wires.hold_of(*child.agent(0), child.uri(), 3 * kSecond);
  const auto job = submit_wide();
  pass(2'800 * kMs);
  EXPECT_EQ(state_of(job), "RUN");
  EXPECT_EQ(lines_with("starts job /1/" + std::to_string(job) + " "), 0);
  pass(2 * kSecond);
  EXPECT_GT(lines_with("asks agent /1: agent.sure"), 0) << "it is told for how long it may";
  EXPECT_EQ(lines_with("-" + std::to_string(job) + " late"), 1);
  EXPECT_EQ(lines_with("starts job /1/" + std::to_string(job) + " "), 1);
  EXPECT_EQ(record(job, "/1").result, "COMPLETED");
}

//  s    0                     2                    5
//       | the start is under way; the instance above is not heard -|
//       |== sure of that =====|                                    | heard: the start is sent
TEST_F(FencesInTrees, AStartWaitsForTheInstanceAboveToBeHeard) {
  begin();
  Instance& child = instance("/1");
  machine_->wires.hold_of(*child.agent(0), child.uri(), 2'500 * kMs);
  const auto job = submit_wide();
  cut_off(5 * kSecond);
  pass(4 * kSecond);
  EXPECT_EQ(lines_with("-" + std::to_string(job) + " late"), 1);
  EXPECT_EQ(lines_with("asks agent /1: agent.start " + std::to_string(job)), 1)
      << "it is not sent again while it would be late again";
  pass(2 * kSecond);
  EXPECT_EQ(lines_with("asks agent /1: agent.start " + std::to_string(job)), 2);
  EXPECT_EQ(record(job, "/1").result, "COMPLETED");
}

}  // namespace
}  // namespace holon::world
