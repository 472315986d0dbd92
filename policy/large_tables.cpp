#include "policy/large_tables.hpp"

namespace holon::policy {

bool LargeTables::add(const void* block, std::size_t keys) {
  const bool is_larger = keys > most();
  keys_in_[block] = keys;
  ++of_size_.at(static_cast<std::size_t>(std::countr_zero(keys)));
  sizes_ |= keys;
  return is_larger;
}

void LargeTables::remove(const void* block) {
  const auto found = keys_in_.find(block);
  if (found == keys_in_.end()) return;
  const std::size_t keys = found->second;
  keys_in_.erase(found);
  if (--of_size_.at(static_cast<std::size_t>(std::countr_zero(keys))) == 0) sizes_ &= ~keys;
}

}  // namespace holon::policy
