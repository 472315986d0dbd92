// place_files.hpp - the files that were added to a job (`--add-file`), written into a folder of its
// own on a node.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/files/job_folder.hpp"
#include "launch/messages.hpp"

namespace holon::launch {

// Where such folders are: $TMPDIR of this process, else /tmp.
std::string files_base();

// As this process's user. Errors: invalid_argument (a name that is more than a name, or that comes
// twice), denied (the user may not write there), system. Then nothing is left.
Result<JobFolder> place_files(const std::string& base, const std::vector<msg::File>& files);

// `holon files`: the same as a user who is not the agent's. Reads a msg::Program from standard
// input, and says on the descriptor `line` what has come of it. Returns the exit code.
int place_files_main(const std::string& base, int line);
// Removes the folders of jobs that agents which were killed have left of this user, of each kind.
int remove_files_main(const std::string& base);

// The other end of that line, once the process has ended: the folder, held as it was held there, or
// why there is none. Errors: denied and system, as of place_files(); not_found (it was ended before
// it has said anything, or its folder's locks cannot be taken over, and it may have left a folder).
Result<JobFolder> take_placed_files(int line, const std::string& base);

}  // namespace holon::launch
