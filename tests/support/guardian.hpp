// guardian.hpp - what a test has started ends with the test's process, also where that is killed
// and no destructor runs: a process that nobody but it knows of waits for its end.
#pragma once
#include <string>

namespace holon::tests {

// When this process has ended and `folder` is still there, the processes that have this entry
// ("NAME=value") in their environment are ended, instances of holon in order, and the folder is
// removed. Neither may have a blank in it. Not for several threads at once.
void end_with_this_process(const std::string& entry, const std::string& folder);

}  // namespace holon::tests
