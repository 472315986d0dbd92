// wait_notice.hpp - a verb that waits for its job says once why the job has not started; or, where
// that was asked for, also where the job runs and how long it has.
#pragma once
#include <cstdint>
#include <string>

#include "cli/connect.hpp"
#include "cli/verb.hpp"

namespace holon::cli {

// The state in words: "job 7 waits: all 4 cores are in use", "job 7 runs on node0, 12.0s of
// 10m00s"; "" where it is over. `now`: of the wall clock.
std::string how_far(const msg::JobRecord& job, Time now);

class WaitNotice {
 public:
  enum class What { wait, progress };
  // `verb` as in "holon run". Writes to call.io.err during a call of `client`, while this lives: to
  // a person soon, into a file only if the job still waits after some seconds. With `progress` when
  // the job starts or waits anew, and every ten seconds.
  WaitNotice(Invocation& call, Client& client, std::uint64_t job, const std::string& verb,
             What what = What::wait);
  WaitNotice(const WaitNotice&) = delete;
  WaitNotice& operator=(const WaitNotice&) = delete;

 private:
  enum class Told { nothing, waits, runs };
  void tell(Invocation& call, const std::string& verb, const msg::JobRecord& record, Time now);
  Duration ask_every() const;  // ms

  transport::Subscription timer_, answer_;
  Told told_ = Told::nothing;
  Time told_at_ = 0, asked_at_ = 0;  // by the reactor's clock
  bool is_asked_ = false;            // waits for its answer
};

}  // namespace holon::cli
