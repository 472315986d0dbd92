// Batch jobs that bring nodes, and a batch system that is slow, refuses, answers too late, and
// loses commands; the broker dies in between. The broker is real, the batch system and the agent
// are the test's.
#include <gmock/gmock.h>

#include <set>

#include "msg/provision.hpp"
#include "tests/world/units/scene.hpp"

namespace holon::world {
namespace {

namespace lm = launch::msg;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What squeue, sbatch and scancel do.
class BatchSystem {
 public:
  struct Answer {
    bool is_late = false;  // the command has been killed before it could say anything
    lm::CaptureReply reply;
  };
  Answer run(const std::vector<std::string>& command) {
    Answer answer;
    const std::string& program = command.front();
    if (program == "sbatch") {
      submit(command, answer);
    } else if (program == "scancel") {
      if (refuses_cancels > 0) return --refuses_cancels, refused();
      for (const auto& id : command) queue.erase(id);
    } else if (program == "squeue") {
      const std::string state = all_run ? "|R|" : "|PD|";
      for (const auto& [id, name] : queue) answer.reply.output += id + state + name + "\n";
    }
    return answer;
  }
  bool is_queued(const std::string& name) const {
    return std::any_of(queue.begin(), queue.end(),
                       [&](const auto& job) { return job.second == name; });
  }

  std::map<std::string, std::string> queue;           // names, by id
  std::map<std::string, int> submitted;               // how often, by name
  int refuses = 0, refuses_cancels = 0, is_late = 0;  // so many commands from now on
  bool all_run = false;

 private:
  static Answer refused() {
    Answer answer;
    answer.reply.status = 1 << 8;
    answer.reply.error = "the controller does not respond";
    return answer;
  }
  void submit(const std::vector<std::string>& command, Answer& answer) {
    if (refuses > 0) return --refuses, void(answer = refused());
    const std::string option = "--job-name=";
    for (const auto& word : command) {
      if (!word.starts_with(option)) continue;
      const std::string name = word.substr(option.size());
      ++submitted[name];
      queue[std::to_string(++last_)] = name;
    }
    answer.reply.output = std::to_string(last_) + "\n";
    if (is_late > 0) --is_late, answer.is_late = true;
  }
  int last_ = 100;
};

class ProvisionsTest : public Scene {
 protected:
  void begin() {
    batch_ = {};
    machine_->hosts.set_topology(0, machine_with(2, "node0"));
    begin_broker({"batch.interval=5s"}, "", 1, {"node0"});
    agent_ = &with_batch_system();
    user_ = &peer("user");
    msg::ProvisionRequest ask;
    ask.system = "slurm";
    ask.patience = 0;
    ask.idle = 3'600'000;
    ask.most_queued = 1;
    const auto added = answer(*user_, "provision.add", ask);
    ASSERT_TRUE(added) << added.error().what;
    number_ = transport::unpack<msg::ProvisionReply>(*added)->number;
  }
  void strike() override {
    agent_ = user_ = nullptr;
    Scene::strike();
  }
  Peer& with_batch_system() {
    Peer& one = peer("agent 0");
    one.answers = [this, &one](const transport::Request& request) {
      if (request.topic() != "agent.capture") return false;
      const auto ask = *transport::unpack<lm::CaptureRequest>(request.payload());
      one.later(*machine_, takes_, [this, &one, request, ask] {
        const auto answer = batch_.run(ask.argv);
        if (request.done()) return;
        if (answer.is_late)
          return request.fail({Errc::timed_out, "the program did not end in time", {}});
        const bool is_submission = ask.argv.front() == "sbatch";
        one.later(*machine_, is_submission ? confirms_ : 0, [request, answer] {
          if (!request.done()) request.reply(transport::pack(answer.reply));
        });
      });
      return true;
    };
    EXPECT_TRUE(answer(one, "agent.hello", hello_of(0, 7)));
    return one;
  }
  void restart() {
    restart_broker();
    EXPECT_TRUE(answer(*agent_, "agent.hello", hello_of(0, 7)));
  }
  // One that needs a node more than there is, for a minute.
  void submit_large() { submit(*user_, 2, false, 2, 60); }
  std::size_t commands(const std::string& program) const {
    const auto all = agent_->all<lm::CaptureRequest>("agent.capture");
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const auto& one) { return one.argv.front() == program; }));
  }
  void shut_down() {
    ends_after([this] { user_->ask("shutdown", msg::ShutdownRequest{"a user says so"}); });
  }
  // How long the broker takes for that.
  Micros ends_after(const std::function<void()>& told) {
    const Micros begun = machine_->timeline.now();
    bool has_ended = false;
    broker_->on_death = [&has_ended](bool, int) { has_ended = true; };
    told();
    EXPECT_TRUE(until([&] { return has_ended; }, 120 * kSecond));
    broker_->on_death = nullptr;
    return machine_->timeline.now() - begun;
  }
  // One batch job is queued, and the agent is gone.
  void begin_without_agent() {
    set(1);
    begin();
    submit_large();
    ASSERT_TRUE(until([&] { return batch_.queue.size() == 1; }));
    pass(kSecond);
    lose(*agent_);
  }
  void remove() {
    EXPECT_TRUE(answer(*user_, "provision.change", msg::ProvisionChange{number_, "remove"}));
  }
  void expect_each_submitted_once() const {
    for (const auto& [name, times] : batch_.submitted) EXPECT_EQ(times, 1) << name;
  }

  BatchSystem batch_;
  Micros takes_ = 20 * kMs;  // a command
  Micros confirms_ = 0;      // how long after a submission sbatch says its number
  Peer *agent_ = nullptr, *user_ = nullptr;
  std::uint64_t number_ = 0;
};

TEST_F(ProvisionsTest, WhatIsBeingSubmittedAsTheRootEndsDoesNotStayQueued) {
  begin();
  takes_ = 400 * kMs;
  submit_large();
  ASSERT_TRUE(until([&] { return commands("sbatch") == 1; }));
  ASSERT_THAT(batch_.submitted, IsEmpty()) << "it still runs";
  shut_down();
  EXPECT_THAT(batch_.submitted, SizeIs(1));
  EXPECT_THAT(batch_.queue, IsEmpty());
}

TEST_F(ProvisionsTest, WhatIsBeingSubmittedForAProvisionThatIsRemovedDoesNotStayQueued) {
  begin();
  takes_ = 400 * kMs;
  submit_large();
  ASSERT_TRUE(until([&] { return commands("sbatch") == 1; }));
  remove();
  ASSERT_TRUE(until([&] { return !batch_.submitted.empty(); }));
  EXPECT_TRUE(until([&] { return batch_.queue.empty(); }, 20 * kSecond));
}

// The command was killed after a minute, and the batch system had taken the job.
TEST_F(ProvisionsTest, AnAnswerThatComesTooLateIsNoRefusal) {
  begin();
  batch_.is_late = 1;
  submit_large();
  ASSERT_TRUE(until([&] { return batch_.submitted.size() == 1; }));
  pass(200 * kSecond);
  EXPECT_THAT(batch_.submitted, SizeIs(1)) << "another one was submitted in its place";
  shut_down();
  EXPECT_THAT(batch_.queue, IsEmpty());
}

TEST_F(ProvisionsTest, WhatCouldNotBeTakenBackIsTakenBackLater) {
  begin();
  submit_large();
  ASSERT_TRUE(until([&] { return batch_.queue.size() == 1; }));
  pass(kSecond);
  batch_.refuses_cancels = 1;
  remove();
  EXPECT_TRUE(until([&] { return batch_.queue.empty(); }, 30 * kSecond));
  expect_each_submitted_once();
}

// The command was killed after a minute, and nobody is left to ask later.
TEST_F(ProvisionsTest, WhatWasSubmittedWithoutAnAnswerAsTheRootEndsDoesNotStayQueued) {
  for (const Micros pause : {0 * kMs, 500 * kMs}) {  // the answer comes as the root ends, or before
    set(1);
    begin();
    takes_ = 400 * kMs;
    batch_.is_late = 1;
    submit_large();
    ASSERT_TRUE(until([&] { return commands("sbatch") == 1; }));
    pass(pause);
    shut_down();
    EXPECT_THAT(batch_.submitted, SizeIs(1));
    EXPECT_THAT(batch_.queue, IsEmpty());
  }
}

// A batch job may be listed before the command that submits it has said its number.
TEST_F(ProvisionsTest, WhatIsListedBeforeItsSubmissionIsAnsweredDoesNotStayQueuedEither) {
  for (Micros pause = 0; pause <= 6 * kSecond && !HasFailure(); pause += 200 * kMs) {
    SCOPED_TRACE(pause / kMs);
    set(1);
    begin();
    takes_ = 400 * kMs;
    confirms_ = 6 * kSecond;
    submit_large();
    ASSERT_TRUE(until([&] { return commands("sbatch") == 1; }));
    pass(pause);
    shut_down();
    EXPECT_THAT(batch_.queue, IsEmpty());
  }
}

TEST_F(ProvisionsTest, ACancelThatHangsIsAskedForAgainAsTheRootEnds) {
  begin();
  submit_large();
  ASSERT_TRUE(until([&] { return batch_.queue.size() == 1; }));
  pass(kSecond);
  takes_ = 3600 * kSecond;
  remove();
  ASSERT_TRUE(until([&] { return commands("scancel") == 1; }));
  pass(kSecond);
  takes_ = 20 * kMs;
  shut_down();
  EXPECT_THAT(batch_.queue, IsEmpty());
}

// Before or after the command has run; the next agent is there a second later.
TEST_F(ProvisionsTest, ACancelWhoseAgentIsKilledAsTheRootEndsIsAskedForAgain) {
  for (const Micros pause : {0 * kMs, 5 * kMs, 200 * kMs}) {
    SCOPED_TRACE(pause / kMs);
    set(1);
    begin();
    submit_large();
    ASSERT_TRUE(until([&] { return batch_.queue.size() == 1; }));
    pass(kSecond);
    takes_ = 3600 * kSecond;
    bool has_ended = false;
    broker_->on_death = [&has_ended](bool, int) { has_ended = true; };
    user_->ask("shutdown", msg::ShutdownRequest{"a user says so"});
    if (pause > 0) {
      ASSERT_TRUE(until([&] { return commands("scancel") == 1; }));
      pass(pause);
    }
    lose(*agent_);
    takes_ = 20 * kMs;
    pass(kSecond);
    ASSERT_FALSE(has_ended) << "nobody takes back what is queued";
    agent_ = &with_batch_system();
    EXPECT_TRUE(until([&] { return has_ended; }, 20 * kSecond));
    broker_->on_death = nullptr;
    EXPECT_THAT(batch_.queue, IsEmpty());
  }
}

// A broker waits for an agent for as long as its instance may take to end, 30 s, and for what is
// done without it then, 5 s; and no longer.
TEST_F(ProvisionsTest, WhereNoAgentComesAgainTheRootEndsAllTheSame) {
  begin_without_agent();
  const Micros took = ends_after([this] { user_->ask("shutdown", msg::ShutdownRequest{"so"}); });
  EXPECT_GE(took, 30 * kSecond);
  EXPECT_LE(took, 38 * kSecond);
  EXPECT_THAT(batch_.queue, SizeIs(1));
}

TEST_F(ProvisionsTest, ARootWhoseAgentNobodyStartsAgainEndsAtOnce) {
  constexpr Micros kAtOnce = 3 * kSecond;  // clients have 2 s to read their last answers
  begin_without_agent();
  EXPECT_LE(ends_after([this] {
              broker_->tell([](instance::Broker& broker) {
                broker.give_up_agent();
                broker.end("it was told to stop");
              });
            }),
            kAtOnce);
  begin_without_agent();
  EXPECT_LE(ends_after([this] {
              broker_->tell([](instance::Broker& broker) { broker.end("it was told to stop"); });
              pass(kSecond);
              broker_->tell([](instance::Broker& broker) { broker.give_up_agent(); });
            }),
            kSecond + kAtOnce);
  begin_without_agent();
  EXPECT_LE(ends_after([this] {
              broker_->tell([](instance::Broker& broker) { broker.end("it was told to stop"); });
              pass(kSecond);
              broker_->tell([](instance::Broker& broker) { broker.end_alone("it is alone"); });
            }),
            kSecond + kAtOnce);
}

// The agent goes away as batch jobs are being listed, of which none waits in a queue.
TEST_F(ProvisionsTest, NoAgentIsWaitedForWhereNothingIsLeftToTakeBack) {
  begin();
  submit_large();
  ASSERT_TRUE(until([&] { return batch_.queue.size() == 1; }));
  batch_.all_run = true;
  pass(6 * kSecond);
  takes_ = 3600 * kSecond;
  const std::size_t listings = commands("squeue");
  ASSERT_TRUE(until([&] { return commands("squeue") > listings; }));
  const Micros took = ends_after([this] {
    user_->ask("shutdown", msg::ShutdownRequest{"a user says so"});
    pass(kSecond);
    lose(*agent_);
  });
  EXPECT_LE(took, 5 * kSecond);
  EXPECT_THAT(batch_.queue, SizeIs(1));
}

TEST_F(ProvisionsTest, WhatABrokerDidNotLiveToTakeBackTheNextOneDoes) {
  begin();
  submit_large();
  ASSERT_TRUE(until([&] { return batch_.queue.size() == 1; }));
  pass(kSecond);
  takes_ = 400 * kMs;
  batch_.refuses_cancels = 1;
  remove();
  ASSERT_TRUE(until([&] { return commands("scancel") == 1; }));
  restart();
  EXPECT_TRUE(until([&] { return batch_.queue.empty(); }, 60 * kSecond));
  pass(30 * kSecond);
  EXPECT_EQ(commands("scancel"), 2u) << "its end was confirmed";
}

// Whatever the broker has come to when it dies.
TEST_F(ProvisionsTest, NothingIsTakenBackBeforeThatIsWrittenDown) {
  for (int steps = 1; steps <= 30 && !HasFailure(); ++steps) {
    SCOPED_TRACE(steps);
    set(1);
    begin();
    submit_large();
    ASSERT_TRUE(until([&] { return batch_.queue.size() == 1; }));
    pass(kSecond);
    broker_->kill_after(steps);
    user_->ask("provision.change", msg::ProvisionChange{number_, "remove"});
    pass(100 * kMs);
    const bool is_taken_back = batch_.queue.empty();
    restart();
    const auto list = answer(*user_, "provision.list", lm::Empty{});
    ASSERT_TRUE(list);
    const auto known = *transport::unpack<msg::ProvisionsReply>(*list);
    EXPECT_EQ(known.provisions.empty() || !is_taken_back, true);
    if (!known.provisions.empty()) continue;
    EXPECT_TRUE(until([&] { return batch_.queue.empty(); }, 60 * kSecond));
  }
}

// Any time at which the broker dies, any trouble of the batch system.
TEST_F(ProvisionsTest, NothingIsSubmittedTwiceAndNothingStaysQueued) {
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    set(seed);
    begin();
    auto& dice = machine_->dice;
    takes_ = dice.between(5, 3'000) * kMs;
    batch_.refuses = static_cast<int>(dice.between(0, 2));
    batch_.is_late = static_cast<int>(dice.between(0, 1));
    batch_.refuses_cancels = static_cast<int>(dice.between(0, 1));
    submit_large();
    for (int i = 0; i < 4; ++i) {
      pass(dice.between(1, 40'000) * kMs);
      if (dice.one_in(2)) restart();
    }
    batch_.refuses = batch_.is_late = batch_.refuses_cancels = 0;
    pass(300 * kSecond);  // all that was asked is known
    takes_ = 20 * kMs;
    shut_down();
    expect_each_submitted_once();
    EXPECT_THAT(batch_.queue, IsEmpty());
  }
}

}  // namespace
}  // namespace holon::world
