#include "resource/formats/xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <span>
#include <sstream>

namespace holon::resource {
namespace {

using Tree = boost::property_tree::ptree;

bool is_set(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEFx,") == text.npos;
}

// Recurses no deeper than kMaxXmlDepth.
std::string object_flaw(const Tree& object, std::span<const char* const> sets) {
  const auto type = object.get<std::string>("<xmlattr>.type", "");
  constexpr std::array kDevices{"Bridge", "PCIDev", "OSDev", "Misc"};
  const bool device = std::ranges::find(kDevices, type) != kDevices.end();
  for (const char* name : sets) {
    if (device) break;
    if (!is_set(object.get<std::string>(std::string("<xmlattr>.") + name, ""))) {
      return fmt::format("an object of type '{}' has no {}", type, name);
    }
  }
  // libhwloc makes bitmaps as long as these; those of PCI devices pack bus and function in 20 bits.
  const auto index = object.get<std::string>("<xmlattr>.os_index", "0");
  if (index.size() > (device ? 10 : 6) || index.find_first_not_of("0123456789") != index.npos) {
    return fmt::format("an object of type '{}' has the os_index '{}'", type, index);
  }
  for (const auto& [name, child] : object) {
    if (name != "object") continue;
    if (auto flaw = object_flaw(child, sets); !flaw.empty()) return flaw;
  }
  return {};
}

}  // namespace

std::string hwloc_xml_flaw(std::string_view xml) {
  Tree document;
  try {
    std::istringstream in{std::string(xml)};
    boost::property_tree::read_xml(in, document);
  } catch (const boost::property_tree::xml_parser_error& error) {
    return fmt::format("line {}: {}", error.line(), error.message());
  }
  const auto topology = document.get_child_optional("topology");
  if (!topology) return "there is no <topology>";
  // hwloc 1 wrote no version, and nodesets only where there were NUMA nodes.
  const auto version = topology->get<std::string>("<xmlattr>.version", "");
  if (!version.empty() && !version.starts_with("2.")) return "of version " + version;
  constexpr std::array kSets{"cpuset", "complete_cpuset", "nodeset", "complete_nodeset"};
  const auto machine = topology->get_child_optional("object");
  if (!machine) return "there is no <object>";
  return object_flaw(*machine, std::span(kSets).first(version.empty() ? 2 : 4));
}

bool xml_nested_too_deep(std::string_view xml) {
  int depth = 0;
  bool tag = false, opening = false;
  char quote = '\0';
  for (std::size_t i = 0; i < xml.size(); ++i) {
    const char c = xml[i];
    const char next = i + 1 < xml.size() ? xml[i + 1] : '\0';
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (!tag && c == '<') {
      if (xml.substr(i, 4) == "<!--") {
        i = xml.find("-->", i + 4);
        if (i == xml.npos) return false;
        continue;
      }
      tag = true;
      opening = next != '/' && next != '!' && next != '?';
      if (opening && ++depth > kMaxXmlDepth) return true;
      if (next == '/') --depth;
    } else if (tag && (c == '"' || c == '\'')) {
      quote = c;
    } else if (tag && c == '>') {
      if (opening && xml[i - 1] == '/') --depth;
      tag = false;
    }
  }
  return false;
}

}  // namespace holon::resource
