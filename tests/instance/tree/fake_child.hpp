// fake_child.hpp - a broker whose agent and whose child are played by the test.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "instance/clock.hpp"
#include "launch/messages.hpp"
#include "launch/tasks/process.hpp"
#include "tests/instance/lone_broker.hpp"
#include "transport/blocking_client.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance::testing {

class WithFakeChild : public ::testing::Test {
 protected:
  using Answer = std::optional<Result<std::string>>;

  // The child is job 1, and its process is the test's.
  void SetUp() override {
    agent_.emplace(live_, FakeAgent::first_hello(live_));
    live_.child({});
    ASSERT_TRUE(agent_->is_told("agent.start"));
    hello_.job = 1;
    hello_.uri = "ipc:///nowhere";
    hello_.token = agent_->starts.at(0).jobs.at(0).secrets.at("HOLON_TOKEN");
    launch::msg::Started started;
    started.job = 1;
    started.processes.push_back({getpid(), launch::stat_of(getpid())->start});
    agent_->report(started);
  }

  // Returns the epoch that it is given; 0: it is turned away.
  std::uint64_t connect_child() {
    child_.emplace(std::move(*transport::BlockingClient::connect(live_.uri(), 30'000)));
    child_->client().on_request([this](const transport::Request& request) {
      ++asked_[request.topic()];
      if (silent_) return kept_.push_back(request);
      if (request.topic() != "jobs") return request.reply(transport::pack(msg::Empty{}));
      msg::JobsReply reply;
      reply.jobs = knows_;
      request.reply(transport::pack(reply));
    });
    const auto grant = child_->call<msg::Grant>("hello", hello_);
    if (!grant) return 0;
    return hello_.epoch = grant->epoch;
  }
  void lose_child() { child_.reset(); }
  // The agent says that the child's processes are gone, and what a reader of its journal answers.
  // Returns the record of a job below it when the child's job is over.
  // `meanwhile`: called again and again until its job is over.
  msg::JobRecord end_child(
      const msg::Remains& remains, const std::string& path,
      const std::function<void()>& meanwhile = [] {}) {
    agent_->remains = remains;
    lose_child();
    launch::msg::Finished finished;
    finished.job = 1;
    finished.reason = "exit";
    agent_->report(finished);
    EXPECT_TRUE(eventually([&] {
      agent_->connection().reactor().turn(1);
      meanwhile();
      return live_.record(1).state == "INACTIVE";
    }));
    return listed()[path];
  }
  Result<msg::Empty> send_records(std::vector<msg::JobRecord> jobs) {
    return child_->call<msg::Empty>("record", msg::Records{std::move(jobs)});
  }

  static msg::JobRecord record_at(const std::string& path, const std::string& state) {
    static const std::map<std::string, int> kHow = {{"SCHED", 0}, {"RUN", 2}, {"INACTIVE", 3}};
    msg::JobRecord record;
    record.path = path;
    record.id = std::stoull(path.substr(path.rfind('/') + 1));
    record.state = state;
    record.t_submit = 1'000;
    if (kHow.at(state) > 0) record.t_alloc = 1'100;
    if (kHow.at(state) > 1) record.t_start = 1'200;
    if (kHow.at(state) > 2) record.t_finish = record.t_inactive = 1'300;
    if (state == "INACTIVE") record.result = "COMPLETED";
    return record;
  }

  // A listing of the whole tree, by somebody else, while the child goes on.
  class Listing {
   public:
    explicit Listing(const Live& live)
        : client_(std::move(*transport::BlockingClient::connect(live.uri(), 30'000))) {
      msg::JobsRequest ask;
      ask.all = ask.recursive = true;
      client_.client().call({"jobs", transport::pack(ask)},
                            [this](Result<std::string> got) { answer_ = std::move(got); });
    }
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;
    bool is_answered(std::optional<transport::BlockingClient>& child, Duration patience = 30'000) {
      const auto until = monotonic_us() + patience * 1'000;
      while (!answer_ && monotonic_us() < until) {
        if (child) child->reactor().turn(1);
        client_.reactor().turn(1);
      }
      return answer_.has_value();
    }
    std::map<std::string, msg::JobRecord> records() const {
      std::map<std::string, msg::JobRecord> found;
      const auto reply = answer_ && *answer_ ? transport::unpack<msg::JobsReply>(**answer_)
                                             : tl::unexpected<Error>(Error{});
      EXPECT_TRUE(reply);
      if (reply)
        for (const auto& record : reply->jobs) found[record.path] = record;
      return found;
    }

   private:
    transport::BlockingClient client_;
    Answer answer_;
  };
  std::map<std::string, msg::JobRecord> listed() {
    Listing listing(live_);
    EXPECT_TRUE(listing.is_answered(child_));
    return listing.records();
  }

  LoneBroker live_{"node=1/core=2"};
  std::optional<FakeAgent> agent_;
  std::optional<transport::BlockingClient> child_;
  msg::Hello hello_;
  std::vector<msg::JobRecord> knows_;  // what it answers to "jobs"
  std::map<std::string, int> asked_;   // of it, by topic
  bool silent_ = false;                // it answers nothing
  std::vector<transport::Request> kept_;
};

}  // namespace holon::instance::testing
