// finding.hpp - one line of `holon doctor`: what was looked at, how it is, and what to do about it.
#pragma once
#include <string>
#include <vector>

namespace holon::config {
struct Config;
}
namespace holon::instance {
struct Surroundings;
}

namespace holon::cli {

struct Finding {
  // failed: an instance would not work. warning: it works, with less than one may expect.
  enum class State { ok, warning, failed };
  std::string check;  // "walltime"
  State state = State::ok;
  std::string found;
  std::string remedy;  // for a warning or a failure; "": nothing can be done about it here
};
const char* name_of(Finding::State state);

using Findings = std::vector<Finding>;

// Each function looks, and changes nothing that stays.
Findings look_at_batch_system(const instance::Surroundings& around, const config::Config& config);
Findings look_at_machine(const instance::Surroundings& around);
Findings look_at_limits();
Findings look_at_folders();

}  // namespace holon::cli
