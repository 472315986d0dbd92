// wait_notice.hpp - a verb that waits for its job says once why the job has not started.
#pragma once
#include <cstdint>
#include <string>

#include "cli/connect.hpp"
#include "cli/verb.hpp"

namespace holon::cli {

class WaitNotice {
 public:
  // `verb` as in "holon run". Written to call.io.err during a call of `client`, while this lives:
  // to a person soon, into a file only if the job still waits after some seconds.
  WaitNotice(Invocation& call, Client& client, std::uint64_t job, const std::string& verb);
  WaitNotice(const WaitNotice&) = delete;
  WaitNotice& operator=(const WaitNotice&) = delete;

 private:
  transport::Subscription timer_, answer_;
};

}  // namespace holon::cli
