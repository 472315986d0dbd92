// Equal nodes differ in what hwloc shows only for people: such lines are left out, so that a
// topology travels once, and is kept once, however many nodes have it.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/checksum.hpp"
#include "launch/hardware/xml_line.hpp"
#include "launch/topology.hpp"

namespace holon::launch {
namespace {

// Infos of a block device, which a graph may have as storage.
constexpr std::array<std::string_view, 2> kKeptInfos = {"Size", "LinuxDeviceID"};
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

bool is_of_this_node_only(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.starts_with("<page_type ")) return true;
  if (!line.starts_with("<info ")) return false;
  const auto name = xml_value(line, "name");
  return name.is_there() &&
         std::find(kKeptInfos.begin(), kKeptInfos.end(), name.in(line)) == kKeptInfos.end();
}

std::string in_whole_gib(std::string line) {
  const auto [begin, end] = xml_value(line, "local_memory");
  std::uint64_t bytes = 0;
  if (begin == std::string::npos ||
      std::from_chars(line.data() + begin, line.data() + end, bytes).ec != std::errc())
    return line;
  return line.replace(begin, end - begin, fmt::format("{}", bytes / kGiB * kGiB));
}

std::string without_speed(std::string line) {
  constexpr std::string_view kName = "pci_link_speed";
  const auto [begin, end] = xml_value(line, kName);
  if (begin == std::string::npos) return line;
  const auto first = begin - kName.size() - 3;  // the blank before it, =, and "
  return line.erase(first, end + 1 - first);
}

}  // namespace

std::string portable_topology(std::string_view xml) {
  std::string portable;
  portable.reserve(xml.size());
  while (!xml.empty()) {
    const auto length = std::min(xml.find('\n'), xml.size() - 1) + 1;
    const auto line = xml.substr(0, length);
    xml.remove_prefix(length);
    if (!is_of_this_node_only(line)) portable += without_speed(in_whole_gib(std::string(line)));
  }
  return portable;
}

std::string topology_digest(std::string_view portable) {
  return fmt::format("{:016x}", checksum(portable));
}

}  // namespace holon::launch
