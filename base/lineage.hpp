// lineage.hpp - the mark by which a process is known to be part of a job, whatever became of its
// parents: HOLON_LINEAGE in its environment.
//
// It is a list of entries separated by blanks, outermost first, one for each tree of instances the
// process is inside of. An entry is the root instance's mark and the path of the process's job in
// that tree, "MARK/3/7"; broker, agent and initial program of a root have "MARK/", those of its
// child 3 have "MARK/3". A mark is given to one state directory only and stays the same over
// restarts: so what an instance's earlier runs left behind can be told from everything else.
#pragma once
#include <string_view>

namespace holon {

inline constexpr const char* kLineage = "HOLON_LINEAGE";

// Takes the first entry off and returns it.
std::string_view next_lineage_entry(std::string_view& lineage);
// Is this process one of the instance whose jobs' entries begin with `prefix` ("MARK/", "MARK/3/"),
// or part of one of its jobs?
bool is_within(std::string_view lineage, std::string_view prefix);

}  // namespace holon
