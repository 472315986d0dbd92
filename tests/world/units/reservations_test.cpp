// Advance reservations over the end of an instance: a new start on its state directory makes them
// anew, on what it may use.
#include <gtest/gtest.h>

#include "instance/request/placement.hpp"
#include "msg/reservation.hpp"
#include "msg/resource.hpp"
#include "tests/world/units/scene.hpp"

namespace holon::world {
namespace {

class ReservationsTest : public Scene {
 protected:
  std::string where() const {
    std::string text;
    for (const auto& advance : core().scheduler.advances())
      text += instance::summarize(core().store->graph(), advance.allocation).nodelist;
    return text;
  }
  // As `holon start` on the state directory of an instance that has ended.
  void start_again() {
    options_.runtime_dir += "-again";
    std::filesystem::create_directories(options_.runtime_dir);
    restart_broker();
  }
  static msg::ReserveRequest one_node() {
    constexpr std::int64_t kFarAway = 9'000'000'000'000;  // ms
    resource::JobShape shape;
    shape.nodes = 1;
    shape.command = {"true"};
    msg::ReserveRequest ask;
    ask.jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
    ask.end = kFarAway;
    ask.user = "ada";
    return ask;
  }
};

TEST_F(ReservationsTest, AroundADrainedNodeAreAroundItAfterANewStart) {
  begin_broker({}, "node=2/core=2");
  agent(hello_of(0, 7));
  Peer& user = peer("user");
  ASSERT_TRUE(answer(user, "reserve", one_node()));
  const std::string drained = where();  // where it goes by itself
  broker_.reset();
  set(2);
  begin_broker({}, "node=2/core=2");
  agent(hello_of(0, 7));
  Peer& other = peer("user");
  ASSERT_TRUE(answer(other, "resource.drain", msg::DrainRequest{drained, true, "bad fan"}));
  ASSERT_TRUE(answer(other, "reserve", one_node()));
  const std::string before = where();
  ASSERT_NE(before, drained);
  start_again();
  EXPECT_EQ(where(), before);
}

}  // namespace
}  // namespace holon::world
