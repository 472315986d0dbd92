// manager_scene.hpp - a JobManager and nobody else: the journal, an Outside that writes down what
// it is told, and a clock that the test moves.
#pragma once
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "instance/manager/manager.hpp"
#include "instance/resources/resources.hpp"
#include "resource/store.hpp"

namespace holon::instance::testing {

struct Noted final : Outside {
  void start_tasks(const ActiveJob& job) override { say("start", job.id); }
  void kill_tasks(const ActiveJob& job) override { say("kill", job.id); }
  void happened(JobId job, const Event& event) override {
    if (std::holds_alternative<event::Requeue>(event.body)) say("again", job);
  }
  void changed(const ActiveJob& job) override { last_state[job.id] = job.life.state; }
  void ended(const msg::JobRecord& record) override {
    say(record.result.c_str(), JobId(record.id));
    reasons[record.id] = record.reason;
  }
  void ended_unstarted(JobId, JobId, const std::vector<Event>&) override {}
  bool may_end(const ActiveJob&) override { return may; }
  void run_is_over(const ActiveJob& job) override {
    for (const Part& part : job.life.parts) ranks_that_ran[job.id].push_back(part.rank);
  }
  void preempted(const ActiveJob& job) override { say("preempted", job.id); }
  void limit_changed(const ActiveJob& job) override { say("limit", job.id); }
  void say(const char* what, JobId job) {
    told.push_back(std::string(what) + " " + std::to_string(job.value()));
  }
  std::vector<std::string> take() { return std::exchange(told, {}); }

  std::vector<std::string> told;
  std::map<JobId, JobState> last_state;
  std::map<std::uint64_t, std::string> reasons;
  std::map<JobId, std::vector<std::uint32_t>> ranks_that_ran;
  bool may = true;
};

// One broker's: what is on disk, and all that is made from it.
struct Life {
  Life(const std::string& file, const std::string& shape, const std::vector<std::uint32_t>& agents,
       const config::Config& conf, Time& time, const Beginning& beginning)
      : config(conf),
        journal(std::move(*Journal::open(file, Journal::Sync::normal, Journal::OnDamage::repair))),
        clock("boot",
              [&time] {
                return ClockReading{time, time};
              }),
        store(std::move(
            *resource::ResourceStore::load(*read_resources({"shape", shape, false}), {}))),
        scheduler(std::move(*qmanager::Scheduler::create(settings(), store))),
        gates(journal, scheduler),
        nodes_of_agents(store.graph(), agents),
        jobs(journal, clock, scheduler, gates, store, nodes_of_agents, outside, config, "/",
             "/out") {
    EXPECT_TRUE(jobs.recover(beginning, time));
  }
  qmanager::SchedulerConfig settings() const {
    auto how = config.scheduler;
    how.tell_waits = false;
    return how;
  }

  config::Config config;
  Journal journal;
  InstanceClock clock;
  resource::ResourceStore store;
  qmanager::Scheduler scheduler;
  QueueGates gates;
  NodesOfAgents nodes_of_agents;
  Noted outside;
  JobManager jobs;
};

class ManagerScene : public ::testing::Test {
 protected:
  ManagerScene() {
    std::string name = (access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ::testing::TempDir()) +
                       "/holon-manager-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
    begin("node=2/core=2", {0});
  }
  ~ManagerScene() override {
    life_.reset();
    std::filesystem::remove_all(dir_);
  }
  void begin(const std::string& shape, std::vector<std::uint32_t> agents) {
    shape_ = shape;
    agents_ = std::move(agents);
    life_.reset();
    for (const auto& kept : std::filesystem::directory_iterator(dir_))
      std::filesystem::remove_all(kept);
    crash();
  }
  // What was not committed is gone, and another broker begins.
  void crash(const Beginning& beginning = {}) {
    life_.reset();
    life_ =
        std::make_unique<Life>(dir_ + "/journal.db", shape_, agents_, config_, time_, beginning);
  }
  JobManager& jobs() { return life_->jobs; }
  std::vector<std::string> told() { return life_->outside.take(); }
  void commit() { ASSERT_TRUE(life_->journal.commit()); }

  struct Wanted {
    std::int64_t cores = 1, tasks = 1;
    double limit = 0;
    std::string wishes = {};  // JSON of attributes.system.holon
    std::uint64_t count = 1;
    std::string queue = {};
    std::string after = {};  // what all of the jobs wait for: "afterok:1"
    std::uint32_t urgency = 16;
    bool is_instance = false;
  };
  // Jobs of the queue "urgent" take the place of preemptible ones.
  void preempt(const std::string& mode, Duration grace) {
    config_ = *config::load_config({"queues.default.policy=easy", "queues.urgent.policy=easy",
                                    "queues.urgent.preempt.mode=" + mode,
                                    fmt::format("queues.urgent.preempt.grace={}ms", grace)});
    begin("node=1/core=4", {0});
  }
  std::uint64_t submit(const Wanted& wanted) {
    resource::JobShape shape;
    shape.cores_per_task = wanted.cores;
    shape.tasks = wanted.tasks;
    shape.duration_seconds = wanted.limit;
    shape.command = {"/bin/true"};
    shape.cwd = "/";
    shape.queue = wanted.queue;
    msg::SubmitRequest ask;
    ask.jobspec = resource::write_jobspec(*resource::jobspec_for(shape));
    if (!wanted.wishes.empty()) {
      const std::string system = R"("system":{)";
      const auto at = ask.jobspec.find(system);
      EXPECT_NE(at, std::string::npos) << ask.jobspec;
      ask.jobspec.insert(at + system.size(), R"("holon":)" + wanted.wishes + ",");
    }
    if (!wanted.after.empty()) {
      const std::string system = R"("system":{)";
      const auto colon = wanted.after.find(':');
      ask.jobspec.insert(
          ask.jobspec.find(system) + system.size(),
          fmt::format(R"("dependencies":[{{"scheme":"{}","value":"{}"}}],)",
                      wanted.after.substr(0, colon), wanted.after.substr(colon + 1)));
    }
    ask.count = wanted.count;
    ask.urgency = wanted.urgency;
    ask.is_instance = wanted.is_instance;
    ask.user = "ada";
    const auto reply = jobs().submit(ask, time_);
    EXPECT_TRUE(reply) << to_string(reply.error());
    return reply ? reply->first_id : 0;
  }
  std::uint64_t submit_running(const Wanted& wanted) {
    const auto id = submit(wanted);
    jobs().schedule(time_);
    for (const Part& part : std::vector(life(id).parts)) start(id, part.rank);
    return id;
  }
  void start(std::uint64_t id, std::uint32_t rank = 0) {
    jobs().tasks_started(JobId(id), rank, {{1'000 + static_cast<std::int64_t>(id), 1}}, time_);
  }
  void end(std::uint64_t id, int code, std::uint32_t rank = 0, const char* reason = "exit") {
    jobs().tasks_ended(JobId(id), rank, {reason, "", {code << 8, 0, 0}, time_}, time_);
  }
  const Lifecycle& life(std::uint64_t id) { return jobs().find(JobId(id))->life; }
  std::string state(std::uint64_t id) { return jobs().record(JobId(id))->state; }
  std::string result(std::uint64_t id) { return jobs().record(JobId(id))->result; }
  std::int64_t free_cores() { return life_->store.available("core", time_); }
  // One pass when time has come so far.
  void pass(Duration by) {
    time_ += by;
    jobs().schedule(time_);
  }

  Time time_ = 1'700'000'000'000;
  std::string dir_, shape_;
  std::vector<std::uint32_t> agents_;
  config::Config config_;
  std::unique_ptr<Life> life_;
};

}  // namespace holon::instance::testing
