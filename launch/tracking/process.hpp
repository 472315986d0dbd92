// process.hpp - information from /proc about other processes.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/messages.hpp"

namespace holon::launch {

// The text of a file of /proc or of a cgroup. "": it is gone, or may not be read.
std::string text_of_file(const std::string& path);

struct ProcessStat {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t start = 0;    // clock ticks since boot
  std::uint64_t threads = 0;  // threads that still run
  char state = '?';           // 'Z': a zombie
  bool of_kernel = false;
  bool has_empty_environment = false;  // also false if that may not be known

  // Does no thread of the process run any more? Its parent has still to reap it.
  bool is_over() const { return state == 'X' || (state == 'Z' && threads <= 1); }
};

// nullopt: there is no such process.
std::optional<ProcessStat> stat_of(pid_t pid);
std::vector<ProcessStat> all_processes();

// A variable of the environment that the process was started with; "" if it is not set or may not
// be read. nullopt: the process is just becoming another program, or ending, and has no environment
// at all for that time; look again.
std::optional<std::string> variable_of(const ProcessStat& process, const std::string& name);

// Sends the signal, unless the number belongs to another process by now. Returns whether it was
// sent.
bool signal_process(const ProcessStat& process, int signal);

// The scope in which process numbers and starts mean the same: this boot, this namespace.
std::string process_numbering();

// This process's children, from /proc/self/task/*/children if the kernel has it, else by looking at
// all processes.
std::vector<pid_t> own_children();

// The children of a process, if the kernel lists them.
std::vector<pid_t> children_of(pid_t process);

// Sends SIGKILL to this process's children, and to theirs if it is a subreaper, until none is left;
// waits at most two seconds.
void end_own_children();

// Sends SIGKILL to these processes and to what is left of the sessions they lead or led. Spares
// those whose number now belongs to another process (the leader's start differs), and those whose
// lineage is of another instance than the one with this jobs_prefix(). Returns how many processes
// were found alive.
std::size_t kill_sessions(const std::vector<msg::ProcessId>& leaders, const std::string& prefix);

}  // namespace holon::launch
