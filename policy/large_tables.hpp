// large_tables.hpp - how many keys the largest of the tables has that there are just now.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace holon::policy {

// Tables of which only the large ones are told of. All calls are O(1) on average, since whoever
// makes and drops tables in a loop pays no steps for the drops. Not thread-safe.
class LargeTables {
 public:
  // `keys`, a power of two, is what the table at that block has room for; no table that is known is
  // there. True: none that is known is as large.
  bool add(const void* block, std::size_t keys);
  // Nothing happens if no table that is known is there.
  void remove(const void* block);
  // Keys of the largest one; 0: there is none.
  std::size_t most() const { return std::bit_floor(sizes_); }

 private:
  std::unordered_map<const void*, std::size_t> keys_in_;
  std::array<std::size_t, 64> of_size_{};  // tables, by the logarithm of their keys
  std::uint64_t sizes_ = 0;                // a bit for each size of which there are any
};

}  // namespace holon::policy
