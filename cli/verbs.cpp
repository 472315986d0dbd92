#include "cli/verbs.hpp"

#include <array>

namespace holon::cli {

// In the order `holon --help` shows them.
std::span<const Verb> verbs() {
  static constexpr auto kVerbs = std::to_array<Verb>({
      {"version", "print the version", Group::tools, verb_version},
      {"man", "write the man pages", Group::hidden, verb_man},
  });
  return kVerbs;
}

}  // namespace holon::cli
