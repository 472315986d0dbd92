// scene.hpp - a few processes of a world that a test directs: the code under test in one of them,
// and peers that say what the test tells them to. Time passes only when the test lets it.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "instance/broker/broker.hpp"
#include "launch/messages.hpp"
#include "msg/instance.hpp"
#include "transport/codec/codec.hpp"
#include "world/machine.hpp"
#include "world/seams/process.hpp"

namespace holon::world {

// Whoever connects to somebody: an agent, a child, a user.
class Peer final : public Process {
 public:
  Peer(Machine& machine, const std::string& name, pid_t pid, const std::string& uri,
       const transport::Security& keys = {});
  ~Peer() override;

  template <class Ask>
  void ask(
      const std::string& topic, const Ask& what,
      std::function<void(const Result<std::string>&)> done = [](const Result<std::string>&) {}) {
    ask_packed(topic, transport::pack(what), std::move(done));
  }
  void ask_packed(const std::string& topic, std::string payload,
                  std::function<void(const Result<std::string>&)> done);
  // What it was asked, in order; of one topic.
  template <class Ask>
  std::vector<Ask> all(const std::string& topic) const {
    std::vector<Ask> asked;
    for (const auto& [what, payload] : heard)
      if (what == topic) asked.push_back(*transport::unpack<Ask>(payload));
    return asked;
  }

  // Of this process, after some time, if there still is one.
  void later(Machine& machine, Micros delay, std::function<void()> action);

  std::vector<std::pair<std::string, std::string>> heard;
  // False: it is answered with nothing.
  std::function<bool(const transport::Request&)> answers;
  std::function<void()> on_connected;
  int times_lost = 0;  // its connection

 private:
  std::unique_ptr<transport::Client> client_;
  std::shared_ptr<bool> is_there_ = std::make_shared<bool>(true);
};

// A real broker. A process is one of a job's if the job's agent says that number.
class LoneBroker final : public Process {
 public:
  LoneBroker(Machine& machine, instance::BrokerOptions options);
  ~LoneBroker() override;
  const instance::Instance& core() const { return *broker_->core(); }
  // As its supervisor does.
  void tell(const std::function<void(instance::Broker&)>& what);

 private:
  std::unique_ptr<instance::Broker> broker_;
};

class Scene : public ::testing::Test {
 protected:
  Scene();
  ~Scene() override;
  // Another world, in which chance falls otherwise.
  void set(std::uint64_t seed);
  virtual void strike();

  // False: it has not come about in time.
  bool until(const std::function<bool()>& done, Micros patience = 120 * kSecond);
  void pass(Micros time);

  // ---- a broker and its peers ----
  void begin_broker(std::vector<std::string> conf, const std::string& resources = "node=1/core=2",
                    std::size_t agents = 1, std::vector<std::string> hosts = {});
  void restart_broker();
  const instance::Instance& core() const { return broker_->core(); }
  std::string uri() const { return "ipc://" + options_.runtime_dir + "/broker"; }
  Peer& peer(const std::string& name, pid_t pid = 0);
  // An agent's, over the way that asks for a key.
  Peer& peer_with_key(std::uint32_t rank);
  Peer& peer_with(const std::string& name, const transport::KeyPair& key);
  static transport::KeyPair key_of(std::size_t rank);
  void lose(Peer& peer);
  // The answer to one question, asked again where the connection is lost.
  template <class Ask>
  Result<std::string> answer(Peer& who, const std::string& topic, const Ask& ask) {
    return answer_to(who, topic, transport::pack(ask));
  }
  Result<std::string> answer_to(Peer& who, const std::string& topic, const std::string& payload);
  static launch::msg::Hello hello_of(std::uint32_t rank, std::uint64_t incarnation);
  Peer& agent(const launch::msg::Hello& hello);
  std::uint64_t submit(Peer& user, std::int64_t tasks = 1, bool is_instance = false,
                       std::int64_t cores = 1, double limit = 0);
  std::string state(std::uint64_t job) const { return record(job).state; }
  std::string result(std::uint64_t job) const { return record(job).result; }
  msg::JobRecord record(std::uint64_t job) const { return *core().jobs.record(JobId(job)); }
  static launch::msg::Report started(std::uint64_t job, std::int64_t pid);
  static launch::msg::Report finished(std::uint64_t job, int code = 0);

  std::string dir_;
  std::unique_ptr<Machine> machine_;
  instance::BrokerOptions options_;
  std::unique_ptr<LoneBroker> broker_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace holon::world
