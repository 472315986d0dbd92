#include "transport/zmtp/unread_bytes.hpp"

#include <algorithm>

namespace holon::transport {
namespace {

constexpr std::int64_t kFirstPause = 1'000, kLongestPause = 5'000;  // ms

}  // namespace

void UnreadBytes::add(ConnectionId connection, const Principal& who, std::size_t bytes) {
  if (bytes == 0) return;
  Debt& debt = debts_[connection];
  debt.bytes += bytes;
  if (who.kind == Principal::Kind::munge) debt.of_users[who.uid] += bytes;
  shared_->owe(who, bytes);
}

void UnreadBytes::settle(ConnectionId connection) {
  const auto settled = debts_.extract(connection);
  if (settled.empty()) return;
  for (const auto& [user, bytes] : settled.mapped().of_users)
    shared_->owe_less({Principal::Kind::munge, user, 0, 0, ""}, bytes);
}

std::size_t UnreadBytes::of(ConnectionId connection) const {
  const auto found = debts_.find(connection);
  return found == debts_.end() ? 0 : found->second.bytes;
}

bool UnreadBytes::may_ask(ConnectionId connection, std::int64_t now) {
  Debt& debt = debts_.at(connection);
  if (now < debt.asked_again) return false;
  debt.pause = std::clamp(2 * debt.pause, kFirstPause, kLongestPause);
  debt.asked_again = now + debt.pause;
  return true;
}

std::vector<ConnectionId> UnreadBytes::connections() const {
  std::vector<ConnectionId> all;
  for (const auto& [connection, debt] : debts_) all.push_back(connection);
  return all;
}

}  // namespace holon::transport
