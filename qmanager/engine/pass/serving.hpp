// serving.hpp - the advance reservations in a pass: each that is under way has a scheduler of its
// own within, which is served first. Private to qmanager/.
#pragma once
#include "qmanager/engine/walk/deciding.hpp"

namespace holon::qmanager {

// Sends away the jobs that wait in a reservation which is over; it stays until its last job ends.
void close_advances(Parts<Plan, Progress, Queues, Advances> s, Time now, Deciding& deciding);

struct Served {
  bool more = false;           // a scheduler within ran out of budget
  std::optional<Time> wake{};  // when one begins, ends, or wants to be served again
};
Served serve_advances(Parts<Accounts, Advances> s, Time now, Budget budget, Deciding& deciding);

}  // namespace holon::qmanager
