#include "base/shared.hpp"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holon::tests {
namespace {

TEST(Shared, CopiesAreMadeByWhoChangesThem) {
  Shared<std::vector<int>> mine({1, 2});
  const std::vector<int>* place = &*mine;
  Shared<std::vector<int>> copy = mine;
  EXPECT_EQ(&*copy, place) << "nobody has changed it yet";
  copy.edit().push_back(3);
  EXPECT_EQ(*copy, (std::vector{1, 2, 3}));
  EXPECT_EQ(*mine, (std::vector{1, 2}));
  mine.edit().clear();
  EXPECT_EQ(&*mine, place) << "it is shared with nobody any more";
  EXPECT_EQ(copy->size(), 3U);
}

// Against plain maps, copies and copies of copies.
TEST(SharedMap, CopiesAreMapsOfTheirOwn) {
  std::mt19937 random(1);
  std::vector<std::pair<SharedMap<int, int>, std::unordered_map<int, int>>> maps(1);
  for (int step = 0; step < 3000; ++step) {
    if (random() % 20 == 0 && maps.size() < 5) maps.push_back(maps[random() % maps.size()]);
    if (random() % 30 == 0 && maps.size() > 1)
      maps.erase(maps.begin() + static_cast<int>(random() % maps.size()));
    auto& [map, model] = maps[random() % maps.size()];
    const int key = static_cast<int>(random() % 40);
    if (random() % 3 != 0) {
      map.set(key, step);
      model[key] = step;
    } else {
      map.erase(key);
      model.erase(key);
    }
    for (const auto& [each, want] : maps) {
      std::unordered_map<int, int> all;
      each.for_each([&all](int k, int v) { all.emplace(k, v); });
      ASSERT_EQ(all, want);
      ASSERT_EQ(each.contains(key), want.contains(key));
    }
  }
}

}  // namespace
}  // namespace holon::tests
