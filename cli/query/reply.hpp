// reply.hpp - what a command answers, as a value: the loop decides where it goes.
#pragma once
#include <string>

namespace holon::cli::query {

struct Reply {
  std::string out;      // the answer itself: into the -t file, or standard output
  std::string console;  // always standard output, also where there is a -t file
  std::string error;    // standard error
  std::string json;     // with --json, instead of out and console: objects, one a line
  bool quit = false;

  void add_json(const std::string& object) { json += object + "\n"; }
};

}  // namespace holon::cli::query
