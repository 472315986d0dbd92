#include "cli/cli.hpp"

#include <fmt/core.h>

namespace holon::cli {

int run(int, char**) {
  fmt::print("holon {}\n", "0.1.0");
  return 0;
}

}  // namespace holon::cli
