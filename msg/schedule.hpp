// schedule.hpp - what clients ask about the schedule: why a job waits, the plan, the
// backfill windows. Conventions as in instance.hpp; docs/protocol.md is the description for others.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// "explain": why jobs wait, and what would let them start now. Costs some dozen matches a job, so
// that one request explains only so many.
inline constexpr std::uint64_t kMaxExplained = 64;

struct ExplainRequest {
  std::vector<std::uint64_t> ids;  // at most kMaxExplained; empty: pending jobs, by id
  std::uint64_t after = 0;         // without ids: only those with a higher id
  std::uint64_t limit = 0;         // without ids: at most so many; 0, or more: kMaxExplained
  HOLON_FIELDS(ids, after, limit)
};
// A job, or an advance reservation, in the way of a job.
struct Obstacle {
  std::uint64_t id = 0;
  std::string path;  // of a job, as people type it: "/3/1.2"; of another user's ""
  std::string name;
  std::string user;
  std::string state;
  std::string nodelist;  // of a running one
  // The latest time at which its limit, its interval, or the grace of a preempted job ends it; 0:
  // unknown.
  std::int64_t until = 0;
  std::string kind = "job";  // job, preempted (a job that was told to end), advance
  std::int64_t from = 0;     // when an advance reservation begins
  bool is_instance = false;  // who asks could submit to it instead
  HOLON_FIELDS(kind, id, path, name, user, state, nodelist, from, until, is_instance)
};
// A change after which the job would start now.
struct Remedy {
  std::string kind;  // limit, size, queue, urgency, gate, lease (more time for the instance)
  // limit: ms; size: how many of what the jobspec counts first; urgency; lease: ms that are missing
  std::int64_t value = 0;
  std::string queue;  // queue, gate
  double cost = 0;    // the share of what was asked for that is given up, 0 to 1
  std::string text;   // "a time limit of 5m or less"; urgency, gate and lease: a command
  HOLON_FIELDS(kind, value, queue, cost, text)
};
struct Explained {
  std::uint64_t id = 0;
  std::string path, name, user, queue, state;
  std::string reason;
  std::string waits_for;        // as in JobRecord
  std::string resources;        // what it asks for, for display
  std::int64_t limit = 0;       // as asked for
  std::int64_t t_planned = 0;   // its reservation or its begin time; 0: neither
  std::int64_t t_room = 0;      // without one: from here on there is room for it; 0: unknown
  std::uint64_t position = 0;   // jobs of its queue that are looked at before it
  std::int64_t considered = 0;  // of `pending` jobs of its queue the last pass looked at so many
  std::uint64_t pending = 0;    // and left them waiting
  std::vector<Obstacle> in_the_way;  // soonest over first; those in front of it last
  std::vector<Remedy> remedies;      // cheapest first; empty: none was found
  HOLON_FIELDS(id, path, name, user, queue, state, reason, resources, limit, t_planned, t_room,
               position, considered, pending, in_the_way, remedies, waits_for)
};
struct ExplainReply {
  std::vector<Explained> jobs;
  bool more = false;  // without ids: there are pending jobs after the last one
  HOLON_FIELDS(jobs, more)
};

// "priority": what the places of jobs in their queue come from, highest first.
inline constexpr std::uint64_t kMaxPriorities = 10'000;

struct PriorityRequest {
  std::vector<std::uint64_t> ids;  // empty: all that wait in a queue
  std::uint64_t limit = 0;         // without ids: at most so many; 0, or more: kMaxPriorities
  HOLON_FIELDS(ids, limit)
};
// One line of the sum: value (after its cap) x weight = points.
struct PriorityPart {
  std::string factor;
  double value = 0, weight = 0, points = 0;
  HOLON_FIELDS(factor, value, weight, points)
};
struct Prioritized {
  std::uint64_t id = 0;
  std::string path, name, user, queue, state;
  std::uint32_t urgency = 0;
  std::int64_t priority = 0;
  // "": the parts; "urgency": nothing is weighted; else a phrase that stands above the parts
  std::string set_by;
  std::vector<PriorityPart> parts;
  HOLON_FIELDS(id, path, name, user, queue, state, urgency, priority, set_by, parts)
};
struct PriorityReply {
  std::vector<Prioritized> jobs;
  std::uint64_t pending = 0;  // jobs that wait in a queue
  HOLON_FIELDS(jobs, pending)
};

// "plan" (stream of PlanPart): every span, running jobs by end, then reservations by start. A plan
// of a hundred thousand jobs comes in as many parts as it needs.
struct PlanRequest {
  bool vertices = false;  // name the vertices of each span
  HOLON_FIELDS(vertices)
};
struct SpanVertex {
  std::string path;         // "/cluster0/node1/core3"
  std::int64_t amount = 0;  // units of the pool
  bool exclusive = false;   // everything below it, too
  HOLON_FIELDS(path, amount, exclusive)
};
struct Span {
  std::uint64_t id = 0;  // of the job, or of the advance reservation
  std::string path, name, user, queue;
  std::string kind;                 // allocation, reservation, advance
  std::int64_t begin = 0, end = 0;  // end 0: with the instance
  std::string nodelist;             // "": not decided yet, only how much
  std::int64_t nodes = 0, cores = 0, gpus = 0;
  std::map<std::string, std::int64_t> pools;  // consumables beside the tree, by name
  std::vector<SpanVertex> vertices;           // where asked for
  HOLON_FIELDS(id, path, name, user, queue, kind, begin, end, nodelist, nodes, cores, gpus, pools,
               vertices)
};
struct PlanPart {
  std::int64_t now = 0;
  std::vector<Span> spans;
  HOLON_FIELDS(now, spans)
};

// "windows": what could start now without delaying anybody.
struct WindowMessage {
  std::int64_t cores = 0;
  std::int64_t length = 0;  // ms from now; 0: without end
  HOLON_FIELDS(cores, length)
};
// A queue in which a job that is submitted now would not start, whatever it asks for.
struct ClosedQueue {
  std::string queue, reason;
  HOLON_FIELDS(queue, reason)
};
struct WindowsReply {
  std::int64_t now = 0;
  std::int64_t cores = 0;              // in all
  std::vector<WindowMessage> windows;  // widest first; each narrower one is longer
  std::vector<ClosedQueue> closed;     // all queues: then there are no windows
  HOLON_FIELDS(now, cores, windows, closed)
};

}  // namespace holon::msg
