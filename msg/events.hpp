// events.hpp - what happens in an instance, for those who follow it: how everything stands, then
// each change, and a cursor to go on from. Conventions as in instance.hpp; docs/protocol.md is the
// description for others.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "msg/instance.hpp"

namespace holon::msg {

// "events" (stream of EventsPart, without end unless `once`): without a cursor it begins with a
// snapshot; with the cursor of a part it goes on behind that part, over restarts of the client and
// of the broker. A cursor from which it cannot go on (what came after it is forgotten or lost)
// begins with a snapshot again.
struct EventsRequest {
  std::string cursor;    // of the last part that was dealt with; "": none
  bool all = false;      // the snapshot has inactive jobs, too
  bool records = false;  // a part also has the records, as they are now, of the jobs in `events`
  bool node = false;     // and the instance's node of the tree whenever that has changed
  // No snapshot: the stream begins with an empty part, `anew`, and goes on with what happens then.
  bool bare = false;
  // No snapshot: the stream begins, `anew`, with all events that the instance still has.
  bool past = false;
  bool once = false;                    // the stream ends when all that has happened is told
  std::vector<std::string> names = {};  // only events of these names; empty: all
  // Arrays, and tasks of them, to follow by records: what happens to tasks is no event. The records
  // come behind the snapshot, and whenever they have changed.
  std::vector<std::uint64_t> arrays = {};
  HOLON_FIELDS(cursor, all, records, node, bare, past, once, names, arrays)
};

// A part of the stream. After a snapshot and all parts behind it a follower knows what the instance
// knows: no event is left out, none comes twice, and the events of all jobs come in the order in
// which they were journalled.
struct EventsPart {
  bool anew = false;            // a snapshot begins: what was known of jobs before is void
  std::vector<JobRecord> jobs;  // take the place of what was known of these jobs
  std::vector<JobEvent> events;
  std::vector<TreeNode> node;  // one or none: this instance, without its children
  std::string cursor;          // of the end of this part; "": the snapshot is not complete yet
  HOLON_FIELDS(anew, jobs, events, node, cursor)
};

}  // namespace holon::msg
