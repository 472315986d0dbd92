// records.hpp - what the records say a job held, and whether two jobs ever held the same.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holon::system_test {

// One core: the name of its node and its number there.
using Unit = std::pair<std::string, int>;

// The cores of an Rv1 object (RFC 20).
std::set<Unit> units_of(const nlohmann::json& rv1);

struct Holding {
  std::string path;  // of the job
  std::int64_t begin = 0, end = 0;
  std::set<Unit> units;
};

// Two jobs of one list that held a core at the same instant: "/1 and /2 both held core 3 of rank
// 0". Empty if there are none.
std::string first_conflict(const std::vector<Holding>& holdings);

}  // namespace holon::system_test
