#include <ostream>

#include "cli/parser/parser.hpp"
#include "cli/verbs.hpp"

namespace holon::cli {

int verb_version(Invocation& call) {
  Parser parser("version", "print the version");
  parser.example("holon version", "print the version");
  if (const auto code = parser.parse(call)) return *code;
  call.io.out << "holon " HOLON_VERSION "\n";
  return kOk;
}

}  // namespace holon::cli
