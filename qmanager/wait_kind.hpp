// wait_kind.hpp - the kind of what keeps a pending job from running, for programs: the sentence
// beside it is for people, and its words may change.
#pragma once
#include <cstdint>
#include <string_view>

namespace holon::qmanager {

enum class WaitKind : std::uint8_t {
  untried,      // no pass of the scheduler has come to it yet
  held,         // its urgency is 0
  outage,       // what could serve it is down, drained or not here yet
  limit,        // a limit of its user, group, account or QOS
  resources,    // what it needs is in use
  pool,         // a licence, or another pool of the instance, is in use
  reservation,  // what it needs is free, but not for as long as it may run
  planned,      // it has a reservation, and nothing else is in its way
  order,        // jobs of its queue or QOS start in their order, and another one is in front
  depth,        // it is behind the jobs that are tried (queue.depth)
  policy,       // its queue's policy lets it not overtake
  chunk,        // what is free is kept for larger jobs for a while
  lease,        // it would end after the lease of the resources
  stopped,      // its queue is stopped
  preemption,   // other jobs are being ended for it
  advance,      // its advance reservation has not begun
};

// As in JSON: "held". What a job waits for before the scheduler has it, such as other jobs, has
// words of its own (docs/protocol.md, "What a job waits for").
std::string_view name_of(WaitKind kind);

}  // namespace holon::qmanager
