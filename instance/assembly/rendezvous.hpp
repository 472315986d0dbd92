// rendezvous.hpp - several tasks that a launcher has started together (`srun -N4 holon start`,
// `mpiexec -n 4 holon start`) find each other: the first one becomes the broker, of the others one
// on each node its agent there. So they do where `holon start` runs on a host that has none of the
// granted nodes, as in a shell that salloc has opened on a login node.
#pragma once
#include <optional>

#include "base/result.hpp"
#include "batch/environment.hpp"
#include "config/config.hpp"
#include "instance/assembly/nodes.hpp"
#include "instance/basics/options.hpp"
#include "instance/basics/surroundings.hpp"
#include "launch/remote/invitation.hpp"

namespace holon::instance {

struct Rendezvous {
  bool is_first = false;  // this task is the one that becomes the broker, of these `nodes`
  Nodes nodes;
  // Of another task; nullopt: it is not needed, for an earlier one has its node.
  std::optional<launch::Invitation> invitation;
  std::int64_t rank = -1;  // of its node in the instance; negative: the broker knows it by its name
};

// Is there something by which they could meet?
bool can_meet(const batch::Environment& environment, const Surroundings& around);
// What that is, in words: "by PMIx". REQUIRES: can_meet(). Asks the daemon of MUNGE where that may
// be needed.
std::string way_to_meet(const batch::Environment& environment, const config::Config& config);

// By PMI-1, by PMIx, or, in a step of Slurm without PMI, by a file in the user's home where the
// nodes share it, and else by MUNGE, at the first node of the step.
// Waits for the others for `instance.gather-timeout`. nullopt: can_meet() says no. Errors:
// timed_out and others, with the remedy.
Result<std::optional<Rendezvous>> meet(const batch::Environment& environment,
                                       const Surroundings& around, const config::Config& config);

// Are there nodes, none of which is this host, and a launcher that reaches them from here?
bool is_login_host(const StartOptions& options, const Surroundings& around);

// This process becomes the launcher, in one step that runs the same command on each of the nodes,
// where they meet (rendezvous.hpp). `terminal`: it has one for the initial program. Returns only
// with an error: not_found, system.
Error start_on_nodes(const batch::Allocation& allocation, bool terminal);

}  // namespace holon::instance
