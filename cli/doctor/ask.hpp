// ask.hpp - a program run for what it says.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace holon::cli {

// The command's standard output, once it has ended with 0; it reads nothing. Killed after
// `patience` ms. Errors: not_found (there is no such program), timed_out, system (it failed; the
// first line of its standard error).
Result<std::string> ask(const std::vector<std::string>& command, Duration patience);

}  // namespace holon::cli
