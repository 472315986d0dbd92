// queue.hpp - what clients ask and change about queues: urgency of jobs, gates,
// statistics. Conventions as in instance.hpp; docs/protocol.md is the description for others.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// "urgency": of pending jobs; all or none of them. 0 holds a job, 31 expedites it.
struct UrgencyRequest {
  std::vector<std::uint64_t> ids;
  std::uint32_t urgency = 16;
  HOLON_FIELDS(ids, urgency)
};

// "queue.gate": opens or closes a queue, for submissions or for scheduling. Kept in the journal.
struct GateRequest {
  std::string queue;  // empty: all
  std::string gate;   // submit, start
  bool open = true;
  std::string reason;  // for those who are turned away
  HOLON_FIELDS(queue, gate, open, reason)
};

struct QueueInfo {
  std::string name, policy;
  bool enabled = true;  // takes submissions
  bool started = true;  // schedules
  std::string disabled_because, stopped_because;
  // For a user-written policy: its base, and its last failure; `given_up`: the base has taken over.
  std::string base, trouble;
  std::int64_t troubles = 0;
  bool given_up = false;
  std::int64_t depth = 0;     // queue.depth
  std::int64_t pending = 0;   // looked at: not the held and blocked ones
  std::int64_t held = 0;      // urgency 0, or a dependency
  std::int64_t blocked = 0;   // no resource that is up can serve them
  std::int64_t reserved = 0;  // hold a reservation
  std::int64_t running = 0;
  std::int64_t considered = 0;  // looked at by the last pass and left waiting
  // Since the broker was started:
  std::int64_t submitted = 0, begun = 0, backfilled = 0, finished = 0, cancelled = 0, rejected = 0,
               reprioritized = 0, preempted = 0;
  HOLON_FIELDS(name, policy, enabled, started, disabled_because, stopped_because, depth, pending,
               held, blocked, reserved, running, considered, submitted, begun, backfilled, finished,
               cancelled, rejected, reprioritized, preempted, base, trouble, troubles, given_up)
};

// "stats": of the queues and of the scheduler's passes since the broker was started.
struct StatsReply {
  std::vector<QueueInfo> queues;
  std::int64_t passes = 0;
  std::int64_t last_us = 0, mean_us = 0, longest_us = 0;  // microseconds a pass took
  std::int64_t vertices = 0;                              // of the resource graph
  HOLON_FIELDS(queues, passes, last_us, mean_us, longest_us, vertices)
};

}  // namespace holon::msg
