// become.hpp - the way from root to a user, and from there to the user's program. Called in a
// process that is for this one purpose, with one thread; nothing of it can be undone.
#pragma once
#include <cstdint>
#include <vector>

#include "starter/account.hpp"
#include "starter/request.hpp"
#include "starter/wire.hpp"

namespace holon::starter {

// The step at which the way failed.
struct Stuck {
  Step step = Step::become;
  int error = 0;
  std::uint32_t limit = 0;  // for Step::limit: which one
};

// Sets groups, group and user, all three ids of each, and no capability; checks that afterwards,
// with tries to get back that have to fail. Returns 0, or an errno: then the process must end.
int become_user(const Account& account, const Settings& settings,
                std::uint32_t file_mask = kUsualMask);

// The descriptors that the program finds open; -1: none.
struct Streams {
  int in = -1, out = -1, err = -1, secrets = -1, wire_up = -1;
};

// Becomes the user and then the program. Returns only if that failed. `report` is left open for
// that case, closed on exec. `keeper`: the process whose end ends the program.
Stuck run_as(const Account& account, const Settings& settings, const Request& request,
             const Streams& streams, int report, pid_t keeper);

}  // namespace holon::starter
