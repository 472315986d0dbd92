// lineage.hpp - the lineage (base/lineage.hpp) of an instance and of its jobs.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/lineage.hpp"

namespace holon::launch {

// 128 random bits in hexadecimal digits.
std::string random_mark();

// The lineage of a root's own processes. `outer`: that of its starter; "": none.
std::string lineage_of_root(const std::string& outer, const std::string& mark);
// The lineage of a job's tasks. `instance`: that of the own processes of the job's instance.
std::string lineage_of_job(const std::string& instance, std::uint64_t job);

// The prefix of the entries of an instance's jobs: "MARK/", "MARK/3/". `instance` as above.
std::string jobs_prefix(std::string_view instance);
// The job of the instance that the process is part of; nullopt: none.
std::optional<std::uint64_t> job_within(std::string_view lineage, std::string_view prefix);
// Is a process of this lineage one of the job itself, and of no job in it?
bool is_of_job_itself(std::string_view lineage, std::string_view prefix, std::uint64_t job);

}  // namespace holon::launch
