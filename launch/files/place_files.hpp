// place_files.hpp - the files that were added to a job (`--add-file`), written into a folder of its
// own on a node.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/files/job_folder.hpp"
#include "launch/messages.hpp"

namespace holon::launch {

// The directory of such folders: $TMPDIR of this process, else /tmp.
std::string files_base();

// Writes the files as this process's user. Errors: invalid_argument (a name that is a path, or that
// comes twice), denied (the user may not write there), system. Then nothing is left.
Result<JobFolder> place_files(const std::string& base, const std::vector<msg::File>& files);

// `holon files`: place_files() as another user than the agent's. Reads a msg::Program from standard
// input, and reports the result on the descriptor `line`. Returns the exit code.
int place_files_main(const std::string& base, int line);
// Removes the folders of jobs, of each kind, that killed agents have left of this user.
int remove_files_main(const std::string& base);

// Reads the other end of that line, once the process has ended: the folder, locked as there, or why
// there is none. Errors: denied and system, as of place_files(); not_found (no report, or the
// folder's locks cannot be taken over: the process may have left a folder).
Result<JobFolder> take_placed_files(int line, const std::string& base);

}  // namespace holon::launch
