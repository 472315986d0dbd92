// cli.hpp - the `holon` command as a library call, so that tests can run it in-process.
#pragma once
#include <string>
#include <vector>

#include "cli/io.hpp"

namespace holon::cli {

// Runs the verb that argv names on the process's own streams; returns the exit code
// (docs/exit-codes.md).
int run(int argc, char** argv);

// Runs the verb on the caller's streams; `args` is without the program's name.
int run(Io& io, std::vector<std::string> args);

}  // namespace holon::cli
