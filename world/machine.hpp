// machine.hpp - what all processes of a world share: time, chance, network, tasks, disk, history.
#pragma once
#include <cstdint>
#include <string>

#include "world/history.hpp"
#include "world/plants.hpp"
#include "world/seams/batch_system.hpp"
#include "world/seams/dice.hpp"
#include "world/seams/disk.hpp"
#include "world/seams/hosts.hpp"
#include "world/seams/network.hpp"
#include "world/seams/tasks.hpp"
#include "world/seams/timeline.hpp"

namespace holon::world {

class Machine {
 public:
  Machine(std::uint64_t seed, Plant plant, int its_edition, std::string its_dir);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  pid_t new_pid() { return ++last_pid_; }
  bool planted(Plant plant) const { return plant_ == plant; }

  const int edition;  // world.hpp
  Timeline timeline;
  Dice dice;
  History history;
  std::string dir;             // a folder of its own
  Process* current = nullptr;  // the process that has its turn
  Hosts hosts;
  Wires wires;
  Tasks tasks;
  Disk disk;
  BatchSystem batch;

 private:
  Plant plant_;
  pid_t last_pid_ = 100'000'000;  // beyond what the kernel ever gives
};

}  // namespace holon::world
