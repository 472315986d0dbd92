// agent.hpp - the process on each node that starts and watches tasks: `holon agent`, a hidden verb.
//
// One thread. Everything it is told comes from the broker (messages.hpp); it decides nothing but
// how to end a job whose time is up, and to end itself when nobody has asked for it during the
// orphan timeout.
#pragma once
#include <cstdint>
#include <string>

#include "base/time.hpp"

namespace holon::launch {

struct AgentOptions {
  std::string broker_uri;
  std::uint32_t rank = 0;
  std::string hostname;  // "": gethostname(2)
  Duration orphan_timeout =
      3600'000;        // ms without a broker after which it kills its jobs and ends; 0: never
  std::string cpuset;  // numbering frame of a child instance, from HOLON_CPUSET; "": what this
                       // process may use
  std::string log_level = "warn";  // to stderr: trace, debug, info, warn, error, off
};

// Runs until told to shut down, refused, or orphaned. Returns the process's exit code: 0 after a
// shutdown, 1 when it could not begin, 2 refused by the broker, 3 orphaned.
int agent_main(const AgentOptions& options);

}  // namespace holon::launch
