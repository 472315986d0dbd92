// more_cores.hpp - what the instances above could add to the one in which a job waits.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/time.hpp"
#include "client/client.hpp"

namespace holon::cli {

// Cores that would let a job start, and where they could come from.
struct MoreCores {
  struct Idle {
    std::string path;
    std::int64_t cores = 0;
  };
  std::string path;           // of the instance in which the job waits; "/": nobody is above it
  std::int64_t cores = 0;     // so many more would do; 0: none would
  std::int64_t limit = 0;     // ms for which they would be asked; 0: to the end of the instance
  std::int64_t here = 0;      // cores that the instance has
  std::string above;          // path of the one that was asked
  std::int64_t of_above = 0;  // cores that it has
  bool is_planned = false;    // else: not known when, or never
  std::int64_t at = 0;        // of a planned one, ms of the wall clock; 0: now
  std::string why_not;        // never
  std::vector<Idle> idle;     // in the other children of that one
};

// Asks about a job of the client's instance. Errors: of Client::needed() and Client::could_grant().
Result<MoreCores> more_cores_for(client::Client& client, std::uint64_t job);

// A sentence a line.
std::vector<std::string> lines_of(const MoreCores& more, Time now);
nlohmann::ordered_json json_of(const MoreCores& more);

}  // namespace holon::cli
