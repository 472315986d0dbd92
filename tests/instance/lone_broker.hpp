// lone_broker.hpp - a real broker whose supervisor and agent are the test: it knows the secrets
// that a supervisor hands over, and may be killed and started again.
#pragma once
#include <sys/wait.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "instance/basics/options.hpp"
#include "instance/process/spawn.hpp"
#include "instance/tree/dead_child.hpp"
#include "launch/messages.hpp"
#include "places.hpp"  // written by CMake
#include "tests/instance/live.hpp"
#include "transport/secret.hpp"

namespace holon::instance::testing {

inline JobOptions with_tasks(std::int64_t tasks) {
  JobOptions options;
  options.tasks = tasks;
  return options;
}

class LoneBroker : public Live {
 public:
  enum Begins { answering, not_answering };  // before it has its agents

  explicit LoneBroker(const std::string& resources, std::size_t agents = 1,
                      std::vector<std::string> conf = {}, Begins begins = answering)
      : begins_(begins) {
    options_.start.conf = std::move(conf);
    options_.start.resources = resources;
    options_.start.state_dir = dir() + "/state";
    options_.runtime_dir = dir() + "/run";
    for (std::size_t rank = 0; rank < agents; ++rank)
      options_.secrets.agents.push_back(transport::new_secret());
    for (const auto& made : {options_.start.state_dir, options_.runtime_dir})
      mkdir(made.c_str(), 0700);
    std::ofstream(options_.runtime_dir + "/instance.json") << *write_options(options_);
    uri_ = "ipc://" + options_.runtime_dir + "/broker";
    begin();
  }
  ~LoneBroker() { end(SIGKILL); }
  LoneBroker(const LoneBroker&) = delete;
  LoneBroker& operator=(const LoneBroker&) = delete;

  const std::string& agent_secret(std::size_t rank = 0) const {
    return options_.secrets.agents.at(rank);
  }
  pid_t broker() const { return pid_; }
  // Returns when another one is there.
  void kill_broker() {
    end(SIGKILL);
    begin();
  }

 private:
  void begin() {
    const auto secrets = transport::secret_in_descriptor(write_secrets(options_.secrets));
    const auto pid = spawn({{HOLON_BINARY, "broker", options_.runtime_dir, "--secrets",
                             std::to_string(secrets->get())},
                            {secrets->get()},
                            true});
    ASSERT_TRUE(pid) << pid.error().what;
    pid_ = *pid;
    const std::string socket = options_.runtime_dir + "/broker";
    ASSERT_TRUE(eventually([&] {
      return begins_ == answering ? status().has_value() : std::filesystem::exists(socket);
    }));
  }
  void end(int signal) {
    if (pid_ <= 0) return;
    kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  Begins begins_;
  BrokerOptions options_;
  pid_t pid_ = 0;
};

// An agent of the test's own.
class FakeAgent {
 public:
  static launch::msg::Hello first_hello(const LoneBroker& broker) {
    launch::msg::Hello hello;
    hello.incarnation = 42;
    hello.secret = broker.agent_secret();
    return hello;
  }
  static launch::msg::Hello hello_of(const LoneBroker& broker, std::uint32_t rank) {
    auto hello = first_hello(broker);
    hello.rank = rank;
    hello.incarnation = 40 + rank;
    hello.secret = broker.agent_secret(rank);
    return hello;
  }
  FakeAgent(const Live& live, const launch::msg::Hello& hello) : FakeAgent(live) {
    say_hello(hello);
  }
  explicit FakeAgent(const Live& live)
      : client_(std::move(*transport::BlockingClient::connect(live.uri(), 30'000))) {
    client_.client().on_request([this](const transport::Request& request) {
      topics_.insert(request.topic());
      if (request.topic() == "agent.start")
        starts.push_back(*transport::unpack<launch::msg::StartRequest>(request.payload()));
      if (silent) return kept_.push_back(request);
      if (request.topic() != "agent.capture")
        return request.reply(transport::pack(launch::msg::Empty{}));
      launch::msg::CaptureReply reply;
      reply.output = transport::pack(remains);
      request.reply(transport::pack(reply));
    });
  }
  void say_hello(const launch::msg::Hello& hello) {
    const auto answer = client_.call<launch::msg::Welcome>("agent.hello", hello);
    EXPECT_TRUE(answer) << answer.error().what;
    if (answer) welcome = *answer;
  }
  // Without waiting for an answer.
  template <class Ask>
  void send(const std::string& topic, const Ask& ask) {
    client_.client().call({topic, transport::pack(ask)}, [](const Result<std::string>&) {});
    client_.reactor().turn(0);
  }
  bool is_told(const std::string& topic) {
    return client_.reactor().run_until([&] { return topics_.count(topic) != 0; }, 30'000);
  }
  void report(const launch::msg::Finished& finished, Time clock = 0) {
    EXPECT_TRUE(client_.call<launch::msg::Empty>("agent.report",
                                                 launch::msg::Report{{}, {finished}, clock}));
  }
  void report(const launch::msg::Started& started, Time clock = 0) {
    EXPECT_TRUE(client_.call<launch::msg::Empty>("agent.report",
                                                 launch::msg::Report{{started}, {}, clock}));
  }
  std::size_t times_told(const std::string& topic) const { return topics_.count(topic); }
  transport::BlockingClient& connection() { return client_; }
  launch::msg::Welcome welcome;
  std::vector<launch::msg::StartRequest> starts;
  bool silent = false;  // answers nothing
  // What the reader of a gone child's journal says: had there been one, it had no jobs.
  msg::DeadChild remains;

 private:
  transport::BlockingClient client_;
  std::multiset<std::string> topics_;
  std::vector<transport::Request> kept_;
};

}  // namespace holon::instance::testing
