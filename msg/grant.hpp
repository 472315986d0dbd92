// grant.hpp - grants that move: what clients ask about them, and what an instance and one below it
// say to each other. Conventions as in instance.hpp.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// "grant.ask", of a child instance: it asks the instance above for more. What it gets is held by a
// job there (`grant`), which waits in that instance's queue like any other. Answered when that job
// has started, or is planned. Refused with Errc::unsatisfiable: it gets none, and why.
struct GrantAsk {
  std::string jobspec;  // the resources, and for how long; its command is not used
  HOLON_FIELDS(jobspec)
};
struct GrantAnswer {
  bool is_here = false;  // else it comes later
  std::int64_t at = 0;   // when, as planned now; 0: not known
  std::int64_t cores = 0, gpus = 0;
  std::int64_t until = 0;  // 0: until the child's end
  std::uint64_t epoch = 0;
  HOLON_FIELDS(is_here, at, cores, gpus, until, epoch)
};

// Some units that one holds of another.
struct GrantPart {
  std::string path;    // whose: of the child; of what an instance itself holds: its own
  std::string source;  // owned, extra
  // offered, held, asked back, draining, returned, lost; lent: the child's own, lent by it
  std::string state;
  std::string units;  // an idset of the numbers that the root has given them
  std::int64_t cores = 0, gpus = 0;
  std::int64_t until = 0;   // 0: no end of its own
  std::uint64_t grant = 0;  // in the instance above: the job that holds it; 0: the child's own job
  std::string why;          // it is asked back
  std::string nodes;        // whole nodes that came with it, a hostlist
  HOLON_FIELDS(path, source, state, units, cores, gpus, until, grant, why, nodes)
};

// "grant.show": what the instance holds from above, and what it has given on.
struct GrantReply {
  std::string path;
  std::uint64_t epoch = 0;  // of what it holds from above; 0: nothing has moved yet
  std::vector<GrantPart> held, given;
  std::vector<std::int64_t> promised;  // when what it has asked for is planned to come; 0: unknown
  HOLON_FIELDS(path, epoch, held, given, promised)
};

// "grant.wait": answered (GrantReply) once the epoch of what the instance holds from above is above
// this one.
struct GrantWait {
  std::uint64_t epoch = 0;
  HOLON_FIELDS(epoch)
};

// "grant.explain", of a child: with how many cores more a job that waits there would start, and
// when the instance above could give them. Nothing is asked for.
struct GrantExplain {
  std::uint64_t job = 0;
  HOLON_FIELDS(job)
};
// When a job that is not there would start in the instance above.
struct GrantChance {
  bool is_planned = false;  // from `at` on nobody who waits is in its way
  std::int64_t at = 0;      // 0: now
  // Not planned: from here on there is room for it, unless a job ahead of it takes that; 0:
  // unknown.
  std::int64_t room = 0;
  std::int64_t cores = 0;  // of the instance above
  // A whole node that the child does not have, the one with the fewest cores: "core=16,memory=64".
  std::string node;
  std::string no_nodes;  // why it never gets one; "": it may
  HOLON_FIELDS(is_planned, at, room, cores, node, no_nodes)
};
struct GrantExplained {
  std::int64_t cores = 0;     // 0: no number of cores is known that would do
  std::string why_none;       // where that is so
  std::int64_t limit = 0;     // ms for which an ask should be; 0: to the end of the child
  std::string hosts;          // where the job needs them, a hostlist
  std::int64_t here = 0;      // cores of the child
  GrantChance chance;         // unless one of these says why there is none
  std::string never, unsaid;  // the instance above never has them; it has not answered
  std::int64_t nodes = 0;     // the cores come with so many whole nodes; 0: on nodes that it has
  HOLON_FIELDS(cores, why_none, limit, hosts, here, chance, never, unsaid, nodes)
};

// "grant.could", from a child: answered with GrantChance; refused with Errc::unsatisfiable: never,
// and why.
struct GrantCould {
  std::string jobspec;  // of an ask; "": what is asked about is nodes alone
  HOLON_FIELDS(jobspec)
};

// "grant.release", of a child: extra units go back once nothing runs there. No epoch named: all.
struct GrantRelease {
  std::string units;  // an idset, which names parts as a whole; "": all
  HOLON_FIELDS(units)
};

// "grant.lend", of a child: idle units of its own are the instance's above until then.
struct GrantLend {
  std::int64_t cores = 0, gpus = 0;
  std::int64_t nodes = 0;  // whole ones, which are refused
  std::int64_t until = 0;
  HOLON_FIELDS(cores, gpus, nodes, until)
};
struct GrantLent {
  std::uint64_t job = 0;  // of the child: what is lent is held by it
  std::int64_t cores = 0, gpus = 0;
  std::int64_t until = 0;
  std::string units;
  HOLON_FIELDS(job, cores, gpus, until, units)
};

// "grant.recall", of an instance: a child is to give back what it has beyond its own, or what this
// instance has lent of its own comes back before its time.
struct GrantRecall {
  std::uint64_t child = 0;  // 0: what this instance has lent
  std::uint64_t grant = 0;  // the job that holds it; 0: all
  std::int64_t notice = 0;  // ms from now
  bool kill = false;        // what runs there then is ended; else it ends by itself
  std::string reason;
  HOLON_FIELDS(child, grant, notice, kill, reason)
};

// "grant.history": the entries about grants in the journal, the newest last.
struct GrantHistoryRequest {
  std::uint64_t limit = 100;
  HOLON_FIELDS(limit)
};
struct GrantEvent {
  std::int64_t time = 0;
  std::string name;   // offered, took, settled, released, returned, gone, ...
  std::string entry;  // JSON; times by the wall clock, in ms
  HOLON_FIELDS(time, name, entry)
};
struct GrantHistory {
  std::vector<GrantEvent> events;
  HOLON_FIELDS(events)
};

// "grant.pulse", from a child that has something which may be fenced: it is there. The answer
// counts from when the child asked: so long may it go by what it has.
struct GrantPulse {
  std::uint64_t epoch = 0;  // of what it has
  HOLON_FIELDS(epoch)
};
struct GrantPulseReply {
  bool is_sure = false;    // nothing of that epoch was taken from it
  std::int64_t left = -1;  // ms for which the instance above is sure of its own; negative: always
  HOLON_FIELDS(is_sure, left)
};

// "grant" (both ways between parent and child): one message of holdings/, with times as ms from
// when it was sent; answered with Empty once journalled.
struct GrantMessage {
  std::string message;    // JSON
  std::string jgf;        // with an extend: the units, as in Grant
  std::int64_t sent = 0;  // by the sender's wall clock
  HOLON_FIELDS(message, jgf, sent)
};

}  // namespace holon::msg
