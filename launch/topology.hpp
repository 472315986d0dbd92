// topology.hpp - this node's hardware as hwloc sees it, exported as XML for resource/ to read.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace holon::launch {

// hwloc XML (v2 format) of the machine restricted to the CPUs this process may use (cgroup,
// taskset), or to `cpuset`
// ("0-3,8", operating system's numbers) if not empty. Core numbers are logical indices in that
// restricted topology: whoever starts tasks by number must restrict it in the same way. I/O devices
// are kept where they are GPUs, of which it shows those that this process was given
// (hardware/gpus.hpp). Errors: system, invalid_argument (cpuset malformed or disjoint from
// the machine). Takes some 10 ms.
// `most_memory`: bytes, 0 for all; the NUMA nodes are shown with whole GiB that add up to no more,
// each with its share.
Result<std::string> topology_xml(const std::string& cpuset = "", std::uint64_t most_memory = 0);

// What the resource graph is made of, and no more: of two equal nodes it is the same text. Names of
// hosts, serial numbers, addresses and the current speed of links are not in it, and memory is in
// whole GiB. What is no export of hwloc's, a line for each element, comes back as it is.
std::string portable_topology(std::string_view xml);
// By which two of them are told apart: 16 hexadecimal digits.
std::string topology_digest(std::string_view portable);

// The CPUs this process may use as a list, "0-3,8": what a child's agents get as HOLON_CPUSET.
Result<std::string> allowed_cpuset();

}  // namespace holon::launch
