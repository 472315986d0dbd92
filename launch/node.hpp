// node.hpp - the node as its agent uses it: the CPUs of each core number, and the GPUs.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "launch/hardware/gpus.hpp"

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

  // Has the mask all CPUs of `other`?
  bool covers(const CpuMask& other) const;

  // The mask of the calling thread. Errors: system.
  static Result<CpuMask> current();
  // The mask of a process. Errors: system (there is none with this number).
  static Result<CpuMask> of(int pid);
  Status apply() const;
  const std::vector<unsigned long>& words() const { return words_; }
  // apply() between vfork(2) and execve(2): 0 or an errno; allocates no memory.
  int apply_quietly() const noexcept;

 private:
  std::vector<unsigned long> words_;
};

// Numbering is that of topology_xml(cpuset): both load and restrict in the same way.
class Node {
 public:
  // `cpuset`: "" for what this process may use, or a frame from the parent. `known`: machine() of
  // another process here, which takes the place of looking; "", or no such text: it looks. Errors
  // as topology_xml.
  static Result<Node> discover(const std::string& cpuset, const std::string& known = "");
  // The node of another machine, from its topology_xml(). Errors: invalid_argument.
  static Result<Node> of(const std::string& xml);

  // All of this machine, for discover(). "": it has GPUs, which each process has to look at for
  // itself, as it is shown those in its environment.
  const std::string& machine() const { return machine_; }
  // The text of topology_xml() with all memory.
  const std::string& xml() const { return xml_; }
  const std::string& cpuset() const { return cpuset_; }  // "0-3": the operating system's numbers
  std::size_t cores() const { return cores_.size(); }
  // The CPUs of these cores. Errors: invalid_argument, naming the first core that this node lacks.
  Result<CpuMask> cpus_of(const Idset& cores) const;

  std::size_t gpus() const { return gpus_; }
  // Those whose cards are here, or whose library shows some.
  const std::set<Maker>& makers() const { return makers_; }
  // The GPUs by their numbers in the resource graph, as far as a library shows them.
  const std::vector<GpuOfMaker>& gpus_by_number() const { return gpus_by_number_; }

 private:
  static Result<Node> read(hwloc_topology* topology);

  std::string machine_, xml_, cpuset_;
  std::vector<CpuMask> cores_;  // by core number
  std::size_t gpus_ = 0;
  std::set<Maker> makers_;
  std::vector<GpuOfMaker> gpus_by_number_;
};

}  // namespace holon::launch
