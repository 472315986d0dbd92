#include "cli/cli.hpp"

int main(int argc, char** argv) {
  return holon::cli::run(argc, argv);
}
