#include "base/lineage.hpp"

namespace holon {

std::string_view next_lineage_entry(std::string_view& lineage) {
  const auto blank = lineage.find(' ');
  const std::string_view entry = lineage.substr(0, blank);
  lineage.remove_prefix(blank == std::string_view::npos ? lineage.size() : blank + 1);
  return entry;
}

bool is_within(std::string_view lineage, std::string_view prefix) {
  while (!lineage.empty()) {
    const std::string_view entry = next_lineage_entry(lineage);
    if (entry.starts_with(prefix) || entry == prefix.substr(0, prefix.size() - 1)) return true;
  }
  return false;
}

}  // namespace holon
