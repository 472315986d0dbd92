// batch_system.hpp - the batch system of a world, as seen through Slurm's commands: it is slow,
// refuses, answers too late, loses jobs, and ends some earlier than it has said. Its hosts are its
// own; a job has each of its hosts alone.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "world/seams/timeline.hpp"

namespace holon::world {

class Machine;

struct BatchJob {
  std::string id, name;
  std::string script;  // its text, taken when it is submitted
  std::uint32_t nodes = 1;
  Micros limit = 0;
  enum class State { queued, running, ending };
  State state = State::queued;
  Micros end = 0;       // of one that runs, unless it is moved
  std::set<int> hosts;  // on which something of it runs
};

class BatchSystem {
 public:
  // Hosts behind those of an instance from its beginning on and those that people add.
  static constexpr int kFirstHost = 5, kHosts = 4;

  explicit BatchSystem(Machine& machine) : machine_(machine) {}
  BatchSystem(const BatchSystem&) = delete;
  BatchSystem& operator=(const BatchSystem&) = delete;

  static bool has_program(const std::string& name);
  struct Answer {
    int code = 0;
    std::string output, error;
    std::function<void()> when_read = [] {};
  };
  // Runs a command. REQUIRES: has_program(argv.front()).
  Answer run(const std::vector<std::string>& argv);
  // The time that the next command takes.
  Micros next_takes();

  const std::map<std::string, BatchJob>& jobs() const { return jobs_; }
  bool uses(int host) const;
  std::uint64_t submitted() const { return names_.size(); }
  // Notes that the process of a job on this host has ended.
  void ended_on(const std::string& id, int host);

  // Faults: no command succeeds for so long; some job is ended, or will be sooner.
  void be_down(Micros duration);
  void lose_one();
  void shorten_one();
  // Makes all commands quick from now on; none fails.
  void calm();

  // Called when the script begins on a host of the job, and when it is told to end there.
  std::function<void(const BatchJob&, int host)> on_begin = [](const BatchJob&, int) {};
  std::function<void(const BatchJob&, int host)> on_end = [](const BatchJob&, int) {};
  // Called when a client was told how long a job will be there yet.
  std::function<void(const BatchJob&)> on_told = [](const BatchJob&) {};
  std::function<bool(int host)> is_free = [](int) { return true; };

 private:
  Answer submit(const std::vector<std::string>& argv);
  Answer cancel(const std::vector<std::string>& argv);
  Answer list();
  Answer time_left(const std::string& id);
  bool refuses();
  BatchJob* find(const std::string& id);
  BatchJob* some();
  void try_to_begin(const std::string& id);
  void end(BatchJob& job, const std::string& why);
  void shorten(const std::string& id);
  void end_when_due(const std::string& id);

  Machine& machine_;
  int last_ = 100;
  bool is_calm_ = false;
  Micros down_until_ = 0;
  std::map<std::string, BatchJob> jobs_;  // jobs that are not over, by id
  std::set<std::string> names_;           // of all there were
};

}  // namespace holon::world
