// unread_bytes.hpp - bytes that connections were sent and may not have read, behind the end of the
// session in which they were sent. Private to transport/.
//
// A ZeroMQ socket keeps such bytes for as long as the connection is there. So what is owed is the
// connection's: neither a bye nor another hello takes it away.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "transport/session.hpp"
#include "transport/zmtp/listener.hpp"

namespace holon::transport {

// Not thread-safe. All but connections() are O(log connections).
class UnreadBytes {
 public:
  explicit UnreadBytes(std::shared_ptr<SessionShared> shared) : shared_(std::move(shared)) {}
  UnreadBytes(const UnreadBytes&) = delete;
  UnreadBytes& operator=(const UnreadBytes&) = delete;

  // Adds unread bytes of `who`, which count for that user as those of sessions do.
  void add(ConnectionId connection, const Principal& who, std::size_t bytes);
  // Settles: all was read, or the connection is gone.
  void settle(ConnectionId connection);
  std::size_t of(ConnectionId connection) const;
  // May the connection be asked now (monotonic ms) whether it is still there? It may be asked again
  // after a pause that doubles each time, 5 s at most, since it may not read the question either,
  // however often other connections end. REQUIRES: it owes something.
  bool may_ask(ConnectionId connection, std::int64_t now);
  std::vector<ConnectionId> connections() const;

 private:
  struct Debt {
    std::size_t bytes = 0;
    std::map<std::uint32_t, std::size_t> of_users{};
    std::int64_t asked_again = 0, pause = 0;  // not before then; ms
  };

  std::shared_ptr<SessionShared> shared_;
  std::map<ConnectionId, Debt> debts_;
};

}  // namespace holon::transport
