// large_tables.hpp - how many keys the largest of a policy's Lua tables has room for.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace holon::policy {

// The sandbox adds the tables that are large only. All calls are O(1) on average: a policy pays no
// steps for tables that it drops. Not thread-safe.
class LargeTables {
 public:
  // Adds a new table at `block` with room for `keys` keys, a power of two. REQUIRES: none is there.
  // True: it is larger than all others.
  bool add(const void* block, std::size_t keys);
  // Removes the table at `block`; does nothing if none was added.
  void remove(const void* block);
  // The room of the largest table, in keys; 0: there is none.
  std::size_t most() const { return std::bit_floor(sizes_); }

 private:
  std::unordered_map<const void*, std::size_t> keys_in_;
  std::array<std::size_t, 64> of_size_{};  // tables, by the logarithm of their keys
  std::uint64_t sizes_ = 0;                // a bit for each size that there is
};

}  // namespace holon::policy
