// refusals.hpp - refuses requests, and logs that once a source and minute, so that nobody fills a
// disk by asking.
#pragma once
#include <functional>
#include <string>

#include "base/time.hpp"
#include "transport/refusal_counts.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class Refusals {
 public:
  // Called for refusals that are logged.
  std::function<void(const transport::Request&, const Error&)> on_logged =
      [](const transport::Request&, const Error&) {};

  // Answers `request` with `error`.
  void refuse(const transport::Request& request, const Error& error, Time now);

  // Logs a request that was answered already. `source`: whose minute it is.
  void keep(std::string source, const transport::Request& request, const Error& error, Time now);

  // The line to be logged; empty: this source was refused within the last minute, and is only
  // counted. Public for its test.
  std::string note(std::string source, const std::string& what, Time now);

 private:
  transport::RefusalCounts counts_;
};

}  // namespace holon::instance
