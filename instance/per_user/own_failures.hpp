// own_failures.hpp - instances of a user's own that ended before they were up: what their user is
// told of that, and when the next one may be made.
#pragma once
#include <string>

#include "base/time.hpp"
#include "instance/users/hiding.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

struct OwnFailures {
  unsigned in_a_row = 0;  // the newest instance among them
  Time next = 0;          // by the wall clock, when the next one may be made; 0: at once
};

// `newest`: the record of the user's newest instance. `before`: how many in a row had failed before
// it. `now` is by the wall clock, as the times of a record are. No pause begins in the future:
// where the clock was set back to before the newest one's end, the next one may be made at once.
OwnFailures failures_with(const msg::JobRecord& newest, unsigned before, Time now);

// A sentence for the user from whom `hiding` hides.
std::string how_it_failed(msg::JobRecord record, const Hiding& hiding);

}  // namespace holon::instance
