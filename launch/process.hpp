// process.hpp - what /proc says about other processes.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/messages.hpp"

namespace holon::launch {

struct ProcessStat {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  std::uint64_t start = 0;  // clock ticks since boot
  char state = '?';         // 'Z': a zombie
};

// nullopt: there is no such process.
std::optional<ProcessStat> stat_of(pid_t pid);
std::vector<ProcessStat> all_processes();

// A variable of the environment the process was started with; "" if it has none or may not be read.
std::string variable_of(pid_t pid, const std::string& name);

// What the process was started with; empty where there is none or it may not be read. One that has
// been spawned and has not yet become its program shows its parent's.
std::vector<std::string> command_of(pid_t pid);

// This process's children, from /proc/self/task/*/children where the kernel has it, else by looking
// at all.
std::vector<pid_t> own_children();

// Sends SIGKILL to the process groups led by these processes, or left behind by them. A group whose
// number now belongs to somebody else (the leader's start differs) is left alone. Returns how many
// processes were signalled.
std::size_t kill_groups(const std::vector<msg::ProcessId>& leaders);

}  // namespace holon::launch
