// cli.hpp - the `holon` command as a library call, so that tests can run it in-process.
#pragma once

namespace holon::cli {

// Parses argv, runs the verb, returns the exit code (docs/exit-codes.md).
int run(int argc, char** argv);

}  // namespace holon::cli
