// lineage.hpp - the mark by which a process is known to be part of a job, whatever became of its
// parents: HOLON_LINEAGE in its environment.
//
// It is a list of entries separated by blanks, outermost first, one for each tree of instances the
// process is inside of. An entry is the root instance's mark and the path of the process's job in
// that tree, "MARK/3/7"; broker, agent and initial program of a root have "MARK/", those of its
// child 3 have "MARK/3". A mark is given to one state directory only and stays the same over
// restarts: so what an instance's earlier runs left behind can be told from everything else.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holon::launch {

inline constexpr const char* kLineage = "HOLON_LINEAGE";

// 128 random bits in hexadecimal digits.
std::string random_mark();

// Of a root's own processes. `outer`: the lineage of whoever starts it; "": none.
std::string lineage_of_root(const std::string& outer, const std::string& mark);
// Of a job's tasks. `instance`: the lineage of the own processes of the job's instance.
std::string lineage_of_job(const std::string& instance, std::uint64_t job);

// What the entries of an instance's jobs begin with: "MARK/", "MARK/3/". `instance` as above.
std::string jobs_prefix(std::string_view instance);
// Is this process one of the instance with that jobs_prefix(), or part of one of its jobs?
bool is_within(std::string_view lineage, std::string_view prefix);
// The job of the instance that the process is part of. nullopt: of none.
std::optional<std::uint64_t> job_within(std::string_view lineage, std::string_view prefix);

}  // namespace holon::launch
