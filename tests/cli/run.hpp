// run.hpp - runs a command line in this process and keeps what it wrote.
#pragma once
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

inline Ran run_cli(std::vector<std::string> args) {
  std::ostringstream out;
  std::ostringstream err;
  Io io{out, err};
  Ran ran;
  ran.code = run(io, std::move(args));
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

}  // namespace holon::cli
