#include "transport/zmtp/left_debts.hpp"

namespace holon::transport {

void LeftDebts::add(ConnectionId connection, const Principal& who, std::size_t bytes) {
  if (bytes == 0) return;
  Debt& debt = debts_[connection];
  debt.bytes += bytes;
  if (who.kind == Principal::Kind::munge) debt.of_users[who.uid] += bytes;
  shared_->owe(who, bytes);
}

void LeftDebts::settle(ConnectionId connection) {
  const auto settled = debts_.extract(connection);
  if (settled.empty()) return;
  for (const auto& [user, bytes] : settled.mapped().of_users)
    shared_->owe_less({Principal::Kind::munge, user, 0, 0, ""}, bytes);
}

std::size_t LeftDebts::of(ConnectionId connection) const {
  const auto found = debts_.find(connection);
  return found == debts_.end() ? 0 : found->second.bytes;
}

std::vector<ConnectionId> LeftDebts::connections() const {
  std::vector<ConnectionId> all;
  for (const auto& [connection, debt] : debts_) all.push_back(connection);
  return all;
}

}  // namespace holon::transport
