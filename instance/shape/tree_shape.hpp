// tree_shape.hpp - the shape of a tree of instances: how many children each instance of a level
// has. "4x4" has 4 below the root (level 1), and 4 below each of these (level 2, the leaves).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::instance {

// Children of an instance of level 0, 1, ...; empty: no tree.
using TreeShape = std::vector<std::uint32_t>;

inline constexpr std::uint64_t kMostLeaves = 10'000;
inline constexpr std::size_t kMostLevels = 8;

// Reads "4x4", "8", "2x3x4". Errors: invalid_argument (also of more leaves or levels than above).
Result<TreeShape> parse_tree_shape(std::string_view word);
// The word for a shape; "" for none.
std::string to_text(const TreeShape& shape);
// The shape below a child of an instance with this one. REQUIRES: it is not empty.
TreeShape below(const TreeShape& shape);
// How many instances have none below them.
std::uint64_t leaves_of(const TreeShape& shape);

// A part of the configuration that is for the instances of one level only.
struct LevelConf {
  std::size_t level = 0;  // 0: the instance itself
  std::string item;       // KEY=VALUE, or the name of a file
};
// Reads "1:queue.policy=easy". Errors: invalid_argument (also for a level that is not of `shape`).
Result<LevelConf> parse_level_conf(const std::string& word, const TreeShape& shape);

}  // namespace holon::instance
