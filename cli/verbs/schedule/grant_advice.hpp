// grant_advice.hpp - how many cores more would let a job of a child start, and where they could
// come from.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/time.hpp"
#include "client/client.hpp"
#include "msg/grant.hpp"

namespace holon::cli {

// What the instance above says, and who beside the child has idle cores.
class GrantAdvice {
 public:
  // Learns of the client's instance and of those beside it; what another user's instance does not
  // tell is left out. Errors: those of Client::status().
  static Result<GrantAdvice> beside(client::Client& client);

  // What that instance has said of a job, in sentences, one a line. `now`, as all times: ms of the
  // wall clock.
  std::vector<std::string> lines(const msg::GrantExplained& about, Time now) const;
  nlohmann::ordered_json json(const msg::GrantExplained& about) const;

 private:
  struct Idle {
    std::string path;
    std::int64_t cores = 0;
  };
  std::string chance_in_words(const msg::GrantExplained& about, Time now) const;
  std::string command_for(const msg::GrantExplained& about) const;

  std::string path_, above_;  // "/3", "/"; of a root: "/", ""
  bool has_one_node_ = true;
  std::vector<Idle> idle_;
};

}  // namespace holon::cli
