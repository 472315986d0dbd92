// topologies.hpp - small machines of each kind that hwloc's own collection has, as XML.
#pragma once
#include <fmt/format.h>
#include <hwloc.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace holon::test {

// "" where hwloc knows no such machine.
inline std::string xml_of_synthetic(const std::string& description) {
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_set_synthetic(topology, description.c_str()) != 0 ||
      hwloc_topology_load(topology) != 0) {
    hwloc_topology_destroy(topology);
    return "";
  }
  hwloc_obj_add_info(hwloc_get_root_obj(topology), "HostName", "kind0");
  char* buffer = nullptr;
  int length = 0;
  hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0);
  std::string xml(buffer, static_cast<std::size_t>(length) - 1);
  hwloc_free_xmlbuffer(topology, buffer);
  hwloc_topology_destroy(topology);
  return xml;
}

struct Card {
  const char* vendor;      // of PCI
  const char* library;     // "cuda", "rsmi": what hwloc names it by; "": no library sees it
  const char* kind = "5";  // a coprocessor; 1: a GPU
};
inline constexpr Card kNvidia{"10de", "cuda"}, kAmd{"1002", "rsmi", "1"}, kIntel{"8086", "ze"};

// Cards below the packages in turn, or below the machine where there are none.
inline std::string with_cards(const std::string& xml, const std::vector<Card>& cards) {
  std::string text = xml;
  std::map<std::string, int> seen;
  int bus = 1;
  std::size_t from = 0;
  for (const Card& card : cards) {
    const std::string device = fmt::format(
        "<object type=\"PCIDev\" gp_index=\"{0}\" pci_busid=\"0000:{1:02x}:00.0\" "
        "pci_type=\"0302 [{2}:0001] [0000:0000] a1\" pci_link_speed=\"0.0\">"
        "<object type=\"OSDev\" gp_index=\"{3}\" name=\"{4}{5}\" osdev_type=\"{6}\"/></object>\n",
        9000 + 2 * bus, bus, card.vendor, 9001 + 2 * bus, card.library, seen[card.library]++,
        card.kind);
    ++bus;
    // Just before the end of a package that is later than the last one; around from the beginning.
    auto at = text.find("<object type=\"Package\"", from);
    if (at == std::string::npos) at = text.find("<object type=\"Package\"");
    if (at == std::string::npos) {
      const auto end = text.rfind("</object>");
      text.insert(end, device);
      continue;
    }
    int depth = 0;
    for (auto next = at;;) {
      const auto open = text.find("<object", next), close = text.find("</object>", next);
      if (open < close) {
        const auto end = text.find('>', open);
        depth += text[end - 1] == '/' ? 0 : 1;
        next = end;
      } else if (--depth == 0) {
        text.insert(close, device);
        from = close + device.size();
        break;
      } else {
        next = close + 1;
      }
    }
  }
  return text;
}

// Where NUMA nodes stand. {0}: the packages and what is below them.
inline constexpr const char* kMemories[] = {
    "[numa(memory=8589934592)] {packages} {inside}",  // one for the machine
    "{packages} [numa(memory=4294967296)] {inside}",  // one a package
    "{packages} [numa(memory=4294967296)] [numa(memory=17179869184)] {inside}",  // and memory alone
    "{packages} group:2 [numa(memory=2147483648)] {inside}",  // several in a package
    "group:2 [numa(memory=8589934592)] {packages} {inside}",  // several packages in one
    "[numa(memory=68719476736)] {packages} [numa(memory=4294967296)] {inside}",  // memory around
};
inline constexpr const char* kInsides[] = {
    "core:1 pu:1",
    "core:2 pu:1",
    "core:4 pu:2",
    "l3:1 core:3 pu:1",
    "l3:2 core:2 pu:2",
    "l2:2 core:2 pu:1",
    "l3:1 l2:2 core:1 pu:4",
    "pu:2",
    "pu:4",
};

inline std::string described(const char* memory, int packages, const char* inside) {
  std::string text = memory;
  for (const auto& [word, what] :
       {std::pair<std::string, std::string>("{packages}", fmt::format("pack:{}", packages)),
        {"{inside}", inside}})
    text.replace(text.find(word), word.size(), what);
  return text;
}

inline std::vector<std::string> kinds() {
  std::vector<std::string> all;
  for (const int packages : {1, 2, 4, 8})
    for (const char* const memory : kMemories)
      for (const char* const inside : kInsides) all.push_back(described(memory, packages, inside));
  for (const char* plain : {"core:4 pu:1", "pu:4", "numa:2 core:2 pu:1", "[numa] core:6 pu:2",
                            "numa:4 pu:2", "group:2 core:2 pu:2"})
    all.push_back(plain);
  return all;
}

}  // namespace holon::test
