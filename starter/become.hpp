// become.hpp - the way from root to a user, and from there to the user's program. Called in a
// process that is for this one purpose, with one thread; nothing of it can be undone.
#pragma once
#include <cstdint>
#include <vector>

#include "starter/account.hpp"
#include "starter/request.hpp"
#include "starter/wire.hpp"

namespace holon::starter {

// Where somebody got stuck.
struct Stuck {
  Step step = Step::become;
  int error = 0;
  std::uint32_t limit = 0;  // of Step::limit: which one
};

// Groups, group and user, all three ids of each, and no capability; looked at afterwards, with
// tries to get back that have to fail. Returns 0, or an errno: then the process must end.
int become_user(const Account& account, const Settings& settings,
                std::uint32_t file_mask = kUsualMask);

// What the program finds open: descriptors of this process, -1: nothing.
struct Streams {
  int in = -1, out = -1, err = -1, secrets = -1, wire_up = -1;
};

// Becomes the user and then the program. Returns only where that failed. `report` is left open for
// that case, closed on exec. `keeper`: whose end ends the program.
Stuck run_as(const Account& account, const Settings& settings, const Request& request,
             const Streams& streams, int report, pid_t keeper);

}  // namespace holon::starter
