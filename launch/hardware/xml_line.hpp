// xml_line.hpp - an element of a topology as hwloc exports it: on a line of its own.
#pragma once
#include <string>
#include <string_view>

namespace holon::launch {

// The position of an attribute's value in a line; `begin` is npos if there is none.
struct XmlValue {
  std::size_t begin = std::string_view::npos, end = 0;

  bool is_there() const { return begin != std::string_view::npos; }
  std::string_view in(std::string_view line) const { return line.substr(begin, end - begin); }
};

inline XmlValue xml_value(std::string_view line, std::string_view name) {
  const std::string mark = " " + std::string(name) + "=\"";
  const auto at = line.find(mark);
  if (at == std::string_view::npos) return {};
  const auto begin = at + mark.size();
  const auto end = line.find('"', begin);
  return end == std::string_view::npos ? XmlValue() : XmlValue{begin, end};
}

}  // namespace holon::launch
