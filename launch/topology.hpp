// topology.hpp - this node's hardware as hwloc sees it, exported as XML for resource/ to read.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::launch {

// hwloc XML (v2 format) of the machine restricted to the CPUs this process may use (cgroup,
// taskset), or to `cpuset` ("0-3,8", the operating system's numbers) if not empty. Core numbers are
// logical indices in that restricted topology: code that starts tasks by number must restrict it in
// the same way. I/O devices are kept if they are GPUs, but only those that this process was given
// (hardware/gpus.hpp). `most_memory`: bytes, 0 for all; the NUMA nodes are shown with whole GiB
// that add up to no more, each with its share. Errors: system, invalid_argument (cpuset malformed
// or disjoint from the machine). Takes some 10 ms.
Result<std::string> topology_xml(const std::string& cpuset = "", std::uint64_t most_memory = 0);

// What the resource graph is made of, and no more: the same text for equal nodes. Names of hosts,
// serial numbers, addresses and the current speed of links are left out, and memory is in whole
// GiB. A text that is no export of hwloc's, with a line for each element, is returned unchanged.
std::string portable_topology(std::string_view xml);
// Tells two such texts apart: 16 hexadecimal digits.
std::string topology_digest(std::string_view portable);

// The CPUs this process may use, as a list: "0-3,8". A child's agents get it as HOLON_CPUSET.
Result<std::string> allowed_cpuset();

}  // namespace holon::launch
