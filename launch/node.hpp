// node.hpp - the node as its agent uses it: which CPUs a core number means, which GPUs there are.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"

struct hwloc_topology;

namespace holon::launch {

// A CPU mask as sched_setaffinity(2) takes it; any number of CPUs.
class CpuMask {
 public:
  void add(unsigned cpu);
  void add(const CpuMask& other);
  bool empty() const;
  bool contains(unsigned cpu) const;
  std::size_t count() const;
  bool operator==(const CpuMask&) const = default;

  // All that `other` has.
  bool covers(const CpuMask& other) const;

  // Of the calling thread. Errors: system.
  static Result<CpuMask> current();
  // Of a process. Errors: system (there is none with this number).
  static Result<CpuMask> of(int pid);
  Status apply() const;
  const std::vector<unsigned long>& words() const { return words_; }
  // The same between vfork(2) and execve(2): 0 or an errno, no memory is asked for.
  int apply_quietly() const noexcept;

 private:
  std::vector<unsigned long> words_;
};

// Numbering is that of topology_xml(cpuset): both load and restrict in the same way.
class Node {
 public:
  // "" and what this process may use, or a frame given by the parent. Errors as topology_xml.
  static Result<Node> discover(const std::string& cpuset);
  // Of another machine, as its topology_xml() shows it. Errors: invalid_argument.
  static Result<Node> of(const std::string& xml);

  // As topology_xml() of all memory.
  const std::string& xml() const { return xml_; }
  const std::string& cpuset() const { return cpuset_; }  // "0-3": of the operating system's numbers
  std::size_t cores() const { return cores_.size(); }
  // The CPUs of these cores. Errors: invalid_argument, naming the first core this node does not
  // have.
  Result<CpuMask> cpus_of(const Idset& cores) const;

  std::size_t gpus() const { return gpus_; }
  bool amd() const { return amd_; }  // their libraries restrict and number devices in two steps

 private:
  static Result<Node> read(hwloc_topology* topology);

  std::string xml_, cpuset_;
  std::vector<CpuMask> cores_;  // by core number
  std::size_t gpus_ = 0;
  bool amd_ = false;
};

}  // namespace holon::launch
