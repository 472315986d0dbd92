// meeting.hpp - several tasks that a launcher has started together (`srun -N4 holon start`,
// `mpiexec -n 4 holon start`) find each other: the first one becomes the broker, of the others one
// on each node its agent there.
#pragma once
#include <optional>

#include "base/result.hpp"
#include "batch/environment.hpp"
#include "config/config.hpp"
#include "instance/remote/nodes.hpp"
#include "instance/surroundings.hpp"
#include "launch/remote/invitation.hpp"

namespace holon::instance {

struct Meeting {
  bool is_first = false;  // this task is the one that becomes the broker, of these `nodes`
  Nodes nodes;
  // Of another task; nullopt: it is not needed, for an earlier one has its node.
  std::optional<launch::Invitation> invitation;
  std::int64_t rank = -1;  // of its node in the instance; negative: the broker knows it by its name
};

// Is there something by which they could meet?
bool can_meet(const batch::Environment& environment, const Surroundings& around);

// By PMI-1 or, in a step of Slurm without PMI, by a file in the user's home, which the nodes share.
// Waits for the others for `instance.gather-timeout`. nullopt: can_meet() says no. Errors:
// timed_out and others, with the remedy.
Result<std::optional<Meeting>> meet(const batch::Environment& environment,
                                    const Surroundings& around, const config::Config& config);

}  // namespace holon::instance
