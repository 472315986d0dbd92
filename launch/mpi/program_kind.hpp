// program_kind.hpp - which MPI a program was linked with, if its file tells.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace holon::launch {

// Does the file of argv[0], as it is found by `env`'s PATH from `cwd`, name Open MPI's library?
// False for scripts, whatever they run. Reads the beginning of one file.
bool names_open_mpi(const std::vector<std::string>& argv,
                    const std::map<std::string, std::string>& env, const std::string& cwd);

}  // namespace holon::launch
