// past.hpp - what is read straight from the journal of an instance that is not there to be asked.
// All throw what SQLiteCpp throws; tables that the first journals did not have may be missing.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "instance/basics/clock.hpp"
#include "instance/job/job.hpp"

namespace holon::instance {

// The value that the journal keeps under `key`; "": none.
std::string meta_of(SQLite::Database& db, const char* key);
// The bytes of a blob; valid until the statement takes its next step.
std::string_view bytes_of(const SQLite::Column& column);
// The instance's own clock, to show its times by the wall clock as it would show them.
InstanceClock clock_of_journal(SQLite::Database& db);
// The number of tasks of the array; nullopt: the job is none.
std::optional<std::int64_t> tasks_of_array(SQLite::Database& db, std::int64_t id);
// The life of a task of an array, whose own is `array`, by the events of its row in task_runs.
Lifecycle life_of_run(std::string_view events, const Lifecycle& array);

}  // namespace holon::instance
