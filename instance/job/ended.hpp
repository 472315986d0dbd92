// ended.hpp - a task of an array that is over, packed into some 30 bytes; its record and its event
// log are rebuilt from them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "instance/job/job.hpp"

namespace holon::instance {

// Packs the life of an INACTIVE task, without what it shares with its array (when and by whom it
// was submitted) and without the ids of its processes.
std::string pack_ended(const Lifecycle& life);
// `array`: the life of the array, for what the task shares with it. Errors: protocol (the bytes are
// no packed life).
Result<Lifecycle> unpack_ended(std::string_view bytes, const Lifecycle& array);

// The life of a task to which nothing has happened yet: it may be queued.
Lifecycle fresh_task(const Lifecycle& array);

// The task's events since it left the queue, as far as `life` tells.
std::vector<Event> events_of_ended(const Lifecycle& life);

// Appends to the row of a task to which something has happened and which is not over.
void append_to_run(std::string& bytes, const Event& event);
// Errors: invalid_argument (bytes that make no sense).
Result<std::vector<Event>> events_in_run(std::string_view bytes);

}  // namespace holon::instance
