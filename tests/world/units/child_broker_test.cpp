// The broker of a child whose parent, agent and supervisor are the test: leases that move, a parent
// that does not know it any more, and one that is gone.
#include <gmock/gmock.h>

#include <optional>

#include "instance/basics/clock.hpp"
#include "instance/journal/journal.hpp"
#include "msg/reservation.hpp"
#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "tests/world/units/scene.hpp"

namespace holon::world {
namespace {

using ::testing::HasSubstr;

class GrantingParent final : public Process {
 public:
  GrantingParent(Machine& machine, const std::string& uri)
      : Process(machine, "parent", machine.new_pid()) {
    const auto graph = resource::ResourceGraph::build(*resource::read_shape("node=1/core=2"));
    grant.jgf = resource::write_jgf(*graph);
    grant.time_left = 3'600'000;
    grant.lease = 1;
    grant.epoch = 1;
    grant.path = "/7";
    grant.name = "seventh";
    grant.bind = false;
    run([&] {
      server_ = std::move(*transport::Server::listen(reactor(), uri));
      server_->on_request([this](const transport::Request& request) { take(request); });
    });
  }
  ~GrantingParent() override {
    run([this] { server_.reset(); });
  }
  // Another end of the child's time.
  void tell_lease(Duration left) {
    grant.time_left = left;
    deliver([this, left] {
      msg::Lease lease;
      lease.time_left = left;
      lease.lease = ++grant.lease;
      server_->call(child_, {"lease", transport::pack(lease)},
                    [this](const Result<std::string>& answer) { leases_heard += answer ? 1 : 0; });
    });
  }

  msg::Grant grant;
  std::optional<msg::Hello> hello;
  bool denies = false;  // records, and then the next hello
  int leases_heard = 0, records = 0;

 private:
  void take(const transport::Request& request) {
    if (request.topic() == "record") ++records;
    if (request.topic() == "record" && denies)
      return request.fail({Errc::denied, "who are you?", {}});
    if (request.topic() != "hello") return request.reply(transport::pack(msg::Empty{}));
    hello = *transport::unpack<msg::Hello>(request.payload());
    if (denies && records > 0) return request.fail({Errc::denied, "another is the child", {}});
    child_ = request.peer();
    request.reply(transport::pack(grant));
  }
  transport::PeerId child_{0};
  std::unique_ptr<transport::Server> server_;
};

class ChildBrokerTest : public Scene {
 protected:
  void begin_child(Duration time_left = 3'600'000) {
    options_ = {};
    options_.start.grant = true;
    options_.start.state_dir = dir_ + "/state";
    options_.runtime_dir = dir_ + "/run";
    options_.parent_uri = "ipc://" + dir_ + "/run/parent";
    options_.job_path = "/7";
    options_.secrets.agents = {"secret 0"};
    options_.secrets.token = "secret";
    parent_ = std::make_unique<GrantingParent>(*machine_, options_.parent_uri);
    parent_->grant.time_left = time_left;
    begin_again();
    ASSERT_TRUE(until([&] { return parent_->hello.has_value(); }));
    agent_ = &agent(hello_of(0, 7));
    user_ = &peer("user");
  }
  void begin_again() {
    restart_broker();
    broker_->on_death = [this](bool, int code) { ended_ = code; };
  }
  std::int64_t expiration() {
    const auto text = answer(*user_, "status", msg::Empty{});
    EXPECT_TRUE(text) << text.error().what;
    return text ? transport::unpack<msg::TreeNode>(*text)->expiration : 0;
  }
  void strike() override {
    parent_.reset();
    Scene::strike();
  }
  ~ChildBrokerTest() override { ChildBrokerTest::strike(); }

  std::unique_ptr<GrantingParent> parent_;
  Peer *agent_ = nullptr, *user_ = nullptr;
  std::optional<int> ended_;  // the broker's exit code
};

TEST_F(ChildBrokerTest, ALongerLeaseIsKeptAcrossACrash) {
  begin_child(3'000);
  parent_->tell_lease(3'600'000);
  ASSERT_TRUE(until([&] { return parent_->leases_heard == 1; }));
  const auto before = expiration();
  EXPECT_NEAR(double(before - instance::wall_clock_ms()), 3'600'000, 1'000);
  parent_->hello.reset();
  begin_again();
  ASSERT_TRUE(until([&] { return parent_->hello.has_value(); }));
  EXPECT_EQ(parent_->hello->epoch, 1U) << "it goes on with the grant it has";
  EXPECT_EQ(expiration(), before);
  pass(60 * kSecond);
  EXPECT_FALSE(ended_) << "the first lease's end has passed";
  EXPECT_EQ(expiration(), before);
  ASSERT_TRUE(until([&] { return ended_.has_value(); }, 2 * 3'600 * kSecond));
  EXPECT_GE(instance::wall_clock_ms(), before);
  EXPECT_LE(instance::wall_clock_ms(), before + 10'000);
}

TEST_F(ChildBrokerTest, AShorterLeaseTakesBackTheReservationsThatWouldBeginAfterIt) {
  begin_child();
  resource::JobShape shape;
  shape.command = {"true"};
  msg::ReserveRequest ask;
  ask.jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
  ask.user = "ada";
  constexpr std::int64_t kMinute = 60'000;
  for (const std::int64_t begin : {5 * kMinute, 30 * kMinute}) {
    ask.begin = instance::wall_clock_ms() + begin;
    ask.end = ask.begin + 20 * kMinute;
    const auto made = answer(*user_, "reserve", ask);
    ASSERT_TRUE(made) << made.error().what;
  }
  parent_->tell_lease(15 * kMinute);
  ASSERT_TRUE(until([&] { return parent_->leases_heard == 1; }));
  pass(kSecond);
  const auto text = answer(*user_, "reservations", msg::Empty{});
  ASSERT_TRUE(text) << text.error().what;
  const auto left = transport::unpack<msg::ReservationsReply>(*text)->reservations;
  ASSERT_EQ(left.size(), 1U);
  EXPECT_NEAR(double(left.front().end - instance::wall_clock_ms()), 15 * kMinute, 5'000);
}

// It ran on, and nobody heard of its jobs.
TEST_F(ChildBrokerTest, OneWhoseRecordsAreRefusedSaysHelloAgainAndLearnsThatItIsNotTheChild) {
  begin_child();
  EXPECT_EQ(parent_->hello->token, "secret");
  parent_->denies = true;
  agent_->answers = [this](const transport::Request& request) {
    if (request.topic() == "agent.start") agent_->ask("agent.report", finished(1));
    return false;
  };
  submit(*user_);
  EXPECT_TRUE(until([&] { return ended_.has_value(); }));
  EXPECT_EQ(parent_->hello->epoch, 1U);
}

// The second broker has never seen the parent.
TEST_F(ChildBrokerTest, OneThatIsToldToStopWhenItsParentIsGoneSaysSo) {
  begin_child();
  const auto job = submit(*user_);
  ASSERT_TRUE(until([&] { return state(job) == "RUN"; }));
  ASSERT_TRUE(answer(*agent_, "agent.report", started(job, 4711)));
  parent_.reset();
  begin_again();
  auto again = hello_of(0, 7);
  again.running = started(job, 4711).started;
  ASSERT_TRUE(answer(*agent_, "agent.hello", again));
  const Micros begin = machine_->timeline.now();
  broker_->tell([](instance::Broker& broker) { broker.end_by_signal(); });
  ASSERT_TRUE(until([&] { return !agent_->all<launch::msg::KillRequest>("agent.kill").empty(); }));
  ASSERT_TRUE(answer(*agent_, "agent.report", finished(job)));
  ASSERT_TRUE(until([&] { return ended_.has_value(); }));
  EXPECT_LE(machine_->timeline.now() - begin, 10 * kSecond);
  broker_.reset();
  const auto journal = instance::Journal::open(options_.start.state_dir + "/journal.db",
                                               instance::Journal::Sync::normal);
  ASSERT_TRUE(journal) << journal.error().what;
  const auto record = journal->inactive(JobId(job));
  ASSERT_TRUE(record && *record);
  EXPECT_THAT((*record)->reason, HasSubstr("the instance above was gone"));
}

}  // namespace
}  // namespace holon::world
