// ended.hpp - what is kept of a task of an array that is over: some 30 bytes, of which its record
// and its event log are made again.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "instance/job/job.hpp"

namespace holon::instance {

// The life of an INACTIVE task. What it shares with its array (when and by whom it was submitted)
// is not in it; neither are the ids of its processes.
std::string pack_ended(const Lifecycle& life);
// `array`: the life of the array, for what the task shares with it. Errors: protocol (not such
// bytes).
Result<Lifecycle> unpack_ended(std::string_view bytes, const Lifecycle& array);

// The life of a task of which nothing has happened yet: it may be queued.
Lifecycle fresh_task(const Lifecycle& array);

// What happened to it since it left the queue, as far as `life` tells.
std::vector<Event> events_of_ended(const Lifecycle& life);

// The row of a task of which something has happened, and which is not over: its own events.
void append_to_run(std::string& bytes, const Event& event);
// Errors: invalid_argument (bytes that make no sense).
Result<std::vector<Event>> events_in_run(std::string_view bytes);

}  // namespace holon::instance
