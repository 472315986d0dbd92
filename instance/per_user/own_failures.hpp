// own_failures.hpp - users' own instances that ended before they were up: what a user is told of
// that, and when the next one may be made.
#pragma once
#include <string>

#include "base/time.hpp"
#include "instance/users/hiding.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

struct OwnFailures {
  unsigned in_a_row = 0;  // the newest instance included
  Time next = 0;          // by the wall clock, when another may be made; 0: at once
};

// `newest`: the record of the user's newest instance. `before`: how many in a row had failed before
// it. `now` is by the wall clock, as the times of a record are. No pause begins in the future:
// where the clock was set back to before the end of `newest`, another may be made at once.
OwnFailures failures_with(const msg::JobRecord& newest, unsigned before, Time now);

// A sentence for the user, with what `hiding` hides left out.
std::string how_it_failed(msg::JobRecord record, const Hiding& hiding);

}  // namespace holon::instance
