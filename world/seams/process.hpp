// process.hpp - one process of a world: a real reactor, stepped by the timeline.
//
// A process is killed between two of its effects: from that moment on, nothing that it does reaches
// anybody (messages, writes to the disk, starts and signals are dropped), until the world buries
// it. So a kill can fall between a commit and the action that follows it, without a hook in the
// code under test.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/reactor.hpp"
#include "world/seams/timeline.hpp"

namespace holon::world {

class Machine;

class Process {
 public:
  Process(Machine& machine, std::string name, pid_t pid, int host = 0);
  virtual ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }
  int host() const { return host_; }
  // The user of the process by the kernel's word. At first the user of this program.
  uid_t uid() const { return uid_; }
  void act_as(uid_t uid) { uid_ = uid; }
  transport::Reactor& reactor() { return *reactor_; }
  bool alive() const { return alive_; }

  // Delivers something: it is handled in the next turn, which is soon.
  void deliver(std::function<void()> action);
  // Makes no turn for so long.
  void stall(Micros duration);
  // Kills the process: it has no effect from now on; on_death is called by the timeline.
  void kill(const std::string& why);
  // Kills the process when it has had so many more effects.
  void kill_after(std::int64_t effects) { effects_left_ = effects; }
  // Counts one effect; false: the process is dead and has none.
  bool has_effect();
  // Ends the process by itself, after this turn.
  void exit(int code);

  // Called once, outside of the process's turns; destroys it.
  std::function<void(bool killed, int code)> on_death;

 protected:
  virtual void after_turn() {}
  // Runs `action` with this process as the machine's current one.
  void run(const std::function<void()>& action);
  void close_reactor();

 private:
  void schedule(Micros when);
  void turn();
  void announce_death();

  Machine& machine_;
  std::string name_;
  pid_t pid_;
  int host_;
  uid_t uid_;
  bool alive_ = true, over_ = false, exited_ = false;
  int code_ = 0;
  std::int64_t effects_left_ = -1;
  Micros next_turn_ = -1, stalled_until_ = 0;
  std::uint64_t turn_token_ = 0;
  std::vector<std::function<void()>> inbox_;
  std::unique_ptr<transport::Network> network_;
  std::unique_ptr<transport::Reactor> reactor_;
  std::shared_ptr<bool> there_ = std::make_shared<bool>(true);  // for callbacks that outlive it
};

}  // namespace holon::world
