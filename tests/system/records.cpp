#include "tests/system/records.hpp"

#include <algorithm>
#include <map>

#include "base/hostlist.hpp"
#include "base/idset.hpp"

namespace holon::system_test {
namespace {

std::vector<std::uint64_t> ids_of(const nlohmann::json& text) {
  const auto ids = Idset::parse(text.get<std::string>());
  return ids ? ids->ids() : std::vector<std::uint64_t>();
}

}  // namespace

std::set<Unit> units_of(const nlohmann::json& rv1) {
  std::set<Unit> units;
  if (!rv1.is_object()) return units;
  const auto& execution = rv1.at("execution");
  std::vector<std::string> hosts;  // in the order of the ranks
  for (const auto& list : execution.at("nodelist")) {
    const auto parsed = Hostlist::parse(list.get<std::string>());
    if (parsed)
      for (const auto& host : parsed->hosts()) hosts.push_back(host);
  }
  std::map<std::uint64_t, std::vector<std::uint64_t>> cores;
  for (const auto& part : execution.at("R_lite"))
    for (const auto rank : ids_of(part.at("rank")))
      for (const auto core : ids_of(part.at("children").at("core"))) cores[rank].push_back(core);
  std::size_t place = 0;
  for (const auto& [rank, numbers] : cores) {
    for (const auto core : numbers) units.emplace(hosts.at(place), static_cast<int>(core));
    ++place;
  }
  return units;
}

std::string first_conflict(const std::vector<Holding>& holdings) {
  for (std::size_t i = 0; i < holdings.size(); ++i) {
    for (std::size_t j = i + 1; j < holdings.size(); ++j) {
      const Holding &a = holdings[i], &b = holdings[j];
      if (std::max(a.begin, b.begin) >= std::min(a.end, b.end)) continue;
      for (const Unit& unit : a.units)
        if (b.units.contains(unit))
          return a.path + " and " + b.path + " both held core " + std::to_string(unit.second) +
                 " of " + unit.first;
    }
  }
  return "";
}

}  // namespace holon::system_test
